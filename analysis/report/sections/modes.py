"""Cases that take one of several typical times in each repetition."""

from __future__ import annotations

from collections.abc import Iterator

from collmark.analysis.figures.words import microseconds, percent
from collmark.analysis.modes import CHANCE, Modes
from collmark.analysis.report.cells import name_heading, value_cells, with_interval
from collmark.analysis.report.content import Block, Cell, Heading, Table, Text
from collmark.analysis.report.material import Material
from collmark.core.numeral import counted
from collmark.core.units import format_nbytes

MOST_ROWS = 60


def modes(material: Material) -> list[Block]:
    """Return what is known of modes; nothing where no record holds a distribution."""
    told = {
        (one.name, record.case.key)
        for one in material.results
        for record in one.records
        if record.sentinel is None and record.timing is not None and record.timing.histogram is not None
    }
    if not told:
        return []
    if not material.modes:
        return [Text(lead="Modes", words=f"{counted(len(told), 'case')}: one mode in every launch.")]
    number = len(material.modes)
    words = (
        f"{number} of {counted(len(told), 'case')} {'has' if number == 1 else 'have'} several modes inside a launch: "
        "the median is then the time of one of them, or of none."
    )
    return [Text(lead="Modes", words=words), _table(material)]


def _table(material: Material) -> Table:
    rows = [row for one in material.modes for row in _rows(material, one)]
    more = f" The first {MOST_ROWS} of {len(rows)}." if len(rows) > MOST_ROWS else ""
    return Table(
        anchor="modes",
        caption="Peaks of the distribution of T inside a launch, parted by a valley that chance does not explain "
        f"({percent(CHANCE)} %); means over the launches with as many modes, 95 % by Student's t over them.{more}",
        headings=(
            name_heading("case"), Heading(name="launches"), Heading(name="mode"), *with_interval("at", "µs"),
            *with_interval("share", "%"),
        ),
        rows=tuple(rows[:MOST_ROWS]),
    )  # fmt: skip


def _rows(material: Material, one: Modes) -> Iterator[tuple[Cell, ...]]:
    case = one.case
    name = f"{material.names[one.run]}: " if len(material.results) > 1 else ""
    words = f"{name}{case.operation}" + (f", {format_nbytes(case.nbytes)}" if case.nbytes else "")
    words = f"{words} {one.marker}".rstrip()
    for number, (seconds, share) in enumerate(zip(one.seconds, one.shares, strict=True), 1):
        yield (
            Cell(text=words), Cell(text=f"{one.several} of {one.launches}"),
            Cell(text=f"{number} of {len(one.seconds)}"),
            *value_cells(microseconds, seconds.value, *seconds.ends),
            *value_cells(percent, share.value, *share.ends),
        )  # fmt: skip
