"""The manners that hold for every command, shown of each: one table of words that work, one of words that fail."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Cli
from tests.cli.every import BEFORE, FAILS, LEAVES, WORKS, commands

from collmark.cli.grammar import EXAMPLES

PASTED = ("next: ", "wrote ", "report: ", "results in ", "explain one: ", "  collmark ", "  for ")
"""How lines start that are whole however long they are, since they are there to be pasted."""
FILES = ("export", "schema", "slurm render", "slurm init")
"""Commands whose stdout is a file or names of files, and no table."""


def prepared(cli: Cli, path: str) -> None:
    if path in BEFORE:
        assert cli(*BEFORE[path]).status == 0


def test_every_command_has_its_words() -> None:
    assert set(WORKS) == set(FAILS) == set(LEAVES)


@pytest.mark.manner(1)
@pytest.mark.parametrize("word", ["-h", "--help"])
@pytest.mark.parametrize("path", [path for path, _command in commands()])
def test_help_starts_with_two_examples(cli: Cli, path: str, word: str) -> None:
    result = cli(*path.split(), word)
    title, *examples = result.out.partition("\n\n")[0].splitlines()
    assert (result.status, result.err, title) == (0, "", "Examples:")
    assert len(examples) >= 2
    assert all(line.startswith(f"  collmark {path}".rstrip()) for line in examples)
    assert tuple(line.strip() for line in examples) == EXAMPLES[f"collmark {path}".strip()]
    assert max(map(len, result.out.splitlines())) <= 100


def misspelt() -> Iterator[tuple[str, str, str]]:
    """Yield command, wrong word and right one: every sub-command, every option once, and two of each command."""
    seen: set[str] = set()
    for path, command in commands():
        options = [name for one in command.params for name in one.opts if name.startswith("--") and name != "--help"]
        for name in options:
            if name not in seen or name in options[:2]:
                yield path, f"{name[:-1]}x{name[-1]}", name
        seen.update(options)
        for name, child in getattr(command, "commands", {}).items():
            if not child.hidden:
                yield path, f"{name}x", name


@pytest.mark.manner(2)
def test_a_misspelt_option_or_command_is_answered_with_the_nearest(cli: Cli) -> None:
    before = sorted(Path.cwd().rglob("*"))
    for path, wrong, right in misspelt():
        result = cli(*path.split(), wrong)
        (line,) = result.err.splitlines()
        assert (result.status, result.out) == (2, "")
        assert line.startswith("error: unknown ")
        assert f"did you mean {right!r}?" in line, line
    assert sorted(Path.cwd().rglob("*")) == before


NAMES = {
    "--operation": ("al_reduce", "all_reduce", ("run", "plan", "pairs", "history", "slurm submit", "import a100.log")),
    "--backend": ("glo", "gloo", ("run", "plan", "pairs", "doctor", "slurm submit")),
}


@pytest.mark.manner(2)
@pytest.mark.parametrize("option", NAMES)
def test_a_misspelt_name_is_answered_with_the_nearest(cli: Cli, everything: Path, option: str) -> None:
    wrong, right, paths = NAMES[option]
    having = {path for path, one in commands() for parameter in one.params if option in parameter.opts}
    having -= {"import"} if option == "--backend" else set()  # logs are of backends that collmark has not
    assert {path.removesuffix(" a100.log") for path in paths} == having
    before = sorted(everything.rglob("*"))
    for path in paths:
        result = cli(*path.split(), option, wrong)
        assert (result.status, result.out) == (2, ""), path
        (line,) = (line for line in result.err.splitlines() if line.startswith("error: "))
        assert f"did you mean {right!r}?" in line, line
    assert sorted(everything.rglob("*")) == before


@pytest.mark.manner(4)
@pytest.mark.parametrize("path", WORKS)
def test_json_is_objects_alone(cli: Cli, everything: Path, path: str) -> None:
    assert everything.is_dir()
    prepared(cli, path)
    result = cli(*path.split(), *WORKS[path], "--json")
    assert result.status == 0, result.err
    assert result.objects
    assert all(one.get("event") != "error" for one in result.objects)


@pytest.mark.manner(4)
@pytest.mark.parametrize("path", FAILS)
def test_a_failure_as_json_is_an_object_with_the_words_of_stderr(cli: Cli, everything: Path, path: str) -> None:
    assert everything.is_dir()
    for words in (FAILS[path], (*FAILS[path], "--nonsense")):
        result = cli(*path.split(), *words, "--json")
        error = result.objects[-1]["error"]
        assert result.status == error["status"] not in {0, 70}
        (line,) = (line for line in result.err.splitlines() if line.startswith("error: "))
        assert line == f"error: {error['message']}"


@pytest.mark.manner(13)
@pytest.mark.parametrize("path", FAILS)
def test_a_failure_is_one_message_and_its_trace_is_asked_for(cli: Cli, everything: Path, path: str) -> None:
    assert everything.is_dir()
    result = cli(*path.split(), *FAILS[path])
    assert result.err.count("error: ") == 1
    assert "Traceback" not in result.err
    whole = cli(*path.split(), *FAILS[path], "--debug").err
    assert whole.count("Traceback") >= 1 or result.status == 3
    assert " = " not in whole.partition("Traceback")[2].partition("error: ")[0] or "│" not in whole  # no locals


@pytest.mark.manner(3)
@pytest.mark.manner(6)
@pytest.mark.parametrize("path", WORKS)
def test_stdout_is_results_and_no_line_of_either_stream_breaks_a_pipe(cli: Cli, everything: Path, path: str) -> None:
    assert everything.is_dir()
    prepared(cli, path)
    result = cli(*path.split(), *WORKS[path], env={"COLUMNS": "100"})
    assert result.status == 0, result.err
    said = result.err.splitlines()
    assert not {*result.out.splitlines()} & {*said} - {""}
    assert not re.search(r"^(note|warning|error|next|wrote|doctor): ", result.out, re.MULTILINE)
    assert not re.search(r"[\x1b\r]", result.out + result.err)
    assert not re.search(r"\d(\.\.\.|…)", result.out + result.err)
    shown = said if path in FILES else [*said, *result.out.splitlines()]
    assert [line for line in shown if len(line) > 100 and not line.startswith(PASTED)] == []


TABLES = ("run", "list", "plan", "fit", "claims", "compare", "history", "slurm status")


@pytest.mark.manner(3)
@pytest.mark.parametrize("path", TABLES)
def test_a_table_alone_on_stdout_can_be_parsed(cli: Cli, everything: Path, path: str) -> None:
    """Blank columns through all lines of a table are as many as there are gaps between its headings."""
    assert everything.is_dir()
    prepared(cli, path)
    lines = cli(*path.split(), *WORKS[path], env={"COLUMNS": "400"}).out.splitlines()
    first = ("operation", "run", "claim", "placement")
    start = next(at for at, line in enumerate(lines) if line.startswith(first))
    table = lines[start : next((at for at in range(start, len(lines)) if "  " not in lines[at]), len(lines))]
    names = re.split(r" {2,}", table[0].strip())
    assert len(table) > 1
    wide = max(map(len, table))
    blank = "".join(" " if all(line.ljust(wide)[at] == " " for line in table) else "x" for at in range(wide))
    assert len(re.findall(r"x+", blank)) >= len(names)


@pytest.mark.manner(3)
def test_without_stdout_progress_and_warnings_are_there(cli: Cli, everything: Path) -> None:
    """What stderr holds does not depend on where stdout goes, and -q leaves what must not be missed."""
    assert everything.is_dir()
    result = cli("run", *WORKS["run"])
    assert "launch 1 of 2 complete" in result.err
    assert "SIMULATED: no figure above was measured" in result.err
    quiet = cli("run", *WORKS["run"], "-q")
    assert "launch 1 of 2" not in quiet.err
    assert "SIMULATED: no figure above was measured" in quiet.err


PAINTED = ("run", "list", "plan", "doctor", "noise", "fit", "claims", "compare", "history", "slurm status")
PLAIN = ({"NO_COLOR": "1"}, {"TERM": "dumb"})


@pytest.mark.manner(7)
@pytest.mark.parametrize("path", PAINTED)
def test_colour_is_asked_for_and_changes_no_word(
    cli: Cli, everything: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On what says that it is a terminal; stderr is none, so that nothing is drawn over and over."""
    assert everything.is_dir()
    prepared(cli, path)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    def told(*more: str, **env: str) -> str:
        words = (*path.split(), *WORKS[path], *more)
        return cli(*words, env={"COLUMNS": "100", "NO_COLOR": "", "TERM": "xterm", **env}).out

    colored = told()
    assert "\x1b[" in colored, "an empty NO_COLOR asks for nothing"
    for one in (told("--color", "never"), *(told(**env) for env in PLAIN)):
        assert "\x1b" not in one
        assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == one


@pytest.mark.manner(8)
@pytest.mark.parametrize("path", WORKS)
def test_letters_of_ascii_are_enough(cli: Cli, everything: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert everything.is_dir()
    prepared(cli, path)
    if path == "report":
        monkeypatch.setitem(WORKS, "report", ("small", "--format", "md"))
    streams = {
        name: io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True) for name in ("stdout", "stderr")
    }
    for name, stream in streams.items():
        monkeypatch.setattr(sys, name, stream)
    assert cli(*path.split(), *WORKS[path]).status == 0
    said = {name: stream.buffer.getvalue() for name, stream in streams.items()}
    assert said["stdout"] or said["stderr"]
    assert b"\\x" not in said["stdout"] + said["stderr"], "a letter of ours has a plain form"
    if path == "run":
        assert b"(+-%)" in said["stdout"]


@pytest.mark.manner(4)
def test_an_error_before_any_command_is_an_object_too(cli: Cli) -> None:
    for words in (("--json",), ("rnu", "--json"), ("slurm", "--json"), ("--color", "pink", "list", "--json")):
        result = cli(*words)
        assert result.status == 2, words
        assert json.loads(result.out)["error"]["message"] in result.err
