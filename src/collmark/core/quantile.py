"""Quantiles of the normal and of Student's t distribution, without scipy.

Timing ranks do not import scipy (method.md D), and both sides need intervals. Tested
against scipy.stats.
"""

import math
from functools import lru_cache
from statistics import NormalDist

__all__ = ["normal_quantile", "student_t_quantile"]


def normal_quantile(probability: float) -> float:
    """Return the quantile of the standard normal distribution.

    Raises
    ------
    ValueError
        If `probability` is not between 0 and 1.

    Examples
    --------
    >>> round(normal_quantile(0.975), 6)
    1.959964
    """
    _check_probability(probability)
    return NormalDist().inv_cdf(probability)


@lru_cache(maxsize=1024)
def student_t_quantile(probability: float, degrees: int) -> float:
    """Return the quantile of Student's t distribution.

    Parameters
    ----------
    probability
        Between 0 and 1; the relative error is below 1e-9 from 1e-5 to 1 - 1e-5.
    degrees
        Degrees of freedom, at least 1.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    With theta = atan(t / sqrt(degrees)) the probability of |T| < t is a finite series
    in sin and cos of theta: Abramowitz & Stegun, Handbook of Mathematical Functions,
    26.7.3 (odd degrees) and 26.7.4 (even). It is inverted by bisection on theta, whose
    range is finite where that of t is not.

    Examples
    --------
    >>> round(student_t_quantile(0.975, 4), 6)
    2.776445
    """
    _check_probability(probability)
    if degrees < 1:
        raise ValueError(f"degrees of freedom must be at least 1, not {degrees}")
    if probability < 0.5:
        return -student_t_quantile(1 - probability, degrees)
    # P(|T| < t) of the two-sided interval whose upper end is the quantile.
    inside = 2 * probability - 1
    low, high = 0.0, math.pi / 2
    while low < (middle := (low + high) / 2) < high:
        if _probability_inside(middle, degrees) < inside:
            low = middle
        else:
            high = middle
    return math.sqrt(degrees) * math.tan(low)


def _check_probability(probability: float) -> None:
    if not 0 < probability < 1:
        raise ValueError(f"a probability lies between 0 and 1, not at {probability}")


def _probability_inside(theta: float, degrees: int) -> float:
    """Return P(|T| < sqrt(degrees) tan(theta)), by A&S 26.7.3 and 26.7.4."""
    sine, cosine = math.sin(theta), math.cos(theta)
    odd = degrees % 2
    # Successive terms differ by cos^2 and one more pair of factors, 2/3, 4/5 ... for
    # odd degrees and 1/2, 3/4 ... for even.
    term = cosine if odd else 1.0
    total = term if degrees > 1 else 0.0
    for factor in range(2 if odd else 1, degrees - 2, 2):
        term *= cosine * cosine * factor / (factor + 1)
        total += term
    return 2 / math.pi * (theta + sine * total) if odd else sine * total
