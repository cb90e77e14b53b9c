"""Ratios over launches: logarithms, Welch's t, and how many launches would decide.

A launch scatters by a factor and not by an amount, so a positive quantity is compared by the logarithm of its value in
each launch. Intervals cover their level from two launches on, where a bootstrap over launches covers far less
(method.md 0.3 and B.4). Legend: L launches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
from scipy import stats

from collmark.core.estimate import Estimate

APART, APART_LEVEL = 1.1, 0.01
"""Runs are not pooled where means differ by over this factor, and an F test rejects at this level that they agree:
a rule, as for a size off its model (:mod:`collmark.analysis.costs.cliffs`)."""
MOST_LAUNCHES = 1000
"""More launches than this on each side are never proposed."""


class LogMean(msgspec.Struct, frozen=True, kw_only=True):
    """A mean of logarithms, or a signed sum of such means, with what its error follows from.

    Attributes
    ----------
    centre : float
        Natural logarithm of the geometric mean, or of the ratio.
    variances, counts : tuple
        Variance of the logarithms inside each group, and the launches of each group.
    method : str
        How it was obtained.
    """

    centre: float
    variances: tuple[float, ...]
    counts: tuple[int, ...]
    method: str

    @property
    def error(self) -> float:
        """The standard error of `centre`: the square root of the sum of variance / count over groups."""
        return math.sqrt(sum(v / n for v, n in zip(self.variances, self.counts, strict=True)))

    @property
    def degrees(self) -> float:
        """The degrees of freedom of `error`."""
        return satterthwaite([v / n for v, n in zip(self.variances, self.counts, strict=True)], self.counts)

    def interval(self, level: float) -> Estimate | None:
        """Return value and interval in the unit of the quantity; None where an end is not finite.

        Parameters
        ----------
        level : float
            Two-sided confidence level.
        """
        half = float(stats.t.ppf((1 + level) / 2, self.degrees)) * self.error
        try:
            value, lower, upper = (math.exp(x) for x in (self.centre, self.centre - half, self.centre + half))
        except OverflowError:
            return None
        return Estimate(
            value=value,
            lower=lower,
            upper=upper,
            level=level,
            method=self.method,
            count=sum(self.counts),
            over="launches",
        )

    def scaled(self, factor: float) -> LogMean:
        """Return the same of the quantity times a constant."""
        return msgspec.structs.replace(self, centre=self.centre + math.log(factor))

    def with_launches(self, count: int) -> LogMean:
        """Return what as many launches in every group would give, if they scattered like these."""
        return msgspec.structs.replace(self, counts=(count,) * len(self.counts))


def satterthwaite(parts: Sequence[float], counts: Sequence[int]) -> float:
    """Return the degrees of freedom of the sum of independent variances of means.

    Parameters
    ----------
    parts, counts : sequence
        Variance / count of each group, and its count.

    Notes
    -----
    Satterthwaite 1946, Biometrics Bulletin 2(6): (sum of v/n)^2 / sum of (v/n)^2 / (n - 1); for one group n - 1. Groups
    without any scatter leave only their number.
    """
    below = sum(part**2 / (n - 1) for part, n in zip(parts, counts, strict=True))
    if below == 0:  # no scatter at all, or too little for a square
        return float(sum(n - 1 for n in counts))
    return sum(parts) ** 2 / below


def log_mean(values_L: npt.ArrayLike) -> LogMean | None:
    """Return the mean logarithm of a positive quantity over launches; None for fewer than two.

    Parameters
    ----------
    values_L : array
        One value per launch, shape (L,).

    Raises
    ------
    ValueError
        If a value is not positive and finite.
    """
    found = log_contrast([values_L], [])
    return None if found is None else msgspec.structs.replace(found, method="Student t on logarithms")


def log_ratio(over_L: npt.ArrayLike, under_L: npt.ArrayLike) -> LogMean | None:
    """Return the logarithm of the ratio of two positive quantities that were measured in different launches.

    Parameters
    ----------
    over_L, under_L : array
        One value per launch, in one unit; the two may differ in length.

    Returns
    -------
    LogMean or None
        None where a side has fewer than two launches: one launch has no interval.

    Raises
    ------
    ValueError
        If a value is not positive and finite.

    Notes
    -----
    Welch 1947, Biometrika 34: the difference of two mean logarithms, variances not taken as equal.
    """
    return log_contrast([over_L], [under_L])


def log_contrast(over: Sequence[npt.ArrayLike], under: Sequence[npt.ArrayLike]) -> LogMean | None:
    """Return the logarithm of a product of quantities over a product of others, each from launches of its own.

    Parameters
    ----------
    over, under : sequence of array
        Each one value per launch.

    Returns
    -------
    LogMean or None
        None where a quantity has fewer than two launches.

    Notes
    -----
    Welch's error for any number of groups. Quantities of the same launches move together, which narrows the truth and
    not this interval: it then errs to the wide side for a ratio, never to the narrow one.
    """
    logs = [_logs(values) for values in (*over, *under)]
    if any(one.size < 2 for one in logs):
        return None
    signs = [1] * len(over) + [-1] * len(under)
    return LogMean(
        centre=sum(sign * float(one.mean()) for sign, one in zip(signs, logs, strict=True)),
        variances=tuple(float(one.var(ddof=1)) for one in logs),
        counts=tuple(int(one.size) for one in logs),
        method="Welch t on logarithms",
    )


def are_apart(groups: Sequence[npt.ArrayLike]) -> bool:
    """Whether means of groups of launches differ by far more than launches inside a group.

    Parameters
    ----------
    groups : sequence of array
        A positive quantity in each launch of each group, two or more launches each.

    Notes
    -----
    One-way analysis of variance on logarithms (Fisher 1925), and a factor below which a difference is small, however
    well it is known.
    """
    logs = [_logs(values) for values in groups]
    means = [float(one.mean()) for one in logs]
    if len(logs) < 2 or max(means) - min(means) <= math.log(APART):
        return False
    if not any(np.ptp(one) for one in logs):  # no scatter: whatever differs, differs by more
        return True
    return bool(stats.f_oneway(*logs).pvalue < APART_LEVEL)


def ratio(over_L: npt.ArrayLike, under_L: npt.ArrayLike, level: float = 0.95) -> Estimate | None:
    """Return the ratio of two positive quantities over launches, with its interval; None for one launch.

    Parameters
    ----------
    over_L, under_L : array
        One value per launch, in one unit.
    level : float
        Two-sided confidence level.
    """
    found = log_ratio(over_L, under_L)
    return None if found is None else found.interval(level)


def launches_to_decide(found: LogMean, is_decided: Callable[[LogMean], bool]) -> int | None:
    """Return the launches on each side that would decide, if they scattered like these.

    Parameters
    ----------
    found : LogMean
        What there is.
    is_decided : callable
        Whether a mean decides; with more launches it does so no less.

    Returns
    -------
    int or None
        None where even :data:`MOST_LAUNCHES` would not.
    """
    low, high = 2, MOST_LAUNCHES
    if not is_decided(found.with_launches(high)):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_decided(found.with_launches(middle)) else (middle + 1, high)
    return low


def _logs(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not (np.isfinite(array) & (array > 0)).all():
        raise ValueError("a ratio needs vectors of positive, finite values")
    return np.log(array)
