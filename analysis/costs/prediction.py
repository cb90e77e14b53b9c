"""T at sizes and rank counts that were not measured: with an interval, and only as far as measurements reach."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from collmark.analysis.columns import Series
from collmark.analysis.costs.algorithm import power_below
from collmark.analysis.costs.growth import FloatArray, rms
from collmark.analysis.costs.index import ALGORITHMS
from collmark.analysis.costs.scaling import LEAST_RANK_COUNTS, Candidate, Scaling, Scalings, likeness, placement_of
from collmark.analysis.models.fit import MOST_RMS, Fit, Fits
from collmark.analysis.models.hockney import HOCKNEY
from collmark.core.estimate import Estimate
from collmark.core.operation_table import OPERATIONS
from collmark.core.statistics import log_t_interval
from collmark.core.units import format_nbytes

ALLOWANCE = 1.1
"""By which factor an interval is widened for every octave outside the measured range: a rule, and no estimate."""
FURTHEST = 3.0
"""Octaves outside beyond which nothing is predicted."""
_TWO_SD = 2.0


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """T of one series at a size and a rank count.

    Attributes
    ----------
    series : Series
        Like which it is; placement and run are those of the fit it comes from, or of the first.
    nbytes, ranks : int
        Where, B and a number.
    seconds : float
        T, s.
    lower, upper : float or None
        95 % interval of the mean over launches, widened by misfit, by algorithms that cannot be told apart and by the
        allowance; None for one launch.
    launches : int
        Launches behind it.
    basis : str
        What it comes from.
    outside : str
        In how far it lies outside what was measured, and by what the interval was widened; empty inside.
    """

    series: Series
    nbytes: int
    ranks: int
    seconds: float
    lower: float | None = None
    upper: float | None = None
    launches: int = 1
    basis: str
    outside: str = ""


class Unpredicted(msgspec.Struct, frozen=True, kw_only=True):
    """A series of which nothing is predicted, and why."""

    series: Series
    nbytes: int
    ranks: int
    reason: str


def predict(fits: Fits, scalings: Scalings, nbytes: int, ranks: int) -> tuple[Prediction | Unpredicted, ...]:
    """Predict T of every like series at one size and rank count.

    At a rank count that was measured its own fit answers; elsewhere the law over rank counts.

    Parameters
    ----------
    fits, scalings
        Of the same runs.
    nbytes, ranks : int
        Where, B and a number.
    """
    laws = {likeness(one.series): one for one in scalings.scalings}
    groups: dict[tuple[object, ...], list[Fit]] = {}
    for fit in fits.fits:
        groups.setdefault(likeness(fit.series), []).append(fit)
    found: list[Prediction | Unpredicted] = []
    for like, group in groups.items():
        own = [fit for fit in group if placement_of(fit.series).ranks == ranks]
        if own:
            found += [_from_fit(fit, nbytes, ranks) for fit in own]
        else:
            found.append(_from_scaling(laws.get(like), group, nbytes, ranks))
    return tuple(found)


def _from_fit(fit: Fit, nbytes: int, ranks: int) -> Prediction | Unpredicted:
    nbytes = _sized(fit.series, nbytes)
    octaves, words = _outside([("size", nbytes, fit.first, fit.last)])
    if octaves > FURTHEST or not fit.describes:
        reason = words if fit.describes else "its model does not describe the measured times"
        return Unpredicted(series=fit.series, nbytes=nbytes, ranks=ranks, reason=reason)
    lines = _lines(fit, nbytes)
    bus_nbytes = np.array([nbytes * fit.bus_ratio])
    each = [(_own_seconds(line, nbytes), line.predict_each(bus_nbytes)[:, 0]) for line in lines]
    spread = [(centre, log_t_interval(each_L) if each_L.all() else None, fit.rms) for centre, each_L in each]
    basis = f"the fit at {ranks} ranks"
    if len(lines) > 1:
        below, above = (f"{centre * 1e6:.3g} us" for centre, _each in each)
        basis += f", which changes its line somewhere in {_beside(fit, nbytes)}: {below} by one, {above} by the other"
    centre = _own_seconds(fit, nbytes)
    blank = Prediction(series=fit.series, nbytes=nbytes, ranks=ranks, seconds=centre, basis=basis, outside=words)
    return _with_interval(blank, spread, octaves)


def _own_seconds(fit: Fit, nbytes: int) -> float:
    return float(fit.predict(np.array([nbytes * fit.bus_ratio]))[0])


def _lines(fit: Fit, nbytes: int) -> list[Fit]:
    """Return the fit once for each line that may hold at a size: between the sizes around a break both do."""
    for index, (below, above) in enumerate(fit.breaks):
        if below < nbytes < above:
            around = fit.breaks[:index], fit.breaks[index + 1 :]
            moved = ((nbytes, above), (below, nbytes))  # the break put above the size, and below it
            return [msgspec.structs.replace(fit, breaks=(*around[0], one, *around[1])) for one in moved]
    return [fit]


def _beside(fit: Fit, nbytes: int) -> str:
    """Return the sizes around the break that a size lies beside, in words."""
    return next(f"{format_nbytes(low)} to {format_nbytes(high)}" for low, high in fit.breaks if low < nbytes < high)


def _from_scaling(scaling: Scaling | None, group: list[Fit], nbytes: int, ranks: int) -> Prediction | Unpredicted:
    reason = f"{ranks} ranks were not measured, and the law over ranks needs fits at {LEAST_RANK_COUNTS} rank counts"
    if scaling is None:
        return Unpredicted(series=group[0].series, nbytes=nbytes, ranks=ranks, reason=reason)
    limits = max(fit.first for fit in scaling.fits), min(fit.last for fit in scaling.fits)
    nbytes = _sized(scaling.series, nbytes)
    octaves, words = _outside([("size", nbytes, *limits), ("ranks", ranks, scaling.ranks[0], scaling.ranks[-1])])
    allowed = [one for one in scaling.alike if ALGORITHMS[one.latency].holds_for(ranks)]
    allowed = [one for one in allowed if ALGORITHMS[one.bandwidth].holds_for(ranks)]
    reason = (
        words if octaves > FURTHEST else _not_known(scaling, allowed, ranks) or _misses(scaling, allowed, nbytes, ranks)
    )
    if reason:
        return Unpredicted(series=scaling.series, nbytes=nbytes, ranks=ranks, reason=reason)
    misfit = max(fit.rms for fit in scaling.fits)
    spread = []
    for one in allowed:
        each = _times(one, scaling.gamma or 0.0, nbytes, ranks)
        off = rms([math.log(ratio) for _fit, ratio in _ratios(scaling, one, nbytes)])
        own = math.hypot(misfit, max(off, math.hypot(one.latency_rms or 0.0, one.bandwidth_rms or 0.0)))
        spread.append((float(np.exp(np.log(each).mean())), log_t_interval(each), own))
    names = " or ".join(one.words for one in allowed)
    basis = f"{names} over {', '.join(map(str, scaling.ranks))} ranks"
    words = "; ".join(filter(None, (words, _unmeasured_row(scaling, allowed, ranks))))
    blank = Prediction(
        series=scaling.series, nbytes=nbytes, ranks=ranks, seconds=spread[0][0], basis=basis, outside=words
    )
    return _with_interval(blank, spread, octaves)


def _sized(series: Series, nbytes: int) -> int:
    """Return the size, or none where the operation has none."""
    return nbytes if OPERATIONS[series.operation].sized else 0


def _not_known(scaling: Scaling, allowed: list[Candidate], ranks: int) -> str:
    if not scaling.best.describes:
        return "no algorithm of the cost table describes how the fits grow with ranks"
    if not allowed:
        return f"{scaling.best.words} is not defined for {ranks} ranks"
    needs_beta = OPERATIONS[scaling.series.operation].sized
    if any(one.latency_rms is None or (needs_beta and not one.beta.per_launch) for one in allowed):
        return f"alpha or beta is not well known at {LEAST_RANK_COUNTS} rank counts"
    return ""


def _ratios(scaling: Scaling, one: Candidate, nbytes: int) -> list[tuple[Fit, float]]:
    """Return what the law says over what each fit says at a size; beside a break by either line."""
    found = []
    for fit, ranks in zip(scaling.fits, scaling.ranks, strict=True):
        law = float(np.exp(np.log(_times(one, scaling.gamma or 0.0, nbytes, ranks)).mean()))
        found += [(fit, law / _own_seconds(line, nbytes)) for line in _lines(fit, nbytes)]
    return found


def _misses(scaling: Scaling, allowed: list[Candidate], nbytes: int, ranks: int) -> str:
    """Return why the law does not hold at a size: it has one line, the alpha of the first and the beta of the last."""
    broken = [fit for fit in scaling.fits if fit.breaks]
    if broken and not scaling.ranks[0] <= ranks <= scaling.ranks[-1]:
        where = f"the fit at {placement_of(broken[-1].series).ranks} ranks has {broken[-1].model_words}"
        return f"{where}: beyond the measured rank counts nothing tells where a line ends"
    ratios = [(one, fit, ratio) for one in allowed for fit, ratio in _ratios(scaling, one, nbytes)]
    one, fit, ratio = max(ratios, key=lambda found: abs(math.log(found[2])))
    if abs(math.log(ratio)) <= math.log1p(MOST_RMS):
        return ""
    changes = f", which is {fit.model_words}" if fit.model != HOCKNEY.name else ""
    its = f"the fit at {placement_of(fit.series).ranks} ranks does{changes}"
    where = f"at {format_nbytes(nbytes)} {one.words} says {ratio:.2g} times what {its}"
    return f"{where}: predicted at measured rank counts only"


def _unmeasured_row(scaling: Scaling, allowed: list[Candidate], ranks: int) -> str:
    """Return that an algorithm takes other steps at a rank count than at powers of two, and only these were measured.

    So it is where what stands before alpha or beta does not lie between those of the powers of two on either side.
    """
    power = power_below(ranks)
    if power == ranks or any(power_below(measured) != measured for measured in scaling.ranks):
        return ""
    names = []
    for one in allowed:
        pairs = ((one.latency, "alpha"), (one.bandwidth, "beta"))
        terms = [[getattr(ALGORITHMS[key].terms(p), part) for p in (power, ranks, 2 * power)] for key, part in pairs]
        if any(not min(low, high) <= own <= max(low, high) for low, own, high in terms):
            names.append(one.words)
    if not names:
        return ""
    return f"only powers of two were measured, and what {' or '.join(names)} does at {ranks} ranks beyond is reckoned"


def _times(one: Candidate, gamma: float, nbytes: int, ranks: int) -> FloatArray:
    """Return T in each set of launches."""
    messages, moved = (ALGORITHMS[key].terms(ranks) for key in (one.latency, one.bandwidth))
    launches = max(len(one.overhead.per_launch), len(one.alpha.per_launch), len(one.beta.per_launch))
    parts = [quantity.per_launch or (0.0,) * launches for quantity in (one.overhead, one.alpha, one.beta)]
    sets = list(zip(*parts, strict=False))
    times = [
        constant + messages.alpha * alpha + nbytes * (moved.beta * beta + moved.gamma * gamma)
        for constant, alpha, beta in sets
    ]
    # A launch whose overhead came out negative may so predict no time at all: a message, and the bytes, take theirs.
    least = [max(alpha, nbytes * moved.beta * beta) for _constant, alpha, beta in sets]
    return np.maximum(times, least)


def _outside(ranges: Sequence[tuple[str, float, float, float]]) -> tuple[float, str]:
    """Return how many octaves a point lies outside ranges, all in all, and that in words."""
    octaves, said = 0.0, []
    for name, value, first, last in ranges:
        beyond = math.log2(max(first, 1) / max(value, 1)) if value < first else math.log2(max(value, 1) / max(last, 1))
        if first <= value <= last or beyond <= 0:
            continue
        octaves += beyond
        write = format_nbytes if name == "size" else str
        said.append(f"{name} {write(int(value))}, measured {write(int(first))} to {write(int(last))}")
    if not said:
        return 0.0, ""
    words = f"outside the measured range ({'; '.join(said)})"
    if octaves > FURTHEST:
        return octaves, f"{words}: {octaves:.1f} octaves, of which {FURTHEST:.0f} are allowed"
    return octaves, f"{words}: interval widened by {ALLOWANCE**octaves - 1:.0%}"


def _with_interval(
    prediction: Prediction, spread: Sequence[tuple[float, Estimate | None, float]], octaves: float
) -> Prediction:
    """Add an interval that holds those of all candidates: (centre in s, interval over launches, misfit) each."""
    told = [(centre, estimate, misfit) for centre, estimate, misfit in spread if estimate is not None]
    if not told:
        return prediction
    lows, highs = [], []
    for centre, estimate, misfit in told:
        arms = (math.log(estimate.value / estimate.lower), math.log(estimate.upper / estimate.value))
        down, up = (math.hypot(arm, _TWO_SD * misfit) + octaves * math.log(ALLOWANCE) for arm in arms)
        lows.append(centre * math.exp(-down))
        highs.append(centre * math.exp(up))
    return msgspec.structs.replace(prediction, lower=min(lows), upper=max(highs), launches=told[0][1].count)
