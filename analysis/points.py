"""Cases over launches: the points of a curve, each with its interval."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from collmark.analysis.columns import SERIES
from collmark.core.marker import Marker
from collmark.core.operation_table import OPERATIONS
from collmark.core.record import ENTERS, SEVERITY, Status
from collmark.core.statistics import log_t_interval

FloatArray = NDArray[np.float64]

SHORTEST, LONGEST = 1e-12, 1e9
"""Times in s outside which a stored figure is none: no clock reads less, and nobody waited longer."""

_MESSAGES = ("ping_pong", "send_recv")
"""Operations whose empty call still sends something."""
_NEEDS_BYTES = [name for name, row in OPERATIONS.items() if row.sized and name not in _MESSAGES]

KEPT = (*SERIES, "nbytes", "bus_nbytes", "ranks", "case")
ESTIMATED = ("seconds", "lower", "upper", "launches", "enters", "status", "share")
NAMES = (*KEPT, *ESTIMATED)
"""The columns of :func:`points`."""


def measured(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a frame that are measurements of the plan, with one estimand on each curve.

    Sentinels are left out. Where a curve mixes L or G with D_max, since clocks could be compared in some launches only,
    T is D_max on all of it (design.md section 4).

    Parameters
    ----------
    table : DataFrame
        As :func:`collmark.analysis.frame.frame` returns it.
    """
    rows = table[table["sentinel"] == ""].copy()
    others = [name for name in SERIES if name != "estimand"]
    is_longest = rows["estimand"].eq("D_max")
    mixed = rows[others].apply(tuple, axis=1) if is_longest.any() else None
    if mixed is not None:
        fallen = mixed.isin(set(mixed[is_longest])) & ~is_longest & rows["estimand"].isin(["L", "G"])
        rows.loc[fallen, ["lower", "upper"]] = np.nan
        rows.loc[fallen, "seconds"] = rows.loc[fallen, "longest"]
        rows.loc[fallen, "estimand"] = "D_max"
    return rows


def is_usable(rows: pd.DataFrame, *, include_unstable: bool = False) -> pd.Series:
    """Return which rows may enter fits and claims: a time above zero, no test, bytes, not unstable unless asked."""
    statuses = [*ENTERS, Status.UNSTABLE] if include_unstable else [*ENTERS]
    is_right = rows["status"].isin([status.value for status in statuses])
    return is_right & has_time(rows) & ~is_test(rows) & ~is_empty(rows)


def is_empty(rows: pd.DataFrame) -> pd.Series:
    """Return which rows are of an operation that had nothing to do, having no bytes (conventions.md 3e)."""
    return rows["nbytes"].eq(0) & rows["operation"].isin(_NEEDS_BYTES)


def is_test(rows: pd.DataFrame) -> pd.Series:
    """Return which rows are of an arrangement that is there to test in, and so no measurement."""
    return rows["marker"].eq(Marker.TEST.value)


def words_of_status(rows: pd.DataFrame) -> str:
    """Return how many rows have each status, tests and what has no time apart, as ``2 unstable, 12 without a time``."""
    timeless = rows["status"].isin([status.value for status in ENTERS]) & ~has_time(rows)
    words = rows["status"].mask(timeless, "without a time").mask(is_test(rows), "of a test arrangement")
    words = words.mask(is_empty(rows), "of no bytes")
    return ", ".join(f"{count} {status}" for status, count in words.value_counts().items())


def has_time(rows: pd.DataFrame) -> pd.Series:
    """Return which rows have a time: a clock coarser than the call reads zero, which has no logarithm."""
    return rows["seconds"].between(SHORTEST, LONGEST)


def points(table: pd.DataFrame, *, include_unstable: bool = False) -> pd.DataFrame:
    """Return one row per case of a frame, with its estimate over launches.

    Parameters
    ----------
    table : DataFrame
        As :func:`collmark.analysis.frame.frame` returns it.
    include_unstable : bool
        Take unstable records too.

    Returns
    -------
    DataFrame
        The columns of a series, ``nbytes``, ``bus_nbytes``, ``case``; ``seconds`` (geometric mean of the launches'
        medians, s), ``lower`` and ``upper`` (95 %, Student's t on logarithms over launches; NaN for one launch),
        ``launches`` (that have a time); ``status`` (the worst of all launches), ``share`` (records of that status over
        records), ``enters`` (whether the time may enter fits and claims). A case that was wrong in any launch has no
        time; one that is unstable in every launch has a time that does not enter.
    """
    rows = measured(table).reset_index(drop=True)
    if rows.empty:
        return pd.DataFrame(columns=list(NAMES))
    usable = is_usable(rows, include_unstable=include_unstable).to_numpy()
    seconds, status = rows["seconds"].to_numpy(), rows["status"].to_numpy()
    groups = sorted(rows.groupby([*SERIES, "nbytes", "case"], sort=False).indices.values(), key=lambda group: group[0])
    timed = has_time(rows).to_numpy()
    found = [_estimate(seconds[group], status[group], usable[group], timed[group]) for group in groups]
    firsts = rows.loc[[group[0] for group in groups], list(KEPT)].reset_index(drop=True)
    return firsts.join(pd.DataFrame(found, columns=list(ESTIMATED)))


def _estimate(
    seconds_L: FloatArray, status_L: NDArray[np.object_], usable_L: NDArray[np.bool_], timed_L: NDArray[np.bool_]
) -> dict[str, object]:
    """Return the columns that are computed from the launches of one case."""
    worst = max(status_L, key=[status.value for status in SEVERITY].index)
    said = {"status": worst, "share": float((status_L == worst).mean())}
    enters = bool(usable_L.any()) and worst != Status.WRONG
    times_L = seconds_L[usable_L if enters else timed_L]
    if worst == Status.WRONG or not times_L.size:
        return {"seconds": np.nan, "lower": np.nan, "upper": np.nan, "launches": 0, "enters": False, **said}
    interval = log_t_interval(times_L)
    return {
        "seconds": float(np.exp(np.log(times_L).mean())) if interval is None else interval.value,
        "lower": np.nan if interval is None else interval.lower,
        "upper": np.nan if interval is None else interval.upper,
        "launches": times_L.size,
        "enters": enters,
        **said,
    }
