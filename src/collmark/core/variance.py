"""How much T varies between launches, and between the repetitions inside one.

The medians of launches scatter for two reasons: launches differ, and each median is known from its repetitions only.
The latter is taken off, as in a one-way analysis of variance with random effects. All variances are those of ln T.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence

import msgspec

from collmark.core.metrics import counted_records, like_medians
from collmark.core.record import Record, Timing

QUARTILES_OF_NORMAL = 1.349
"""Interquartile range of a normal distribution over its standard deviation."""
ARCSINES = 1.1


class Variance(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of the variance of ln T.

    Attributes
    ----------
    observed : float
        Of the launches' medians.
    sampling : float
        The part of it that comes from finitely many repetitions.
    within : float
        Of repetitions, from the quartiles of T.
    launches : int
        Launches of a case.
    cases : int
        Cases that were taken together.
    """

    observed: float
    sampling: float
    within: float
    launches: int
    cases: int = 1

    @property
    def between(self) -> float:
        """Standard deviation of launches, relative; 0 where the repetitions explain all scatter."""
        return math.sqrt(max(0.0, self.observed - self.sampling))

    @property
    def inside(self) -> float:
        """Standard deviation of repetitions inside a launch, relative."""
        return math.sqrt(self.within)


def variance_of(timings_L: Sequence[Timing], medians_L: Sequence[float] | None = None) -> Variance | None:
    """Return the parts for one case, from a summary of each launch; None for under two that have a time.

    `medians_L`, in s, stand for the timings' own where these are not all of the same quantity.

    The median of n normal values of variance s, correlated by r_k at lag k, has the variance s / n x the sum of arcsin
    r_k over all lags (by Sheppard's law of signs), which is pi / 2 for independent ones. Beyond that, 1.1 (tau - 1)
    comes within 3 % of the sum for first-order autoregressive series, tau being that of ranks.
    """
    medians = [timing.median for timing in timings_L] if medians_L is None else medians_L
    both = [(timing, median) for timing, median in zip(timings_L, medians, strict=True) if timing.p25 > 0]
    if len(both) < 2:
        return None
    timed = [timing for timing, _median in both]
    within = [(math.log(timing.p75 / timing.p25) / QUARTILES_OF_NORMAL) ** 2 for timing in timed]
    return Variance(
        observed=statistics.variance(math.log(median) for _timing, median in both),
        sampling=statistics.fmean(
            part * (math.pi / 2 + ARCSINES * (timing.tau - 1)) / max(1, timing.repetitions - timing.cut)
            for part, timing in zip(within, timed, strict=True)
        ),
        within=statistics.fmean(within),
        launches=len(timed),
    )


def variances_of(records: Iterable[Record], *, include_unstable: bool = False) -> dict[str, Variance]:
    """Return the parts for every case of a run of which two launches count, by key."""
    found = {
        key: variance_of([record.timing for record in own if record.timing], like_medians(own)[0])
        for key, own in counted_records(records, include_unstable=include_unstable).items()
        if all(record.timing is not None for record in own)
    }
    return {key: variance for key, variance in found.items() if variance is not None}


def pooled(variances: Sequence[Variance]) -> Variance:
    """Return the parts over some cases, as means: without bias, but one odd case weighs as much as it varies."""
    return _over(variances, statistics.fmean)


def typical(variances: Sequence[Variance]) -> Variance:
    """Return the parts over some cases, as medians: one odd case changes nothing."""
    return _over(variances, statistics.median)


def _over(variances: Sequence[Variance], center: Callable[[list[float]], float]) -> Variance:
    return Variance(
        observed=center([one.observed for one in variances]),
        sampling=center([one.sampling for one in variances]),
        within=center([one.within for one in variances]),
        launches=round(statistics.median(one.launches for one in variances)),
        cases=len(variances),
    )
