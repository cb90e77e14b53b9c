"""Predicates on fitted quantities of links: asymptotes, latencies, and their ratios between tiers."""

from __future__ import annotations

from collections.abc import Sequence

from collmark.analysis.claims.measured.comparison import launches, ratio_of, why_absent
from collmark.analysis.claims.measured.curve import Side, sides, way_words
from collmark.analysis.claims.measured.family import Family, family_of
from collmark.analysis.claims.measured.material import Material
from collmark.analysis.claims.measured.pairing import pairs_of
from collmark.analysis.claims.measured.reading import FITTED, Absent, Sample, fitted, read, words
from collmark.analysis.claims.measured.selector import Selector
from collmark.analysis.claims.quantity import Quantity


def asymptote(
    material: Material,
    tiers: Sequence[Selector],
    *,
    operation: str,
    ranks: Quantity | None = None,
    both_ways: bool = False,
) -> tuple[Sample, ...] | Absent:
    """Take the asymptotic (bus) bandwidth of an operation on a tier: 1/beta of its fit.

    Parameters
    ----------
    operation : str
        Name.
    ranks : Quantity or None
        Number of ranks; any where None.
    both_ways : bool
        Add up both directions of a stream.
    """
    (tier,) = tiers
    found = sides(material.curves, tier, operation, _whole(ranks))
    if not found:
        return Absent(reason=why_absent(material.curves, tiers, [operation], _whole(ranks)))
    return tuple(_asymptote_sample(side, operation, both_ways=both_ways) for side in found)


def _asymptote_sample(side: Side, operation: str, *, both_ways: bool) -> Sample:
    values = fitted(side, "asymptote")
    directions = side.curves[0].series.directions if both_ways else 1
    way = f", {directions} directions" if directions > 1 else ""
    reading = read(
        f"asymptote of {operation}",
        [values.per_launch],
        unit="B/s",
        factor=float(directions),
        problem=values.problem,
        apart=values.apart,
        by=f"{operation}, {side.ranks} ranks{way}, {launches(values.per_launch)}",
    )
    times = f" x {directions} directions" if directions > 1 else ""
    step = f"{side.definition(FITTED['asymptote'].words)}: 1/beta of the fit in each launch{times} = {words(reading)}"
    return Sample(
        condition=side.words,
        readings=(reading.with_steps(step),),
        evidence=side.evidence,
        imported=side.imported,
    )


def asymptote_ratio(
    material: Material,
    tiers: Sequence[Selector],
    *,
    operation: str,
    directions: Quantity | None = None,
    ranks: Quantity | None = None,
    family: bool = False,
) -> tuple[Sample, ...] | Absent:
    """Take the ratio of asymptotic (bus) bandwidths of an operation on two tiers, A over B, at equal rank count.

    Parameters
    ----------
    operation : str
        Name.
    directions, ranks : Quantity or None
        Directions in which a link carries data at once, number of ranks; any where None.
    family : bool
        Show the other ratios of the two tiers beside it.
    """
    return _ratio(
        material, tiers, operation, "asymptote", directions=_whole(directions), ranks=_whole(ranks), family=family
    )


def alpha_ratio(material: Material, tiers: Sequence[Selector], *, operation: str) -> tuple[Sample, ...] | Absent:
    """Take the ratio of fitted latencies of an operation on two tiers, A over B.

    Parameters
    ----------
    operation : str
        A point-to-point one: the alpha of a collective counts its hops.
    """
    return _ratio(material, tiers, operation, "alpha", directions=None, ranks=None, family=False)


def _ratio(
    material: Material,
    tiers: Sequence[Selector],
    operation: str,
    name: str,
    *,
    directions: int | None,
    ranks: int | None,
    family: bool,
) -> tuple[Sample, ...] | Absent:
    a, b = tiers
    pairing = pairs_of(material, a, b, operation, ranks=ranks)
    if not pairing.pairs:
        return Absent(reason=why_absent(material.curves, tiers, [operation], ranks) or pairing.reason)
    pairs = [pair for pair in pairing.pairs if directions in (None, pair[0].condition["directions"])]
    others = family_of(material, a, b) if family and pairs else Family()
    return tuple(
        Sample(
            condition=f"{left.words} over {right.place}",
            readings=(ratio_of(left, right, name, f"{operation} {FITTED[name].words}, {a.text} over {b.text}"),),
            evidence=(*left.evidence, *right.evidence),
            also=others.figures,
            missing=others.missing,
            notes=(*pairing.notes, *others.notes),
            imported=left.imported or right.imported,
        )
        for left, right in pairs
    ) or Absent(reason=f"unlike: no {operation} {way_words(directions or 1)}")


def _whole(quantity: Quantity | None) -> int | None:
    return None if quantity is None else quantity.whole
