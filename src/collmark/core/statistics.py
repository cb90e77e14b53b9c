"""Statistics of repetitions and of launches, as far as both sides need them.

Within a launch: order statistics, autocorrelation, warm-up, odd values. Over launches:
Student's t on logarithms. Every function is pure and keeps the unit of its values; none
rejects a value.

Shape suffixes: I repetitions, L launches, B batches.
"""

import math

import msgspec
import numpy as np
import numpy.typing as npt

from collmark.core.estimate import Estimate, Replication
from collmark.core.intervals import quantile_interval
from collmark.core.quantile import student_t_quantile

__all__ = [
    "TailQuantiles",
    "autocorrelation_time",
    "far_outliers",
    "log_t_interval",
    "median_interval",
    "mser5",
    "share_beyond",
    "t_interval",
    "tail_quantiles",
]

_FloatArray = npt.NDArray[np.float64]

_BATCH = 5
# With fewer batches there is no tail to compare a head with.
_MIN_BATCHES = 4


class TailQuantiles(msgspec.Struct, frozen=True, kw_only=True):
    """Quantiles of one series, in its unit (linear interpolation between values)."""

    minimum: float
    p25: float
    median: float
    p75: float
    p95: float
    p99: float
    maximum: float


def median_interval(values_I: npt.ArrayLike, level: float = 0.95, tau: float = 1.0) -> Estimate | None:
    """Estimate the median of one launch's repetitions, by order statistics.

    Parameters
    ----------
    values_I
        One value per repetition, shape (I,).
    level
        Confidence level.
    tau
        Integrated autocorrelation time, at least 1, from `autocorrelation_time`:
        n dependent values are worth n / tau independent ones.

    Returns
    -------
    Estimate or None
        None where the values cannot bound the median: five or fewer, or so dependent
        that a rank falls outside them.

    Raises
    ------
    ValueError
        If the values are not a finite vector, or `level` or `tau` is out of range.

    Notes
    -----
    As `quantile_interval` of one half.
    """
    values = _vector(values_I)
    if not tau >= 1:
        raise ValueError(f"an autocorrelation time is at least 1, not {tau}")
    found = quantile_interval(values, 0.5, over="repetitions", level=level, tau=tau) if values.size > 5 else None
    method = "median, order statistics" + (f", tau {tau:.3g}" if tau > 1 else "")
    return None if found is None else msgspec.structs.replace(found, method=method)


def autocorrelation_time(values_I: npt.ArrayLike, cutoff: float = 0.05) -> float:
    """Return the integrated autocorrelation time of a series, in repetitions.

    Parameters
    ----------
    values_I
        One value per repetition in the order measured, shape (I,), warm-up cut.
    cutoff
        The sum ends before the first autocorrelation below this.

    Returns
    -------
    float
        tau = 1 + 2 x the sum of the initial positive autocorrelations (Geyer 1992,
        with the cut of method.md A.2), from 1 to the length; 1 for a constant series.

    Notes
    -----
    It is taken of the ranks of the values, equal values sharing their mean rank. One
    scheduler slice of 4 ms among calls of 150 us would make up nearly all the variance
    of the raw series, whose autocorrelation is then that of a single spike, zero, and
    hides what the other values do. The median feels ranks only: for Gaussian series
    the rank autocorrelation lies between that of "above the median or not", which
    governs the median's variance, and that of the values, so it errs to the wide side.
    """
    values = _vector(values_I)
    if values.size < 3 or values.min() == values.max():
        return 1.0
    ranks = _ranks(values)
    # Twice the length in zeros, so that the circular correlation does not wrap round.
    padded = 1 << (2 * values.size - 1).bit_length()
    spectrum = np.fft.rfft(ranks - ranks.mean(), padded)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, padded)[: values.size]
    correlation = covariance[1:] / covariance[0]
    lost = _initial_sum(correlation, cutoff) / values.size
    return min(_initial_sum(correlation * (1 - lost) + lost, cutoff), float(values.size))


def _initial_sum(correlation: _FloatArray, cutoff: float) -> float:
    """Return 1 + 2 x the sum of the autocorrelations before the first that is below the cutoff."""
    below = np.flatnonzero(correlation < cutoff)
    initial = correlation[: below[0]] if below.size else correlation
    return 1.0 + 2.0 * float(initial.sum())


def mser5(values_I: npt.ArrayLike) -> int:
    """Return how many leading repetitions are warm-up, by the rule MSER-5.

    Parameters
    ----------
    values_I
        One value per repetition in the order measured, shape (I,).

    Returns
    -------
    int
        A multiple of 5, at most half of the series; 0 for under 20 values. By chance
        steady series are cut too: flag a cut above a third, and keep the raw data.

    Notes
    -----
    White 1997: of all cuts take the one with the least (variance of the rest / its
    length), over batches of 5. Batch medians in place of means, so that one huge value
    is no step (method.md A.2); it stays in, harmless to a median. Under 5 values at
    the end may make no batch, and are not looked at.
    """
    values = _vector(values_I)
    batches = values.size // _BATCH
    if batches < _MIN_BATCHES:
        return 0
    medians_B = np.median(values[: batches * _BATCH].reshape(batches, _BATCH), axis=1)
    # Centred, or the difference of squares below would cancel for large offsets.
    centred_B = medians_B - np.median(medians_B)
    # Sums over all batches from b on, for each b.
    length_B = np.arange(batches, 0, -1)
    sum_B = np.cumsum(centred_B[::-1])[::-1]
    square_B = np.cumsum(centred_B[::-1] ** 2)[::-1]
    variance_B = np.maximum(square_B / length_B - (sum_B / length_B) ** 2, 0.0)
    score_B = (variance_B / length_B)[: batches // 2 + 1]
    return int(np.argmin(score_B)) * _BATCH


def t_interval(values_L: npt.ArrayLike, level: float = 0.95) -> Estimate | None:
    """Estimate the mean of a quantity over launches, by Student's t.

    For what scatters by amounts and may be zero: shares, delays.

    Parameters
    ----------
    values_L
        One value of each launch, shape (L,).
    level
        Confidence level.

    Returns
    -------
    Estimate or None
        None for one launch.

    Raises
    ------
    ValueError
        If the values are not a finite vector.
    """
    values = _vector(values_L)
    count = values.size
    if count < 2:
        return None
    centre = float(values.mean())
    half = student_t_quantile((1 + level) / 2, count - 1) * float(values.std(ddof=1)) / math.sqrt(count)
    return Estimate(
        value=centre,
        lower=centre - half,
        upper=centre + half,
        level=level,
        method="mean, Student t",
        count=count,
        over="launches",
    )


def log_t_interval(values_L: npt.ArrayLike, level: float = 0.95, *, over: Replication = "launches") -> Estimate | None:
    """Estimate a positive quantity over launches, by Student's t on logarithms.

    Parameters
    ----------
    values_L
        A median or a fitted parameter of each launch, shape (L,), positive.
    level
        Confidence level.
    over
        What is replicated, where it is not launches.

    Returns
    -------
    Estimate or None
        The geometric mean; None for one launch, or where an end is not finite.

    Raises
    ------
    ValueError
        If a value is not positive, or the values are not a finite vector.

    Notes
    -----
    Launches scatter by factors, not by amounts, hence logarithms. Covers its level
    from two launches on where a bootstrap covers 50 to 84 % (method.md B.4).
    """
    values = _vector(values_L)
    if (values <= 0).any():
        raise ValueError("a logarithm needs positive values")
    logs = t_interval(np.log(values), level)
    if logs is None:
        return None
    try:
        value, lower, upper = (math.exp(x) for x in (logs.value, logs.lower, logs.upper))
    except OverflowError:
        return None
    return Estimate(
        value=value,
        lower=lower,
        upper=upper,
        level=level,
        method="geometric mean, Student t on logarithms",
        count=logs.count,
        over=over,
    )


def far_outliers(values_I: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return which values lie beyond Q3 + 3 IQR, to be counted and named.

    Parameters
    ----------
    values_I
        One value per repetition, shape (I,).

    Returns
    -------
    ndarray of bool
        Shape (I,). Only above: a call cannot be slow in the other direction.

    Raises
    ------
    ValueError
        If there are no values, or they are not a finite vector.
    """
    values = _vector(values_I, least=1)
    quarter, three_quarters = np.percentile(values, [25, 75])
    is_far: npt.NDArray[np.bool_] = values > three_quarters + 3 * (three_quarters - quarter)
    return is_far


def share_beyond(values_I: npt.ArrayLike, factor: float = 3.0) -> float:
    """Return the share of values outside [median / factor, median x factor].

    Above 5 % at factor 3 a case has a second mode: unstable (design.md section 4). The
    median is the lower one of an even number: between two modes of equal size lies no
    value, and neither would be far from there.

    Parameters
    ----------
    values_I
        One value per repetition, shape (I,), none negative.
    factor
        Above 1.

    Raises
    ------
    ValueError
        If there are no values, they are not a finite vector, or `factor` is not above 1.
    """
    values = _vector(values_I, least=1)
    if not factor > 1:
        raise ValueError(f"the factor must be above 1, not {factor}")
    median = np.percentile(values, 50, method="lower")
    return float(np.mean((values < median / factor) | (values > median * factor)))


def tail_quantiles(values_I: npt.ArrayLike) -> TailQuantiles:
    """Return the quantiles that describe body and tail of one series, shape (I,).

    Raises
    ------
    ValueError
        If there are no values, or they are not a finite vector.
    """
    found = np.percentile(_vector(values_I, least=1), [0, 25, 50, 75, 95, 99, 100])
    names = TailQuantiles.__struct_fields__
    return TailQuantiles(**dict(zip(names, found.tolist(), strict=True)))


def _vector(values: npt.ArrayLike, least: int = 0) -> _FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size < least:
        raise ValueError(f"expected a vector of at least {least} values, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("expected finite values only")
    return array


def _ranks(values: _FloatArray) -> _FloatArray:
    """Return each value's rank from 1, equal values sharing the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    mean_rank = np.cumsum(counts) - (counts - 1) / 2
    return np.asarray(mean_rank[place], dtype=np.float64)
