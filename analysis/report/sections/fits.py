"""Fitted models, and how far to trust them."""

from __future__ import annotations

from collections.abc import Iterator

from collmark.analysis.figures.place import series_names
from collmark.analysis.figures.words import ALPHA, ASYMPTOTE, BETA, N_HALF, gigabytes, microseconds, percent
from collmark.analysis.models.fit import Fit
from collmark.analysis.models.hockney import HOCKNEY
from collmark.analysis.report.cells import (
    name_heading,
    nbytes_cells,
    quantity_cells,
    quantity_span,
    with_interval,
)
from collmark.analysis.report.content import Block, Cell, Heading, Items, Mark, Section, Table, Text
from collmark.analysis.report.material import Material
from collmark.analysis.report.pictures import picture
from collmark.analysis.skew import Skew, skew_words
from collmark.core.marker import reported_words
from collmark.core.operation import Estimand
from collmark.core.units import format_nbytes

ANCHOR = "fits"
QUESTION = "Can I trust the model?"


def fits(material: Material) -> Section | None:
    """Return parameters, misfits and residuals; None where nothing could be fitted or refused."""
    found = material.fits
    if not found.fits and not found.refused:
        return None
    blocks: list[Block] = []
    if found.fits:
        blocks.append(fits_table(material))
    if found.refused:
        blocks += [Text(words="Not fitted:"), Items(items=tuple(_refused(material)))]
    rows = material.drawn[(material.drawn["nbytes"] > 0) & material.drawn["fitted"]]
    drawing = picture("residuals", rows, "cases") if len(rows) else None
    if drawing is not None:
        blocks.append(drawing)
    return Section(anchor=ANCHOR, title="Fits", question=QUESTION, blocks=tuple(blocks))


def _refused(material: Material) -> Iterator[Text]:
    """Yield each reason once, with the series that it is true of."""
    found = material.fits
    names = series_names([*(fit.series for fit in found.fits), *(one.series for one in found.refused)])
    alike: dict[str, list[str]] = {}
    for one in found.refused:
        alike.setdefault(one.reason, []).append(names[one.series])
    for reason, own in alike.items():
        yield Text(lead=reason, words=", ".join(own))


def fits_table(material: Material) -> Table:
    """Return the table of fits."""
    launches = sorted({fit.launches for fit in material.fits.fits})
    over = f"{launches[0]}" if len(launches) == 1 else f"{launches[0]} to {launches[-1]}"
    interval = (
        "One launch: no interval." if launches == [1] else f"Intervals: 95 %, model fitted to each of {over} launches."
    )
    curves = [material.curve_of(fit.series) for fit in material.fits.fits]
    is_told = len(set(curves)) > 1
    headings = (
        name_heading("operation"), *((name_heading("series"),) if is_told else ()), name_heading("model, remarks"),
        *with_interval(ALPHA, "µs"),
        *with_interval(ASYMPTOTE, "GB/s"), Heading(name="", is_drawn=True), *with_interval(N_HALF, "", si="B"),
        *with_interval("T min", "µs"), Heading(name="misfit rms", unit="%"), Heading(name="worst", unit="%"),
        name_heading("fitted range"),
    )  # fmt: skip
    return Table(
        anchor="fits-table",
        caption=f"{'' if is_told else curves[0] + '. '}{ALPHA}: what T comes near for small sizes, {ASYMPTOTE} the bus "
        f"bandwidth that large sizes come near. {interval} Misfit: measured over model, rms and worst. Where nothing "
        f"else is said the model is a line: T = {ALPHA} + bus bytes x {BETA}. A model holds inside its range.",
        headings=headings,
        rows=tuple(
            _row(fit, curve if is_told else "", material.skews.get(fit.series))
            for fit, curve in zip(material.fits.fits, curves, strict=True)
        ),
    )


def _row(fit: Fit, curve: str, skew: Skew | None) -> tuple[Cell, ...]:
    sized = fit.beta is not None
    return (
        Cell(text=" ".join(filter(None, (fit.series.operation, fit.series.marker)))),
        *((Cell(text=curve),) if curve else ()),
        Cell(text=remarks(fit, skew), mark=Mark.NONE if fit.describes else Mark.BAD),
        *quantity_cells(microseconds, fit.alpha),
        *quantity_cells(gigabytes, fit.asymptote),
        quantity_span(fit.asymptote),
        *nbytes_cells(fit.half_size),
        *quantity_cells(microseconds, fit.smallest),
        Cell(text=percent(fit.rms), mark=Mark.NONE if fit.describes else Mark.BAD),
        Cell(text=f"{percent(fit.worst)} at {format_nbytes(fit.worst_at)}" if sized else percent(fit.worst)),
        Cell(text=f"{format_nbytes(fit.first)} to {format_nbytes(fit.last)}" if sized else "no size"),
    )


def remarks(fit: Fit, skew: Skew | None = None) -> str:
    """Return what a reader must know before using a fit."""
    words = [] if fit.describes else ["does not describe the times: no verdict rests on it"]
    if fit.model != HOCKNEY.name:
        words.append(fit.model_words)
        words += [f"a line alone misses by {percent(fit.line_rms)} %"] if fit.line_rms > fit.rms else []
    if fit.series.origin:
        words.append(f"T: {reported_words([fit.series.origin])}")
    if fit.series.estimand == Estimand.LONGEST_LOCAL:
        told = skew_words(skew)
        words.append(f"T is D_max, skew included{f' ({told})' if told else ''}")
    if fit.cliffs:
        words.append(f"left out: {fit.cliff_words}")
    named = {ALPHA: fit.alpha, ASYMPTOTE: fit.asymptote}
    words += [f"{name} weak: {one.weak}" for name, one in named.items() if one is not None and one.weak]
    words += [f"{name} not told by the times" for name, one in named.items() if one is not None and one.value is None]
    if fit.left_out:
        words.append(f"{fit.left_out} record{'' if fit.left_out == 1 else 's'} left out")
    return "; ".join(words)
