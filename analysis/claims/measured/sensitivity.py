"""Predicate: whether one collective feels the slower tier more than another does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from collmark.analysis.claims.finding import Figure
from collmark.analysis.claims.measured.comparison import launches, ranks_of, why_absent
from collmark.analysis.claims.measured.curve import Curve, Side
from collmark.analysis.claims.measured.material import Material
from collmark.analysis.claims.measured.pairing import mix_clocks, pairs_of, unlike
from collmark.analysis.claims.measured.reading import DIFFER, FITTED, Absent, Sample, figure, fitted, read, words
from collmark.analysis.claims.measured.selector import Selector
from collmark.analysis.claims.quantity import Quantity

_APART = ("operation", "reduction", "traffic", "in_place", "root", "directions", "window")
"""What belongs to an operation; two must have all else in common."""
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
    names = (operation, against)
    first, second = (pairs_of(material, a, b, name, ranks=count) for name in names)
    if mix_clocks([*first.pairs, *second.pairs]):
        first, second = (pairs_of(material, a, b, name, ranks=count, longest=True) for name in names)
    if not first.pairs or not second.pairs:
        missing = why_absent(material.curves, tiers, names, count)
        return Absent(reason=missing or first.reason or second.reason)
    curves = material.longest if first.levelled else material.curves
    notes = tuple(dict.fromkeys((*first.notes, *second.notes)))
    samples = tuple(
        _sample(one, other, names, _ragged(curves, one, ragged), notes)
        for one in first.pairs
        for other in second.pairs
        if not _differences(one, other)
    )
    if samples:
        return samples
    nearest = min((_differences(one, other) for one in first.pairs for other in second.pairs), key=len)
    return Absent(reason=f"unlike sides: {operation} against {against}: {'; '.join(nearest)}")


def _differences(one: _Pair, other: _Pair) -> tuple[str, ...]:
    """Return what differs between the pairs of two operations beside what belongs to an operation."""
    found = [unlike(x, y, equal_ranks=True, apart=_APART) for x, y in zip(one, other, strict=True)]
    return tuple(dict.fromkeys(words for side in found for words in side))


def _sample(
    one: _Pair, other: _Pair, names: tuple[str, str], also: tuple[Figure, ...], notes: tuple[str, ...]
) -> Sample:
    (a, b), (c, d) = one, other
    values = [fitted(side, "asymptote") for side in (a, b, c, d)]
    per_launch = [value.per_launch for value in values]
    reading = read(
        f"{names[0]} over {names[1]}, each {a.tier} over {b.tier}",
        [per_launch[0], per_launch[3]],
        [per_launch[1], per_launch[2]],
        problem="; ".join(dict.fromkeys(value.problem for value in values if value.problem)),
        apart=DIFFER if any(value.apart for value in values) else "",
        by=f"{names[0]} against {names[1]}, {ranks_of(a, b)}, {launches(*per_launch)}",
    ).with_sides(
        *(
            f"({x.definition(FITTED['asymptote'].words)}) / ({y.definition(FITTED['asymptote'].words)})"
            for x, y in (one, other)
        )
    )
    each = [
        read("", [v.per_launch], [w.per_launch], apart=DIFFER if v.apart or w.apart else "", by="")
        for v, w in (values[:2], values[2:])
    ]
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
        notes=notes,
        imported=any(side.imported for side in (a, b, c, d)),
    )


def _ragged(curves: Sequence[Curve], pair: _Pair, ragged: str) -> tuple[Figure, ...]:
    """Return what a ragged exchange reaches of the even one's bandwidth, both by the bytes of the heaviest rank."""
    return tuple(_ragged_of(curves, pair, ragged))


def _ragged_of(curves: Sequence[Curve], pair: _Pair, ragged: str) -> Iterator[Figure]:
    for even in pair:
        place = even.curves[0].series
        for curve in curves:
            s = curve.series
            if (s.operation, s.tier, s.fabric) != (ragged, place.tier, place.fabric) or not curve.times:
                continue
            side = Side(tier=even.tier, curves=(curve,))
            own, bound = fitted(side, "asymptote"), fitted(even, "asymptote")
            if own.problem or bound.problem or unlike(side, even, equal_ranks=True, apart=_APART):
                continue
            found = figure(
                f"{ragged} ({s.traffic}) over its lower bound, {even.tier}",
                read("", [own.per_launch], [bound.per_launch], by="").with_sides(
                    *(one.definition(FITTED["asymptote"].words) for one in (side, even))
                ),
            )
            if found is not None:
                yield found
