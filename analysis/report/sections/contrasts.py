"""Cases that differ in one respect, side by side."""

from __future__ import annotations

import pandas as pd

from collmark.analysis.contrasts import AXES, contrasts
from collmark.analysis.figures.place import placed
from collmark.analysis.figures.words import microseconds
from collmark.analysis.report.cells import name_heading, size_cell, size_heading, span_cell, value_cells, with_interval
from collmark.analysis.report.content import Block, Cell, Heading, Section, Table, Text
from collmark.analysis.report.material import Material
from collmark.analysis.report.pictures import picture

MOST_ROWS = 200
COMPANY = "company"
"""The axis along which groups of ranks are compared."""


def side_by_side(material: Material) -> Section | None:
    """Return ratios along every axis on which there is something to compare; None where there is nothing."""
    found = contrasts(material.drawn, include_unstable=material.include_unstable)
    if found.empty:
        return None
    blocks: list[Block] = []
    for axis, rows in found.groupby("axis", sort=False):
        # All groups of an arrangement are of one kind, and lie in one panel.
        table = placed(
            rows.assign(of_group=rows["group"], group="" if axis == COMPANY else rows["group"]), most_curves=1
        )
        anchor = f"contrast-{axis}"
        blocks.append(Text(lead=AXES[str(axis)].question, words=""))
        drawing = picture("contrast", table, f"{anchor}-table", anchor=f"figure-{anchor}")
        blocks += [drawing] if drawing is not None else []
        blocks.append(_table(table, f"{anchor}-table"))
    question = "What does it change?"
    return Section(anchor="contrasts", title="Side by side", question=question, blocks=tuple(blocks))


def _table(table: pd.DataFrame, anchor: str) -> Table:
    kept = table.head(MOST_ROWS)
    more = f" The first {MOST_ROWS} of {len(table)}." if len(table) > MOST_ROWS else ""
    how = "the ratio inside each launch" if table["paired"].all() else "the launches of each side (Welch)"
    differs = bool(table["differs"].any())
    return Table(
        anchor=anchor,
        caption=f"T of the second over T of the first, 95 % over launches: {how}, on logarithms.{more}",
        headings=(
            name_heading("series"), size_heading(), name_heading("first"), name_heading("second"),
            Heading(name="T first", unit="µs"), Heading(name="T second", unit="µs"), *with_interval("ratio", ""),
            Heading(name="", is_drawn=True), Heading(name="launches"),
            *((name_heading("differ besides"),) if differs else ()),
        ),
        rows=tuple(_row(one, differs=differs) for one in kept.to_dict("records")),
    )  # fmt: skip


def _row(one: dict[str, object], *, differs: bool) -> tuple[Cell, ...]:
    value, lower, upper = (float(str(one[name])) for name in ("ratio", "ratio_lower", "ratio_upper"))
    group = f", group {one['of_group']}" if one["axis"] == COMPANY else ""
    return (
        Cell(text=" ".join(filter(None, (str(one["panel"]) + group, str(one["marker"]))))),
        size_cell(int(str(one["nbytes"]))),
        Cell(text=str(one["base"])),
        Cell(text=str(one["other"])),
        Cell(text=microseconds(float(str(one["base_seconds"])))),
        Cell(text=microseconds(float(str(one["other_seconds"])))),
        *value_cells(lambda number: f"{number:.3g}", value, lower, upper),
        span_cell(value, lower, upper),
        Cell(text=str(one["contrast_launches"])),
        *((Cell(text=str(one["differs"]) or "nothing"),) if differs else ()),
    )
