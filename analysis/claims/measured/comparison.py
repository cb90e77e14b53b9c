"""Ratios of what was fitted to two sides, and why there is none."""

from __future__ import annotations

from collections.abc import Sequence

from collmark.analysis.claims.measured.curve import Curve, Side, sides
from collmark.analysis.claims.measured.reading import DIFFER, DIGITS, FITTED, LEVEL, Reading, fitted, read, words
from collmark.analysis.claims.measured.selector import Selector
from collmark.analysis.claims.quantity import shown
from collmark.analysis.fieller import NOT_BOUNDED
from collmark.core.numeral import counted
from collmark.core.placement import Tier

NAMED = 4
"""Operations that are named where the one asked for is missing."""


def ratio_of(left: Side, right: Side, name: str, says: str, *, software: bool = False) -> Reading:
    """Return the ratio of a fitted quantity of two sides, by Welch on the logarithms of its value in each launch."""
    over, under = fitted(left, name), fitted(right, name)
    unit = FITTED[name].unit
    each = [read("", [values.per_launch], unit=unit, apart=values.apart, by="") for values in (over, under)]
    reading = read(
        says,
        [over.per_launch],
        [under.per_launch],
        problem="; ".join(filter(None, (over.problem, under.problem))),
        apart=DIFFER if over.apart or under.apart else "",
        by=f"{left.curves[0].series.operation}, {ranks_of(left, right)}, {launches(over.per_launch, under.per_launch)}",
    ).with_sides(*(side.definition(FITTED[name].words, software=software) for side in (left, right)))
    return reading.with_steps(
        f"A, {reading.over} = {words(each[0])}, {launches(over.per_launch)}",
        f"B, {reading.under} = {words(each[1])}, {launches(under.per_launch)}",
        f"A / B = {words(reading)}",
        *checked(reading),
    )


def checked(reading: Reading) -> tuple[str, ...]:
    """Return the step that says what Fieller's interval of the same ratio is; none where there is none."""
    if reading.check is None or reading.apart:
        return ()
    estimate = reading.check.interval(LEVEL)
    if estimate is None:
        return (f"check by Fieller's interval: {NOT_BOUNDED}, since B scatters too much to be told from 0",)
    ends = ", ".join(shown(end, "", "", DIGITS) for end in (estimate.lower, estimate.upper))
    value = shown(estimate.value, "", "", DIGITS)
    return (f"check by Fieller's interval: {value} [{ends}], {100 * LEVEL:g} %",)


def ranks_of(left: Side, right: Side) -> str:
    """Return the number of ranks of two sides in words."""
    return f"{left.ranks} ranks" if left.ranks == right.ranks else f"{left.ranks} over {right.ranks} ranks"


def why_absent(
    curves: Sequence[Curve],
    tiers: Sequence[Selector],
    operations: Sequence[str],
    ranks: int | None,
    *,
    others: bool = True,
) -> str:
    """Return what is missing of some tiers, in words; empty where every operation was measured on each.

    With `others`, which operations there are instead.
    """
    without = [tier.text for tier in tiers if not _of_tier(curves, tier)]
    missing = [f"no records of {', '.join(dict.fromkeys(without))}{_of_no_tier(curves)}"] if without else []
    missing += [
        _why_absent(curves, tier, operation, ranks, others=others)
        for tier in tiers
        for operation in operations
        if tier.text not in without and not sides(curves, tier, operation, ranks)
    ]
    return "; ".join(missing)


def _of_tier(curves: Sequence[Curve], tier: Selector) -> list[Curve]:
    return [curve for curve in curves if tier.takes(curve.series.tier, curve.series.fabric, curve.labels)]


def _of_no_tier(curves: Sequence[Curve]) -> str:
    runs = dict.fromkeys(curve.series.run for curve in curves if curve.series.tier == Tier.UNKNOWN)
    return f", and no evidence of the link that was used in {counted(len(runs), 'run')}" if runs else ""


def _why_absent(curves: Sequence[Curve], tier: Selector, operation: str, ranks: int | None, *, others: bool) -> str:
    of_operation = [curve for curve in _of_tier(curves, tier) if curve.series.operation == operation]
    if not of_operation:
        return f"{tier.text}: no {operation}{_others(_of_tier(curves, tier)) if others else ''}"
    of_ranks = [curve for curve in of_operation if ranks is None or curve.ranks == ranks]
    if not of_ranks:
        return f"{tier.text}: no {operation} of {ranks} ranks"
    return f"{tier.text}: no usable {operation}: {'; '.join(curve.left_out for curve in of_ranks)}"


def _others(curves: Sequence[Curve]) -> str:
    """Return which operations there are instead: another operation, or another number of directions, is never taken."""
    names = list(dict.fromkeys(curve.series.operation for curve in curves))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"; unlike it: {', '.join(names[:NAMED])}{more}"


def launches(*groups: Sequence[float]) -> str:
    """Return a number of launches in words; that of each group where they differ."""
    counts = [len(group) for group in groups]
    if len(set(counts)) > 1:
        return f"{' and '.join(map(str, counts))} launches"
    return f"{counts[0]} launch{'' if counts[0] == 1 else 'es'}"
