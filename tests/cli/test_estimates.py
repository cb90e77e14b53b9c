"""Wherever a command shows an estimate: unit, interval, level and count, or that one launch has none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Cli
from tests.cli.test_compare import copy_of

SIMULATED = ("--backend", "simulated", "--operation", "all_reduce", "--ranks", "2")
SWEEP = (*SIMULATED, "--sizes", "16B:16MiB:x16")

# words, then what its stdout says of: the unit, the interval with its level, what it is over and how many
SEVERAL: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "run": (("run", *SWEEP, "--launches", "3"), (r"\(us\)", r"\(GB/s\)", "95 % over 3 launches", r"\(\+-%\)")),
    "list": (("list", "one"), (r"\(us\)", r"\(GB/s\)", "95 % over 3 launches", r"\(\+-%\)")),
    "fit": (("fit", "one"), (r"\(us\)", "GB/s", "95 %", "3 launches", r"\[[\d.]+, [\d.]+\]")),
    "compare": (("compare", "one", "two"), ("time B/A", "95 %", "3 launches", r"\d\.\d+ \[\d\.\d+, \d\.\d+\]")),
    "history": (("history",), (r"\(us\)", "95 % over runs", "runs")),
    "report": (("report", "one", "--format", "md"), ("GB/s", "95 %", "3 launches", "µs", r"\[[\d.,]+, [\d.,]+\]")),
}
"""By command."""


def labelled_copy(path: Path, label: str) -> None:
    file = copy_of(str(path), f"20300101T000000Z-{label}", 1.1) / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | {"label": label}), encoding="utf-8")


@pytest.fixture
def three(cli: Cli) -> None:
    """Lay two runs of three launches."""
    assert cli("run", *SWEEP, "--launches", "3", "--label", "one").status == 0
    (path,) = Path("results").iterdir()
    labelled_copy(path, "two")


@pytest.mark.manner(15)
@pytest.mark.usefixtures("three")
def test_estimates_say_unit_interval_level_and_count(cli: Cli) -> None:
    for name, (words, wanted) in SEVERAL.items():
        result = cli(*words, env={"COLUMNS": "400"})
        assert result.status == 0, result.err
        for pattern in wanted:
            assert re.search(pattern, result.out), (name, pattern, result.out)


ONE = {
    "run": ("run", *SWEEP, "--launches", "1"),
    "list": ("list", "alone"),
    "fit": ("fit", "alone"),
    "compare": ("compare", "alone", "copy"),
    "report": ("report", "alone", "--format", "md"),
}


@pytest.mark.manner(15)
def test_one_launch_says_that_it_has_no_interval(cli: Cli) -> None:
    assert cli("run", *SWEEP, "--launches", "1", "--label", "alone").status == 0
    (path,) = Path("results").iterdir()
    labelled_copy(path, "copy")
    for name, words in ONE.items():
        result = cli(*words, env={"COLUMNS": "400"})
        assert result.status == 0, result.err
        assert re.search(r"one launch: no interval|\(one launch\)", result.out, re.IGNORECASE), (name, result.out)


def estimates(thing: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - whatever JSON holds
    """Yield every object that has both ends of an interval."""
    if isinstance(thing, dict):
        if {"lower", "upper", "value"} <= set(thing):
            yield thing
        for value in thing.values():
            yield from estimates(value)
    elif isinstance(thing, list):
        for value in thing:
            yield from estimates(value)


@pytest.mark.manner(15)
@pytest.mark.usefixtures("three")
def test_estimates_of_json_have_level_count_and_what_was_replicated(cli: Cli) -> None:
    for words in (("fit", "one"), ("compare", "one", "two"), ("history",), ("claims", "one"), ("list", "one")):
        found = [one for line in cli(*words, "--json").objects for one in estimates(line)]
        assert found or words[0] in {"history", "list", "claims"}, words
        for one in found:
            assert one["value"] is None or one["lower"] is None or {"level", "count", "over"} <= set(one), one


@pytest.mark.manner(16)
def test_units_are_the_same_at_every_magnitude_and_nothing_real_is_zero(cli: Cli) -> None:
    heads = set()
    sizes = ("--sizes", "16B,64KiB", "--launches", "2")
    for alpha in ("1e-7", "1e-4", "1.0"):
        result = cli("run", *SIMULATED, *sizes, "--simulate", f"alpha={alpha}", env={"COLUMNS": "200"})
        assert result.status == 0, result.err
        _caption, _names, units, *rows = result.out.splitlines()
        heads.add(" ".join(units.split()))
        cells = [cell for row in rows for cell in row.split()[1:]]
        assert not [cell for cell in cells if re.fullmatch(r"0\.0*", cell)]
    assert heads == {"(us) (+-%) (GB/s) (GB/s)"}


@pytest.mark.manner(16)
def test_what_is_not_there_is_a_dash_and_null(cli: Cli) -> None:
    wrong = (*SIMULATED, "--sizes", "64B", "--launches", "2", "--simulate", "wrong_rank=1")
    (row,) = cli("run", *wrong).out.splitlines()[3:]
    assert row.split()[-6:-2] == ["-"] * 4
    record = cli("run", *wrong, "--json").objects[1]
    assert [record[name] for name in ("timing", "algorithm_bandwidth", "bus_bandwidth")] == [None] * 3
    (told,) = cli("export", "latest", "--json").json["rows"][:1]
    assert told["bus_bandwidth"] is None


@pytest.mark.manner(17)
def test_requested_and_effective_sizes_are_both_shown_where_they_differ(cli: Cli) -> None:
    sizes = ("--sizes", "3001,4096", "--launches", "2")
    for words in (("plan", *SIMULATED, *sizes), ("run", *SIMULATED, *sizes), ("list", "latest")):
        out = cli(*words).out
        assert "3001->3000 B" in out, words
        assert "4 KiB" in out
        assert "4096->" not in out
    rows = cli("export", "latest", "--json").json["rows"]
    assert {(row["case_requested_nbytes"], row["case_nbytes"]) for row in rows} == {(3001, 3000), (4096, 4096)}
    records = [one for one in cli("run", *SIMULATED, *sizes, "--json").objects if one["event"] == "record"]
    assert {(one["case"]["requested_nbytes"], one["case"]["nbytes"]) for one in records} == {(3001, 3000), (4096, 4096)}
    page = cli("report", "latest", "-o", "-").out
    assert "3001" in page
