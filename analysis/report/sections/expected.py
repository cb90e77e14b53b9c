"""What was measured as a share of what may be expected of the link."""

from __future__ import annotations

from collections.abc import Sequence

from collmark.analysis.expected.share import Share, declared
from collmark.analysis.figures.words import ABSENT
from collmark.analysis.report.cells import name_heading
from collmark.analysis.report.content import Block, Cell, Heading, Mark, Section, Table, Text
from collmark.analysis.report.material import Material


def expected(material: Material) -> Section | None:
    """Return the shares; None where nothing was measured over a real link."""
    if not material.shares:
        return None
    table = shares_table(material, material.shares, "expected-table")
    warnings = dict.fromkeys(
        f"{share.series.operation}: {share.warning}." for share in material.shares if share.warning
    )
    blocks: list[Block] = [table, *(Text(lead="Above the link", words=words, mark=Mark.BAD) for words in warnings)]
    if not declared(material.shares):
        words = "No link is declared: name the system by --expect, or its rate by a placement's label, as 400G."
        blocks.append(Text(words=words))
    return Section(
        anchor="expected", title="Expected", question="Is it as fast as the link allows?", blocks=tuple(blocks)
    )


def shares_table(material: Material, shares: Sequence[Share], anchor: str) -> Table:
    """Return a row for each of some shares."""
    return Table(
        anchor=anchor,
        caption="Measured over expected, 95 % over launches. Links by their specified rate in one direction; published "
        "figures by other tools, at large sizes, calls back to back. Bus bandwidths as nccl-tests computes them.",
        headings=(
            name_heading("operation"),
            name_heading("series"),
            name_heading("measured"),
            Heading(name=""),
            name_heading("expected"),
            Heading(name=""),
            Heading(name="share", unit="%"),
            Heading(name="95 %", is_muted=True),
            name_heading("source"),
        ),
        rows=tuple(_row(share, material.curve_of(share.series)) for share in shares),
    )


def lowest_table(material: Material, anchor: str, most: int) -> Table:
    """Return the lowest shares of what was declared, without what would not fit beside a picture."""
    found = declared(material.shares)
    more = f" {len(found) - most} more in Expected." if len(found) > most else ""
    return Table(
        anchor=anchor,
        caption=f"Measured over expected, the lowest first; 95 % over launches.{more}",
        headings=(
            name_heading("operation"), name_heading("measured"), name_heading("expected"),
            Heading(name="share", unit="%"), Heading(name="95 %", is_muted=True),
        ),
        rows=tuple(
            (
                Cell(text=" ".join(filter(None, (share.series.operation, share.series.marker))), anchor="expected"),
                Cell(text=f"{share.value_words} {share.measured}"),
                Cell(text=f"{share.expected_words}, {share.expected}"),
                *_share_cells(share),
            )
            for share in found[:most]
        ),
    )  # fmt: skip


def _row(share: Share, curve: str) -> tuple[Cell, ...]:
    return (
        Cell(text=" ".join(filter(None, (share.series.operation, share.series.marker)))),
        Cell(text=curve),
        Cell(text=share.measured),
        Cell(text=share.value_words),
        Cell(text=share.expected),
        Cell(text=share.expected_words),
        *_share_cells(share),
        Cell(text=share.source or ABSENT),
    )


def _share_cells(share: Share) -> tuple[Cell, Cell]:
    value, ends = share.percent_words
    mark = Mark.BAD if share.warning else Mark.NONE
    return Cell(text=value, mark=mark), Cell(text=ends or ABSENT, mark=Mark.MUTED)
