"""Stability over launches and over repetitions: whether tomorrow would agree, and what the slow ones cost."""

from __future__ import annotations

import pandas as pd

from collmark.analysis.figures.drawn import OF_PLACE
from collmark.analysis.figures.place import placed
from collmark.analysis.figures.tails import BEYOND, effective, is_told, quantile, weights
from collmark.analysis.figures.words import ABSENT, microseconds, percent
from collmark.analysis.report.cells import name_heading, size_cell, size_heading
from collmark.analysis.report.content import Block, Cell, Heading, Section, Table, Text
from collmark.analysis.report.material import Material
from collmark.analysis.report.pictures import picture
from collmark.analysis.report.sections.modes import modes
from collmark.analysis.report.sections.variances import variance_table
from collmark.core.marker import said_before

MOST_LAUNCHES = 12
"""Columns of the table; the rest is in the export."""
SHARES = (0.5, 0.9, 0.99, 0.999)


def launches(material: Material) -> Section | None:
    """Return launch medians beside each other; None for one launch."""
    if not material.scatters:
        return None
    sentences = [
        f"{said_before(marker)}Launches differ by {percent(found.between)} %, repetitions inside one by "
        f"{percent(found.within)} % (standard deviations, median over cases)."
        for marker, found in material.scatters.items()
    ]
    blocks: list[Block] = [Text(words=" ".join([*sentences, "Whoever pools repetitions sees the second only."]))]
    parts = variance_table(material)
    blocks += [parts] if parts is not None else []
    rows = material.drawn[(material.drawn["launches"] > 1) & (material.drawn["seconds"] > 0)]
    drawing = picture("launches", placed(rows.drop(columns=list(OF_PLACE)), 1), "launch-medians")
    blocks += [drawing] if drawing is not None else []
    blocks.append(_medians(material))
    return Section(anchor="launches", title="Launches", question="Would tomorrow agree?", blocks=tuple(blocks))


def _medians(material: Material) -> Table:
    drawn = material.drawn
    wide = drawn.pivot_table(
        index=["panel", "curve", "case"], columns="launch", values="seconds", aggfunc="median", sort=False
    ).sort_index(axis=1)
    sizes = drawn.drop_duplicates("case").set_index("case")["nbytes"]
    is_named = len(wide.index.unique("curve")) > 1
    kept = list(wide.columns[:MOST_LAUNCHES])
    more = f" The first {MOST_LAUNCHES} of {wide.shape[1]}." if wide.shape[1] > MOST_LAUNCHES else ""
    return Table(
        anchor="launch-medians",
        caption=f"Median of T in each launch, µs; a dash where there is none.{more}",
        headings=(
            name_heading("operation"), *((name_heading("series"),) if is_named else ()), size_heading(),
            *(Heading(name=f"launch {number}", unit="µs") for number in kept),
        ),
        rows=tuple(
            (
                Cell(text=panel), *((Cell(text=curve),) if is_named else ()),
                size_cell(int(sizes[case])),
                *(Cell(text=microseconds(seconds)) for seconds in values),
            )
            for (panel, curve, case), values in zip(wide.index, wide[kept].to_numpy(), strict=True)
        ),
    )  # fmt: skip


def tails(material: Material) -> Section | None:
    """Return the distribution of repetitions: modes of all cases, and tails of a few whose raw samples were kept."""
    blocks: list[Block] = modes(material)
    rows = material.repetitions
    if not rows.empty:
        drawing = picture("tails", rows, "tails-table")
        blocks += [drawing] if drawing is not None else []
        blocks.append(_quantiles(rows))
    if not blocks:
        return None
    question = "What do the slow ones cost?"
    return Section(anchor="repetitions", title="Repetitions", question=question, blocks=tuple(blocks))


def _quantiles(rows: pd.DataFrame) -> Table:
    groups = [
        (panel, str(launch), some["seconds"], weights(some["launch"]))
        for panel, own in rows.groupby("panel", sort=False)
        for launch, some in [*own.groupby("launch"), ("all alike", own)]
    ]
    return Table(
        anchor="tails-table",
        caption=f"Quantiles of T over repetitions, µs; a dash with under {BEYOND} repetitions beyond. "
        "All alike: every launch with the same weight, however many repetitions it made. No intervals.",
        headings=(
            name_heading("case"), name_heading("launch"), Heading(name="repetitions"),
            *(Heading(name=f"{100 * share:g} %", unit="µs") for share in SHARES), Heading(name="most", unit="µs"),
        ),
        rows=tuple(
            (
                Cell(text=panel), Cell(text=launch), Cell(text=f"{len(seconds)}"),
                *(
                    Cell(text=microseconds(quantile(seconds, weight, share)))
                    if is_told(share, effective(weight))
                    else Cell(text=ABSENT)
                    for share in SHARES
                ),
                Cell(text=microseconds(seconds.max())),
            )
            for panel, launch, seconds, weight in groups
        ),
    )  # fmt: skip
