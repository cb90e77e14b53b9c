"""How alpha and beta of fits grow with the number of ranks, and how well a law describes it. Legend: P rank counts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import optimize

FloatArray = NDArray[np.float64]

MODEL_SD = 0.03
"""Scatter of ln about a law that holds, beside that of launches (method.md B.4: s_model)."""
ASSUMED_SD, ASSUMED_DEGREES = 0.10, 4
"""Of launches, where there is one at every rank count and nothing tells (method.md B.4 reckons with 10 %)."""
_GRID = np.linspace(0.0, 1.0, 201)[:-1]
_REFINEMENTS, _POINTS = 3, 41


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter, as the fits at several rank counts found it.

    Attributes
    ----------
    ranks : tuple of int
        Rank counts, increasing.
    per_launch : tuple of tuple of float
        The parameter in each launch, in SI units, for each of them.
    """

    ranks: tuple[int, ...]
    per_launch: tuple[tuple[float, ...], ...]

    @property
    def logs_P(self) -> FloatArray:
        """Mean logarithm over launches."""
        return np.array([np.log(values).mean() for values in self.per_launch])

    @property
    def degrees(self) -> int:
        """Degrees of freedom of the scatter between launches."""
        return sum(len(values) - 1 for values in self.per_launch) or ASSUMED_DEGREES

    @property
    def variances_P(self) -> FloatArray:
        """Variance of each mean: launches' scatter, taken as one at all rank counts, and that about a law."""
        counts_P = np.array([len(values) for values in self.per_launch])
        squares = sum(float(((np.log(values) - np.log(values).mean()) ** 2).sum()) for values in self.per_launch)
        pooled = squares / self.degrees if counts_P.max() > 1 else ASSUMED_SD**2
        found: FloatArray = pooled / counts_P + MODEL_SD**2
        return found

    def sets(self) -> list[FloatArray]:
        """Return one value of each rank count, launch by launch, as often as there are: launches are independent."""
        return [np.array(values) for values in zip(*self.per_launch, strict=False)]


class Law(msgspec.Struct, frozen=True, kw_only=True):
    """constant + slope x shape, the shape given by rank count.

    Attributes
    ----------
    constant, slope : float
        In the unit of what was observed; neither is negative where it was not asked for.
    """

    constant: float
    slope: float

    def at(self, shape_P: FloatArray) -> FloatArray:
        """Return the law's values."""
        return self.constant + self.slope * shape_P


def fit_latency(logs_P: FloatArray, variances_P: FloatArray, shape_P: FloatArray, *, signed: bool = False) -> Law:
    """Return the law that describes latencies best: an overhead, and a time for each message.

    Least squares of logarithms. Of overhead and slope only the ratio needs a search; its best scale is a mean.

    Parameters
    ----------
    logs_P, variances_P : ndarray
        Logarithms of latencies in s, and their variances, shape (P,).
    shape_P : ndarray
        Messages, positive.
    signed : bool
        The overhead may be negative: so is that of a launch by chance where it is small.
    """
    weights_P = 1 / variances_P
    if np.ptp(shape_P) == 0:  # what does not grow has no overhead that could be told from it
        return Law(constant=0.0, slope=math.exp(np.average(logs_P, weights=weights_P)) / shape_P[0])

    def scale(ratios_R: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the logarithm of the slope and the cost, for ratios of overhead to slope."""
        apart_RP = logs_P - np.log(ratios_R[:, None] + shape_P)
        centre_R = apart_RP @ weights_P / weights_P.sum()
        return centre_R, ((apart_RP - centre_R[:, None]) ** 2) @ weights_P

    ratios = _GRID / (1 - _GRID) * shape_P.mean()
    if signed:
        ratios = np.concatenate([-0.98 * shape_P.min() * _GRID[:0:-1], ratios])
    centres, costs = scale(ratios)
    if int(np.argmin(costs)) == len(ratios) - 1:  # beyond the grid: it does not grow
        return Law(constant=math.exp(np.average(logs_P, weights=weights_P)), slope=0.0)
    for _finer in range(_REFINEMENTS):
        best = int(np.argmin(costs))
        ratios = np.linspace(ratios[max(best - 1, 0)], ratios[min(best + 1, len(ratios) - 1)], _POINTS)
        centres, costs = scale(ratios)
    best = int(np.argmin(costs))
    slope = math.exp(centres[best])
    return Law(constant=float(ratios[best]) * slope, slope=slope)


def fit_slope(logs_P: FloatArray, variances_P: FloatArray, shape_P: FloatArray, known_P: FloatArray) -> float:
    """Return the factor of shape_P that describes slopes best beside a known part; 0 where that leaves nothing.

    Parameters
    ----------
    logs_P, variances_P : ndarray
        Logarithms of times per bus byte in s/B, and their variances, shape (P,).
    shape_P : ndarray
        Bytes over links per bus byte.
    known_P : ndarray
        Time per bus byte that is known, s/B.
    """
    weights_P = 1 / variances_P
    if not known_P.any():
        return math.exp(np.average(logs_P - np.log(shape_P), weights=weights_P))
    left_P = (np.exp(logs_P) - known_P) / shape_P
    if np.average(left_P, weights=weights_P) <= 0:
        return 0.0

    def cost(log_slope: float) -> float:
        return float((weights_P * (logs_P - np.log(math.exp(log_slope) * shape_P + known_P)) ** 2).sum())

    most = math.log(float((np.exp(logs_P) / shape_P).max()))
    found = optimize.minimize_scalar(cost, bounds=(most - 12, most), method="bounded", options={"xatol": 1e-6})
    return 0.0 if found.x < most - 11.9 else math.exp(found.x)


def deviance(residuals_P: FloatArray, variances_P: FloatArray, degrees: int) -> float:
    """Return -2 ln likelihood of residuals whose variance is itself an estimate with so many degrees of freedom.

    Student's t in P dimensions: (degrees + P) ln(1 + Q / degrees), with Q the sum of residual^2 / variance. It tends to
    Q for many degrees.
    """
    return (degrees + residuals_P.size) * math.log1p(float((residuals_P**2 / variances_P).sum()) / degrees)


def rms(residuals: Sequence[float] | FloatArray) -> float:
    """Return the root mean square."""
    return float(np.sqrt(np.mean(np.square(residuals))))
