"""Predicate: whether every pair of a domain is as fast as the others."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from collmark.analysis.claims.measured.comparison import launches, why_absent
from collmark.analysis.claims.measured.curve import Curve, Side, sides
from collmark.analysis.claims.measured.material import Material
from collmark.analysis.claims.measured.reading import Absent, Sample, geometric_mean, read, words
from collmark.analysis.claims.measured.selector import Selector
from collmark.analysis.claims.quantity import Quantity
from collmark.core.units import format_nbytes

PAIR = re.compile(r"(\d+)-(\d+)", re.ASCII)
"""How a label names a pair of members."""
NO_MATRIX = "records do not say which pair they are of: label each run or placement I-J, as 0-1"
LEAST_PAIRS = 2


def pair_uniformity(
    material: Material, tiers: Sequence[Selector], *, operation: str, members: Quantity
) -> tuple[Sample, ...] | Absent:
    """Take the bandwidth of the worst pair over that of the median pair, at the largest size that all have.

    Parameters
    ----------
    operation : str
        Name, of two ranks.
    members : Quantity
        GPUs of the whole domain. With fewer pairs than it has, a bad one shows the claim false, but none shows it true.

    Notes
    -----
    The worst of many pairs is the worst by chance as well, which makes the ratio err to the low side.
    """
    (tier,) = tiers
    own = sides(material.curves, tier, operation, 2, any_nodes=True)
    if not own:
        return Absent(reason=f"{why_absent(material.curves, tiers, [operation], 2)}; {NO_MATRIX}")
    samples = [_sample(side, operation, members) for side in own]
    found = tuple(sample for sample in samples if sample is not None)
    return found or Absent(reason=f"{tier.text}: {NO_MATRIX}")


def _sample(side: Side, operation: str, members: Quantity) -> Sample | None:
    of_pair: dict[tuple[int, int], list[Curve]] = {}
    for curve in side.curves:
        pair = _pair(curve)
        if pair is not None:
            of_pair.setdefault(pair, []).append(curve)
    common = (
        set.intersection(*({n for c in curves for n in c.times} for curves in of_pair.values())) if of_pair else set()
    )
    if len(of_pair) < LEAST_PAIRS or not common:
        return None
    nbytes = max(common)
    times = {pair: [t for c in curves for t in c.times.get(nbytes, ())] for pair, curves in of_pair.items()}
    ordered = sorted(times, key=lambda pair: geometric_mean(times[pair]))
    median, worst = ordered[(len(ordered) - 1) // 2], ordered[-1]
    # Either direction of a link covers the pair, and is looked at by itself.
    covered = len({frozenset(pair) for pair in times})
    every = members.whole * (members.whole - 1) // 2
    # Bandwidths at one size stand to each other as times do, the other way round.
    reading = read(
        f"pair {worst[0]}-{worst[1]} over the median pair {median[0]}-{median[1]}",
        [times[median]],
        [times[worst]],
        by=f"{covered} of {every} pairs, {launches(times[worst], times[median])}",
    )
    what = f"bandwidth at {format_nbytes(nbytes)}"
    if covered < every:
        short = f"{covered} of the {every} pairs of {members.text} members"
        reading = msgspec.structs.replace(reading, can_only_fail=short)
    return Sample(
        condition=side.words,
        readings=(
            reading.with_sides(
                *(f"pair {one[0]}-{one[1]}: {side.definition(what)}" for one in (worst, median))
            ).with_steps(
                f"{operation} at {format_nbytes(nbytes)}: the median pair is {median}, the worst {worst}",
                f"bandwidth of {worst} / that of {median} = {words(reading)}",
            ),
        ),
        evidence=side.evidence,
        imported=side.imported,
    )


def _pair(curve: Curve) -> tuple[int, int] | None:
    for label in curve.labels:
        match = PAIR.fullmatch(label)
        if match and int(match[1]) != int(match[2]):
            return int(match[1]), int(match[2])
    return None
