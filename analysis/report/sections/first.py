"""The first screen: three sentences, the one picture that carries them, and the verdict table."""

from __future__ import annotations

import math

import msgspec
import pandas as pd

from collmark.analysis.claims.finding import Finding
from collmark.analysis.compare.verdict import Verdict
from collmark.analysis.expected.share import declared
from collmark.analysis.figures.words import ASYMPTOTE, gigabytes, microseconds, percent
from collmark.analysis.models.fit import Fit
from collmark.analysis.report.cells import name_heading, quantity_cells, quantity_span, with_interval
from collmark.analysis.report.changes import changes_table
from collmark.analysis.report.content import Block, Cell, Drawing, Heading, Mark, Section, Table, Text
from collmark.analysis.report.material import Material
from collmark.analysis.report.pictures import picture
from collmark.analysis.report.sections.claims import reasons_table
from collmark.analysis.report.sections.expected import lowest_table
from collmark.analysis.report.sections.pairs import found_table
from collmark.analysis.report.sections.pairs import tiles as pair_tiles
from collmark.analysis.report.sentences import sentences
from collmark.analysis.report.verdicts import by_records, half_there
from collmark.core.numeral import counted

ANCHOR = "summary"
MOST_ROWS = 8


def first(material: Material) -> Section:
    """Return the first screen; there always is one."""
    said = sentences(material)
    blocks: list[Block] = [
        Text(lead="Found", words=said.found),
        Text(lead="How sure", words=said.sure),
        Text(lead="What to do", words=said.next),
    ]
    blocks += filter(None, (_verdicts(material), _carrier(material)))
    return Section(anchor=ANCHOR, title="Summary", blocks=tuple(blocks))


def _verdicts(material: Material) -> Table | None:
    if material.pairs:
        return found_table(material, "verdicts")
    if material.changes is not None:
        return changes_table(material.changes, "verdicts", MOST_ROWS)
    decided = by_records(material.findings)
    if decided:
        return _of_claims(decided, half_there(material.findings))
    if declared(material.shares):
        return lowest_table(material, "verdicts", MOST_ROWS)
    fits = [fit for fit in material.fits.fits if fit.beta is not None][:MOST_ROWS]
    return _of_fits(material, fits) if fits else None


def _of_claims(decided: list[Finding], half: list[Finding]) -> Table:
    marker = decided[0].marker
    told = f"{counted(len(decided), 'verdict')} by these records, worst first; all in Claims."
    if marker:
        told = f"{marker.upper()}: {told} They are no verdicts on the claims."
    if half:
        told += f" Without a verdict, since only a part of the evidence is there: {len(half)}."
    return reasons_table("verdicts", [*decided, *half][:MOST_ROWS], told)


def _of_fits(material: Material, fits: list[Fit]) -> Table:
    more = len(material.fits.fits) - len(fits)
    caption = f"{ASYMPTOTE}: the bus bandwidth that large sizes come near; misfit of the model: rms."
    if material.findings:
        caption = f"No claim is decided by these records. {caption}"
    return Table(
        anchor="verdicts",
        caption=caption + (f" {more} more in Fits." if more > 0 else ""),
        headings=(
            name_heading("operation"),
            Heading(name="T min", unit="µs"),
            *with_interval(ASYMPTOTE, "GB/s"),
            Heading(name="", is_drawn=True),
            name_heading("misfit"),
        ),
        rows=tuple(_row(material, fit) for fit in fits),
    )


def _row(material: Material, fit: Fit) -> tuple[Cell, ...]:
    series = fit.series
    several = sum(other.series.operation == series.operation for other in material.fits.fits) > 1
    words = [series.operation, material.curve_of(series) if several else "", series.marker]
    return (
        Cell(text=" ".join(filter(None, words)), anchor="fits"),
        quantity_cells(microseconds, fit.smallest)[0],
        *quantity_cells(gigabytes, fit.asymptote),
        quantity_span(fit.asymptote),
        Cell(text=_misfit(fit), mark=Mark.NONE if fit.describes else Mark.BAD),
    )


def _misfit(fit: Fit) -> str:
    """Return how far the model is off, and why a bandwidth is not to be relied on where it is not."""
    weak = f", {ASYMPTOTE} weak" if fit.asymptote is not None and fit.asymptote.weak else ""
    return f"{percent(fit.rms)} %{weak if fit.describes else ', no model'}"


def _carrier(material: Material) -> Drawing | None:
    """Return the picture of the curve that the first sentence is about, on axes of its own."""
    if material.pairs:
        return pair_tiles(material, "carrier")
    if material.changes is not None:
        return _change(material.changed)
    rows = material.drawn[material.drawn["nbytes"] > 0]
    leading = material.leading
    decided = by_records(material.findings)
    about = decided[0].by.partition(",")[0] if decided else ""
    if not decided and (shares := declared(material.shares)):
        about = shares[0].series.operation
    panel = rows.loc[rows["operation"] == about, "panel"].head(1)
    if panel.empty and leading is not None:
        own = (rows["operation"] == leading.series.operation) & (rows["run"] == leading.series.run)
        panel = rows.loc[own & (rows["series"] == material.curve_of(leading.series)), "panel"].head(1)
    elif panel.empty:
        panel = rows["panel"].head(1)
    if panel.empty:
        return None
    drawing = picture("bandwidth", rows[rows["panel"] == panel.iloc[0]], "cases", anchor="carrier")
    return None if drawing is None else msgspec.structs.replace(drawing, is_large=True)


def _change(changed: pd.DataFrame | None) -> Drawing | None:
    """Return the picture of the case that changed most, or of the first where none did."""
    table = None if changed is None else changed[changed["nbytes"] > 0]
    if table is None or table.empty:
        return None
    called = table[table["verdict"].isin([Verdict.SLOWER, Verdict.FASTER])]
    most = (called if len(called) else table)["ratio"].map(math.log).abs()
    panel = table.loc[most.idxmax() if len(called) else table.index[0], "panel"]
    drawing = picture("change", table[table["panel"] == panel], "runs-table", anchor="carrier")
    if drawing is None:
        return None
    others = len(table["panel"].unique()) - 1
    more = f" Counted above it is this panel alone; {others} more in Runs." if others else ""
    return msgspec.structs.replace(drawing, caption=drawing.caption + more, is_large=True)
