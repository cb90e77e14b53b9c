"""Which rank comes last, and by how much."""

from __future__ import annotations

import pandas as pd

from collmark.analysis.figures.last_rank import shares
from collmark.analysis.figures.rank_shares import ENDS
from collmark.analysis.figures.words import microseconds, percent
from collmark.analysis.report.cells import name_heading, value_cells, with_interval
from collmark.analysis.report.content import Block, Cell, Heading, Section, Table
from collmark.analysis.report.material import Material
from collmark.analysis.report.pictures import picture

MOST_ROWS = 64


def ranks(material: Material) -> Section | None:
    """Return how often each rank came last; None where clocks could not be compared, or one rank ran."""
    if material.ranks.empty:
        return None
    drawing = picture("last-rank", material.ranks, "ranks-table")
    blocks: list[Block] = [drawing] if drawing is not None else []
    blocks.append(_table(material.ranks))
    return Section(anchor="ranks", title="Last rank", question="Who is late?", blocks=tuple(blocks))


def _table(table: pd.DataFrame) -> Table:
    rows = [row for what, own in table.groupby("what", sort=False) for row in _rows(what, own)]
    more = f" The first {MOST_ROWS} of {len(rows)}." if len(rows) > MOST_ROWS else ""
    return Table(
        anchor="ranks-table",
        caption="Share of repetitions, mean over launches, 95 % by Student's t over launches; by: entry minus the "
        f"earliest other, median.{more}",
        headings=(
            name_heading("what"), name_heading("rank"), name_heading("host"), *with_interval("entered last", "%"),
            *with_interval("left last", "%"), Heading(name="by", unit="µs"),
        ),
        rows=tuple(rows[:MOST_ROWS]),
    )  # fmt: skip


def _rows(what: str, own: pd.DataFrame) -> list[tuple[Cell, ...]]:
    hosts = own.drop_duplicates("rank").set_index("rank")["host"]
    late = own.groupby("rank")["lateness"].median()
    both = [shares(own[own["end"] == end]).to_dict("records") for end in ENDS]
    return [
        (
            Cell(text=what), Cell(text=f"{one['rank']}"), Cell(text=hosts[one["rank"]] or "-"),
            *value_cells(percent, one["share"], one["lower"], one["upper"]),
            *value_cells(percent, other["share"], other["lower"], other["upper"]),
            Cell(text=microseconds(late[one["rank"]])),
        )
        for one, other in zip(*both, strict=True)
    ]  # fmt: skip
