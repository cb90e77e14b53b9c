"""Every case with its numbers: what the pictures show, to be read and copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from collmark.analysis.columns import SERIES
from collmark.analysis.figures.series import short_id
from collmark.analysis.figures.words import ABSENT, gigabytes, microseconds
from collmark.analysis.report.cells import (
    name_heading,
    size_cell,
    size_heading,
    status_cell,
    value_cells,
    with_interval,
)
from collmark.analysis.report.content import Cell, Heading, Section, Table, anchor_of
from collmark.analysis.report.material import Material
from collmark.core.marker import reported_words
from collmark.core.units import format_nbytes

ANCHOR = "cases"
KEYS = ("run", "tier", "case")
"""What tells cases of several runs apart."""


def cases(material: Material) -> Section | None:
    """Return the table of cases; None without records."""
    rows = material.cases.to_dict("records")
    if not rows:
        return None
    curves, dtypes = {one["series"] for one in rows}, {one["dtype"] for one in rows if one["nbytes"]}
    # What is the same everywhere is said once, above.
    same = ", ".join(sorted(curves if len(curves) == 1 else ())) + ", ".join(
        ("", *(dtypes if len(dtypes) == 1 else ()))
    )
    told = [name for name, found in (("series", curves), ("dtype", dtypes)) if len(found) > 1]
    headings = (
        name_heading("operation"), *(name_heading(name) for name in told), size_heading(),
        *with_interval("T", "µs"), Heading(name="algbw", unit="GB/s"), Heading(name="busbw", unit="GB/s"),
        Heading(name="T / model"), Heading(name="launches"), Heading(name="wrong"), name_heading("status"),
    )  # fmt: skip
    counts = material.drawn.groupby(list(KEYS))[["wrong", "checked"]].sum()
    table = Table(
        anchor="cases-table",
        caption=f"{same.strip(', ')}. " * bool(same.strip(", "))
        + f"{_time_words(rows)} algbw: nbytes / T; busbw: bytes beside β / T. Status: the worst over launches.",
        headings=headings,
        rows=tuple(_row(one, told, *counts.loc[tuple(one[name] for name in KEYS)]) for one in rows),
        anchors=tuple(_anchor(one) for one in rows),
    )
    return Section(anchor=ANCHOR, title="Cases", question="What are the numbers?", blocks=(table,))


def _time_words(rows: Sequence[dict[str, Any]]) -> str:
    """Return what T is, and what its interval is over."""
    over = "{}, 95 % by Student's t on logarithms over launches."
    reported = reported_words(one["origin"] for one in rows)
    if not reported:
        return over.format("T: geometric mean over launches of the medians")
    is_several = any(one["launches"] > 1 for one in rows)
    words = over.format("geometric mean over launches") if is_several else "one launch: no interval."
    own = "" if all(one["origin"] for one in rows) else "; where not imported, the median"
    return f"T: as the logs give it, {reported}{own}; {words}"


def _anchor(one: dict[str, Any]) -> str:
    """Return the name of a case on the page: the same in every report on its run."""
    return anchor_of("case", short_id("/".join(str(one[name]) for name in (*SERIES, "nbytes", "case"))))


def _row(one: dict[str, Any], told: list[str], wrong: int, checked: int) -> tuple[Cell, ...]:
    seconds = one["center"]
    is_timed, nbytes = seconds > 0, one["nbytes"]
    return (
        Cell(text=f"{one['operation']} {one['marker']}".rstrip()),
        *(Cell(text=one[name]) for name in told),
        size_cell(nbytes, _effective(nbytes, one["requested_nbytes"])),
        *value_cells(microseconds, seconds, one["center_lower"], one["center_upper"]),
        Cell(text=gigabytes(nbytes / seconds) if is_timed and nbytes else ABSENT),
        Cell(text=gigabytes(one["bus_nbytes"] / seconds) if is_timed and nbytes else ABSENT),
        Cell(text=f"{seconds / one['model_seconds']:.2f}" if is_timed and one["fitted"] else ABSENT),
        Cell(text=f"{one['launches']}"),
        Cell(text=f"{wrong}" if checked else ABSENT),
        status_cell(one["case_status"], one["case_share"]),
    )


def _effective(nbytes: int, requested: int) -> str:
    return "" if nbytes == requested else f"{format_nbytes(requested)} → {format_nbytes(nbytes)}"
