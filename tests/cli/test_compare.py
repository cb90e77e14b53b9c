"""``collmark compare`` as its users meet it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.analysis.compare.test_verdict import around, pair

from collmark.analysis.compare.verdict import judge
from collmark.cli.compare_table import AXIS, axis_cell, axis_words
from collmark.core.store import RECORDS_FILE, RUN_FILE

Cli = Callable[..., Any]


def copy_of(measured: str, name: str, factor: float = 1.0, **changes: object) -> Path:
    """Copy a run, its times multiplied."""
    path = Path(measured).with_name(name)
    shutil.copytree(measured, path)
    lines = []
    for line in (path / RECORDS_FILE).read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record.get("timing"):
            numbers = record["timing"]
            record["timing"] = {
                key: value * factor if key in TIMES else value for key, value in numbers.items()
            }  # fmt: skip
        lines.append(json.dumps({**record, **changes}))
    (path / RECORDS_FILE).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


TIMES = {"median", "lower", "upper", "minimum", "p25", "p75", "p95", "p99", "maximum"}


def test_a_run_and_its_slower_copy(cli: Cli, measured: str) -> None:
    slower = copy_of(measured, "slower", 1.5)
    result = cli("compare", measured, str(slower))
    assert result.status == 0
    lines = result.out.splitlines()
    # Equal labels tell nobody which is which.
    assert lines[0].startswith(f"A SIMULATED {Path(measured).name}, 2 launches, ")
    assert lines[1].startswith("B SIMULATED slower, 2 launches, ")
    assert lines[2] == "differs: nothing that was recorded"
    assert "3 cases matched, 0 not" in lines[3]
    table = lines[next(at for at, line in enumerate(lines) if "time B/A" in line) :]
    assert sum(line.startswith("all_reduce") and " 1.50 [" in line for line in table) == 3


def test_json_holds_every_case_in_si_units(cli: Cli, measured: str) -> None:
    slower = copy_of(measured, "slower", 1.5)
    found = cli("compare", measured, str(slower), "--json").json
    assert found["effect"] == 0.05
    rows = found["compared"][0]["comparisons"]
    assert [row["nbytes"] for row in rows] == [64, 512, 4096]
    for row in rows:
        assert row["ratio"] == pytest.approx(1.5)
        assert [b / a for a, b in zip(row["a_seconds"], row["b_seconds"], strict=True)] == pytest.approx([1.5, 1.5])
        assert row["verdict"] in ("slower", "cannot tell")


@pytest.mark.manner(14)
@pytest.mark.parametrize(
    ("factor", "words", "status", "said"),
    [
        (1.0, ("--gate", "slower-than=50%"), 0, "passed"),
        (0.3, ("--gate", "slower-than=5%", "--gate-strict"), 0, "passed"),
        (9.0, ("--gate", "slower-than=5%"), 1, "FAILED"),
        (1.0, ("--gate", "slower-than=0.1%", "--gate-strict"), 1, "FAILED"),
    ],
)
def test_gate(cli: Cli, measured: str, factor: float, words: tuple[str, ...], status: int, said: str) -> None:
    copy = copy_of(measured, "copy", factor)
    result = cli("compare", measured, str(copy), *words)
    assert result.status == status
    assert said in result.err


@pytest.mark.manner(14)
def test_a_gate_that_matched_nothing_fails(cli: Cli, measured: str) -> None:
    copy = copy_of(measured, "copy", status="failed", timing=None)
    result = cli("compare", measured, str(copy), "--gate", "slower-than=5%")
    assert result.status == 1
    assert "no case of A was found in B" in result.err
    assert "not compared: 3 cases of all_reduce, in A and B: B failed" in result.out
    listed = cli("compare", measured, str(copy), "--list-unmatched").out
    assert listed.count("not compared: all_reduce") == 3


def test_a_gate_says_what_of_a_was_not_compared(cli: Cli, measured: str) -> None:
    copy = copy_of(measured, "copy")
    kept = [
        line for line in (copy / RECORDS_FILE).read_text(encoding="utf-8").splitlines() if '"nbytes": 64,' not in line
    ]
    (copy / RECORDS_FILE).write_text("\n".join(kept) + "\n", encoding="utf-8")
    loose = cli("compare", measured, str(copy), "--gate", "slower-than=900%")
    assert loose.status == 0
    assert "2 cases compared, 1 of A not" in " ".join(loose.err.split())
    strict = cli("compare", measured, str(copy), "--gate", "slower-than=900%", "--gate-strict")
    assert strict.status == 1
    assert "1 case of A cannot be compared" in " ".join(strict.err.split())


def test_baselines_are_plain_folders(cli: Cli, measured: str) -> None:
    copy = copy_of(measured, "copy")
    base = Path("results/baselines/nccl-2.27")
    base.mkdir(parents=True)
    shutil.move(copy, base / "one")
    result = cli("compare", "--baseline", "nccl-2.27")
    assert result.status == 0
    assert result.out.startswith("A SIMULATED nccl-2.27, 2 launches")
    wrong = cli("compare", "--baseline", "nccl-2.28")
    assert wrong.status == 2
    assert "no baseline 'nccl-2.28'" in wrong.err
    assert "nccl-2.27" in wrong.err


def test_a_folder_of_runs_is_one_side_and_tells_the_noise_floor(cli: Cli, measured: str) -> None:
    many = Path("many")
    many.mkdir()
    for name, factor in (("one", 1.0), ("two", 1.1)):
        shutil.move(copy_of(measured, name, factor), many / name)
    result = cli("compare", str(many), measured)
    assert "A SIMULATED many, 2 runs, 4 launches" in result.out
    flat = " ".join(result.out.split())
    assert "runs of one side lie within 10 % of each other in 95 % of 3 comparisons" in flat


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "two runs or more"),
        (("latest",), "two runs or more"),
        (("latest", "latest"), "on both sides"),
        (("latest", "nothing"), "no run 'nothing'"),
        (("latest", "x", "--gate-strict"), "--gate-strict needs --gate"),
        (("latest", "x", "--gate", "5%"), "slower-than=PERCENT"),
        (("latest", "x", "--effect", "5"), "must be a percentage"),
        (("latest", ""), "the name of a run is empty"),
        (("--baseline", "", "latest"), "no baseline ''"),
    ],
)
def test_bad_input_is_one_line(cli: Cli, measured: str, words: tuple[str, ...], said: str) -> None:
    assert Path(measured, RUN_FILE).is_file()
    result = cli("compare", *words)
    assert result.status == 2
    assert said in result.err
    assert result.out == ""
    assert len(result.err.strip().splitlines()) == 1


def test_lines_fit_and_intervals_stand_where_they_are(cli: Cli, measured: str) -> None:
    slower = copy_of(measured, "slower", 1.5)
    for width in (80, 100, 140):
        result = cli("compare", measured, str(slower), "--list-unmatched", env={"COLUMNS": str(width)})
        assert max(map(len, result.out.splitlines())) <= width
    head = axis_words(2.0, 0.05)
    assert len(head) == AXIS
    assert head.split() == ["0.5", "1", "+-5%", "2"]
    (row,) = judge([pair(around(1.0, 0.3), around(1.1, 0.3))])
    cell = axis_cell(row, 2.0, 0.05)
    assert len(cell) == AXIS
    assert cell[AXIS // 2] == "|"
    assert cell.index("[") < AXIS // 2 < cell.index("*") < cell.index("]")
