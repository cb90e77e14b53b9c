"""``collmark fit``: the table, its words, and its JSON."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SIMULATED = ("run", "--backend", "simulated", "--ranks", "4", "--operation", "all_reduce,stream,barrier")
PLANTED = ("--simulate", "alpha=2e-5", "--simulate", "beta=1e-10", "--simulate", "launch_sd=0.02")
WIDE = ("--sizes", "16B:64MiB:x4", "--launches", "3")


def test_table_shows_what_was_planted(cli: Callable[..., Any]) -> None:
    cli(*SIMULATED, *PLANTED, *WIDE, "--label", "made")
    result = cli("fit", "made")
    caption, *lines = result.out.splitlines()
    assert result.status == 0
    assert caption.startswith("SIMULATED")
    assert "95 % over 3" in " ".join(result.out.split())
    assert max(map(len, result.out.splitlines())) <= 100
    (row,) = (line for line in lines if line.startswith("all_reduce"))
    alpha, asymptote = float(row.split()[1]), float(row.split()[4])
    assert alpha == pytest.approx(20, rel=0.05)
    assert asymptote == pytest.approx(10, rel=0.05)
    assert row.split()[-1] == "16B:64MiB"
    (barrier,) = (line for line in lines if line.startswith("barrier"))
    assert barrier.split()[-1] == "-"


def test_latest_is_the_default(cli: Callable[..., Any]) -> None:
    cli(*SIMULATED, *PLANTED, *WIDE)
    assert cli("fit").out == cli("fit", "latest").out


def test_json_holds_the_fits_in_si_units(cli: Callable[..., Any]) -> None:
    cli(*SIMULATED, *PLANTED, *WIDE)
    said = cli("fit", "latest", "--json").json
    (fit,) = (fit for fit in said["fits"] if fit["series"]["operation"] == "all_reduce")
    assert fit["alpha"]["value"] == pytest.approx(20e-6, rel=0.05)
    assert fit["alpha"]["estimate"]["over"] == "launches"
    assert fit["series"]["marker"] == "SIMULATED"
    assert said["refused"] == []


def test_weak_and_refused_are_said(cli: Callable[..., Any]) -> None:
    cli(*SIMULATED, *PLANTED, "--sizes", "16B:4KiB:x4", "--launches", "1", "--label", "short")
    cli(*SIMULATED, *PLANTED, "--sizes", "16B,4KiB", "--launches", "1", "--label", "two")
    short = cli("fit", "short")
    assert "one launch: no interval" in " ".join(short.out.split())
    assert "beta is" in short.err
    assert "alpha and beta need at least 3" in " ".join(cli("fit", "two").err.split())


def test_run_without_records_has_nothing_to_fit(cli: Callable[..., Any]) -> None:
    cli(*SIMULATED, *PLANTED, *WIDE, "--label", "made")
    (kept,) = Path("results").glob("*/records.jsonl")
    kept.write_text("", encoding="utf-8")
    result = cli("fit", "made")
    assert (result.status, result.out, result.err) == (0, "", "nothing to fit\n")


def test_caption_says_over_how_many_launches_each_interval_may_be(cli: Callable[..., Any]) -> None:
    cli(*SIMULATED, *PLANTED, *WIDE, "--label", "made")
    (kept,) = Path("results").glob("*/records.jsonl")
    lines = kept.read_text(encoding="utf-8").splitlines(keepends=True)
    wanted = [n for n, line in enumerate(lines) if '"operation":"stream"' in line and '"nbytes":16,' in line]
    kept.write_text("".join(line for n, line in enumerate(lines) if n != wanted[0]), encoding="utf-8")
    assert "95 % over 2 to 3 launches" in " ".join(cli("fit", "made").out.split())


def test_each_run_is_fitted_once(cli: Callable[..., Any]) -> None:
    cli(*SIMULATED, *PLANTED, *WIDE, "--label", "made")
    assert cli("fit", "made", "latest").out == cli("fit", "made").out


def test_unknown_run_is_one_line(cli: Callable[..., Any]) -> None:
    result = cli("fit", "nothing")
    assert result.status == 2
    assert result.out == ""
    assert len(result.err.splitlines()) == 1
