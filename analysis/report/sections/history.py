"""Cases over three runs or more, in order of time: when did it change."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import pandas as pd

from collmark.analysis.compare.history import History, histories, in_time
from collmark.analysis.compare.verdict import RATE
from collmark.analysis.figures.place import placed
from collmark.analysis.figures.words import microseconds
from collmark.analysis.report.cells import name_heading, size_cell, size_heading, value_cells, with_interval
from collmark.analysis.report.content import Cell, Heading, Section, Table
from collmark.analysis.report.material import Material
from collmark.analysis.report.pictures import MOST_PANELS, picture
from collmark.core.units import format_nbytes

ANCHOR = "history"
LEAST = 3
"""Runs of a case from which on it has a history: two stand against each other as they are."""


def history(material: Material) -> Section | None:
    """Return the cases that changed, or lie furthest apart; None where no case is in three runs."""
    if len(material.results) < LEAST:
        return None
    rows = material.table[material.table["sentinel"] == ""]
    tables = [rows[rows["run"] == one.name] for one in material.results]
    found = histories(material.results, tables=tables, include_unstable=material.include_unstable)
    long = [one for one in found if len(one.points) >= LEAST]
    if not long:
        return None
    numbers = f"{ANCHOR}-table"
    table = drawn_histories(material, long)
    drawing = picture("history", table, numbers)
    return Section(
        anchor=ANCHOR, title="Over time", question="When did it change?",
        blocks=(*filter(None, [drawing]), _table(table, numbers)),
    )  # fmt: skip


def drawn_histories(material: Material, found: Sequence[History]) -> pd.DataFrame:
    """Return a row for each run of the cases that are worth a look, as the picture of histories takes them."""
    changed = sum(bool(one.changes) for one in found)
    chosen = sorted(found, key=_interest, reverse=True)[:MOST_PANELS]
    facts = [{**one.facts, "run": "", "place": place} for place, one in enumerate(chosen)]
    names = placed(pd.DataFrame(facts), most_curves=1).sort_values("place").to_dict("records")
    places = {one.name: at for at, one in enumerate(sorted(material.results, key=in_time), 1)}
    same = {"runs": len(places), "cases": len(found), "changed": changed, "rate": RATE, "shown": True}
    rows = [
        {**name, "panel": f"{name['panel']}, {format_nbytes(int(name['nbytes']))}" if name["nbytes"] else name["panel"],
         **same, **row, "at": places[str(row["folder"])], "run": material.names[str(row["folder"])]}
        for name, one in zip(names, chosen, strict=True) for row in _rows(one)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def _interest(one: History) -> tuple[float, float]:
    """Return the largest change of a case, and how far its runs lie apart."""
    logs = [math.log(point.seconds) for point in one.points]
    return max((abs(math.log(change.ratio)) for change in one.changes), default=0.0), max(logs) - min(logs)


def _rows(one: History) -> Iterator[dict[str, object]]:
    first, changes = one.points[0].seconds, {change.at: change for change in one.changes}
    for at, point in enumerate(one.points):
        ends = (math.nan, math.nan) if point.estimate is None else (point.estimate.lower, point.estimate.upper)
        change = changes.get(at)
        over_runs = None if change is None else change.estimate
        yield {
            "folder": point.run,
            "created": point.created,
            "tier": point.tier,
            "launches": 1 if point.estimate is None else point.estimate.count,
            "seconds": point.seconds, "seconds_lower": ends[0], "seconds_upper": ends[1],
            "ratio": point.seconds / first, "ratio_lower": ends[0] / first, "ratio_upper": ends[1] / first,
            "stretch": sum(start <= at for start in changes),
            "change": math.nan if change is None else change.ratio,
            "change_lower": math.nan if over_runs is None else over_runs.lower,
            "change_upper": math.nan if over_runs is None else over_runs.upper,
        }  # fmt: skip


def _table(table: pd.DataFrame, anchor: str) -> Table:
    return Table(
        anchor=anchor,
        caption="The cases of the picture in each run, T with 95 % over its launches (Student's t on logarithms); "
        "change: T after over before, 95 % over runs (Welch on logarithms), where a new level begins.",
        headings=(
            name_heading("case"), size_heading(), Heading(name="run"), name_heading("name"),
            name_heading("created (UTC)"), name_heading("tier"), Heading(name="launches"), *with_interval("T", "µs"),
            Heading(name="T / first"), *with_interval("change", ""),
        ),
        rows=tuple(_cells(one) for one in table.to_dict("records")),
        is_for_page=True,
    )  # fmt: skip


def _cells(one: dict[str, object]) -> tuple[Cell, ...]:
    def number(name: str) -> float:
        return float(str(one[name]))

    def write(ratio: float) -> str:
        return f"{ratio:#.3g}"

    return (
        Cell(text=" ".join(filter(None, (str(one["panel"]), str(one["marker"]))))),
        size_cell(int(str(one["nbytes"]))),
        Cell(text=str(one["at"])), Cell(text=str(one["run"])), Cell(text=str(one["created"])),
        Cell(text=str(one["tier"])), Cell(text=str(one["launches"])),
        *value_cells(microseconds, number("seconds"), number("seconds_lower"), number("seconds_upper")),
        Cell(text=write(number("ratio")), values=(number("ratio"),)),
        *value_cells(write, number("change"), number("change_lower"), number("change_upper")),
    )  # fmt: skip
