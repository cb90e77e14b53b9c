"""``collmark history`` as its users meet it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_compare import copy_of

from collmark.core.store import RUN_FILE

Cli = Callable[..., Any]


@pytest.fixture
def nightly(measured: str) -> list[str]:
    """Return runs of nine nights, from the seventh on half as long again."""
    names = []
    for night in range(9):
        scatter = 1 + 0.01 * ((night * 5) % 7 - 3)
        path = copy_of(measured, f"night{night}", scatter * (1.5 if night >= 6 else 1.0))
        run = json.loads((path / RUN_FILE).read_text(encoding="utf-8"))
        run |= {"label": f"night{night}", "created": f"2030-01-{night + 1:02}T00:00:00Z"}
        (path / RUN_FILE).write_text(json.dumps(run), encoding="utf-8")
        names.append(str(path))
    return names


def test_a_change_is_named_with_its_run_and_size(cli: Cli, nightly: list[str]) -> None:
    result = cli("history", *nightly)
    assert result.status == 0
    assert result.out.startswith("3 cases in two runs or more; 3 changed")
    rows = [line for line in result.out.splitlines() if line.startswith("all_reduce")]
    assert len(rows) == 3
    assert all("x1.5" in row or "x1.4" in row for row in rows)
    assert result.out.count("at night6 (2030-01-07)") == 3
    assert "SIMULATED simulated 1x2" in rows[0]


def test_each_run_has_a_row_when_asked(cli: Cli, nightly: list[str]) -> None:
    result = cli("history", *nightly, "--each", env={"COLUMNS": "120"})
    rows = [line for line in result.out.splitlines() if line.startswith("all_reduce")]
    assert len(rows) == 27
    assert sum("x1." in row for row in rows) == 3


def test_all_runs_of_the_results_are_taken_where_none_is_named(cli: Cli, nightly: list[str]) -> None:
    found = cli("history", "--json").json
    assert len(found["runs"]) == len(nightly) + 1  # and the one they were copied from
    assert [len(case["points"]) for case in found["cases"]] == [10, 10, 10]
    assert found["cases"][0]["changes"][0]["estimate"]["over"] == "runs"


def test_what_is_not_there_is_said(cli: Cli, measured: str) -> None:
    assert Path(measured).is_dir()
    one = cli("history")
    assert (one.status, one.out) == (0, "")
    assert "no case was measured in two runs or more" in one.err
    wrong = cli("history", "--operation", "all_redduce")
    assert wrong.status == 2
    assert "did you mean 'all_reduce'?" in wrong.err
    none = cli("history", "--output", "nowhere")
    assert none.status == 2
    assert "no runs under nowhere" in none.err
