"""The first screen: three sentences, the one picture that carries them, and the verdict table."""

from __future__ import annotations

import msgspec

from collmark.analysis.claims.finding import Finding, Verdict
from collmark.analysis.figures.words import ASYMPTOTE, N_HALF, about_nbytes, gigabytes, microseconds, percent
from collmark.analysis.models.fit import Fit
from collmark.analysis.report.cells import name_heading, quantity_cells, quantity_span, with_interval
from collmark.analysis.report.content import Block, Cell, Drawing, Heading, Mark, Section, Table, Text
from collmark.analysis.report.material import Material
from collmark.analysis.report.pictures import picture
from collmark.analysis.report.sections.claims import BY_RECORDS, ORDER, claims_table
from collmark.analysis.report.sentences import sentences
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
    decided = [
        finding
        for finding in material.findings
        if finding.kind in BY_RECORDS and finding.verdict is not Verdict.NO_DATA and not finding.marker
    ]
    if decided:
        return _of_claims(decided)
    fits = [fit for fit in material.fits.fits if fit.beta is not None][:MOST_ROWS]
    return _of_fits(material, fits) if fits else None


def _of_claims(decided: list[Finding]) -> Table:
    decided = sorted(decided, key=lambda finding: ORDER.index(finding.verdict))
    caption = f"{counted(len(decided), 'verdict')} by these records, worst first; all in Claims."
    return claims_table("verdicts", decided[:MOST_ROWS], caption, is_short=True)


def _of_fits(material: Material, fits: list[Fit]) -> Table:
    more = len(material.fits.fits) - len(fits)
    caption = f"{ASYMPTOTE}: what large sizes come near; {N_HALF}: where half of it is reached; misfit: rms."
    return Table(
        anchor="verdicts",
        caption=caption + (f" {more} more in Fits." if more > 0 else ""),
        headings=(
            name_heading("operation"),
            Heading(name="T min", unit="µs"),
            *with_interval(ASYMPTOTE, "GB/s"),
            Heading(name="", is_drawn=True),
            Heading(name=N_HALF),
            Heading(name="misfit", unit="%"),
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
        quantity_cells(about_nbytes, fit.half_size)[0],
        Cell(text=percent(fit.rms), mark=Mark.NONE if fit.describes else Mark.BAD),
    )


def _carrier(material: Material) -> Drawing | None:
    """Return the picture of the curve that the first sentence is about, on axes of its own."""
    leading = material.leading
    rows = material.drawn
    if rows.empty:
        return None
    if leading is None:
        panel = rows.loc[rows["nbytes"] > 0, "panel"].head(1)
    else:
        own = (rows["operation"] == leading.series.operation) & (rows["run"] == leading.series.run)
        panel = rows.loc[own & (rows["series"] == material.curve_of(leading.series)), "panel"].head(1)
    if panel.empty:
        return None
    drawing = picture("bandwidth", rows[rows["panel"] == panel.iloc[0]], "cases", anchor="carrier")
    return None if drawing is None else msgspec.structs.replace(drawing, is_large=True)
