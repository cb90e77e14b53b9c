"""How much of the scatter lies between launches, and how much inside them, series by series."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from collmark.analysis.figures.words import percent
from collmark.analysis.report.cells import name_heading, value_cells, with_interval
from collmark.analysis.report.content import Cell, Heading, Table
from collmark.analysis.report.material import Material
from collmark.analysis.report.scatter import between_ends
from collmark.core.metrics import counted_records
from collmark.core.record import Record
from collmark.core.statistics import log_t_interval
from collmark.core.variance import QUARTILES_OF_NORMAL, Variance, pooled, variances_of

MOST_ROWS = 60


def variance_table(material: Material) -> Table | None:
    """Return the parts of the variance of each series; None where no case has two launches."""
    known: Known = {}
    for one in material.results:
        records = counted_records(one.records, include_unstable=material.include_unstable)
        parts = variances_of(one.records, include_unstable=material.include_unstable)
        known |= {(one.name, key): (found, records[key]) for key, found in parts.items()}
    cases = material.drawn[["panel", "curve", "run", "case"]].drop_duplicates()
    rows = [row for series, own in cases.groupby(["panel", "curve"], sort=False) if (row := _row(series, own, known))]
    if not rows:
        return None
    more = f" The first {MOST_ROWS} of {len(rows)}." if len(rows) > MOST_ROWS else ""
    return Table(
        anchor="variances",
        caption="Standard deviations of ln T, in %, cases pooled; 95 % over launches: chi-square for what lies between "
        "them, Student's t on logarithms for what lies inside. Between: without what the repetitions of a launch leave "
        f"open in its median.{more}",
        headings=(
            name_heading("operation"), name_heading("series"), Heading(name="cases"), Heading(name="launches"),
            *with_interval("between launches", "%"), *with_interval("inside one", "%"),
            Heading(name="left open in a median", unit="%"),
        ),
        rows=tuple(rows[:MOST_ROWS]),
    )  # fmt: skip


Known = dict[tuple[str, str], tuple[Variance, list[Record]]]


def _row(series: tuple[str, str], cases: pd.DataFrame, known: Known) -> tuple[Cell, ...] | None:
    keys = [key for key in zip(cases["run"], cases["case"], strict=True) if key in known]
    if not keys:
        return None
    parts = pooled([known[key][0] for key in keys])
    return (
        Cell(text=series[0]), Cell(text=series[1]), Cell(text=f"{parts.cases}"), Cell(text=f"{parts.launches}"),
        *value_cells(percent, parts.between, *between_ends(parts)),
        *value_cells(percent, parts.inside, *_inside_ends([record for key in keys for record in known[key][1]])),
        Cell(text=percent(math.sqrt(parts.sampling))),
    )  # fmt: skip


def _inside_ends(records: Sequence[Record]) -> tuple[float, float]:
    """Return the interval over launches of the standard deviation inside one, its cases pooled."""
    logs: dict[int, list[float]] = {}
    for record in records:
        if record.timing is not None and record.timing.p25 > 0:
            logs.setdefault(record.launch, []).append(math.log(record.timing.p75 / record.timing.p25))
    squares = [sum(log**2 for log in own) / len(own) / QUARTILES_OF_NORMAL**2 for own in logs.values()]
    interval = log_t_interval(squares) if len(squares) > 1 and min(squares) > 0 else None
    return (math.nan, math.nan) if interval is None else (math.sqrt(interval.lower), math.sqrt(interval.upper))
