"""Runs whose launches differ by what is planted: what the decomposition of the variance is judged on.

Draws depend on their seed alone. Legend: C cases, L launches, I repetitions.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
from tests.analysis.made import timing_of

from collmark.core.operation import Estimand
from collmark.core.record import Timing
from collmark.core.statistics import autocorrelation_time, tail_quantiles
from collmark.core.variance import Variance, pooled, variance_of

CASES, LAUNCHES, REPETITIONS = 6, 5, 60
SECONDS = 1e-4


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """What is planted.

    Attributes
    ----------
    launch_sd, within_cv : float
        Standard deviation of ln T between launches, and between repetitions.
    together : bool
        A launch is slow or fast in all cases alike.
    autocorrelation : float
        Of successive repetitions, first order.
    """

    launch_sd: float
    within_cv: float = 0.05
    together: bool = True
    autocorrelation: float = 0.6

    def __str__(self) -> str:
        what = "launch" if self.together else "case"
        return f"launch SD {self.launch_sd:.0%} per {what}, within CV {self.within_cv:.0%}"


def draw_variance(spread: Spread, seed: int) -> Variance:
    """Return what one run says."""
    random = np.random.default_rng(seed)
    rho, noise = spread.autocorrelation, random.standard_normal((CASES, LAUNCHES, REPETITIONS))
    for i in range(1, REPETITIONS):
        noise[..., i] = rho * noise[..., i - 1] + math.sqrt(1 - rho * rho) * noise[..., i]
    level = random.normal(0, spread.launch_sd, (1 if spread.together else CASES, LAUNCHES, 1))
    seconds = SECONDS * np.exp(level + spread.within_cv * noise)
    found = [variance_of([_timing(own_I) for own_I in case_LI]) for case_LI in seconds]
    return pooled([one for one in found if one is not None])


def _timing(seconds_I: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Timing:
    return msgspec.structs.replace(
        timing_of(SECONDS, Estimand.LAST_IN_LAST_OUT),
        repetitions=len(seconds_I),
        lower=None,
        upper=None,
        tau=autocorrelation_time(seconds_I),
        **msgspec.structs.asdict(tail_quantiles(seconds_I)),
    )
