"""Cliffs: points that lie off their model by more than their interval and 10 %."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import pandas as pd

from collmark.analysis.columns import SERIES, Series
from collmark.analysis.models.fit import Fit, Fits

TOLERANCE = 1.1
"""Ratio of measured to modelled, or of modelled to measured, within which a point lies on its model (method.md B.4)."""
MOST_CLIFFS = 0.2
"""Share of sizes beyond which points off a model are not cliffs of it, but a model that does not hold."""


class Cliff(msgspec.Struct, frozen=True, kw_only=True):
    """One point off its model.

    Attributes
    ----------
    nbytes : int
        Its size, B.
    seconds, model_seconds : float
        T measured, and modelled, s.
    """

    nbytes: int
    seconds: float
    model_seconds: float

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

    A fit by soft-L1 of logarithms hardly follows single points, so that a size which is ten times slower than its
    neighbours stays where it is: off the model.

    Parameters
    ----------
    fit : Fit
        Of the series.
    points : DataFrame
        Its rows of :func:`collmark.analysis.points.points`.
    """
    rows = points[points["enters"]]
    model = fit.predict(rows["bus_nbytes"].to_numpy(dtype=np.float64))
    found = [
        Cliff(nbytes=int(row.nbytes), seconds=float(row.seconds), model_seconds=float(seconds))
        for row, seconds in zip(rows.itertuples(), model, strict=True)
        if is_off(row.seconds, seconds, row.lower, row.upper)
    ]
    return tuple(sorted(found, key=lambda cliff: -abs(math.log(cliff.ratio))))


def judged_without_cliffs(fits: Fits, found: Sequence[CliffsOf], points: pd.DataFrame) -> Fits:
    """Return fits whose rms misfit is that of the other sizes, where at most a fifth of a series' sizes are cliffs.

    One size that is ten times slower makes 66 % of rms of twelve sizes: the other eleven are described all the same.
    """
    own, cliffs = by_series(points), {one.series: one.cliffs for one in found}

    def judged(fit: Fit) -> Fit:
        off = {cliff.nbytes for cliff in cliffs.get(fit.series, ())}
        if not 0 < len(off) <= MOST_CLIFFS * fit.sizes:
            return fit
        rows = own[fit.series]
        rows = rows[~rows["nbytes"].isin(off)]
        logs = np.log(rows["seconds"] / fit.predict(rows["bus_nbytes"].to_numpy(dtype=np.float64)))
        return msgspec.structs.replace(fit, rms=float(np.sqrt((logs**2).mean())))

    return msgspec.structs.replace(fits, fits=tuple(map(judged, fits.fits)))


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
