"""Time over time of cases that differ in one respect, against size."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from collmark.analysis.figures import marks
from collmark.analysis.figures.axis import ratio_axis, size_axis
from collmark.analysis.figures.palette import AXIS, NAMED
from collmark.analysis.figures.series import of_series
from collmark.analysis.figures.words import BEYOND, slower_words
from collmark.core.units import format_nbytes

NEEDS = (
    "nbytes", "base", "other", "ratio", "ratio_lower", "ratio_upper", "contrast_launches", "paired", "marker",
    "panel", "shown",
)  # fmt: skip
SHADES = ("run-a", "run-b", "tier-unknown")
SHAPES = ("o", "s", "^")
NEAREST = 1.3
"""So far the axis reaches on both sides of 1."""
LABELS = 0.1
"""Of its length, at its upper end, for what names the points."""


def contrast(table: pd.DataFrame) -> Figure:
    """Draw T of the other over T of the one against nbytes, on a ratio axis about 1, a panel per series.

    Parameters
    ----------
    table : DataFrame
        With the columns `NEEDS`, one axis of :mod:`collmark.analysis.contrasts`, placed.
    """
    return marks.by_panel(marks.sized(table), _draw, "nothing of a size to set side by side", size=(400.0, 230.0))


def _draw(panel: Axes, rows: pd.DataFrame, table: pd.DataFrame) -> None:
    def draw_points(own: pd.DataFrame, shade: str, position: int) -> None:
        shape = SHAPES[position % len(SHAPES)]
        sns.scatterplot(
            own, x="nbytes", y="ratio", ax=panel, color=shade, marker=shape, s=marks.POINT, zorder=3, legend=False
        )

    draw_ratios(panel, rows, table, draw_points, SHADES)


def draw_ratios(
    panel: Axes,
    rows: pd.DataFrame,
    table: pd.DataFrame,
    draw_points: Callable[[pd.DataFrame, str, int], None],
    shades: Sequence[str],
) -> None:
    """Draw ratios with their intervals on a ratio axis about 1, one shade for each `other`.

    Parameters
    ----------
    panel : Axes
        Where to.
    rows, table : DataFrame
        Those of the panel, and those of all panels, which share limits.
    draw_points : callable
        ``draw_points(rows of one other, its colour, its position)``.
    shades : sequence of str
        Names in the palette, taken in turn.
    """
    size_axis(panel, table["nbytes"].min(), table["nbytes"].max())
    panel.set_yscale("log")
    least, most = ratio_ends(table)
    panel.set_ylim(least, most)
    ratio_axis(panel.yaxis, most, least)
    panel.axhline(1.0, color=AXIS.light, linewidth=1.0, zorder=1)
    labels = []
    for position, (other, own) in enumerate(rows.groupby("other", sort=False)):
        shade = NAMED[shades[position % len(shades)]].light
        limits = (own["ratio_lower"], own["ratio_upper"])
        name = f"{other} / {own['base'].iloc[0]}"
        with of_series(panel, name, shade):
            marks.draw_whiskers(panel, own["nbytes"], own["ratio"], *limits, shade, name=name)
            draw_points(own, shade, position)
        labels.append((float(own["ratio"].iloc[-1]), name, name))
    panel.set_ylabel("T / T")
    panel.set_xlabel("nbytes")
    marks.end_labels(panel, labels)
    marks.say_marker(panel, rows)


def ratio_ends(table: pd.DataFrame) -> tuple[float, float]:
    """Return the ratios at the ends of the axis: all points, most whiskers and 1 lie within."""
    points = np.log(table["ratio"])
    lower, upper = (np.log(table[name].where(table[name] > 0)) for name in ("ratio_lower", "ratio_upper"))
    lowest = np.nanmin([points.min(), lower.quantile(0.2), 0.0])
    highest = np.nanmax([points.max(), upper.quantile(0.8), 0.0])
    near = math.log(NEAREST)
    low, high = min(-near, 1.12 * lowest), max(near, 1.12 * highest)
    return math.exp(low), math.exp(high + LABELS * (high - low))


def title(table: pd.DataFrame) -> str:
    """Return what the picture says."""
    rows = marks.sized(table)
    if rows.empty:
        return "Nothing of a size to set side by side"
    told = rows[(rows["ratio_lower"] > 1) | (rows["ratio_upper"] < 1)]
    pairs = rows.drop_duplicates(["base", "other"])
    name = " and ".join(pairs["other"].unique())
    if told.empty:
        return f"{name}: told apart from {pairs['base'].iloc[0]} at none of {len(rows)} points"
    worst = told.loc[np.log(told["ratio"]).abs().idxmax()]
    where = f"{worst['panel']} at {format_nbytes(int(worst['nbytes']))}"
    most = f"most: {worst['other']}, {where}, {slower_words(worst['ratio'])}"
    return f"{name} against {pairs['base'].iloc[0]}: differ at {len(told)} of {len(rows)} points; {most}"


def caption(table: pd.DataFrame) -> str:
    """Return what the marks are."""
    counts = sorted(table["contrast_launches"].unique())
    over = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    how = "one ratio in each launch" if table["paired"].all() else "launches of each side by themselves"
    if counts == [1]:
        return "Dot: ratio of times in one launch, without an interval. Line at 1: no difference."
    return f"Dot: ratio of times; whisker: 95 % over {over} launches ({how}); {BEYOND}. Line at 1: no difference."
