"""Which rank comes last, by how much, and whether that is chance."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from collmark.analysis.figures.last_rank import shares
from collmark.analysis.figures.rank_shares import ENDS
from collmark.analysis.figures.words import microseconds, percent
from collmark.analysis.report.cells import name_heading, value_cells, with_interval
from collmark.analysis.report.content import Block, Cell, Heading, Mark, Section, Table, Text
from collmark.analysis.report.material import Material
from collmark.analysis.report.pictures import picture
from collmark.core.errors import one_line
from collmark.core.straggler import absence_words, straggler_words, stragglers

MOST_ROWS = 64
TEST = (
    "p: permutation test in each record, of the most frequent rank, over blocks of repetitions that last two "
    "autocorrelation times; records combined by Fisher's method, and corrected for having looked at all ranks. Who "
    "enters last is late itself; who leaves last is served late."
)


def ranks(material: Material) -> Section | None:
    """Return how often each rank came last; None where clocks could not be compared, or one rank ran."""
    if material.ranks.empty:
        return None
    drawing = picture("last-rank", material.ranks, "ranks-table")
    blocks: list[Block] = [*_verdicts(material)]
    blocks += [drawing] if drawing is not None else []
    blocks += [_table(material.ranks), Text(words=TEST)]
    return Section(anchor="ranks", title="Last rank", question="Who is late?", blocks=tuple(blocks))


def _verdicts(material: Material) -> Iterator[Text]:
    """Yield who straggles in each run, or that nobody does."""
    for one in material.results:
        name = material.names[one.name] if len(material.results) > 1 else ""
        for straggler in stragglers(one.run, one.records, include_unstable=material.include_unstable):
            yield Text(lead=name, words=one_line(straggler_words(straggler)), mark=Mark.UNDECIDED)
        words = absence_words(one.run, one.records, include_unstable=material.include_unstable)
        if words:
            yield Text(lead=name, words=words)


def _table(table: pd.DataFrame) -> Table:
    rows = [row for what, own in table.groupby("what", sort=False) for row in _rows(what, own)]
    more = f" The first {MOST_ROWS} of {len(rows)}." if len(rows) > MOST_ROWS else ""
    return Table(
        anchor="ranks-table",
        caption="Share of repetitions, mean over launches, 95 % by Student's t over launches; by: entry minus the "
        f"earliest other, exit minus the latest other, median.{more}",
        headings=(
            name_heading("what"), name_heading("rank"), name_heading("host"), *with_interval("entered last", "%"),
            Heading(name="by", unit="µs"), *with_interval("left last", "%"), Heading(name="by", unit="µs"),
        ),
        rows=tuple(rows[:MOST_ROWS]),
    )  # fmt: skip


def _rows(what: str, own: pd.DataFrame) -> list[tuple[Cell, ...]]:
    hosts = own.drop_duplicates("rank").set_index("rank")["host"]
    late = own.groupby(["end", "rank"])["lateness"].median()
    both = [shares(own[own["end"] == end]).to_dict("records") for end in ENDS]
    return [
        (
            Cell(text=what), Cell(text=f"{one['rank']}"), Cell(text=hosts[one["rank"]] or "-"),
            *value_cells(percent, one["share"], one["lower"], one["upper"]),
            Cell(text=microseconds(late["entered", one["rank"]])),
            *value_cells(percent, other["share"], other["lower"], other["upper"]),
            Cell(text=microseconds(late["left", one["rank"]])),
        )
        for one, other in zip(*both, strict=True)
    ]  # fmt: skip
