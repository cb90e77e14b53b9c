"""Pairs of ranks: which rank, node or link is slow."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd

from collmark.analysis.figures.words import microseconds
from collmark.analysis.pairs.find import Finding
from collmark.analysis.pairs.meetings import Usual
from collmark.analysis.pairs.of_runs import Judged
from collmark.analysis.pairs.words import SMALLEST_SHOWN, finding_words, head_words, name_of, what_words
from collmark.analysis.report.cells import name_heading, value_cells, with_interval
from collmark.analysis.report.content import Block, Cell, Drawing, Heading, Mark, Section, Table, Text
from collmark.analysis.report.material import Material
from collmark.analysis.report.pictures import picture
from collmark.core.units import format_nbytes

ANCHOR, NUMBERS = "pairs", "pairs-table"
MOST_ROWS = 200


def pairs(material: Material) -> Section | None:
    """Return what is slow, its picture and the pairs furthest from the usual; None where no pairs were measured."""
    if not material.pairs:
        return None
    drawing = tiles(material)
    blocks: list[Block] = []
    for one in material.pairs:
        blocks.append(Text(words=f"{head_words(one)}."))
        mark = Mark.BAD if one.findings else Mark.NONE
        blocks += [Text(words=f"{words}.", mark=mark) for words in finding_words(one)]
    blocks += [drawing] if drawing is not None else []
    blocks.append(_table(material))
    return Section(anchor=ANCHOR, title="Pairs", question="Which rank, node or link is slow?", blocks=tuple(blocks))


def found_table(material: Material, anchor: str) -> Table | None:
    """Return a row for each thing that is slow; None where nothing is."""
    found = [(one, finding) for one in material.pairs for finding in one.findings]
    if not found:
        return None
    return Table(
        anchor=anchor,
        caption="T over usual, median over the launches that measured suspects again, 95 % over them; p over all "
        "suspects of a tier.",
        headings=(
            name_heading("slow"), name_heading("with"), *with_interval("T over usual", ""), Heading(name="again"),
            Heading(name="p"),
        ),
        rows=tuple(
            (
                Cell(text=name_of(finding, one), anchor=ANCHOR),
                Cell(text="other nodes" if finding.suspect.is_between else "its own node"),
                *value_cells(lambda value: f"{value:.3f}", finding.factor, *_ends(finding)),
                Cell(text=f"{finding.again} of {finding.launches}"),
                Cell(text=f"{finding.chance:.0e}" if finding.chance >= SMALLEST_SHOWN else f"< {SMALLEST_SHOWN:.0e}"),
            )
            for one, finding in found
        ),
    )  # fmt: skip


def _ends(finding: Finding) -> tuple[float, float]:
    ends = finding.interval
    return (math.nan, math.nan) if ends is None else (math.exp(ends.lower), math.exp(ends.upper))


def tiles(material: Material, anchor: str = "") -> Drawing | None:
    """Return the picture of all pairs."""
    return picture("pairs", rows_of(material), NUMBERS, anchor)


def rows_of(material: Material) -> pd.DataFrame:
    """Return a row for each directed pair, as the picture takes it."""
    return pd.DataFrame([row for one in material.pairs for row in _of(one)])


def _of(one: Judged) -> Iterator[dict[str, object]]:
    says = what_words(one)
    shared = {
        "panel": f"{one.backend} {one.operation}, {format_nbytes(one.nbytes)}", "shown": True, "marker": one.marker,
        "each": one.sweep.layout.placement.ranks_per_node, "says": says,
        "pairs": head_words(one).partition(": ")[2].partition(",")[0],
    }  # fmt: skip
    for tier in (one.sweep.inside, one.sweep.between):
        yield from (shared | row for row in ([] if tier is None else _of_tier(tier)))


def _of_tier(tier: Usual) -> Iterator[dict[str, object]]:
    met, usual = tier.meetings, float(np.exp(tier.level))
    for first, second, there, back in zip(met.one_M, met.two_M, met.there_M, met.back_M, strict=True):
        for sender, receiver, seconds in ((first, second, there), (second, first, back)):
            yield {
                "sender": int(sender), "receiver": int(receiver), "seconds": float(seconds),
                "ratio": float(seconds) / usual,
            }  # fmt: skip


def _table(material: Material) -> Table:
    rows = rows_of(material)
    hosts = {rank: name for one in material.pairs for rank, name in one.hosts.items()}
    order = np.log(rows["ratio"]).abs().sort_values(ascending=False, kind="stable").index
    more = f" The first {MOST_ROWS} of {len(rows)}." if len(rows) > MOST_ROWS else ""
    return Table(
        anchor=NUMBERS,
        caption=f"Median of T in one launch, and over what is usual in its tier; furthest first.{more}",
        headings=(
            name_heading("what"), Heading(name="sends"), name_heading("on"), Heading(name="receives"),
            name_heading("on"), Heading(name="T", unit="µs"), Heading(name="over usual"),
        ),
        rows=tuple(
            (
                Cell(text=str(row["panel"])),
                Cell(text=str(row["sender"])), Cell(text=hosts.get(row["sender"], "")),
                Cell(text=str(row["receiver"])), Cell(text=hosts.get(row["receiver"], "")),
                Cell(text=microseconds(row["seconds"]), values=(row["seconds"],)),
                Cell(text=f"{row['ratio']:.3f}", values=(row["ratio"],)),
            )
            for row in rows.loc[order].head(MOST_ROWS).to_dict("records")
        ),
    )  # fmt: skip
