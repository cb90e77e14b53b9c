"""How much launches differ, and repetitions inside one: the reason why the launch is the unit of replication."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pandas as pd

from collmark.core.quantile import student_t_quantile

QUARTILES_OF_NORMAL = 1.349
"""Interquartile range of a normal distribution over its standard deviation."""
MOST_LAUNCHES = 999


class Scatter(msgspec.Struct, frozen=True, kw_only=True):
    """Relative standard deviations, medians over the cases.

    Attributes
    ----------
    between : float
        Of launches: standard deviation of the logarithms of their medians.
    within : float
        Of repetitions inside a launch: from the quartiles of T.
    half_width : float
        Relative half-width of the 95 % interval over launches.
    """

    between: float
    within: float
    half_width: float


def scatter(drawn: pd.DataFrame) -> Scatter | None:
    """Return how launches and repetitions vary; None unless a case has two launches.

    Parameters
    ----------
    drawn : DataFrame
        As :func:`collmark.analysis.figures.drawn.with_fits` returns it.
    """
    timed = drawn[(drawn["seconds"] > 0) & (drawn["p25"] > 0)]
    between = np.log(timed["seconds"]).groupby([timed["run"], timed["tier"], timed["case"]]).std().dropna()
    if between.empty:
        return None
    within = np.log(timed["p75"] / timed["p25"]) / QUARTILES_OF_NORMAL
    cases = timed.drop_duplicates(["run", "tier", "case"])
    half = (cases["center_upper"] / cases["center"] - 1).dropna()
    return Scatter(
        between=float(between.median()),
        within=float(within.median()),
        half_width=float(half.median()) if len(half) else math.nan,
    )


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
