"""Verdicts on claims, worst first; each opens to its figures, formula and evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from collmark.analysis.claims.finding import Figure, Finding, Part, Verdict
from collmark.analysis.figures.words import ABSENT
from collmark.analysis.report.cells import name_heading
from collmark.analysis.report.content import (
    Block,
    Cell,
    Code,
    Details,
    Heading,
    Items,
    Mark,
    Section,
    Span,
    Table,
    Text,
    anchor_of,
)
from collmark.analysis.report.material import Material
from collmark.analysis.report.verdicts import (
    BY_RECORDS,
    ORDER,
    ends_words,
    interval_words,
    range_words,
    reason_words,
    value_words,
    verdict_words,
)

MARKS = {
    Verdict.HOLDS: Mark.GOOD,
    Verdict.FAILS: Mark.BAD,
    Verdict.INCONCLUSIVE: Mark.UNDECIDED,
    Verdict.NO_DATA: Mark.MUTED,
}
BAND, FURTHEST = 1.0, 3.5
"""Ends of a tolerance band, and of what is drawn, on an axis that every row shares: half-widths of its own band."""
ONE_SIDED = math.log(1.5)
"""What stands for a half-width where a band has one end only."""
DRAWN = (
    "Dot and whisker: found, with the interval that decides, at the level named; shaded: where the claim holds, "
    "as wide in every row."
)


def claims(material: Material) -> Section | None:
    """Return the verdicts; None where no claim was asked about."""
    found = sorted(material.findings, key=lambda finding: ORDER.index(finding.verdict))
    if not found:
        return None
    marked = [finding for finding in found if finding.marker]
    decided = [finding for finding in found if finding.verdict is not Verdict.NO_DATA and not finding.marker]
    of_records = [finding for finding in decided if finding.kind in BY_RECORDS]
    by_arithmetic = [finding for finding in decided if finding.kind not in BY_RECORDS]
    without = [finding for finding in found if finding.verdict is Verdict.NO_DATA]
    blocks: list[Block] = []
    if of_records:
        blocks.append(claims_table("claims-records", of_records, "Decided by these records."))
    else:
        blocks.append(Text(words="No claim is decided by these records: what is missing stands with each, below."))
    if marked:
        words = "By figures that decide no claim: the mark says which."
        blocks.append(claims_table("claims-marked", marked, words))
    if by_arithmetic:
        words = "Decided by arithmetic, whatever was measured here: S on published link rates, W on a workload."
        blocks.append(_for_page(claims_table("claims-arithmetic", by_arithmetic, words)))
    if without:
        words = "Without data: what would decide them stands with each."
        blocks.append(_for_page(claims_table("claims-without", without, words)))
    blocks += map(_details, found)
    return Section(anchor="claims", title="Claims", question="What holds?", blocks=tuple(blocks))


def claims_table(anchor: str, found: Sequence[Finding], caption: str) -> Table:
    """Return a row for each finding; a column for what was found only where anything was.

    Parameters
    ----------
    anchor, caption : str
        Of the table.
    found : sequence of Finding
        Its rows, in their order.
    """
    is_decided = any(finding.found is not None for finding in found)
    figures = (Heading(name="found"), Heading(name="interval", is_muted=True), Heading(name="", is_drawn=True))
    return Table(
        anchor=anchor,
        caption=caption,
        drawn=DRAWN if is_decided else "",
        headings=(
            *map(name_heading, ("claim", "kind", "verdict")),
            Heading(name="claimed"),
            *(figures if is_decided else ()),
            name_heading("by"),
        ),
        rows=tuple(_row(finding, is_decided=is_decided) for finding in found),
    )


def reasons_table(anchor: str, found: Sequence[Finding], caption: str) -> Table:
    """Return verdicts, each with its reason in a line: what a reader must see first."""
    return Table(
        anchor=anchor,
        caption=caption,
        drawn=DRAWN,
        headings=(*map(name_heading, ("claim", "verdict", "why")), Heading(name="", is_drawn=True)),
        rows=tuple(
            (
                Cell(text=finding.claim, anchor=place_of(finding)),
                Cell(text=verdict_words(finding), mark=MARKS[finding.verdict]),
                Cell(text=reason_words(finding)),
                Cell(span=_span(finding)),
            )
            for finding in found
        ),
    )


def _for_page(table: Table) -> Table:
    return msgspec.structs.replace(table, is_for_page=True)


def place_of(finding: Finding) -> str:
    """Return the anchor of a finding; one that is marked has its own."""
    return anchor_of("claim", finding.claim, finding.kind.value, *([finding.marker] if finding.marker else []))


def _row(finding: Finding, *, is_decided: bool) -> tuple[Cell, ...]:
    figure = finding.found
    interval = Cell(text=interval_words(figure), mark=Mark.MUTED)
    figures = (Cell(text=value_words(figure)), interval, Cell(span=_span(finding)))
    return (
        Cell(text=finding.claim, anchor=place_of(finding)),
        Cell(text=finding.kind.value),
        Cell(text=verdict_words(finding), mark=MARKS[finding.verdict]),
        Cell(text=finding.claimed or ABSENT),
        *(figures if is_decided else ()),
        Cell(text=finding.by),
    )


def _span(finding: Finding) -> Span | None:
    """Return what was found against its tolerance band: both on the logarithm, in half-widths of the band."""
    figure, band = finding.found, finding.band
    if figure is None or band is None or figure.value <= 0 or not 0 <= band[0] < band[1]:
        return None
    low, high = band
    if low > 0 and math.isfinite(high):
        center, half, shaded = math.sqrt(low * high), math.log(high / low) / 2, (-BAND, BAND)
    elif low > 0:
        center, half, shaded = low, ONE_SIDED, (0.0, math.inf)
    elif math.isfinite(high):
        center, half, shaded = high, ONE_SIDED, (-math.inf, 0.0)
    else:
        return None

    def place(value: float) -> float:
        far = math.log(value / center) / half if value > 0 else -FURTHEST
        return math.exp(min(max(far, -FURTHEST), FURTHEST))

    ends = figure.estimate
    return Span(
        value=place(figure.value),
        lower=None if ends is None else place(ends.lower),
        upper=None if ends is None else place(ends.upper),
        band=(math.exp(shaded[0]), math.exp(min(shaded[1], FURTHEST))),
    )


def _figure(figure: Figure) -> str:
    words, ends = f"{figure.name}: {value_words(figure)}", figure.estimate
    return words if ends is None else f"{words} {interval_words(figure)} over {ends.count} {ends.over}"


def _part(part: Part) -> str:
    return f"{part.says}: {part.verdict}, claimed {part.claimed}, found {value_words(part.found)}"


def _ratios(finding: Finding) -> Table:
    """Return every ratio with what stands over what, the one that decides first, and those that are missing last."""
    rows: list[tuple[Cell, ...]] = [
        (
            Cell(text=f"{figure.name} (decides)" if figure is finding.found else figure.name),
            Cell(text=value_words(figure)),
            Cell(text=(interval_words if figure is finding.found else ends_words)(figure), mark=Mark.MUTED),
            Cell(text=ABSENT if figure.estimate is None else str(figure.estimate.count)),
            Cell(text=figure.over),
            Cell(text=figure.under),
        )
        for figure in finding.ratios
    ]
    rows += [
        (
            Cell(text=one.name),
            Cell(text=Verdict.NO_DATA, mark=Mark.MUTED),
            *(Cell(text=ABSENT) for _column in range(2)),
            Cell(text=f"missing: {one.reason}"),
            Cell(text=ABSENT),
        )
        for one in finding.missing
    ]
    return Table(
        anchor=f"{place_of(finding)}-ratios",
        caption="What stands over what. Intervals: 95 %, or of the ratio that decides as named, by Welch's t on "
        "logarithms over the launches of both sides.",
        headings=(
            name_heading("ratio"),
            Heading(name="found"),
            Heading(name="interval", is_muted=True),
            Heading(name="launches"),
            name_heading("over"),
            name_heading("under"),
        ),
        rows=tuple(rows),
    )


def _details(finding: Finding) -> Details:
    figures = [figure for figure in (finding.found, *finding.also) if figure is not None and not figure.over]
    listed = {
        "Figures": [_figure(figure) for figure in figures],
        "Parts": [_part(part) for part in finding.parts],
        "Worked": finding.steps,
        "Evidence": finding.evidence,
        "Notes": finding.notes,
    }
    said = {"Rule": finding.rule, "It holds": range_words(finding), "What would change it": finding.would_change}
    blocks: list[Text | Items | Code | Table] = [_ratios(finding)] if finding.ratios or finding.missing else []
    for lead, lines in listed.items():
        if lines:
            blocks += [Text(lead=lead, words=""), Items(items=tuple(Text(words=line) for line in lines))]
    blocks += [Text(lead=lead, words=words) for lead, words in said.items() if words]
    if finding.command:
        blocks += [Text(lead="To decide it", words=""), Code(line=finding.command)]
    return Details(
        anchor=place_of(finding),
        summary=f"{finding.claim}, {finding.kind.value}: {finding.sentence}",
        tag=verdict_words(finding),
        blocks=tuple(blocks),
        mark=MARKS[finding.verdict],
    )
