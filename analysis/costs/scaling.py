"""From fits at four or more rank counts: what a message and a byte cost, and which algorithm explains it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from collmark.analysis.columns import SERIES, Series
from collmark.analysis.costs.growth import Observed
from collmark.analysis.costs.index import ALGORITHMS, algorithms_of
from collmark.analysis.costs.part import BandwidthPart, LatencyPart, RankCliff
from collmark.analysis.models.fit import MOST_RMS, Fit, Fits
from collmark.analysis.models.quantity import Quantity
from collmark.core.placement import Placement

LEAST_RANK_COUNTS = 4
"""Fewer do not tell a line from a logarithm: p - 1 and lg p correlate 0.98 on 2, 4, 8 (method.md B.4)."""
TOLD_APART = 6.0
"""Of -2 ln likelihood: a larger step up is believed (method.md B.4: BIC)."""
OTHERS = [name for name in SERIES if name not in {"placement", "run"}]


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """What one algorithm says of the fits.

    Attributes
    ----------
    latency, bandwidth : str
        Keys of the cost table: whose messages, and whose bytes. Two where no one row has both.
    overhead : Quantity
        Part of T that grows neither with nbytes nor with ranks, s.
    alpha : Quantity
        Time for each message, s.
    beta : Quantity
        Time for each byte over a link, s/B; empty where times do not tell it.
    latency_rms, bandwidth_rms : float or None
        Root mean square of ln(found / law) over rank counts; None where that part was not known at enough of them.
    excess : float
        -2 ln likelihood above that of the best candidate.
    """

    latency: str
    bandwidth: str
    overhead: Quantity
    alpha: Quantity
    beta: Quantity
    latency_rms: float | None
    bandwidth_rms: float | None
    excess: float

    @property
    def describes(self) -> bool:
        """Whether it describes what was found; as with fits no more than 25 % may be missing."""
        return max(self.latency_rms or 0.0, self.bandwidth_rms or 0.0) <= MOST_RMS

    @property
    def words(self) -> str:
        """The algorithm's name; both, where messages and bytes are those of two."""
        latency, bandwidth = (ALGORITHMS[key].name for key in (self.latency, self.bandwidth))
        return latency if latency == bandwidth else f"messages as {latency}, bytes as {bandwidth}"


class Scaling(msgspec.Struct, frozen=True, kw_only=True):
    """Fits of like series at several rank counts, and what explains them.

    Attributes
    ----------
    fits : tuple of Fit
        By rank count; those that a model does not describe are left out.
    ranks : tuple of int
        Their rank counts.
    gamma : float or None
        Local reduction, s/B, kept apart from beta; None where it was not told: beta then holds its share.
    candidates : tuple of Candidate
        All of the table that these rank counts allow, the best first.
    cliffs : tuple of RankCliff
        Off the best.
    """

    fits: tuple[Fit, ...]
    ranks: tuple[int, ...]
    gamma: float | None
    candidates: tuple[Candidate, ...]
    cliffs: tuple[RankCliff, ...]

    @property
    def best(self) -> Candidate:
        """The most likely one."""
        return self.candidates[0]

    @property
    def alike(self) -> tuple[Candidate, ...]:
        """Those that cannot be told apart from the best, it included."""
        return tuple(one for one in self.candidates if one.excess <= TOLD_APART)

    @property
    def gamma_share(self) -> float:
        """Bytes added locally for each byte over a link, at the largest rank count; 0 where nothing is reduced."""
        terms = ALGORITHMS[self.best.bandwidth].terms(self.ranks[-1])
        return terms.gamma / terms.beta if terms.beta else 0.0

    @property
    def series(self) -> Series:
        """What was measured, at the smallest rank count."""
        return self.fits[0].series


class Unscaled(msgspec.Struct, frozen=True, kw_only=True):
    """Like series at several rank counts from which nothing was derived, and why."""

    series: Series
    ranks: tuple[int, ...]
    reason: str


class Scalings(msgspec.Struct, frozen=True, kw_only=True):
    """All of some fits."""

    scalings: tuple[Scaling, ...] = ()
    refused: tuple[Unscaled, ...] = ()


def placement_of(series: Series) -> Placement:
    """Return the placement of a series, which it holds as text: ``2x4@label``."""
    size, _at, label = series.placement.partition("@")
    nodes, ranks_per_node = size.split("x")
    return Placement(nodes=int(nodes), ranks_per_node=int(ranks_per_node), label=label)


def likeness(series: Series) -> tuple[object, ...]:
    """Return what agrees between series that differ in placement and run only; the placement's label is part of it."""
    return (*(getattr(series, name) for name in OTHERS), placement_of(series).label)


def scale(fits: Fits, gammas: Mapping[str, float] | None = None) -> Scalings:
    """Derive per-message and per-byte costs of every operation that was measured at four or more rank counts.

    Like are series that differ in placement and run only; label, tier and all else agree.

    Parameters
    ----------
    fits : Fits
        Of one or more runs.
    gammas : mapping of str to float
        By run: time to add a byte of float32 locally, s/B, where it was measured.
    """
    groups: dict[tuple[object, ...], list[Fit]] = {}
    for fit in fits.fits:
        groups.setdefault(likeness(fit.series), []).append(fit)
    found: list[Scaling] = []
    refused: list[Unscaled] = []
    for group in groups.values():
        ordered = sorted(group, key=lambda fit: placement_of(fit.series).ranks)
        ranks = tuple(placement_of(fit.series).ranks for fit in ordered)
        if len(ranks) < LEAST_RANK_COUNTS:
            continue
        reason = _refusal(ordered, ranks)
        if reason:
            refused.append(Unscaled(series=ordered[0].series, ranks=ranks, reason=reason))
        else:
            found.append(_scaling(ordered, _gamma(ordered, gammas or {})))
    return Scalings(scalings=tuple(found), refused=tuple(refused))


def _refusal(fits: list[Fit], ranks: tuple[int, ...]) -> str:
    """Return why nothing is derived; empty where something is."""
    if len(set(ranks)) < len(ranks):
        twice = next(count for count in ranks if ranks.count(count) > 1)
        return f"{twice} ranks were measured in more than one run or placement: name one run for each rank count"
    placements = [placement_of(fit.series) for fit in fits]
    if any(one.nodes > 1 for one in placements) and any(one.ranks_per_node > 1 for one in placements):
        return "several ranks a node on several nodes: two kinds of hop; measure one node, or one rank a node"
    if not algorithms_of(fits[0].series.operation):
        return "the cost table has no algorithm for it"
    if sum(fit.describes for fit in fits) < LEAST_RANK_COUNTS:
        return f"the model describes fewer than {LEAST_RANK_COUNTS} of the rank counts"
    if all(_observed(fits, name) is None for name in ("alpha", "beta")):
        return f"alpha and beta are weak: {LEAST_RANK_COUNTS} rank counts need sizes well below and well above n1/2"
    return ""


def _gamma(fits: list[Fit], gammas: Mapping[str, float]) -> float | None:
    """Return the local reduction that was measured, for what it was measured for: sums of float32 by processors."""
    series = fits[0].series
    if (series.device, series.dtype, series.reduction) != ("cpu", "float32", "sum"):
        return None
    told = [gammas[fit.series.run] for fit in fits if fit.series.run in gammas]
    return float(np.exp(np.log(told).mean())) if len(told) == len(fits) else None


def _observed(fits: list[Fit], name: str) -> Observed | None:
    """Return a parameter at the rank counts that tell it well; None where they are too few."""
    known = [(fit, value) for fit in fits if (value := getattr(fit, name)) is not None and fit.describes]
    told = [(fit, value) for fit, value in known if value.per_launch and not value.weak]
    if len(told) < LEAST_RANK_COUNTS:
        return None
    return Observed(
        ranks=tuple(placement_of(fit.series).ranks for fit, _value in told),
        per_launch=tuple(value.per_launch for _fit, value in told),
    )


def _scaling(fits: list[Fit], gamma: float | None) -> Scaling:
    fits = [fit for fit in fits if fit.describes]
    ranks = tuple(placement_of(fit.series).ranks for fit in fits)
    parts = _observed(fits, "alpha"), _observed(fits, "beta")
    series = fits[0].series
    rows = [row for row in algorithms_of(series.operation) if row.may_run(series.backend)]
    rows = [row for row in rows if all(map(row.holds_for, ranks))]
    latencies = {row.key: LatencyPart(parts[0], row) for row in rows}
    bandwidths = {row.key: BandwidthPart(parts[1], row, gamma or 0.0) for row in rows}
    pairs = [(latencies[row.key], bandwidths[row.key]) for row in rows]
    least = min(latency.deviance + bandwidth.deviance for latency, bandwidth in pairs)
    apart = min(one.deviance for one in latencies.values()) + min(one.deviance for one in bandwidths.values())
    if least - apart > TOLD_APART:
        pairs = [(latency, bandwidth) for latency in latencies.values() for bandwidth in bandwidths.values()]
        least = apart
    # Of laws of one shape the first of the table comes first.
    scored = sorted(pairs, key=lambda pair: round(pair[0].deviance + pair[1].deviance, 3))
    every = (_candidate(*pair, least) for pair in scored)
    candidates = tuple(one for one in every if one.latency == one.bandwidth or one.excess <= TOLD_APART)
    latency, bandwidth = scored[0]
    cliffs = (*latency.cliffs("alpha"), *bandwidth.cliffs("beta"))
    return Scaling(fits=tuple(fits), ranks=ranks, gamma=gamma, candidates=candidates, cliffs=cliffs)


def _candidate(latency: LatencyPart, bandwidth: BandwidthPart, least: float) -> Candidate:
    return Candidate(
        latency=latency.row.key,
        bandwidth=bandwidth.row.key,
        overhead=latency.overhead(),
        alpha=latency.alpha(),
        beta=bandwidth.beta(),
        latency_rms=latency.rms,
        bandwidth_rms=bandwidth.rms,
        excess=latency.deviance + bandwidth.deviance - least,
    )
