"""Bus bandwidth against size: where latency limits, where bandwidth, and where one becomes the other."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from collmark.analysis.figures import marks
from collmark.analysis.figures.axis import decade_axis, size_axis
from collmark.analysis.figures.palette import GROUND, INK
from collmark.analysis.figures.sheet import SMALL
from collmark.analysis.figures.words import (
    ALPHA,
    ASYMPTOTE,
    N_HALF,
    about_nbytes,
    curve_caption,
    gigabytes,
    interval_words,
    range_words,
)
from collmark.core.units import GIGA

NEEDS = (
    *marks.NEEDED,
    "operation", "fitted", "describes", "alpha", "predict", "asymptote", "asymptote_lower", "asymptote_upper",
    "half_size", "first", "last", "bus_ratio",
)  # fmt: skip


MOST_LETTERS = 34
"""Of a name and a value that stand on one line."""
ROOM, MOST_ROOM = 0.07, 0.35
"""Share of the panel above all points, for each line of labels, and at most."""
MOST_LEFT = 0.76
"""Share of the panel left of n1/2, up to which its label has room on the right."""


def bandwidth(table: pd.DataFrame) -> Figure:
    """Draw bus bandwidth against nbytes, a panel per operation, all within the same limits.

    Parameters
    ----------
    table : DataFrame
        With the columns `NEEDS`, as :func:`collmark.analysis.figures.place.placed` returns them.
    """
    return marks.by_panel(marks.sized(table), _draw, "no operation that has a size")


def _rate(rows: pd.DataFrame, seconds: str) -> pd.Series:
    # One rank moves nothing: there is no rate on a logarithmic axis.
    return rows["bus_nbytes"].where(rows["bus_nbytes"] > 0) / rows[seconds].where(rows[seconds] > 0) / GIGA


def _draw(panel: Axes, rows: pd.DataFrame, table: pd.DataFrame) -> None:
    size_axis(panel, table["nbytes"].min(), table["nbytes"].max())
    panel.set_yscale("log")
    # Asymptotes end near the top, and their labels stand above them: room for one of each curve.
    most = int(table.groupby("panel")["curve"].nunique().max())
    low, high = marks.y_limits(table, _rate, below=0.05, above=min(MOST_ROOM, ROOM * (most + 1)))
    panel.set_ylim(low, high)
    decade_axis(panel.yaxis, low, high)
    labels, curves = [], marks.curves(rows)
    for own in curves:
        marks.draw_model(panel, own, _rate)
        marks.draw_points(panel, own, _rate)
        labels.append(_annotate(panel, own, is_alone=len(curves) == 1))
    panel.set_ylabel("bus bandwidth (GB/s)")
    panel.set_xlabel("nbytes")
    marks.say_marker(panel, rows)
    marks.end_labels(panel, labels)


def _annotate(panel: Axes, rows: pd.DataFrame, *, is_alone: bool) -> tuple[float, str]:
    """Draw the asymptotes and where they cross; return height and text of the curve's label."""
    one, shade = rows.iloc[0], marks.colour(rows)
    last = _rate(rows.nlargest(1, "nbytes"), "center").fillna(panel.get_ylim()[0]).iloc[0]
    if not marks.is_modelled(rows) or not np.isfinite(one["asymptote"]):
        return last, one["curve"]
    flat = one["asymptote"] / GIGA
    edges = np.array(panel.get_xlim())
    panel.plot(edges, [flat, flat], color=shade, linewidth=1.0, linestyle=(0, (1, 2)), zorder=1.5)
    if np.isfinite(one["alpha"]):
        slope = edges * one["bus_ratio"] / one["alpha"] / GIGA
        panel.plot(edges, slope, color=shade, linewidth=1.0, linestyle=(0, (1, 2)), zorder=1.5)
    if edges[0] <= one["half_size"] <= edges[1]:
        place = (one["half_size"], flat / 2)
        panel.scatter(*place, s=44, marker="D", facecolor=GROUND.light, edgecolor=shade, linewidth=1.6, zorder=3.5)
        if is_alone:
            _label_half(panel, place)
    value = interval_words(gigabytes, one["asymptote"], one["asymptote_lower"], one["asymptote_upper"])
    is_short = not is_alone or len(one["curve"]) + len(value) < MOST_LETTERS
    name = f"{one['curve']}: " if is_short else f"{one['curve']}\n"
    return max(flat, last), f"{name}{ASYMPTOTE} {value} GB/s" if is_alone else f"{name}{value} GB/s"


def _label_half(panel: Axes, place: tuple[float, float]) -> None:
    """Write n1/2 below its diamond and beside it, where there is room: the curve rises to the right and flattens."""
    first, last = np.log(panel.get_xlim())
    has_room = (np.log(place[0]) - first) / (last - first) < MOST_LEFT
    panel.annotate(
        f"{N_HALF} {about_nbytes(place[0])}", place, xytext=(8, -7) if has_room else (6, -12),
        textcoords="offset points", ha="left" if has_room else "right", va="top", fontsize=SMALL, color=INK.light,
        gid="halo-half",
    )  # fmt: skip


def title(table: pd.DataFrame) -> str:
    """Return what the picture says."""
    one = marks.sized(table).drop_duplicates(["panel", "curve"])
    one = one[one["fitted"] & one["describes"] & one["asymptote"].notna()]
    if one.empty:
        return "Bus bandwidth against size; no model describes it"
    if len(one) == 1:
        (row,) = one.to_dict("records")
        value = interval_words(gigabytes, row["asymptote"], row["asymptote_lower"], row["asymptote_upper"])
        half = f", half of it at {about_nbytes(row['half_size'])}" if np.isfinite(row["half_size"]) else ""
        return f"{row['panel']} comes near {value} GB/s at large sizes{half}"
    return f"At large sizes bus bandwidth comes near {range_words(one, 'asymptote', gigabytes)} GB/s"


def caption(table: pd.DataFrame) -> str:
    """Return what the marks are."""
    rows = marks.sized(table)
    words = curve_caption(rows)
    if rows["asymptote"].where(rows["describes"]).notna().any():
        words += (
            f" Dotted: what limits it, bus bytes / {ALPHA} on the left and {ASYMPTOTE} on the right; diamond: "
            f"{N_HALF}, where half of {ASYMPTOTE} is reached."
        )
    if rows["operation"].eq("all_to_all_v").any():
        words += " all_to_all_v: bytes of the busiest rank / T."
    return words
