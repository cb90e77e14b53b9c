"""``collmark import``: what a user sees, stores and is asked for."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.analysis.importers import corpus

Cli = Callable[..., Any]

HEAD = """\
# nThread 1 nGpus 1 minBytes 1024 maxBytes 4096 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1
#
# Using devices
#  Rank  0 Group  0 Pid   1000 on {0} device  0 [0x17] NVIDIA A100-SXM4-40GB
#  Rank  1 Group  0 Pid   1001 on {1} device  1 [0x65] NVIDIA A100-SXM4-40GB
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""
FIGURES = "   {time:6.2f}  {rate:6.2f}  {rate:6.2f}  {wrong:>5}"
ROW = "{size:12d}  {count:12d}     float     sum      -1" + FIGURES + FIGURES + "\n"


def nccl(*times: float, hosts: tuple[str, str] = ("node01", "node01"), wrong: int = 0) -> str:
    """Return a log of all_reduce on two ranks, at 1 KiB and so on; bus and algorithm bandwidth are the same."""
    rows = [
        ROW.format(size=1024 << i, count=256 << i, time=time, rate=(1024 << i) / time / 1e3, wrong=wrong)
        for i, time in enumerate(times)
    ]
    return HEAD.format(*hosts) + "".join(rows)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Return a log that tells all but its tier."""
    path = tmp_path / "a100.log"
    path.write_text(nccl(20.0, 21.0, 24.0))
    return path


def stored(results: Path) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Return run.json and records of each run, oldest first."""
    return [
        (
            json.loads((run / "run.json").read_text()),
            [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()],
        )
        for run in sorted(results.iterdir())
    ]


def test_a_log_becomes_a_run_that_fit_claims_and_report_take(cli: Cli, log: Path, tmp_path: Path) -> None:
    done = cli("import", str(log), "--tier", "rdma:infiniband", "--output", str(tmp_path / "r"))
    assert (done.status, done.err) == (0, "")
    assert "a100: 6 records of all_reduce (nccl-tests)" in done.out
    ((run, records),) = stored(tmp_path / "r")
    assert (run["label"], len(run["cases"]), run["launches"]) == ("a100", 6, [])
    first = records[0]
    assert (first["status"], first["case"]["nbytes"], first["case"]["backend"]) == ("imported", 1024, "nccl")
    assert first["case"]["placement"] == {"ranks_per_node": 2}
    assert (first["evidence"]["tier"], first["evidence"]["fabric"]) == ("rdma", "infiniband")
    assert first["imported"]["seconds"] == pytest.approx(20e-6)
    assert first["imported"]["printed"]["time"] == "20.00"
    assert (first["imported"]["line"], first["imported"]["ranks_from"]) == (10, "text")
    assert "timing" not in first or first["timing"] is None
    shows = (("list",), ("list", "a100"), ("fit", "a100"), ("report", "a100", "--format", "md"), ("claims", "a100"))
    for words in shows:
        shown = cli(*words, "--output", str(tmp_path / "r"))
        assert shown.status == 0, shown.err
        assert "IMPORTED" in shown.out or words[0] == "claims"
    exported = cli("export", "a100", "--json", "--output", str(tmp_path / "r")).json["rows"][0]
    assert exported["bus_bandwidth"] == pytest.approx(1024 / 20e-6)
    assert json.loads(exported["imported_printed"])["time"] == "20.00"


def test_json_has_the_fields_that_others_rely_on_and_stores_nothing(cli: Cli, log: Path, tmp_path: Path) -> None:
    done = cli("import", str(log), "--json", "--output", str(tmp_path / "r"))
    assert not (tmp_path / "r").exists()
    assert set(done.json) == {"rows", "skipped"}
    assert done.json["rows"][1] == {
        "tool": "nccl-tests", "operation": "all_reduce", "dtype": "float32", "reduction": "sum", "ranks": 2,
        "ranks_from": "text", "nbytes": 1024, "nbytes_printed": 1024, "seconds": pytest.approx(20e-6),
        "statistic": "one loop, mean of processes", "algorithm_bandwidth": pytest.approx(0.05e9),
        "bus_bandwidth": pytest.approx(0.05e9), "wrong": 0, "in_place": True, "group": 1, "file": str(log), "line": 10,
    }  # fmt: skip


def test_what_a_log_does_not_tell_is_asked_for(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "osu.out"
    path.write_text(
        "# OSU MPI Allgather Latency Test v5.8\n# Size       Avg Latency(us)\n1024                   12.50\n"
    )
    asked = cli("import", str(path), "--output", str(tmp_path / "r"))
    assert asked.status == 2
    assert "--ranks" in asked.err
    assert not (tmp_path / "r").exists()
    told = cli("import", str(path), "--ranks", "8", "--output", str(tmp_path / "r"))
    assert (told.status, "--nodes" in told.err) == (2, True)
    done = cli("import", str(path), "--ranks", "8", "--nodes", "2", "--output", str(tmp_path / "r"))
    assert done.status == 0, done.err
    ((_run, (record,)),) = stored(tmp_path / "r")
    # OSU prints one rank's block; S is what each rank receives in all.
    assert record["case"]["nbytes"] == 8 * 1024
    assert record["case"]["placement"] == {"nodes": 2, "ranks_per_node": 4}
    assert record["imported"]["ranks_from"] == "option"


def test_an_operation_that_columns_do_not_tell_is_asked_for(cli: Cli, tmp_path: Path) -> None:
    """all_gather, all_to_all and all_to_all_v print the same columns where nothing is checked."""
    path = tmp_path / "bare.log"
    half = "   100.00   83.89   73.40    N/A"
    path.write_text(f"     8388608        262144     float    none      -1{half}{half}\n")
    rows = cli("import", str(path), "--json").json["rows"]
    assert [(row["operation"], row["nbytes"], row["ranks"]) for row in rows] == [("", 8388608, 8)] * 2
    facts = ("--nodes", "1", "--output", str(tmp_path / "r"))
    asked = cli("import", str(path), *facts)
    assert asked.status == 2
    assert "--operation all_gather, all_to_all or all_to_all_v" in asked.err.replace("\n    ", " ")
    assert asked.err.count("--operation") == 1
    assert not (tmp_path / "r").exists()
    assert cli("import", str(path), "--operation", "broadcast", *facts).status == 2
    told = cli("import", str(path), "--operation", "all_gather", *facts)
    assert told.status == 0, told.err
    assert "2 records of all_gather" in told.out


def test_several_logs_are_launches_only_when_asked(cli: Cli, tmp_path: Path) -> None:
    paths = []
    for number, time in enumerate((20.0, 22.0, 21.0)):
        paths.append(str(tmp_path / f"log{number}"))
        Path(paths[-1]).write_text(nccl(time, time + 1))
    apart = cli("import", *paths, "--output", str(tmp_path / "apart"))
    assert [run["label"] for run, _records in stored(tmp_path / "apart")] == ["log0", "log1", "log2"]
    assert apart.status == 0
    cli("import", *paths, "--as-launches", "--label", "all", "--output", str(tmp_path / "one"))
    ((run, records),) = stored(tmp_path / "one")
    assert (run["label"], run["notices"]) == ("all", [])
    assert sorted(record["launch"] for record in records if record["case"]["nbytes"] == 1024) == [1, 1, 2, 2, 3, 3]
    fit = cli("list", "--output", str(tmp_path / "one"))
    assert fit.status == 0


def test_launches_that_differ_in_their_cases_are_told(cli: Cli, tmp_path: Path) -> None:
    longer, shorter, other = (tmp_path / name for name in ("longer", "shorter", "other"))
    longer.write_text(nccl(20.0, 21.0, 24.0))
    shorter.write_text(nccl(22.0, 23.0))
    other.write_text(nccl(22.0, 23.0, hosts=("node01", "node02")))
    for paths, words in (
        ((longer, shorter), "4 cases in 2 of 2 launches (all_reduce 1024 B float32 on 1x2, all_reduce 2048 B"),
        ((longer, shorter), "float32 on 1x2); 2 cases in 1 of 2 launches (all_reduce 4096 B float32 on 1x2)"),
        ((longer, other), "10 cases in 1 of 2 launches (all_reduce 1024 B float32 on 1x2,"),
    ):
        results = tmp_path / f"{paths[1].name}"
        done = cli("import", *map(str, paths), "--as-launches", "--output", f"{results}.out", "--label", "all")
        assert done.status == 0
        (told,) = done.err.splitlines()
        assert told.startswith("note: launches differ in their cases: ")
        assert words in told
        assert words in stored(Path(f"{results}.out"))[0][0]["notices"][0]


def test_notices_of_a_log_drown_nothing(cli: Cli, tmp_path: Path) -> None:
    results, path = ("--output", str(tmp_path / "r")), tmp_path / "odd.log"
    text = nccl(*(20.0 + i for i in range(14)))
    odd = [
        re.sub(r"\d\.\d\d(?=      0 )", "99.99", line, count=1) if "float " in line else line
        for line in text.split("\n")
    ]
    path.write_text("\n".join(odd).replace("maxBytes 4096", "maxBytes 8388608"))
    cli("import", str(path), "--tier", "nvlink", *results)
    assert len(stored(tmp_path / "r")[0][0]["notices"]) == 14
    shown = cli("list", "odd", *results).err
    assert shown.count("note: ") == 11
    assert "note: 4 more notices: --verbose shows them" in shown
    assert cli("list", "odd", "--verbose", *results).err.count("note: ") == 14
    reported = cli("report", "odd", "--format", "md", *results).out
    assert (reported.count("**notice:**"), "4 more notices, in run.json" in reported) == (11, True)


def test_a_copy_is_no_launch(cli: Cli, log: Path, tmp_path: Path) -> None:
    copy, link, doubled = tmp_path / "copy", tmp_path / "link", tmp_path / "doubled"
    copy.write_bytes(log.read_bytes())
    link.symlink_to(log)
    doubled.write_bytes(2 * log.read_bytes())
    linked = cli("import", str(log), str(link), "--output", str(tmp_path / "r"))
    assert (linked.status, f"named twice, also as {log}" in linked.err.replace("\n    ", " ")) == (2, True)
    for names in ((log, copy), (doubled,)):
        done = cli("import", *map(str, names), "--as-launches", "--output", str(tmp_path / "r"))
        assert done.status == 2
        assert f"{log if len(names) > 1 else doubled}:10" in done.err.replace("\n    ", " ")
        assert not (tmp_path / "r").exists()
    assert cli("import", str(log), str(copy), "--output", str(tmp_path / "r")).status == 0, "two runs"
    single = tmp_path / "once", tmp_path / "again"
    for path in single:  # 1.10 us may be measured twice
        path.write_text("# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n8                       1.10\n")
    facts = ("--nodes", "1", "--device", "cpu", "--as-launches", "--output", str(tmp_path / "r"))
    assert cli("import", *map(str, single), *facts).status == 0


def test_a_case_that_stands_twice_in_a_log_goes_to_a_run_of_its_own(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "twice.log"
    path.write_text(nccl(20.0, 21.0) + nccl(30.0, 31.0))
    cli("import", str(path), "--output", str(tmp_path / "r"))
    found = stored(tmp_path / "r")
    assert [run["label"] for run, _records in found] == ["twice", "twice-2"]
    assert [records[0]["imported"]["seconds"] for _run, records in found] == pytest.approx([20e-6, 30e-6])


def test_one_table_is_one_run(cli: Cli, tmp_path: Path) -> None:
    """Its first sizes are less than an element a rank, and a line came twice."""
    path = tmp_path / "table.log"
    rows = [ROW.format(size=size, count=size // 4, time=10.0, rate=size / 1e4, wrong=0) for size in (0, 0, 4, 8, 16)]
    head = HEAD.format("node01", "node01").replace("minBytes 1024 maxBytes 4096", "minBytes 1 maxBytes 16")
    path.write_text(head + "".join([*rows[:4], *rows[3:]]))
    read = cli("import", str(path), "--json").json["rows"]
    assert [row["nbytes"] for row in read] == [0, 0, 0, 0, 4, 4, 8, 8, 16, 16]
    done = cli("import", str(path), "--output", str(tmp_path / "r"))
    assert "size 0 comes several times" in done.err
    assert "table.log:14: the line before it once more" in done.err.replace("\n    ", " ")
    ((_run, records),) = stored(tmp_path / "r")
    assert [record["case"]["nbytes"] for record in records] == [0, 0, 4, 4, 8, 8, 16, 16]
    assert cli("list", "latest", "--output", str(tmp_path / "r")).err.count("warning") == 0


def test_a_wrong_result_has_no_bandwidth(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "wrong.log"
    path.write_text(nccl(20.0, wrong=7))
    done = cli("import", str(path), "--output", str(tmp_path / "r"))
    assert done.status == 1
    said = done.err.replace("\n    ", " ")
    assert f"{path}:10: the tool found 14 wrong elements" in said
    assert f"error: 2 figures with wrong results, {path}:10 first" in said
    assert "wrong: 2 records of all_reduce" in done.out
    ((_run, records),) = stored(tmp_path / "r")
    assert [(record["status"], record["check"]["wrong"]) for record in records] == [("wrong", 7)] * 2
    assert (
        f"7 wrong elements: {path}:10" in cli("report", "wrong", "--format", "md", "--output", str(tmp_path / "r")).out
    )
    read = cli("import", str(path), "--json")
    assert (read.status, read.json["error"]["status"], read.json["rows"][0]["wrong"]) == (1, 1, 7)
    assert "GB/s" not in cli("fit", "wrong", "--output", str(tmp_path / "r")).out


def test_gzip_and_stdin_are_read(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "packed"
    path.write_bytes(gzip.compress(nccl(20.0).encode()))
    packed = cli("import", str(path), "--json").json["rows"]

    class Standard:
        buffer = path.open("rb")

    monkeypatch.setattr("sys.stdin", Standard)
    piped = cli("import", "-", "--json").json["rows"]
    assert [{**row, "file": ""} for row in packed] == [{**row, "file": ""} for row in piped]
    assert piped[0]["file"] == "<stdin>"


def test_a_file_nobody_recognises_is_an_error_that_lists_formats_and_loses_nothing(
    cli: Cli, log: Path, tmp_path: Path
) -> None:
    other = tmp_path / "README"
    other.write_text("Nothing to see here.\n")
    done = cli("import", str(other), str(log), "--output", str(tmp_path / "r"))
    assert done.status == 2
    for word in ("README", "nccl-tests", "OSU", "Intel MPI", "perftest"):
        assert word in done.err.replace("\n    ", " ")
    assert len(stored(tmp_path / "r")) == 1


def test_json_of_an_error_is_one_object_with_what_was_read(cli: Cli, log: Path, tmp_path: Path) -> None:
    other = tmp_path / "README"
    other.write_text("Nothing to see here.\n")
    some = cli("import", str(log), str(other), "--json")
    assert some.status == 2
    assert len(some.json["rows"]) == 6
    assert some.json["error"]["status"] == 2
    assert f"error: {some.json['error']['message']}" in some.err
    assert some.err.count("error: ") == 1
    none = cli("import", str(other), "--json")
    assert (none.status, none.json["event"]) == (2, "error")
    assert set(some.json) == {"rows", "skipped", *none.json}


def test_tables_say_what_t_is_and_claim_nothing_that_the_log_does_not_tell(cli: Cli, log: Path, tmp_path: Path) -> None:
    results = ("--output", str(tmp_path / "r"))
    cli("import", str(log), "--tier", "nvlink", *results)
    for words in ("list", "fit"):
        shown = " ".join(cli(words, "a100", *results).out.split())
        assert "one launch: no interval; T: one loop, mean of processes (nccl-tests)" in shown
        assert not any(word in shown for word in ("scheduling", "buffers", "in brackets"))
    for row in cli("export", "a100", "--json", *results).json["rows"]:
        assert [row[f"case_{name}"] for name in ("buffers", "scheduling", "binding")] == [None] * 3


def test_errors_are_short_however_many_files_and_reasons(cli: Cli, tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.txt" for number in range(9)]
    for path in paths:
        path.write_text("Nothing to see here.\n")
    names = [path.name for path in paths]
    short = cli("import", *names)
    assert short.status == 2
    assert "0.txt, 1.txt, 2.txt and 6 more: no tool's output was recognised" in short.err
    assert (len(short.err.splitlines()), short.err.count("nccl-tests")) == (1, 1)
    assert len(short.err) < 500
    assert all(name in cli("import", "--verbose", *names).err for name in names)


def test_operations_that_collmark_has_not_are_one_reason(cli: Cli, tmp_path: Path) -> None:
    path = corpus.ROOT / "nvbandwidth" / "every-case-2-gpus-v02.log"
    found = cli("import", str(path), "--output", str(tmp_path / "r"))
    assert found.status == 2
    (line,) = found.err.splitlines()
    assert "rows: no operation of collmark (host_to_device_memcpy, " in line
    assert line.endswith("; --json prints all figures")
    assert len(line) < 320


def test_what_is_said_of_a_line_is_one_line_in_a_pipe(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / f"{'long' * 12}.log"
    path.write_text(nccl(20.0, 21.0).replace("   0.05    0.05", "   0.05    1.23", 1))
    found = cli("import", str(path), "--json")
    assert found.err == f"{path}:10: bus bandwidth is printed as 1.23 GB/s, but size and time give 0.0512 GB/s\n"
    assert len(found.err) > 100


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("--ranks", "0"), "--ranks"), (("--nodes", "x"), "--nodes"), (("--tier", "nvlnk"), "--tier"),
        (("--tier", "tcp:infiniband"), "--tier"), (("--operation", "allreduce"), "all_reduce"),
        (("--dtype", "floaty"), "dtype"), (("--label", "a/b"), "label"), (("nowhere.log",), "nowhere.log"),
    ],
)  # fmt: skip
def test_wrong_words_are_one_line_and_status_2(cli: Cli, log: Path, words: tuple[str, ...], names: str) -> None:
    done = cli("import", str(log), *words)
    assert done.status == 2
    assert names in done.err
    assert done.err.startswith("error: ")


def test_planted_text_stays_text(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text(nccl(20.0, 21.0, 24.0, hosts=("<script>alert(1)</script>", "<script>alert(1)</script>")))
    cli("import", str(path), "--output", str(tmp_path / "r"))
    cli("report", "x", "-o", str(tmp_path / "x.html"), "--output", str(tmp_path / "r"))
    assert "<script>alert" not in (tmp_path / "x.html").read_text()
