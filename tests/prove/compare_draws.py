"""Comparisons of draws whose truth is planted: what is called slower or faster, beside theory."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import stats

from collmark.analysis.compare.align import Pair
from collmark.analysis.compare.side import Times
from collmark.analysis.compare.verdict import EFFECT, Comparison, Terms, judge

LAUNCHES, LAUNCH_SD = 5, 0.02
REPETITIONS, WITHIN_SD = 200, 0.05
FloatArray = npt.NDArray[np.float64]


def pairs_of(ratio_C: Sequence[float], generator: np.random.Generator, *, repetitions: int = 0) -> list[Pair]:
    """Return a pair for each true ratio of B to A: launches of each side, or every repetition as if it were one."""
    pairs = []
    for at, ratio in enumerate(ratio_C):
        sides = []
        for centre in (0.0, math.log(ratio)):
            launches_L = centre + LAUNCH_SD * generator.standard_normal(LAUNCHES)
            if repetitions:
                launches_L = (
                    launches_L[:, None] + WITHIN_SD * generator.standard_normal((LAUNCHES, repetitions))
                ).ravel()
            sides.append(Times(facts={"case": str(at)}, seconds={"run": tuple(np.exp(launches_L))}))
        pairs.append(Pair(a=sides[0], b=sides[1]))
    return pairs


def single(pairs: Sequence[Pair], **options: float) -> list[Comparison]:
    """Return what each pair comes to when it is compared alone."""
    return [judge([pair], Terms(**options))[0] for pair in pairs]


def theory(ratio: float, *, effect: float = EFFECT, steps: int = 200) -> float:
    """Return the chance that a single comparison of LAUNCHES launches a side calls a true `ratio` above 1 slower.

    Notes
    -----
    The mean of logarithms is normal and independent of the sample variances, whose (n - 1) v / sigma^2 is chi-squared
    with n - 1 degrees of freedom (Fisher 1925). Given both variances, Welch's bound is a number: the chance that the
    mean lies above it and above ln(1 + effect) is integrated over both, at the midpoints of equal shares.
    """
    shares = (np.arange(steps) + 0.5) / steps
    variance = LAUNCH_SD**2 * stats.chi2.ppf(shares, LAUNCHES - 1) / (LAUNCHES - 1) / LAUNCHES
    one, two = np.meshgrid(variance, variance)
    degrees = (one + two) ** 2 / ((one**2 + two**2) / (LAUNCHES - 1))
    bound = np.maximum(stats.t.ppf(0.975, degrees) * np.sqrt(one + two), math.log1p(effect))
    return float(stats.norm.sf(bound, loc=math.log(ratio), scale=LAUNCH_SD * math.sqrt(2 / LAUNCHES)).mean())
