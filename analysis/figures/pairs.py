"""Pairs as tiles: which link is bad? A slow rank is a cross, a slow node a broad one, a slow pair two tiles."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from collmark.analysis.figures.palette import MUTED
from collmark.analysis.figures.sheet import blank, sheet, themed
from collmark.analysis.figures.tiles import BOTTOM, KEY, draw_tiles

NEEDS = ("panel", "shown", "marker", "sender", "receiver", "ratio", "each", "says", "pairs")
MOST = 48
"""Ranks whose tiles are drawn one by one: of more, a tile is a pair of nodes, coloured by its worst."""
END = math.sqrt(2.0)
"""Where the colours end: half an octave, so that a link that is a little slow shows, and half the rate is darkest."""
SIZE = 400.0


def pairs(table: pd.DataFrame) -> Figure:
    """Draw T over what is usual in the tier, a row for each rank that sends and a column for each that receives.

    Parameters
    ----------
    table : DataFrame
        With the columns `NEEDS`: of each directed pair its ranks, `ratio`, and how many ranks `each` node has.
    """
    with themed():
        shown = table[table["shown"]]
        if shown.empty:
            return blank("no pair was measured")
        figure, axes = sheet(list(shown["panel"].unique()), size=(SIZE, SIZE + KEY), bottom=BOTTOM + KEY)
        for panel, (_title, rows) in zip(axes, shown.groupby("panel", sort=False), strict=True):
            _draw(panel, rows)
    return figure


def tiles(rows: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the ratios as a square with NaN where nothing was measured, and what a row of it is: rank or node."""
    each = int(rows["each"].iloc[0])
    ranks = 1 + int(rows[["sender", "receiver"]].max().max())
    what, width = ("rank", 1) if ranks <= MOST else ("node", each)
    worst = rows.assign(
        sender=rows["sender"] // width, receiver=rows["receiver"] // width, far=np.log(rows["ratio"]).abs()
    )
    worst = worst.sort_values("far").drop_duplicates(["sender", "receiver"], keep="last")
    square = worst.pivot_table(index="sender", columns="receiver", values="ratio")
    order = range(math.ceil(ranks / width))
    return square.reindex(index=order, columns=order), what


def _draw(panel: Axes, rows: pd.DataFrame) -> None:
    square, what = tiles(rows)
    draw_tiles(panel, square, END, "41 %", gap=1.0 if len(square) <= MOST // 2 else 0.0)
    each = int(rows["each"].iloc[0])
    if what == "rank" and 1 < each < len(square):
        for edge in range(each, len(square), each):
            panel.axhline(edge, color=MUTED.light, linewidth=0.8)
            panel.axvline(edge, color=MUTED.light, linewidth=0.8)
    places = range(0, len(square), max(1, math.ceil(len(square) / 8)))
    panel.set_xticks([place + 0.5 for place in places], [str(place) for place in places], rotation=0)
    panel.set_yticks([place + 0.5 for place in places], [str(place) for place in places], rotation=0)
    panel.set_xlabel(f"{what} that receives")
    panel.set_ylabel(f"{what} that sends")


def title(table: pd.DataFrame) -> str:
    """Return what the picture says."""
    return "; ".join(dict.fromkeys(table["says"]))


def caption(table: pd.DataFrame) -> str:
    """Return what the marks are."""
    one = table.iloc[0]
    return (
        f"Tile: T of a pair over what is usual in its tier, inside nodes or between them; {one['pairs']}, in one "
        "launch: no interval. Colours end at 41 % (half an octave); blank: not measured; thin lines: nodes."
        + (" A tile is a pair of nodes, coloured by its furthest pair." if tiles(table)[1] == "node" else "")
    )
