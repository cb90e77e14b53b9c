"""What is said after a run can be pasted, and shows what comes from a file without obeying it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.prove.modes_draws import distribution

from collmark.cli.conclusion import next_command, resume_command
from collmark.cli.grammar import program

RUN = (
    "run",
    "--backend",
    "simulated",
    "--operation",
    "all_reduce",
    "--sizes",
    "64B",
    "--ranks",
    "2",
    "--label",
    "made",
)


@pytest.mark.parametrize(
    ("typed", "path", "shown"),
    [
        (".venv/bin/collmark", "", ".venv/bin/collmark"),
        ("/a place/collmark", "", "'/a place/collmark'"),
        ("/work/collmark", "here", "collmark"),
        ("/work/pytest", "", "collmark"),
    ],
)
def test_the_program_is_named_as_it_can_be_typed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, typed: str, path: str, shown: str
) -> None:
    (tmp_path / "here").mkdir()
    found = tmp_path / "here" / "collmark"
    found.touch(0o755)
    monkeypatch.setattr("sys.argv", [typed])
    monkeypatch.setenv("PATH", str(tmp_path / path) if path else "/nowhere")
    assert program() == shown
    assert resume_command("r") == f"{shown} run --resume r"
    assert callable(next_command)


LATE = ("--simulate", "straggler_rank=1", "--simulate", "straggler_delay=1e-5")


def test_a_run_ends_with_who_is_late_or_that_nobody_is(cli: Callable[..., Any]) -> None:
    for words in (cli(*RUN, *LATE, "--launches", "2").err, cli("list", "latest").err):
        said = " ".join(words.split())
        assert "rank 1 (simulated) enters late in 1 of 1 case (simulated 1x2): last in 100 [100, 100] % of" in said
        assert "(chance 50 %)" in said
        assert "95 % over 2 launches)" in said
        assert "no straggler" not in said
    said = " ".join(cli(*RUN).err.split())
    assert "no straggler: in 1 case no rank enters or leaves last by over 10 % of T" in said
    assert "enters late" not in said


def test_the_last_object_of_a_run_holds_who_is_late(cli: Callable[..., Any]) -> None:
    end = json.loads(cli(*RUN, *LATE, "--json").out.splitlines()[-1])
    (late,) = end["stragglers"]
    assert (late["end"], late["rank"], late["host"], late["cases"]) == ("entered", 1, "simulated", 1)
    assert late["share"]["interval"]["over"] == "launches"
    assert json.loads(cli(*RUN, "--json").out.splitlines()[-1])["stragglers"] == []


def test_several_modes_are_told_wherever_a_run_is_shown(cli: Callable[..., Any]) -> None:
    first = " ".join(cli(*RUN, "--launches", "2").err.split())
    assert "several modes" not in first
    (path,) = Path("results").glob("*/records.jsonl")
    two = np.concatenate([np.full(60, 1e-5), np.full(40, 2e-5)]) * np.exp(np.linspace(-0.03, 0.03, 100))
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        record["timing"]["histogram"] = msgspec.to_builtins(distribution(two))
        lines.append(json.dumps(record) + "\n")
    path.write_text("".join(lines), encoding="utf-8")
    words = "several modes of T inside a launch in 1 case, whose median is the time of one of them or of none"
    said = " ".join(cli("list", "latest").err.split())
    assert re.search(rf"{words}: SIMULATED all_reduce 64 B float32: 9\.82 us in 60 %, 20\.2 us in 40 %", said)
    assert words in " ".join(cli("report", "latest", "--format", "md").out.split())
    (told,) = cli("list", "latest", "--json").json["modes"]
    assert [round(share["value"], 1) for share in told["shares"]] == [0.6, 0.4]
    assert json.loads(cli(*RUN, "--json").out.splitlines()[-1])["modes"] == []


def test_what_stands_in_a_file_moves_no_cursor(cli: Callable[..., Any]) -> None:
    cli(*RUN)
    (path,) = Path("results").glob("*/run.json")
    run = json.loads(path.read_text(encoding="utf-8"))
    run |= {"label": "\x1b[31mred", "notices": ["\x1b]0;title\x07"], "command": ["\x1b[2J"]}
    path.write_text(json.dumps(run), encoding="utf-8")
    for words in (["list"], ["list", path.parent.name], ["fit", path.parent.name]):
        result = cli(*words)
        assert result.status == 0
        assert "\x1b" not in result.out + result.err
