"""Verdicts in words: what was found against what it is held to, or which evidence is missing."""

from __future__ import annotations

import math
from collections.abc import Iterable

from collmark.analysis.claims.finding import Figure, Finding, Kind, Verdict
from collmark.analysis.claims.quantity import number
from collmark.analysis.figures.words import ABSENT

ORDER = (Verdict.FAILS, Verdict.INCONCLUSIVE, Verdict.HOLDS, Verdict.NO_DATA)
"""Worst first."""
BY_RECORDS = (Kind.MEASURED, Kind.PROJECTED)
DIGITS = 3
_PLACES = {
    Verdict.FAILS: ("outside", "above", "below"),
    Verdict.INCONCLUSIVE: ("reaches across an end of", "reaches across", "reaches across"),
    Verdict.HOLDS: ("inside", "not above", "not below"),
}
"""Where an interval lies: to a range, to its upper end where that is all there is, to its lower end."""


def by_records(findings: Iterable[Finding]) -> list[Finding]:
    """Return the verdicts that records gave, worst first: those on claims, or where there are none the marked ones."""
    decided = [one for one in findings if one.kind in BY_RECORDS and one.verdict is not Verdict.NO_DATA]
    own = [one for one in decided if not one.marker]
    return sorted(own or decided, key=lambda one: ORDER.index(one.verdict))


def half_there(findings: Iterable[Finding]) -> list[Finding]:
    """Return the claims that only a part of the evidence is there for."""
    return [one for one in findings if one.kind in BY_RECORDS and one.verdict is Verdict.NO_DATA and one.problem]


def verdict_words(finding: Finding) -> str:
    """Return the verdict, and before it what its figures are where they are no measurements of ours."""
    return f"{finding.mark} {finding.verdict}".strip()


def value_words(figure: Figure | None) -> str:
    """Return a figure with its unit; a dash for none."""
    if figure is None:
        return ABSENT
    digits = DIGITS if figure.estimate is not None else DIGITS + 1
    return f"{number(figure.value, digits)} {figure.unit}".strip()


def ends_words(figure: Figure | None) -> str:
    """Return the interval of a figure, without its level; a dash for none."""
    ends = None if figure is None else figure.estimate
    return ABSENT if ends is None else f"[{number(ends.lower, DIGITS)}, {number(ends.upper, DIGITS)}]"


def interval_words(figure: Figure | None) -> str:
    """Return the interval of a figure with its level; a dash for none."""
    ends = None if figure is None else figure.estimate
    return ends_words(figure) if ends is None else f"{ends_words(figure)}, {100 * ends.level:g} %"


def range_words(finding: Finding) -> str:
    """Return the range in which a claim holds; nothing where there is none."""
    if finding.band is None or finding.found is None:
        return ""
    low, high = (number(end) for end in finding.band)
    unit = finding.found.unit
    if not math.isfinite(finding.band[0]):
        return f"up to {high} {unit}".rstrip()
    return (f"from {low} {unit} on" if not math.isfinite(finding.band[1]) else f"{low} to {high} {unit}").rstrip()


def reason_words(finding: Finding) -> str:
    """Return why a verdict is what it is, in a line: its interval against the range, or what is missing."""
    if finding.problem or finding.found is None or finding.found.estimate is None or not range_words(finding):
        return finding.problem or finding.by
    more = f"; to decide: {finding.would_change}" if finding.verdict is Verdict.INCONCLUSIVE else ""
    return f"{value_words(finding.found)} {interval_words(finding.found)}, {_place(finding)}{more}"


def _place(finding: Finding) -> str:
    """Return where an interval lies to the range of its claim."""
    inside, below, above = _PLACES[finding.verdict]
    low, high = finding.band or (-math.inf, math.inf)
    if math.isfinite(low) and math.isfinite(high):
        return f"{inside} {range_words(finding)}"
    unit = finding.found.unit if finding.found is not None else ""
    return (
        f"{below} {number(high)} {unit}".rstrip() if math.isfinite(high) else f"{above} {number(low)} {unit}".rstrip()
    )
