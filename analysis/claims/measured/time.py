"""Predicates on times: of the smallest message, and at a size that a claim names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collmark.analysis.claims.measured.comparison import launches, why_absent
from collmark.analysis.claims.measured.curve import Curve, Side, sides
from collmark.analysis.claims.measured.material import Material
from collmark.analysis.claims.measured.reading import Absent, Reading, Sample, problems_of, read, runs_apart, words
from collmark.analysis.claims.measured.selector import Selector
from collmark.analysis.claims.quantity import Quantity, shown
from collmark.core.case import Device
from collmark.core.units import format_nbytes

_MEMORY = {Device.CPU.value: "host memory", Device.CUDA.value: "GPU memory"}


def smallest_time(
    material: Material, tiers: Sequence[Selector], *, operation: str, at_most: Quantity
) -> tuple[Sample, ...] | Absent:
    """Take the time of the smallest message that was measured.

    Parameters
    ----------
    operation : str
        Name; ping_pong gives half a round trip.
    at_most : Quantity
        B: a larger message is no measure of latency.
    """
    (tier,) = tiers
    found = sides(material.curves, tier, operation)
    if not found:
        return Absent(reason=why_absent(material.curves, tiers, [operation], None))
    small = [side for side in found if side.sizes[0] <= at_most.value]
    if not small:
        least = min(side.sizes[0] for side in found)
        return Absent(reason=f"{tier.text}: the smallest {operation} is {format_nbytes(least)}, needs {at_most.text}")
    return tuple(
        Sample(
            condition=side.words,
            readings=(_measured(side, side.sizes[0], "at the smallest size"),),
            evidence=side.evidence,
            notes=(
                f"buffers in {_MEMORY[side.curves[0].series.device]}",
                "same leaf switch or not: not in the records",
            ),
            imported=side.imported,
        )
        for side in small
    )


def time_at(
    material: Material,
    tiers: Sequence[Selector],
    *,
    operation: str,
    sizes: Sequence[Quantity],
    ranks: Quantity | None = None,
    smallest: bool = False,
) -> tuple[Sample, ...] | Absent:
    """Take the time at some sizes: measured there, or from the fit between sizes that were measured.

    Parameters
    ----------
    operation : str
        Name.
    sizes : sequence of Quantity
        B.
    ranks : Quantity or None
        Number of ranks; any where None.
    smallest : bool
        Take the smallest size that was measured as well.
    """
    (tier,) = tiers
    count = None if ranks is None else ranks.whole
    found = sides(material.curves, tier, operation, count)
    if not found:
        return Absent(reason=why_absent(material.curves, tiers, [operation], count))
    samples = []
    for side in found:
        readings = [_measured(side, side.sizes[0], "at the smallest size")] if smallest else []
        readings += [_at(side, size.whole) for size in sizes]
        samples.append(
            Sample(condition=side.words, readings=tuple(readings), evidence=side.evidence, imported=side.imported)
        )
    return tuple(samples)


def _measured(side: Side, nbytes: int, says: str) -> Reading:
    times = side.times(nbytes)
    operation = side.curves[0].series.operation
    size = shown(nbytes, "B")
    how = "imported" if side.curves[0].series.origin else "measured"
    apart = runs_apart([(curve.series.run, curve.times.get(nbytes, ())) for curve in side.curves], "s")
    reading = read(
        says,
        [times],
        unit="s",
        problem=apart,
        apart=apart,
        by=f"{operation} at {size}, {side.ranks} ranks, {how}, {launches(times)}",
    )
    return reading.with_steps(f"{side.tier}: T {how} at {size} = {words(reading)}, {launches(times)}")


def _at(side: Side, nbytes: int) -> Reading:
    if side.times(nbytes):
        return _measured(side, nbytes, f"at {shown(nbytes, 'B')}")
    of_runs = [(curve.series.run, _predicted(curve, nbytes)) for curve in side.curves]
    values = [value for _run, own in of_runs for value in own]
    apart = runs_apart(of_runs, "s")
    problems = (*problems_of(side, lambda curve: _why_not(curve, nbytes)), apart)
    operation, size = side.curves[0].series.operation, shown(nbytes, "B")
    reading = read(
        f"at {size}",
        [values],
        unit="s",
        problem="; ".join(filter(None, problems)),
        apart=apart,
        by=f"{operation} at {size}, {side.ranks} ranks, fitted, {launches(values)}",
    )
    return reading.with_steps(f"{side.tier}: the fitted model of each launch, at {size} = {words(reading)}")


def _predicted(curve: Curve, nbytes: int) -> list[float]:
    """Return T at a size by the model of each launch, s."""
    fit = curve.fit
    if fit is None or fit.beta is None:
        return []
    seconds: list[float] = fit.predict_each(np.array([fit.bus_ratio * nbytes]))[:, 0].tolist()
    return seconds


def _why_not(curve: Curve, nbytes: int) -> str:
    fit = curve.fit
    if fit is None:
        return curve.refused or "no fit"
    if not fit.describes:
        return f"the {fit.model} model does not describe its times (rms misfit {100 * fit.rms:.0f} %)"
    if nbytes > fit.last:
        return f"measured up to {format_nbytes(fit.last)} only: {shown(nbytes, 'B')} is extrapolated"
    if nbytes < fit.first:
        return f"measured from {format_nbytes(fit.first)} on only: {shown(nbytes, 'B')} is extrapolated"
    return ""
