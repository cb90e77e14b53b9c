"""Cliffs: points that lie off their model by more than their interval and 10 %."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pandas as pd

from collmark.analysis.columns import SERIES, Series
from collmark.analysis.models.fit import Fit, Fits

TOLERANCE = 1.1
"""Ratio of measured to modelled, or of modelled to measured, within which a point lies on its model (method.md B.4)."""


class Cliff(msgspec.Struct, frozen=True, kw_only=True):
    """One point off its model.

    Attributes
    ----------
    nbytes : int
        Its size, B.
    seconds, model_seconds : float
        T measured, and modelled, s.
    is_left_out : bool
        It stands so far apart that it did not enter the fit.
    """

    nbytes: int
    seconds: float
    model_seconds: float
    is_left_out: bool = False

    @property
    def ratio(self) -> float:
        """Measured over modelled: above 1 where it is slower."""
        return self.seconds / self.model_seconds


def is_off(value: float, model: float, lower: float | None, upper: float | None) -> bool:
    """Whether a value misses a model by over 10 % and the model lies outside its interval; NaN or None: it has none."""
    is_far = not 1 / TOLERANCE <= value / model <= TOLERANCE
    inside = lower is not None and upper is not None and lower <= model <= upper
    return is_far and not inside


def cliffs_of(fit: Fit, points: pd.DataFrame) -> tuple[Cliff, ...]:
    """Return the points of one series that lie off its fit, the furthest first.

    Parameters
    ----------
    fit : Fit
        Of the series.
    points : DataFrame
        Its rows of :func:`collmark.analysis.points.points`.
    """
    rows = points[points["enters"]]
    model = fit.predict(rows["bus_nbytes"].to_numpy(dtype=np.float64))
    left_out = {cliff.nbytes for cliff in fit.cliffs}
    found = [
        Cliff(
            nbytes=int(row.nbytes),
            seconds=float(row.seconds),
            model_seconds=float(seconds),
            is_left_out=row.nbytes in left_out,
        )
        for row, seconds in zip(rows.itertuples(), model, strict=True)
        if row.nbytes in left_out or is_off(row.seconds, seconds, row.lower, row.upper)
    ]
    return tuple(sorted(found, key=lambda cliff: -abs(math.log(cliff.ratio))))


class CliffsOf(msgspec.Struct, frozen=True, kw_only=True):
    """The cliffs of one series, the furthest first."""

    series: Series
    cliffs: tuple[Cliff, ...]


def all_cliffs(fits: Fits, points: pd.DataFrame) -> tuple[CliffsOf, ...]:
    """Return the cliffs of every series that has some.

    Parameters
    ----------
    fits, points
        Of the same runs.
    """
    own = by_series(points)
    found = (CliffsOf(series=fit.series, cliffs=cliffs_of(fit, own[fit.series])) for fit in fits.fits)
    return tuple(one for one in found if one.cliffs)


def by_series(points: pd.DataFrame) -> dict[Series, pd.DataFrame]:
    """Return the points of each series that may enter a fit."""
    if points.empty:
        return {}
    groups = points[points["enters"]].groupby(list(SERIES), sort=False)
    return {msgspec.convert(rows.iloc[0][list(SERIES)].to_dict(), Series): rows for _key, rows in groups}
