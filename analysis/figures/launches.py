"""Launch medians as tiles: would tomorrow agree? A slow launch is a stripe, a noisy size a mottled column."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from collmark.analysis.figures.sheet import blank, sheet, themed
from collmark.analysis.figures.tiles import BOTTOM, KEY, draw_tiles
from collmark.analysis.figures.words import percent, slower_words
from collmark.core.units import format_nbytes

NEEDS = ("case", "nbytes", "launch", "seconds", "center", "launches", "marker", "panel", "curve", "shown")
ENDS = ((1.1, "10 %"), (1.5, "50 %"), (3.0, "3 times"))
"""Where the colours may end, and in words: the first that holds half of the tiles. What lies further looks the same."""
MOST_ROWS = 40
ROW = 14.0
TOP = 26.0
NOTABLE = 0.03
"""Relative difference of a whole launch above which the title names it."""


def launches(table: pd.DataFrame) -> Figure:
    """Draw launch median / mean over launches as tiles: rows are launches in time order, columns sizes.

    Parameters
    ----------
    table : DataFrame
        With the columns `NEEDS`, placed with one curve in a panel.
    """
    with themed():
        tiles = {panel: grid(rows) for panel, rows in _several(table[table["shown"]]).groupby("panel", sort=False)}
        if not tiles:
            return blank("one launch: nothing to compare")
        rows = max(len(tile) for tile in tiles.values())
        end = _end(_several(table))
        figure, axes = sheet(list(tiles), size=(400.0, TOP + ROW * max(rows, 3) + BOTTOM + KEY), bottom=BOTTOM + KEY)
        for panel, tile in zip(axes, tiles.values(), strict=True):
            _draw(panel, tile, end)
    return figure


def _end(rows: pd.DataFrame) -> tuple[float, str]:
    """Return where the colours end: the same for all panels, shown or not."""
    logs = np.log(rows["seconds"] / rows["center"]).abs()
    return next((end for end in ENDS if (logs <= math.log(end[0])).mean() >= 0.5), ENDS[-1])


def _several(table: pd.DataFrame) -> pd.DataFrame:
    return table[(table["launches"] > 1) & (table["seconds"] > 0) & (table["center"] > 0)]


def grid(rows: pd.DataFrame) -> pd.DataFrame:
    """Return launch median / mean over launches: a row per launch, a column per size; NaN where there is none.

    Of more than 40 launches, successive ones share a row: the median of theirs.
    """
    ratio = rows.assign(ratio=rows["seconds"] / rows["center"])
    numbers = np.sort(ratio["launch"].unique())
    groups = np.array_split(numbers, min(MOST_ROWS, len(numbers)))
    names = {number: _name(group) for group in groups for number in group}
    order = [_name(group) for group in groups]
    ratio["row"] = ratio["launch"].map(names)
    return ratio.pivot_table(index="row", columns="nbytes", values="ratio", aggfunc="median", sort=False).reindex(
        index=order, columns=sorted(ratio["nbytes"].unique())
    )


def _name(group: np.ndarray[tuple[int], np.dtype[np.int64]]) -> str:
    return str(group[0]) if len(group) == 1 else f"{group[0]} to {group[-1]}"


def _draw(panel: Axes, tile: pd.DataFrame, end: tuple[float, str]) -> None:
    draw_tiles(panel, tile, *end)
    every = max(1, math.ceil(tile.shape[1] / 6))
    places = range(0, tile.shape[1], every)
    names = [format_nbytes(int(nbytes)) if nbytes else "no size" for nbytes in tile.columns]
    panel.set_xticks([place + 0.5 for place in places], [names[place] for place in places], rotation=0)
    beside = range(0, len(tile), max(1, math.ceil(len(tile) / 12)))
    panel.set_yticks([place + 0.5 for place in beside], [tile.index[place] for place in beside], rotation=0)
    panel.set_xlabel("nbytes")
    panel.set_ylabel("launch")


def outstanding(table: pd.DataFrame) -> pd.DataFrame:
    """Return for each launch of each panel the median over sizes of its ratio to the mean, furthest first."""
    rows = _several(table)
    ratio = rows.assign(ratio=rows["seconds"] / rows["center"]).groupby(["panel", "launch"], sort=False)["ratio"]
    found = ratio.median().reset_index()
    return found.iloc[np.argsort(-np.log(found["ratio"]).abs(), kind="stable")].reset_index(drop=True)


def title(table: pd.DataFrame) -> str:
    """Return what the picture says."""
    found = outstanding(table)
    if found.empty:
        return "One launch: nothing to compare"
    worst = found.iloc[0]
    if abs(math.log(worst["ratio"])) < NOTABLE:
        return f"No launch stands out: all lie within {percent(NOTABLE)} % of the mean of their sizes"
    return (
        f"Launch {worst['launch']} stands out most: {worst['panel']} is {slower_words(worst['ratio'])} there, "
        "in the median over sizes"
    )


def caption(table: pd.DataFrame) -> str:
    """Return what the marks are, and which size scatters most."""
    rows = _several(table)
    if rows.empty:
        return "Tile: median of one launch over the geometric mean of all."
    count = int(rows.groupby("panel")["launch"].nunique().max())
    words = f"Tile: median of one of {count} launches over the geometric mean of all, no interval; rows in their order."
    spread = np.log(rows["seconds"]).groupby([rows["panel"], rows["nbytes"]], sort=False).std().dropna()
    if spread.empty:
        return words
    panel, nbytes = spread.idxmax()
    where = f" at {format_nbytes(int(nbytes))}" if nbytes else ""
    return f"{words} Launches differ most in {panel}{where}: standard deviation {percent(spread.max())} %."
