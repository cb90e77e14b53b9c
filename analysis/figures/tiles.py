"""Squares of colour, from slower over as usual to faster: how they are shaded, and what the shades mean."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.patches import Rectangle

from collmark.analysis.figures.palette import GROUND, MUTED, SLOWER_TO_FASTER
from collmark.analysis.figures.sheet import SMALL, height_of

BOTTOM, KEY = 40.0, 30.0
"""Below a panel of tiles, in units of the view box: for the names of its columns, and for the key."""


def draw_tiles(panel: Axes, ratios: pd.DataFrame, end: float, words: str, *, gap: float = 1.0) -> None:
    """Draw ratios as tiles, and below them what their colours mean.

    Parameters
    ----------
    panel : Axes
        With room of `BOTTOM` + `KEY` below it; its ticks are the caller's.
    ratios : DataFrame
        Positive; blank where NaN.
    end : float
        Where the colours end, above 1: what lies further looks the same.
    words : str
        The same in words, as ``10 %``.
    gap : float
        Between tiles.
    """
    shades = [shade.light for shade in reversed(SLOWER_TO_FASTER)]
    inner = np.linspace(-math.log(end), math.log(end), len(shades) - 1)
    norm = BoundaryNorm([-math.inf, *inner, math.inf], len(shades))
    sns.heatmap(
        np.log(ratios), ax=panel, cmap=ListedColormap(shades), norm=norm, cbar=False, linewidths=gap,
        linecolor=GROUND.light, xticklabels=False, yticklabels=False,
    )  # fmt: skip
    panel.tick_params(length=0)
    panel.grid(visible=False)  # it would show where nothing was measured
    _draw_key(panel, shades, words)


def _draw_key(panel: Axes, shades: list[str], end: str) -> None:
    tall = height_of(panel)
    box: dict[str, Any] = {"transform": panel.transAxes, "clip_on": False}
    low, high = -(BOTTOM + 20.0) / tall, -(BOTTOM + 10.0) / tall
    for position, shade in enumerate(shades):
        left = 0.24 + 0.06 * position
        panel.add_patch(Rectangle((left, low), 0.06, high - low, facecolor=shade, linewidth=0, **box))
    words: dict[str, Any] = {"fontsize": SMALL, "color": MUTED.light, "va": "center", "y": (low + high) / 2, **box}
    panel.text(0.22, s=f"{end} faster", ha="right", **words)
    panel.text(0.80, s=f"{end} slower", ha="left", **words)
