"""The table that figures draw from: the frame, and beside every record the case and the fit that it belongs to."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pandas as pd

from collmark.analysis.columns import COLUMNS, SERIES, Column
from collmark.analysis.models.fit import Fit, Fits
from collmark.analysis.models.quantity import Quantity
from collmark.analysis.points import measured, points


def _number(meaning: str, unit: str = "") -> Column:
    return Column(kind="float64", unit=unit, meaning=meaning)


OF_CASE: dict[str, Column] = {
    "center": _number("geometric mean over launches of the medians of T", "s"),
    "center_lower": _number("lower end of its 95 % interval over launches; NaN for one launch", "s"),
    "center_upper": _number("upper end", "s"),
    "launches": Column(kind="int64", meaning="launches that the mean is over"),
    "case_status": Column(kind="str", meaning="worst status of the case over launches"),
    "case_share": _number("share of its records that have that status"),
    "enters": Column(kind="bool", meaning="whether the case entered the fit"),
}
"""What is known of a record's case over launches, by column."""

OF_FIT: dict[str, Column] = {
    "fitted": Column(kind="bool", meaning="whether there is a fit"),
    "describes": Column(kind="bool", meaning="whether the model describes the times"),
    "alpha": _number("time that does not depend on size; NaN where the times do not tell it", "s"),
    "beta": _number("time per bus byte; NaN as above", "s/B"),
    "asymptote": _number("1 / beta: bus bandwidth that large sizes come near", "B/s"),
    "asymptote_lower": _number("lower end of its 95 % interval over launches", "B/s"),
    "asymptote_upper": _number("upper end", "B/s"),
    "half_size": _number("nbytes at which half the asymptote is reached", "B"),
    "smallest": _number("T measured at the smallest size", "s"),
    "smallest_lower": _number("lower end of its 95 % interval over launches", "s"),
    "smallest_upper": _number("upper end", "s"),
    "first": _number("smallest nbytes that entered the fit", "B"),
    "last": _number("largest", "B"),
    "bus_ratio": _number("bus bytes per nbytes"),
    "model_seconds": _number("T of the model at the record's size", "s"),
    "predict": Column(kind="object", meaning="T of the model, s, at some bus bytes: Fit.predict"),
}
"""What is known of a record's series from its fit, by column; NaN and False where there is none."""

OF_PLACE: dict[str, Column] = {
    "panel": Column(kind="str", meaning="title of the panel that the record is drawn in"),
    "curve": Column(kind="str", meaning="name of its curve in that panel, without what the panel's title says"),
    "series": Column(kind="str", meaning="name of its curve beside all others of its operation"),
    "swatch": Column(kind="str", meaning="name of the curve's colour in the palette"),
    "shown": Column(kind="bool", meaning="whether it is drawn, and not only within the limits"),
}
"""Where a record is drawn, by column."""

DRAWN: dict[str, Column] = {**COLUMNS, **OF_CASE, **OF_FIT, **OF_PLACE}
"""Every column of the table that figures draw from, in its order."""

_KEYS = [*SERIES, "nbytes", "case"]
_CASE_NAMES = {
    "seconds": "center",
    "lower": "center_lower",
    "upper": "center_upper",
    "status": "case_status",
    "share": "case_share",
}


def with_fits(table: pd.DataFrame, fits: Fits, *, include_unstable: bool = False) -> pd.DataFrame:
    """Return the measurements of a frame with their cases and fits beside them.

    Parameters
    ----------
    table : DataFrame
        As :func:`collmark.analysis.frame.frame` returns it.
    fits : Fits
        Of the same frame.
    include_unstable : bool
        As it was for the fits.

    Returns
    -------
    DataFrame
        One row per record that is no sentinel, in the order of the frame; its columns, those of :data:`OF_CASE` and
        those of :data:`OF_FIT`. :func:`collmark.analysis.figures.place.placed` adds the rest.
    """
    rows = measured(table)
    cases = points(table, include_unstable=include_unstable).rename(columns=_CASE_NAMES)
    joined = rows.merge(cases[[*_KEYS, *OF_CASE]], on=_KEYS, how="left", validate="many_to_one")
    known = pd.DataFrame([_of_fit(fit) for fit in fits.fits], columns=[*SERIES, *OF_FIT])
    if known.empty:
        known = known.astype({name: rows[name].dtype for name in SERIES})
    joined = joined.merge(known, on=list(SERIES), how="left", validate="many_to_one")
    for name in ("fitted", "describes"):
        joined[name] = joined[name].eq(True)  # noqa: FBT003 - a series without a fit has NaN there
    joined["model_seconds"] = np.nan
    for fit, places in joined[joined["fitted"]].groupby("predict", sort=False).groups.items():
        joined.loc[places, "model_seconds"] = fit(joined.loc[places, "bus_nbytes"].to_numpy(dtype=np.float64))
    kinds = {name: column.kind for name, column in OF_FIT.items() if column.kind == "float64"}
    return joined.astype(kinds)


def _of_fit(fit: Fit) -> dict[str, Any]:
    asymptote, smallest = _ends(fit.asymptote), _ends(fit.smallest)
    return {
        **msgspec.structs.asdict(fit.series),
        "fitted": True,
        "describes": fit.describes,
        "alpha": _ends(fit.alpha)[0],
        "beta": _ends(fit.beta)[0],
        "asymptote": asymptote[0],
        "asymptote_lower": asymptote[1],
        "asymptote_upper": asymptote[2],
        "half_size": _ends(fit.half_size)[0],
        "smallest": smallest[0],
        "smallest_lower": smallest[1],
        "smallest_upper": smallest[2],
        "first": fit.first,
        "last": fit.last,
        "bus_ratio": fit.bus_ratio,
        "predict": fit.predict,
    }


def _ends(quantity: Quantity | None) -> tuple[float, float, float]:
    """Return value, lower and upper end; NaN for what is not known."""
    if quantity is None or quantity.value is None:
        return np.nan, np.nan, np.nan
    if quantity.estimate is None:
        return quantity.value, np.nan, np.nan
    return quantity.value, quantity.estimate.lower, quantity.estimate.upper
