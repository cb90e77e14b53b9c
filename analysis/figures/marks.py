"""The marks that curves share: launch medians, means with their intervals, and the model's line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from weakref import WeakKeyDictionary

import msgspec
import numpy as np
import numpy.typing as npt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from collmark.analysis.figures.axis import limits
from collmark.analysis.figures.palette import GROUND, INK, MARKERS, MUTED, NAMED
from collmark.analysis.figures.series import of_series, series_of, short_id
from collmark.analysis.figures.sheet import PANEL, SMALL, blank, folded, height_of, sheet, themed
from collmark.core.errors import one_line
from collmark.core.units import format_nbytes

Scale = Callable[[pd.DataFrame, str], pd.Series]
"""(rows, column in seconds) to what is drawn on the y axis."""

FloatArray = npt.NDArray[np.float64]

MICRO = 1e6

NEEDED = (
    "case", "nbytes", "bus_nbytes", "backend", "marker", "origin", "seconds", "center", "center_lower", "center_upper",
    "case_status", "launches", "panel", "curve", "swatch", "shown",
)  # fmt: skip
"""The columns that these marks draw from."""
SIZED = "nbytes"
HOLLOW = ("budget", "unstable")
PALE = 0.35
LINE = 13.0
"""Height of a line of a label, in units of the view box."""
POINT, CROSS = 30.0, 38.0
DASHES = {"inside": "-", "outside": (0, (4, 3))}
STEPS = 48
LONGEST_WHISKER = 2.0
"""Factor beyond the points up to which whiskers widen the axis; longer ones leave the panel."""


class Readout(msgspec.Struct, frozen=True, kw_only=True):
    """A point that can be read out.

    Attributes
    ----------
    x, y : float
        Where it lies, in units of the view box.
    words : str
        What it is: size, value, interval, curve.
    at : float
        Its place on the x axis.
    series : str
        Id of its series; empty where the panel has none.
    """

    x: float
    y: float
    words: str
    at: float
    series: str


class _Values(msgspec.Struct, frozen=True):
    """Values that were drawn: of what, rows of place, value and both ends, and what each place is called."""

    name: str
    rows: FloatArray
    places: Sequence[str]


_READ: WeakKeyDictionary[Axes, list[_Values]] = WeakKeyDictionary()
"""What was drawn on each panel."""


def by_panel(
    table: pd.DataFrame,
    draw: Callable[[Axes, pd.DataFrame, pd.DataFrame], None],
    nothing: str,
    size: tuple[float, float] = PANEL,
) -> Figure:
    """Return a figure with a panel for each title of a table.

    Parameters
    ----------
    table : DataFrame
        All rows; those that are not shown set the limits too.
    draw : callable
        ``draw(panel, rows, table)`` draws the rows of one panel.
    nothing : str
        What stands there where no row is shown.
    size : (float, float)
        Width and height of a panel, in units of the view box.
    """
    with themed():
        shown = table[table["shown"]]
        if shown.empty:
            return blank(nothing)
        figure, axes = sheet(list(shown["panel"].unique()), size=size)
        for panel, (_title, rows) in zip(axes, shown.groupby("panel", sort=False), strict=True):
            draw(panel, rows, table)
    return figure


def micro(rows: pd.DataFrame, seconds: str) -> pd.Series:
    """Return a time in us; nothing where it is zero, which lies on no logarithmic axis."""
    return rows[seconds].where(rows[seconds] > 0) * MICRO


def sized(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that have a size: barrier has none and lies on no axis of sizes."""
    return table[table[SIZED] > 0]


def curves(panel: Axes, rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield name and rows of each curve of a panel, in their order; what is drawn meanwhile is of its series."""
    for name, own in rows.groupby("curve", sort=False):
        with of_series(panel, str(name), colour(own)):
            yield str(name), own


def colour(rows: pd.DataFrame) -> str:
    """Return the colour of a curve."""
    return NAMED[rows["swatch"].iloc[0]].light


def marker(rows: pd.DataFrame) -> str:
    """Return the shape of a curve's points."""
    return MARKERS.get(rows["backend"].iloc[0], "o")


def cases(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row a case."""
    return rows.drop_duplicates("case")


def draw_points(panel: Axes, rows: pd.DataFrame, scale: Scale) -> None:
    """Draw a curve's launch medians, and its means over launches with their intervals."""
    own, shape, shade = cases(rows), marker(rows), colour(rows)
    if (rows["launches"] > 1).any():
        medians = rows.assign(y=scale(rows, "seconds"))
        sns.scatterplot(
            medians, x=SIZED, y="y", ax=panel, color=shade, alpha=PALE, s=12, marker=shape, linewidth=0, legend=False
        )
    means = own.assign(y=scale(own, "center"))
    ends = (scale(own, "center_lower"), scale(own, "center_upper"))
    draw_whiskers(panel, own[SIZED], means["y"], *ends, shade, name=str(rows["curve"].iloc[0]))
    is_hollow = means["case_status"].isin(HOLLOW)
    for some, face in ((means[~is_hollow], shade), (means[is_hollow], GROUND.light)):
        panel.scatter(
            some[SIZED], some["y"], s=POINT, marker=shape, facecolor=face, edgecolor=shade, linewidth=1.3, zorder=3
        )
    wrong = own[own["case_status"] == "wrong"]
    if len(wrong):
        # There is no time to draw it at: on the edge it hides nothing.
        foot = np.full(len(wrong), 0.03)
        panel.scatter(
            wrong[SIZED], foot, s=CROSS, marker="x", color=NAMED["bad"].light, linewidth=1.8, zorder=4,
            transform=panel.get_xaxis_transform(), clip_on=False,
        )  # fmt: skip


def draw_whiskers(
    panel: Axes,
    sizes: pd.Series,
    values: pd.Series,
    lower: pd.Series,
    upper: pd.Series,
    shade: str,
    *,
    name: str,
    places: Sequence[str] = (),
) -> None:
    """Draw intervals, and an arrow at the edge of a panel, whose limits are final, where one or its value lies beyond.

    Parameters
    ----------
    panel : Axes
        With its final limits.
    sizes, values, lower, upper : Series
        Where each stands, its value, and both ends, which may be NaN.
    shade : str
        Its colour.
    name : str
        What the values are of, where they are read out.
    places : sequence of str
        What each place is called there, where it is no size.
    """
    rows = pd.concat([sizes, values, lower, upper], axis=1).to_numpy(np.float64)
    _READ.setdefault(panel, []).append(_Values(name, rows, places or [format_nbytes(int(size)) for size in sizes]))
    panel.vlines(sizes, lower, upper, color=shade, linewidth=1.4, zorder=2.5)
    ends, (low, high) = pd.concat([values, lower, upper], axis=1), panel.get_ylim()
    for is_beyond, edge, arrow in ((ends.min(axis=1) < low, 0.015, "v"), (ends.max(axis=1) > high, 0.985, "^")):
        if is_beyond.any():
            panel.scatter(
                sizes[is_beyond], np.full(is_beyond.sum(), edge), s=POINT, marker=arrow, color=shade, linewidth=0,
                zorder=4, transform=panel.get_xaxis_transform(), clip_on=False,
            )  # fmt: skip


def readouts(figure: Figure) -> list[Readout]:
    """Return the points of a figure whose values were drawn with their intervals, from left to right."""
    found = []
    for panel in figure.axes:
        (left, right), (low, high) = panel.get_xlim(), panel.get_ylim()
        known = {one.id for one in series_of(figure)}
        for drawn in _READ.get(panel, ()):
            series = short_id(drawn.name) if short_id(drawn.name) in known else ""
            for (at, value, lower, upper), where in zip(drawn.rows, drawn.places, strict=True):
                if left <= at <= right and low <= value <= high:
                    x, y = panel.transData.transform((at, value))
                    least, most = sorted((lower, upper))  # of a rate, the end that is drawn last is the lower one
                    ends = f" [{_digits(least)}, {_digits(most)}]" if np.isfinite(lower + upper) else ""
                    what = f"{panel.get_ylabel()} {_digits(value)}{ends}"
                    words = one_line(f"{where}: {what}{', ' if drawn.name else ''}{drawn.name}")
                    place = {"x": round(float(x), 1), "y": round(float(figure.bbox.height - y), 1)}
                    found.append(Readout(**place, words=words, at=float(at), series=series))
    return sorted(found, key=lambda one: one.x)


def _digits(value: float) -> str:
    return f"{float(f'{value:.3g}'):.12g}"


def is_modelled(rows: pd.DataFrame) -> bool:
    """Whether a curve has a model that describes it."""
    return bool(rows["fitted"].iloc[0]) and bool(rows["describes"].iloc[0])


def draw_model(panel: Axes, rows: pd.DataFrame, scale: Scale) -> None:
    """Draw a curve's fitted model: solid in its range, dashed outside, muted where it does not describe the times."""
    one = rows.iloc[0]
    if not one["fitted"]:
        return
    ends = panel.get_xlim()
    # A call of no bytes lies on no logarithmic axis: from the edge on the model is inside its range then.
    inner = (max(one["first"], ends[0]), max(one["last"], ends[0]))
    shade = colour(rows) if one["describes"] else MUTED.light
    for start, stop in ((ends[0], inner[0]), inner, (inner[1], ends[1])):
        nbytes = np.geomspace(start, stop, STEPS)
        line = pd.DataFrame({SIZED: nbytes, "bus_nbytes": nbytes * one["bus_ratio"]})
        line["model"] = one["predict"](line["bus_nbytes"].to_numpy())
        is_inside = (start, stop) == inner
        panel.plot(
            nbytes, scale(line, "model").to_numpy(), color=shade, linewidth=1.5 if is_inside else 1.1, zorder=2,
            linestyle=DASHES["inside" if is_inside and one["describes"] else "outside"],
        )  # fmt: skip


def say_marker(panel: Axes, rows: pd.DataFrame) -> None:
    """Write on a panel that its figures are no measurement, where they are not."""
    if words := " ".join(sorted(set(rows["marker"]) - {""})):
        panel.text(
            0.985, 0.03, words, transform=panel.transAxes, ha="right", fontsize=SMALL, fontweight="bold",
            color=NAMED["bad"].light, gid="halo-marker",
        )  # fmt: skip


def end_labels(panel: Axes, labels: Sequence[tuple[float, str, str]], right: float = 0.985) -> None:
    """Write labels at the right end, each above its height on a logarithmic y axis, pushed apart where they meet.

    Parameters
    ----------
    panel : Axes
        With its final limits.
    labels : sequence of (float, str, str)
        Height and text, of one line or more, and the series that it names; long ones are folded.
    right : float
        Where they end, as a share of the panel.
    """
    low, high = np.log10(panel.get_ylim())
    tall = height_of(panel)
    order = sorted((height, "\n".join(map(folded, text.splitlines())), name) for height, text, name in labels)
    tops = [LINE * (1 + text.count("\n")) for _height, text, _name in order]
    places = [(np.log10(height) - low) / (high - low) * tall + 3.0 for height, _text, _name in order]
    for position in range(1, len(places)):
        places[position] = max(places[position], places[position - 1] + tops[position - 1])
    ceiling = tall
    for position in reversed(range(len(places))):
        places[position] = ceiling = min(places[position], ceiling - tops[position])
    for place, (_height, text, name) in zip(places, order, strict=True):
        with of_series(panel, name):
            panel.text(
                right, place / tall, text, transform=panel.transAxes, ha="right", va="bottom", fontsize=SMALL,
                color=INK.light, gid="halo-label", linespacing=1.15,
            )  # fmt: skip


def y_limits(table: pd.DataFrame, scale: Scale, below: float, above: float) -> tuple[float, float]:
    """Return limits that hold all points of a table, and whiskers as far as they are no longer than that.

    Parameters
    ----------
    table : DataFrame
        All panels, shown or not.
    scale : callable
        What is drawn.
    below, above : float
        Shares of the axis that stay free for labels.
    """
    own = cases(table)
    values = pd.concat([scale(table, "seconds"), scale(own, "center")]).dropna()
    ends = pd.concat([scale(own, "center_lower"), scale(own, "center_upper")]).dropna()
    if len(values):
        ends = ends.clip(values.min() / LONGEST_WHISKER, values.max() * LONGEST_WHISKER)
    return limits([*values, *ends], below=below, above=above)
