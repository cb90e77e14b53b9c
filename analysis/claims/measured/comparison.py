"""Two sides put beside each other: like ones only, and ratios of what was fitted to them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from collmark.analysis.claims.measured.curve import Curve, Pairing, Side, mixes_clocks, pair_up, sides
from collmark.analysis.claims.measured.material import Material
from collmark.analysis.claims.measured.reading import Reading, fitted, read, words
from collmark.analysis.claims.measured.selector import Selector

LEVELLED = "clocks could be compared on one side only: T is D_max on both, skew included"


class Fitted(msgspec.Struct, frozen=True, kw_only=True):
    """A quantity of a fit: in words, and its SI unit."""

    words: str
    unit: str


FITTED = {
    "asymptote": Fitted(words="asymptotic bandwidth", unit="B/s"),
    "alpha": Fitted(words="latency alpha", unit="s"),
}
"""The fitted quantities that predicates take, by field of a fit."""


def pairs_of(
    material: Material, a: Selector, b: Selector, operation: str, *, ranks: int | None = None
) -> tuple[Pairing, tuple[Curve, ...]]:
    """Return the sides of two tiers that are alike, and their curves: those of D_max where only clocks differ."""

    def paired(curves: tuple[Curve, ...]) -> Pairing:
        return pair_up(sides(curves, a, operation, ranks), sides(curves, b, operation, ranks), equal_ranks=True)

    pairing = paired(material.curves)
    if not mixes_clocks(pairing):
        return pairing, material.curves
    return paired(material.longest), material.longest


def ratio_of(left: Side, right: Side, name: str, says: str) -> Reading:
    """Return the ratio of a fitted quantity of two sides, by Welch on the logarithms of its value in each launch."""
    over, under = fitted(left, name), fitted(right, name)
    each = [read("", [values.per_launch], unit=FITTED[name].unit, by="") for values in (over, under)]
    reading = read(
        says,
        [over.per_launch],
        [under.per_launch],
        problem="; ".join(filter(None, (over.problem, under.problem))),
        by=f"{left.curves[0].series.operation}, {left.ranks} ranks, {launches(over.per_launch, under.per_launch)}",
    )
    return reading.with_steps(
        f"A {left.tier}: {FITTED[name].words} {words(each[0])}, {launches(over.per_launch)}",
        f"B {right.tier}: {FITTED[name].words} {words(each[1])}, {launches(under.per_launch)}",
        f"A / B = {words(reading)}",
    )


def why_absent(curves: Sequence[Curve], tiers: Sequence[Selector], operations: Sequence[str], ranks: int | None) -> str:
    """Return what is missing of some tiers, in words; empty where every operation was measured on each."""
    without = [tier.text for tier in tiers if not _of_tier(curves, tier)]
    missing = [f"no records of {', '.join(dict.fromkeys(without))}"] if without else []
    missing += [
        _why_absent(curves, tier, operation, ranks)
        for tier in tiers
        for operation in operations
        if tier.text not in without and not sides(curves, tier, operation, ranks)
    ]
    return "; ".join(missing)


def _of_tier(curves: Sequence[Curve], tier: Selector) -> list[Curve]:
    return [curve for curve in curves if tier.takes(curve.series.tier, curve.series.fabric, curve.labels)]


def _why_absent(curves: Sequence[Curve], tier: Selector, operation: str, ranks: int | None) -> str:
    of_operation = [curve for curve in _of_tier(curves, tier) if curve.series.operation == operation]
    if not of_operation:
        return f"{tier.text}: no {operation}"
    of_ranks = [curve for curve in of_operation if ranks is None or curve.ranks == ranks]
    if not of_ranks:
        return f"{tier.text}: no {operation} of {ranks} ranks"
    return f"{tier.text}: no usable {operation}: {'; '.join(curve.left_out for curve in of_ranks)}"


def launches(*groups: Sequence[float]) -> str:
    """Return a number of launches in words; that of each group where they differ."""
    counts = [len(group) for group in groups]
    if len(set(counts)) > 1:
        return f"{' and '.join(map(str, counts))} launches"
    return f"{counts[0]} launch{'' if counts[0] == 1 else 'es'}"
