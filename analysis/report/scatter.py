"""How much launches differ, and repetitions inside one: the reason why the launch is the unit of replication."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec
import numpy as np
import pandas as pd
from scipy import stats

from collmark.analysis.results import Results
from collmark.core.quantile import student_t_quantile
from collmark.core.variance import Variance, typical, variances_of

MOST_LAUNCHES = 999


class Scatter(msgspec.Struct, frozen=True, kw_only=True):
    """Relative standard deviations, medians over the cases.

    Attributes
    ----------
    between : float
        Of launches, without what finitely many repetitions add.
    within : float
        Of repetitions inside a launch.
    observed : float
        Of the launches' medians, all told.
    half_width : float
        Relative half-width of the 95 % interval over launches.
    """

    between: float
    within: float
    observed: float
    half_width: float


def scatter(results: Iterable[Results], drawn: pd.DataFrame) -> Scatter | None:
    """Return how launches and repetitions vary; None unless a case has two launches.

    Parameters
    ----------
    results : iterable of Results
        Runs that were read.
    drawn : DataFrame
        The same, as :func:`collmark.analysis.figures.drawn.with_fits` returns it.
    """
    variances = [variance for one in results for variance in variances_of(one.records).values()]
    if not variances:
        return None
    case = typical(variances)
    cases = drawn.drop_duplicates(["run", "tier", "case"])
    half = (cases["center_upper"] / cases["center"] - 1).dropna()
    return Scatter(
        between=case.between,
        within=case.inside,
        observed=math.sqrt(case.observed),
        half_width=float(half.median()) if len(half) else math.nan,
    )


def between_ends(variance: Variance) -> tuple[float, float]:
    """Return the 95 % interval of the standard deviation of launches, relative.

    From the chi-square distribution of the observed variance with launches - 1 degrees of freedom, less what the
    repetitions add, which is taken as known. Cases of a launch share much, so that many of them say no more than one;
    where they share nothing, the interval is wider than it need be.
    """
    degrees = variance.launches - 1
    limits = variance.observed * degrees / stats.chi2.ppf([0.975, 0.025], degrees) - variance.sampling
    lower, upper = np.sqrt(np.maximum(0.0, limits))
    return float(lower), float(upper)


def launches_for(between: float, half_width: float) -> int | None:
    """Return how many launches bring a 95 % interval to a relative half-width, if they go on to scatter as they did.

    None where it would take over 999.

    Examples
    --------
    >>> launches_for(0.03, 0.05), launches_for(0.13, 0.05), launches_for(2.0, 0.05)
    (4, 30, None)
    """
    for count in range(2, MOST_LAUNCHES + 1):
        if student_t_quantile(0.975, count - 1) * between / math.sqrt(count) <= math.log1p(half_width):
            return count
    return None
