"""How much launches differ, and repetitions inside one: the reason why the launch is the unit of replication."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable

import msgspec
import numpy as np
import pandas as pd
from scipy import stats

from collmark.analysis.results import Results
from collmark.core.marker import by_marker
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
    """

    between: float
    within: float


def scatters(results: Iterable[Results], *, include_unstable: bool = False) -> dict[str, Scatter]:
    """Return how launches and repetitions vary, by the marker of the records: measured ones, whose marker is empty, and
    others are never taken together. None of those of which no case has two launches that count.
    """
    found: dict[str, list[Variance]] = {}
    for one in results:
        for marker, own in by_marker(one.records).items():
            found.setdefault(marker, []).extend(variances_of(own, include_unstable=include_unstable).values())
    return {marker: _scatter(typical(variances)) for marker, variances in found.items() if variances}


def _scatter(case: Variance) -> Scatter:
    return Scatter(between=case.between, within=case.inside)


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


def needed_launches(cases: pd.DataFrame, half_width: float) -> int | None:
    """Return how many launches bring half of some cases to a relative half-width; None where it would take over 999.

    Parameters
    ----------
    cases : DataFrame
        Those with an interval: ``center``, ``center_upper`` and ``launches``, as
        :func:`collmark.analysis.figures.drawn.with_fits` returns them.
    half_width : float
        Relative.
    """
    counts = [
        launches_for(math.log(upper / center) * math.sqrt(count) / student_t_quantile(0.975, count - 1), half_width)
        for center, upper, count in cases[["center", "center_upper", "launches"]].itertuples(index=False)
    ]
    middle = statistics.median_high(count or math.inf for count in counts)
    return int(middle) if math.isfinite(middle) else None


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
