"""The index of figures."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import msgspec
import pandas as pd
from matplotlib.figure import Figure

from collmark.analysis.figures import (
    algorithm_bandwidth,
    bandwidth,
    change,
    contrast,
    history,
    last_rank,
    launches,
    pairs,
    prior,
    residuals,
    tails,
    times,
)
from collmark.core.registry import Registry


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """One figure.

    Attributes
    ----------
    name : str
        Also its anchor in a report.
    draw : callable
        DataFrame to Figure.
    needs : tuple of str
        Columns that it draws from.
    title, caption : callable
        DataFrame to what it says, and to what its marks are, with the number of launches and the level.
    axis : str
        What its x axis counts.
    """

    name: str
    draw: Callable[[pd.DataFrame], Figure]
    needs: tuple[str, ...]
    title: Callable[[pd.DataFrame], str]
    caption: Callable[[pd.DataFrame], str]
    axis: str = "nbytes"


def _row(name: str, module: ModuleType, draw: Callable[[pd.DataFrame], Figure]) -> Picture:
    return Picture(name=name, draw=draw, needs=module.NEEDS, title=module.title, caption=module.caption)


_ROWS = (
    _row("bandwidth", bandwidth, bandwidth.bandwidth),
    _row("times", times, times.times),
    _row("algorithm-bandwidth", algorithm_bandwidth, algorithm_bandwidth.algorithm_bandwidth),
    _row("residuals", residuals, residuals.residuals),
    _row("prior", prior, prior.prior),
    _row("contrast", contrast, contrast.contrast),
    _row("change", change, change.change),
    msgspec.structs.replace(_row("history", history, history.history), axis="run"),
    _row("launches", launches, launches.launches),
    msgspec.structs.replace(_row("pairs", pairs, pairs.pairs), axis="rank"),
    _row("tails", tails, tails.tails),
    _row("last-rank", last_rank, last_rank.last_rank),
)

FIGURES = Registry("figure", [(row.name, row) for row in _ROWS])
