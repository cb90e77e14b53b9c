"""What was measured while ranks shared a GPU is marked on every screen."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RUN = ("run", "--backend", "simulated", "--operation", "all_reduce", "--sizes", "64B:16KiB:x4", "--ranks", "2")
Cli = Callable[..., Any]


@pytest.fixture
def shared(cli: Cli) -> None:
    """Make a run whose records have the tier of ranks that shared a GPU."""
    assert cli(*RUN, "--launches", "2").status == 0
    (path,) = Path("results").glob("*/records.jsonl")
    changes = {"simulated": False, "clock": "shared", "evidence": {"tier": "shared-gpu", "because": ["made"]}}
    lines = [json.dumps(json.loads(line) | changes) for line in path.read_text(encoding="utf-8").splitlines()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.usefixtures("shared")
def test_tables_say_so_above_and_below(cli: Cli) -> None:
    shown = cli("list", "latest")
    assert shown.out.startswith("TEST simulated, cpu, 1 node x 2 ranks; intervals")
    last = shown.err.splitlines()[-1]
    assert last == "TEST: no figure above was measured (ranks shared a GPU, an arrangement to test in)"
    (row,) = (line for line in cli("list").out.splitlines() if "all_reduce" in line)
    assert " TEST 10 converged " in " ".join(row.split())


@pytest.mark.usefixtures("shared")
def test_nothing_is_fitted_or_decided(cli: Cli) -> None:
    fitted = cli("fit", "latest")
    assert "no record to fit to: 10 of a test arrangement" in " ".join(fitted.err.split())
    claims = cli("claims", "latest", "--json").json
    decided = [one for one in claims["findings"] if one["kind"] == "M" and one["verdict"] != "no data"]
    assert decided == []


@pytest.mark.usefixtures("shared")
def test_machines_are_told_too(cli: Cli) -> None:
    (overview,) = cli("list", "--json").json["runs"]
    assert (overview["marker"], overview["simulated"]) == ("TEST", False)
    assert cli("export", "latest", "-o", "run.csv").status == 0
    with Path("run.csv").open(encoding="utf-8", newline="") as file:
        assert {row["evidence_tier"] for row in csv.DictReader(file)} == {"shared-gpu"}
