"""``collmark fit``: the table, its words, and its JSON."""

from collections.abc import Callable
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
    assert fit["series"]["simulated"] is True
    assert said["refused"] == []


def test_weak_and_refused_are_said(cli: Callable[..., Any]) -> None:
    cli(*SIMULATED, *PLANTED, "--sizes", "16B:4KiB:x4", "--launches", "1", "--label", "short")
    cli(*SIMULATED, *PLANTED, "--sizes", "16B,4KiB", "--launches", "1", "--label", "two")
    short = cli("fit", "short")
    assert "one launch: no interval" in " ".join(short.out.split())
    assert "beta is" in short.err
    assert "alpha and beta need at least 3" in " ".join(cli("fit", "two").err.split())


def test_each_run_is_fitted_once(cli: Callable[..., Any]) -> None:
    cli(*SIMULATED, *PLANTED, *WIDE, "--label", "made")
    assert cli("fit", "made", "latest").out == cli("fit", "made").out


def test_unknown_run_is_one_line(cli: Callable[..., Any]) -> None:
    result = cli("fit", "nothing")
    assert result.status == 2
    assert result.out == ""
    assert len(result.err.splitlines()) == 1
