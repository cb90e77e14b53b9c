"""``collmark fit``: the table, its words, and its JSON."""

import re
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
    assert re.search(
        r"note: beta is weak: all_reduce \(the largest size reaches \d+ % of 1/beta, needs 89 %",
        " ".join(short.err.split()),
    )
    said = " ".join(cli("fit", "two").err.split())
    assert "note: no fit: all_reduce, stream (2 sizes: alpha and beta need at least 3)" in said


SHORT = ("--simulate", "alpha=2e-5", "--simulate", "beta=1e-9")
VARIANTS = ("--cadence", "isolated,streaming", "--buffers", "same,rotated", "--dtype", "float32,float64")


def notes_of(text: str) -> list[str]:
    return [" ".join(note.split()) for note in text.split("note: ")[1:]]


def test_alike_notes_are_said_once_and_variants_are_named_where_they_differ(cli: Callable[..., Any]) -> None:
    cli("run", "--backend", "simulated", "--ranks", "2", "--operation", "all_reduce", *SHORT, *VARIANTS,
        "--sizes", "16B:64KiB:x8", "--launches", "1", "--label", "many")  # fmt: skip
    assert len(cli("fit", "many", "--json").json["fits"]) == 8
    short, long = notes_of(cli("fit", "many").err), notes_of(cli("-v", "fit", "many").err)
    # One note for each thing to say, and not one for each curve.
    assert len({note.partition(":")[0] for note in short}) == len(short) <= 2
    (note,) = (one for one in short if one.startswith("beta is weak"))
    assert re.search(r"all_reduce float(32|64) (isolated|streaming) (same|rotated) buffers", note)
    assert re.search(r" and \d more", note)
    (whole,) = (one for one in long if one.startswith("beta is weak"))
    names = re.findall(r"all_reduce float\d\d \w+ \w+ buffers", whole)
    assert len(names) == len(set(names)) == 8


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
