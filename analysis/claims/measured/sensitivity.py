"""Predicate: whether one collective feels the slower tier more than another does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from collmark.analysis.claims.finding import Figure
from collmark.analysis.claims.measured.comparison import launches, pairs_of, why_absent
from collmark.analysis.claims.measured.curve import Curve, Side
from collmark.analysis.claims.measured.material import Material
from collmark.analysis.claims.measured.reading import Absent, Sample, figure, fitted, read, words
from collmark.analysis.claims.measured.selector import Selector
from collmark.analysis.claims.quantity import Quantity

_SHARED = ("backend", "device", "dtype", "cadence", "buffers", "scheduling", "binding")
"""What two operations must have in common; reduction, place and estimand belong to the operation."""
_Pair = tuple[Side, Side]


def sensitivity(
    material: Material,
    tiers: Sequence[Selector],
    *,
    operation: str,
    against: str,
    ragged: str,
    ranks: Quantity | None = None,
) -> tuple[Sample, ...] | Absent:
    """Take (tier A / tier B) of one operation over (tier A / tier B) of another, asymptotic bandwidths, equal ranks.

    Parameters
    ----------
    operation, against : str
        The collective that is said to feel the link more, and the one it is measured against.
    ragged : str
        Ragged counterpart of `operation`, shown beside it against its lower bound.
    ranks : Quantity or None
        Number of ranks; any where None.
    """
    a, b = tiers
    count = None if ranks is None else ranks.whole
    (first, curves), (second, _other) = (pairs_of(material, a, b, name, ranks=count) for name in (operation, against))
    if not first.pairs or not second.pairs:
        missing = why_absent(curves, tiers, [operation, against], count)
        return Absent(reason=missing or first.reason or second.reason)
    samples = tuple(
        _sample(one, other, (operation, against), _ragged(curves, one, ragged))
        for one in first.pairs
        for other in second.pairs
        if _belong_together(one, other)
    )
    return samples or Absent(reason=f"unlike sides: {operation} and {against} differ in ranks, dtype or cadence")


def _belong_together(one: _Pair, other: _Pair) -> bool:
    alike = all(one[0].condition[name] == other[0].condition[name] for name in _SHARED)
    shapes = [[(side.ranks, side.nodes) for side in pair] for pair in (one, other)]
    return alike and shapes[0] == shapes[1]


def _sample(one: _Pair, other: _Pair, names: tuple[str, str], also: tuple[Figure, ...]) -> Sample:
    (a, b), (c, d) = one, other
    values = [fitted(side, "asymptote") for side in (a, b, c, d)]
    per_launch = [value.per_launch for value in values]
    reading = read(
        f"{names[0]} over {names[1]}, each {a.tier} over {b.tier}",
        [per_launch[0], per_launch[3]],
        [per_launch[1], per_launch[2]],
        problem="; ".join(dict.fromkeys(value.problem for value in values if value.problem)),
        by=f"{names[0]} against {names[1]}, {a.ranks} ranks, {launches(*per_launch)}",
    )
    each = [read("", [over], [under], by="") for over, under in (per_launch[:2], per_launch[2:])]
    return Sample(
        condition=f"{a.words} over {b.place}",
        readings=(
            reading.with_steps(
                *(f"{name}: {a.tier} / {b.tier} = {words(ratio)}" for name, ratio in zip(names, each, strict=True)),
                f"{names[0]} / {names[1]} = {words(reading)}",
            ),
        ),
        evidence=(*a.evidence, *b.evidence, *c.evidence, *d.evidence),
        also=also,
    )


def _ragged(curves: Sequence[Curve], pair: _Pair, ragged: str) -> tuple[Figure, ...]:
    """Return what a ragged exchange reaches of the even one's bandwidth, both by the bytes of the heaviest rank."""
    return tuple(_ragged_of(curves, pair, ragged))


def _ragged_of(curves: Sequence[Curve], pair: _Pair, ragged: str) -> Iterator[Figure]:
    for even in pair:
        place = even.curves[0].series
        for curve in curves:
            s = curve.series
            same_place = (s.operation, s.tier, s.fabric, curve.ranks) == (ragged, place.tier, place.fabric, even.ranks)
            if not same_place or not curve.times or any(getattr(s, name) != getattr(place, name) for name in _SHARED):
                continue
            own, bound = fitted(Side(tier=even.tier, curves=(curve,)), "asymptote"), fitted(even, "asymptote")
            if own.problem or bound.problem:
                continue
            found = figure(
                f"{ragged} ({s.traffic}) over its lower bound, {even.tier}",
                read("", [own.per_launch], [bound.per_launch], by=""),
            )
            if found is not None:
                yield found
