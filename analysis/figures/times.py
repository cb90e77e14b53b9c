"""Time against size: what a call costs, and what the smallest costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from collmark.analysis.figures import marks
from collmark.analysis.figures.axis import decade_axis, size_axis
from collmark.analysis.figures.palette import INK
from collmark.analysis.figures.series import of_series
from collmark.analysis.figures.sheet import SMALL
from collmark.analysis.figures.words import curve_caption, interval_words, microseconds, range_words
from collmark.core.units import format_nbytes

NEEDS = (
    *marks.NEEDED,
    "operation", "fitted", "describes", "predict", "first", "last", "bus_ratio",
    "smallest", "smallest_lower", "smallest_upper",
)  # fmt: skip


def times(table: pd.DataFrame) -> Figure:
    """Draw time against nbytes, a panel per operation, all within the same limits.

    Parameters
    ----------
    table : DataFrame
        With the columns `NEEDS`, as :func:`collmark.analysis.figures.place.placed` returns them.
    """
    return marks.by_panel(marks.sized(table), _draw, "no operation that has a size")


def _draw(panel: Axes, rows: pd.DataFrame, table: pd.DataFrame) -> None:
    size_axis(panel, table["nbytes"].min(), table["nbytes"].max())
    panel.set_yscale("log")
    low, high = marks.y_limits(table, marks.micro, below=0.12, above=0.08)
    panel.set_ylim(low, high)
    decade_axis(panel.yaxis, low, high)
    labels = []
    for name, own in marks.curves(panel, rows):
        marks.draw_model(panel, own, marks.micro)
        marks.draw_points(panel, own, marks.micro)
        labels.append((own["center"].max() * marks.MICRO, name, name))
    _label_smallest(panel, rows.drop_duplicates("curve"))
    panel.set_ylabel("T (µs)")
    panel.set_xlabel("nbytes")
    marks.say_marker(panel, rows)
    marks.end_labels(panel, [label for label in labels if np.isfinite(label[0])], right=0.91)


def _label_smallest(panel: Axes, curves: pd.DataFrame) -> None:
    """Write T at the smallest size: of one curve with its interval; of several the fastest below, the slowest above."""
    known = sorted((one for one in curves.to_dict("records") if np.isfinite(one["smallest"])), key=_smallest)
    places = [(known[0], False), (known[-1], True)] if len(known) > 1 else [(one, False) for one in known]
    for one, is_above in places:
        words = f"{microseconds(one['smallest'])} µs"
        if len(curves) == 1:
            value = interval_words(microseconds, one["smallest"], one["smallest_lower"], one["smallest_upper"])
            words = f"T {value} µs at {format_nbytes(int(one['first']))}"
        with of_series(panel, one["curve"]):
            panel.annotate(
                words, (one["first"], one["smallest"] * marks.MICRO), xytext=(-4, 9 if is_above else -9),
                textcoords="offset points", ha="left", va="bottom" if is_above else "top", fontsize=SMALL,
                color=INK.light, gid="halo-smallest",
            )  # fmt: skip


def _smallest(one: dict[str, Any]) -> float:
    return float(one["smallest"])


def title(table: pd.DataFrame) -> str:
    """Return what the picture says."""
    one = marks.sized(table).drop_duplicates(["panel", "curve"])
    one = one[one["smallest"].notna()]
    if one.empty:
        return "Time against size"
    if len(one) == 1:
        (row,) = one.to_dict("records")
        value = interval_words(microseconds, row["smallest"], row["smallest_lower"], row["smallest_upper"])
        return f"{row['panel']} takes {value} µs at {format_nbytes(int(row['first']))}"
    return f"The smallest calls take {range_words(one, 'smallest', microseconds)} µs"


def caption(table: pd.DataFrame) -> str:
    """Return what the marks are."""
    return curve_caption(marks.sized(table))
