"""Bandwidth against size: where latency limits, where bandwidth, and where one becomes the other.

Two figures are drawn so: bus bandwidth here, algorithm bandwidth in
:mod:`collmark.analysis.figures.algorithm_bandwidth`.
"""

from __future__ import annotations

import msgspec
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


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """A bandwidth: bytes of a call over T.

    Attributes
    ----------
    words : str
        Its name.
    column : str
        What counts as the bytes of a call: bus_nbytes, which the model reckons with, or nbytes.
    limit, slope : str
        What it comes near for large sizes, and the bytes over alpha that it comes near for small ones, in words.
    """

    words: str
    column: str
    limit: str
    slope: str

    def over(self, rows: pd.DataFrame, seconds: str) -> pd.Series:
        """Return the bandwidth in GB/s; nothing where no time passed or nothing was moved."""
        # One rank moves nothing: there is no rate on a logarithmic axis.
        return rows[self.column].where(rows[self.column] > 0) / rows[seconds].where(rows[seconds] > 0) / GIGA

    def limited(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a table with the asymptote of this bandwidth for that of the bus, and ``ratio``: its bytes / nbytes.

        T = alpha + bus bytes x beta, so that nbytes / T comes near 1 / beta x nbytes / bus bytes.
        """
        if self.column == "bus_nbytes":
            return table.assign(ratio=table["bus_ratio"])
        names = ("asymptote", "asymptote_lower", "asymptote_upper")
        ratio = table["bus_ratio"].where(table["bus_ratio"] > 0)
        return table.assign(ratio=1.0, **{name: table[name] / ratio for name in names})


BUS = Rate(words="bus bandwidth", column="bus_nbytes", limit=ASYMPTOTE, slope=f"bus bytes / {ALPHA}")

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
    return draw_rates(table, BUS)


def draw_rates(table: pd.DataFrame, rate: Rate) -> Figure:
    """Draw a bandwidth against nbytes, as :func:`bandwidth` does."""

    def draw(panel: Axes, rows: pd.DataFrame, table: pd.DataFrame) -> None:
        _draw(panel, rows, table, rate)

    return marks.by_panel(rate.limited(marks.sized(table)), draw, "no operation that has a size")


def _draw(panel: Axes, rows: pd.DataFrame, table: pd.DataFrame, rate: Rate) -> None:
    size_axis(panel, table["nbytes"].min(), table["nbytes"].max())
    panel.set_yscale("log")
    # Asymptotes end near the top, and their labels stand above them: room for one of each curve.
    most = int(table.groupby("panel")["curve"].nunique().max())
    low, high = marks.y_limits(table, rate.over, below=0.05, above=min(MOST_ROOM, ROOM * (most + 1)))
    panel.set_ylim(low, high)
    decade_axis(panel.yaxis, low, high)
    labels, is_alone = [], len(rows["curve"].unique()) == 1
    for name, own in marks.curves(panel, rows):
        marks.draw_model(panel, own, rate.over)
        marks.draw_points(panel, own, rate.over)
        labels.append((*_annotate(panel, own, rate, is_alone=is_alone), name))
    panel.set_ylabel(f"{rate.words} (GB/s)")
    panel.set_xlabel("nbytes")
    marks.say_marker(panel, rows)
    marks.end_labels(panel, labels)


def _annotate(panel: Axes, rows: pd.DataFrame, rate: Rate, *, is_alone: bool) -> tuple[float, str]:
    """Draw the asymptotes and where they cross; return height and text of the curve's label."""
    one, shade = rows.iloc[0], marks.colour(rows)
    last = rate.over(rows.nlargest(1, "nbytes"), "center").fillna(panel.get_ylim()[0]).iloc[0]
    if not marks.is_modelled(rows) or not np.isfinite(one["asymptote"]):
        return last, one["curve"]
    flat = one["asymptote"] / GIGA
    edges = np.array(panel.get_xlim())
    panel.plot(edges, [flat, flat], color=shade, linewidth=1.0, linestyle=(0, (1, 2)), zorder=1.5)
    if np.isfinite(one["alpha"]):
        slope = edges * one["ratio"] / one["alpha"] / GIGA
        panel.plot(edges, slope, color=shade, linewidth=1.0, linestyle=(0, (1, 2)), zorder=1.5)
    if edges[0] <= one["half_size"] <= edges[1]:
        place = (one["half_size"], flat / 2)
        panel.scatter(*place, s=44, marker="D", facecolor=GROUND.light, edgecolor=shade, linewidth=1.6, zorder=3.5)
        if is_alone:
            _label_half(panel, place)
    value = interval_words(gigabytes, one["asymptote"], one["asymptote_lower"], one["asymptote_upper"])
    is_short = not is_alone or len(one["curve"]) + len(value) < MOST_LETTERS
    name = f"{one['curve']}: " if is_short else f"{one['curve']}\n"
    return max(flat, last), f"{name}{rate.limit} {value} GB/s" if is_alone else f"{name}{value} GB/s"


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
    return rate_title(table, BUS)


def rate_title(table: pd.DataFrame, rate: Rate) -> str:
    """Return what the picture of a bandwidth says."""
    one = rate.limited(marks.sized(table)).drop_duplicates(["panel", "curve"])
    one = one[one["fitted"] & one["describes"] & one["asymptote"].notna()]
    if one.empty:
        return f"{rate.words.capitalize()} against size; no model describes it"
    if len(one) == 1:
        (row,) = one.to_dict("records")
        value = interval_words(gigabytes, row["asymptote"], row["asymptote_lower"], row["asymptote_upper"])
        half = f", half of it at {about_nbytes(row['half_size'])}" if np.isfinite(row["half_size"]) else ""
        return f"{row['panel']} comes near {value} GB/s of {rate.words} at large sizes{half}"
    return f"At large sizes {rate.words} comes near {range_words(one, 'asymptote', gigabytes)} GB/s"


def caption(table: pd.DataFrame) -> str:
    """Return what the marks are."""
    words = rate_caption(table, BUS)
    if marks.sized(table)["operation"].eq("all_to_all_v").any():
        words += " all_to_all_v: bytes of the busiest rank / T."
    return words


def rate_caption(table: pd.DataFrame, rate: Rate) -> str:
    """Return what the marks of a bandwidth are."""
    rows = marks.sized(table)
    words = curve_caption(rows)
    if rows["asymptote"].where(rows["describes"]).notna().any():
        words += (
            f" Dotted: what limits it, {rate.slope} on the left and {rate.limit} on the right; diamond: "
            f"{N_HALF}, where half of {rate.limit} is reached."
        )
    return words
