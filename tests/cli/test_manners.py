"""How collmark speaks: the manners of the console that apply to every command."""

import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from collmark.cli.console import Terminal, write_error
from collmark.cli.grammar import EXAMPLES

SIMULATED = ("--backend", "simulated", "--operation", "all_reduce", "--sizes", "64B:4KiB:x8,3001", "--ranks", "2")
RUN = ("run", *SIMULATED, "--launches", "2")
READERS = (["list"], ["list", "latest"], ["export", "latest"], ["plan", *SIMULATED], ["schema"])


def collmark(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the program as a shell would, through pipes."""
    return subprocess.run(
        [sys.executable, "-m", "collmark", *words],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | variables,
        encoding="utf-8",
    )


@pytest.mark.manner(1)
@pytest.mark.parametrize("words", [[], ["-h"], ["--help"]], ids=str)
def test_help_starts_with_two_examples(cli: Callable[..., Any], words: list[str]) -> None:
    result = cli(*words)
    title, first, second, blank, usage, *_rest = result.out.splitlines()
    assert (result.status, result.err, title, blank) == (0, "", "Examples:", "")
    assert first.startswith("  collmark ")
    assert second.startswith("  collmark ")
    assert usage.startswith("Usage: collmark")
    assert max(map(len, result.out.splitlines())) <= 100


@pytest.mark.manner(14)
def test_help_names_every_status(cli: Callable[..., Any]) -> None:
    words = " ".join(cli("--help").out.split())
    for status in (0, 1, 2, 3, 4, 70, 130, 143):
        assert f"{status} " in words.partition("Exit status:")[2]


def work_of(*words: str) -> float:
    """Return the CPU seconds of a program, least of five: other load hardly moves them."""

    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    marks = [spent()]
    for _attempt in range(5):
        subprocess.run(words, check=True, capture_output=True, timeout=60)
        marks.append(spent())
    return min(after - before for before, after in pairwise(marks))


@pytest.mark.manner(1)
def test_help_costs_little_beyond_the_libraries_that_show_it() -> None:
    libraries = work_of(sys.executable, "-c", "import typer, rich.console, rich.panel, rich.table")
    assert work_of(sys.executable, "-m", "collmark", "--help") < 5 * libraries


@pytest.mark.parametrize("path", EXAMPLES)
def test_examples_use_known_options(cli: Callable[..., Any], path: str) -> None:
    groups = {known.rpartition(" ")[0] for known in EXAMPLES} - {"", "collmark"}
    for example in EXAMPLES[path]:
        program, command, *words = shlex.split(example)
        assert program == "collmark"
        names = [command, *words[:1]] if f"collmark {command}" in groups else [command]
        assert " ".join(["collmark", *names]) in EXAMPLES, example
        known = cli(*names, "--help").out
        assert all(word in known for word in words if word.startswith("-")), example


@pytest.mark.manner(3)
@pytest.mark.manner(17)
def test_results_go_to_stdout_and_words_to_stderr(cli: Callable[..., Any]) -> None:
    result = cli(*RUN)
    caption, names, units, *rows = result.out.splitlines()
    assert result.status == 0
    assert caption.startswith("SIMULATED simulated, cpu, 1 node x 2 ranks; intervals: 95 % over 2 launches")
    assert names.split() == [
        "operation",
        "nbytes",
        "count",
        "dtype",
        "redop",
        "time",
        "95",
        "%",
        "algbw",
        "busbw",
        "wrong",
        "status",
    ]
    assert units.split() == ["(us)", "(+-%)", "(GB/s)", "(GB/s)"]
    assert len(rows) == 4
    assert all(row.startswith("all_reduce") and row.endswith(("converged", "budget", "unstable")) for row in rows)
    assert "3001->3000 B" in result.out
    head, *_middle, where, following = result.err.splitlines()
    assert head.startswith("SIMULATED simulated, cpu, 1 node x 2 ranks; 4 cases x 2 launches, at most ")
    assert "SIMULATED: no figure above was measured" in result.err
    assert "8 records in " in result.err
    assert "0 wrong" in result.err
    assert where.startswith("results in results/")
    assert following.startswith("next: collmark ")


@pytest.mark.manner(18)
def test_last_line_is_a_command_that_works(cli: Callable[..., Any]) -> None:
    following = cli(*RUN, "--output", "with a space").err.splitlines()[-1].removeprefix("next: ")
    program, *words = shlex.split(following)
    assert program == "collmark"
    assert cli(*words).status == 0
    (report,) = Path("with a space").glob("*/report.html")
    assert report.stat().st_size > 0


@pytest.mark.manner(18)
def test_incomplete_run_ends_with_the_command_that_resumes_it(cli: Callable[..., Any]) -> None:
    result = cli(*RUN, "--budget", "0.05")
    following = result.err.splitlines()[-1].removeprefix("next: ")
    assert result.status == 0
    assert following.startswith("collmark run --resume results/")
    assert cli(*shlex.split(following)[1:]).status == 0


@pytest.mark.manner(3)
def test_quiet_leaves_results_and_warnings(cli: Callable[..., Any]) -> None:
    result = cli(*RUN, "-q")
    assert len(result.out.splitlines()) == 7
    assert result.err.splitlines() == ["SIMULATED: no figure above was measured (a simulation gave these figures)"]


@pytest.mark.manner(6)
@pytest.mark.parametrize("words", READERS[:-1], ids=" ".join)
@pytest.mark.parametrize("columns", ["", "100", "60"])
def test_nothing_piped_is_too_wide_or_escaped(
    cli: Callable[..., Any], measured: str, words: list[str], columns: str
) -> None:
    del measured
    result = cli(*words, env={"COLUMNS": columns} if columns else {})
    assert result.status == 0
    assert not re.search(r"[\x1b\r]", result.out + result.err)
    folded = result.err.splitlines() if words[0] == "export" else (result.out + result.err).splitlines()
    assert max(map(len, folded), default=0) <= int(columns or 100) or columns == "60"
    assert "..." not in result.out


@pytest.mark.parametrize("color", ["never", "auto"])
def test_colour_changes_no_word(cli: Callable[..., Any], measured: str, color: str) -> None:
    colored = cli("list", measured, "--color", "always").out
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == cli("list", measured, "--color", color).out


@pytest.mark.manner(8)
@pytest.mark.parametrize("words", [["--help"], list(RUN), *READERS], ids=" ".join)
def test_ascii_is_enough(workplace: Path, measured: str, words: list[str]) -> None:
    del workplace, measured
    done = collmark(*words, PYTHONIOENCODING="ascii", LC_ALL="C", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    assert (done.stdout + done.stderr).isascii()


@pytest.mark.parametrize(
    "words", [["list"], ["list", "latest"], ["export", "latest"], ["plan", *SIMULATED], ["schema"]], ids=" ".join
)
def test_json_is_one_object(cli: Callable[..., Any], measured: str, words: list[str]) -> None:
    del measured
    result = cli(*words, "--json")
    assert result.status == 0
    assert isinstance(result.json, dict)


@pytest.mark.manner(4)
@pytest.mark.parametrize(
    ("words", "status"),
    [(["run", "--sizes", "1:2:x0"], 2), (["rnu"], 2), (["export", "nothing"], 2), (["list", "x"], 2)],
)
def test_json_error_says_what_stderr_says(cli: Callable[..., Any], words: list[str], status: int) -> None:
    result = cli(*words, "--json")
    assert result.status == status
    assert result.json["error"]["status"] == status
    assert f"error: {result.json['error']['message']}\n" == result.err


def test_run_as_json_is_a_line_for_each_thing_that_happens(cli: Callable[..., Any]) -> None:
    result = cli(*RUN, "--json")
    start, *records, end = result.objects
    assert start["event"] == "start"
    assert len(start["run"]["cases"]) == 4
    assert {record["event"] for record in records} == {"record"}
    assert len([record for record in records if record["sentinel"] is None]) == 8
    first = records[0]
    seconds, nbytes = first["timing"]["median"], first["case"]["nbytes"]
    assert first["algorithm_bandwidth"] == pytest.approx(nbytes / seconds)
    assert (end["event"], end["records"], end["missing"]) == ("end", 8, 0)


@pytest.mark.manner(14)
def test_lost_measurement_says_what_is_kept_and_how_to_resume(cli: Callable[..., Any]) -> None:
    result = cli(*RUN, "--simulate", "dead_rank=1", "--simulate", "dead_after=500", "--json")
    last = result.objects[-1]
    assert result.status == 4
    assert last["event"] == "error"
    assert re.fullmatch(
        r"rank 1 \(simulated\) silent for 30 s in all_reduce \d+ B float32, launch \d; \d of 8 records kept, "
        r"resume with: collmark run --resume results/\S+",
        last["error"]["message"],
    )


@pytest.mark.manner(14)
def test_wrong_result_is_status_1_and_has_no_bandwidth(cli: Callable[..., Any]) -> None:
    result = cli(*RUN, "--simulate", "wrong_rank=1")
    assert result.status == 1
    rows = result.out.splitlines()[3:]
    assert all(row.split()[-6:-2] == ["-"] * 4 and row.endswith("wrong") for row in rows)
    line = next(line for line in result.err.splitlines() if line.startswith("error: "))
    assert line.startswith("error: wrong results: all_reduce ")


@pytest.mark.manner(15)
def test_one_launch_says_that_it_has_no_interval(cli: Callable[..., Any]) -> None:
    result = cli("run", *SIMULATED, "--launches", "1")
    assert "one launch: no interval over launches" in " ".join(result.out.split())
    assert re.search(r"\(\d", result.out.splitlines()[-1])


@pytest.mark.manner(13)
def test_fault_of_ours_is_one_line(cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object) -> None:
        raise RuntimeError("first\nsec\x1b[2Jond")

    monkeypatch.setattr("collmark.workflow.listing.overviews", fail)
    result = cli("list")
    (line,) = result.err.splitlines()
    assert result.status == 70
    assert line.startswith(r"error: a fault of collmark: RuntimeError: first sec\x1b[2Jond at ")
    assert "--debug" in line
    whole = cli("list", "--debug").err
    assert "Traceback" in whole
    assert all(line.isprintable() for line in whole.split("\n"))


def test_what_stands_in_the_environment_moves_no_cursor_and_breaks_no_run(cli: Callable[..., Any]) -> None:
    raw = "a\x1b[2J\udcff"  # as Python has bytes that are no text
    result = cli(*RUN, "--json", env={"NCCL_DEBUG": raw, "SLURM_JOB_ID": raw})
    assert result.status == 0, result.err
    assert all(line.isprintable() for line in (result.out + result.err).split("\n"))
    (file,) = Path("results").glob("*/run.json")
    launch = json.loads(file.read_text(encoding="utf-8"))["launches"][0]
    assert launch["environment"]["NCCL_DEBUG"] == "a\x1b[2J\\xff"


def test_the_last_words_of_a_rank_move_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    write_error("error: rank 1 (\x1b[2Jnode) is gone\r; 1 of 2 records kept")
    Terminal().write_whole("two\x07\nlines")
    assert capsys.readouterr().err == (
        "error: rank 1 (\\x1b[2Jnode) is gone\\r; 1 of 2 records kept\ntwo\\x07\nlines\n"
    )


@pytest.mark.manner(19)
def test_plan_is_written_only_where_nothing_is(cli: Callable[..., Any], workplace: Path) -> None:
    assert cli("plan", "--init").status == 0
    template = (workplace / "plan.toml").read_text(encoding="utf-8")
    assert cli("plan", "--init").status == 2
    assert cli("plan", "--init", "--force").status == 0
    assert cli("plan", "--init", "-").out.rstrip("\n") == template.rstrip("\n")
    assert cli("plan", "plan.toml").status == 0


def test_stderr_may_be_closed_and_stdout_may_end_early(workplace: Path, measured: str) -> None:
    command = f"{shlex.quote(sys.executable)} -m collmark export {measured} --format csv"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{command} | head -c 1; {command} 2>&- >/dev/null"],
        cwd=workplace,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_run_whose_reader_leaves_stops_and_keeps_what_is_finished(workplace: Path) -> None:
    words = shlex.join([sys.executable, "-m", "collmark", "run", *SIMULATED, "--launches", "1000", "--json", "-q"])
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{words} | head -n 3 >/dev/null"],
        cwd=workplace,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 128 + 13
    (line,) = done.stderr.splitlines()
    assert re.fullmatch(r"stopped, since nobody reads stdout .* resume with: collmark run --resume results/\S+", line)


def test_torn_last_line_is_one_warning(cli: Callable[..., Any], measured: str) -> None:
    with (Path(measured) / "records.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"schema_version": 1, "laun')
    result = cli("list", measured, "-q")
    assert result.status == 0
    assert [line for line in result.err.splitlines() if line.startswith("warning: ")] == [
        f"warning: {measured}/records.jsonl: skipped a torn last line"
    ]


def test_lines_that_stand_twice_are_one_warning_and_count_once(cli: Callable[..., Any], measured: str) -> None:
    before = cli("list", measured, "-q").out
    path = Path(measured) / "records.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([*lines, lines[0], lines[3]]), encoding="utf-8")
    for words in (["list", measured, "-q"], ["run", "--resume", measured, "-q"]):
        result = cli(*words)
        assert result.status == 0
        assert result.out == before
        assert " ".join(result.err.split()).count("once more") == 1
        assert f"warning: {measured}/records.jsonl:{len(lines) + 1}: the case and launch of line 1 once" in result.err


@pytest.mark.manner(22)
@pytest.mark.parametrize("width", ["80", "100", "120"])
@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["list", "latest", "-q"],
        ["plan", "placed.toml"],
        ["plan", "--operation", "all_to_all_v,bidirectional_stream", "--dtype", "bfloat16", "--sizes", "1000003,1GiB"],
    ],
    ids=" ".join,
)
def test_tables_fit(cli: Callable[..., Any], small_run: Path, workplace: Path, words: list[str], width: str) -> None:
    longest = "a-label-as-long-as-it-may-be-which-is-sixty-four-letters-in-all-x"[:64]
    shutil.copytree(small_run, workplace / "results" / f"20300101T000000Z-{longest}")
    (workplace / "placed.toml").write_text(
        f'backends = ["simulated"]\nplacements = [{{ nodes = 2, ranks_per_node = 8, label = "{"x" * 90}" }}]\n',
        encoding="utf-8",
    )
    result = cli(*words, env={"COLUMNS": width})
    assert result.status == 0
    assert max(map(len, result.out.splitlines())) <= int(width)
    if words == ["list"]:
        assert f"20300101T000000Z-{longest}" in "".join(result.out.split())


def test_one_is_singular(cli: Callable[..., Any]) -> None:
    one = ("--backend", "simulated", "--operation", "barrier", "--ranks", "1", "--launches", "1")
    assert "1 case x 1 launch = 1 record, at most" in cli("plan", *one).err
    assert "1 record in " in cli("run", *one).err
    assert (
        "2 cases x 5 launches = 10 records, at most"
        in cli("plan", *one[:-2], "--operation", "all_reduce", "--sizes", "64").err
    )
    assert "1 record: 1 converged" in cli("list", "latest").err


@pytest.mark.manner(5)
def test_record_is_flushed_as_it_happens(workplace: Path) -> None:
    del workplace
    words = [sys.executable, "-m", "collmark", "run", *SIMULATED, "--launches", "500", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["event"] == "start"
        assert json.loads(process.stdout.readline())["event"] == "record"
        assert process.poll() is None
        process.terminate()
        rest = process.stdout.readlines()
        assert process.wait(10) == 143
    assert json.loads(rest[-1])["error"]["status"] == 143
