"""How far ranks enter apart, and how well their clocks tell: what T holds where it is the longest local duration."""

from __future__ import annotations

import math

import msgspec
import pandas as pd

from collmark.analysis.columns import SERIES, Series
from collmark.analysis.points import measured
from collmark.core.operation import Estimand
from collmark.core.units import format_microseconds


class Skew(msgspec.Struct, frozen=True, kw_only=True):
    """Of the records of one series.

    Attributes
    ----------
    seconds : float or None
        Median over the records whose clocks tell of last entry - first entry, itself a median, s.
    error : float or None
        Largest bound of the error between the clocks of any two ranks, s; None where one clock served, or no bound is
        known.
    """

    seconds: float | None
    error: float | None


def skews(table: pd.DataFrame) -> dict[Series, Skew]:
    """Return the skew of every series whose T is the longest local duration, which holds it.

    Parameters
    ----------
    table : DataFrame
        As :func:`collmark.analysis.frame.frame` returns it.
    """
    if table.empty:
        return {}
    rows = measured(table)
    rows = rows[rows["estimand"] == Estimand.LONGEST_LOCAL.value]
    return {
        Series(**group[list(SERIES)].head(1).to_dict("records")[0]): Skew(
            seconds=_known(group["skew"].median()), error=_known(group["clock_error"].max())
        )
        for _key, group in rows.groupby(list(SERIES), sort=False)
    }


def skew_words(skew: Skew | None) -> str:
    """Return what is known of a skew and of the clocks that tell it.

    Examples
    --------
    >>> skew_words(Skew(seconds=12e-6, error=3e-6)), skew_words(Skew(seconds=None, error=3e-6))
    ('ranks enter 12.0 us apart in the median, clocks are off by at most 3.00 us', 'clocks are off by at most 3.00 us')
    """
    if skew is None:
        return ""
    apart = "" if skew.seconds is None else f"ranks enter {format_microseconds(skew.seconds)} us apart in the median"
    off = "" if skew.error is None else f"clocks are off by at most {format_microseconds(skew.error)} us"
    return ", ".join(filter(None, (apart, off)))


def _known(seconds: float) -> float | None:
    return float(seconds) if math.isfinite(seconds) else None
