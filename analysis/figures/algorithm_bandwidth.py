"""Algorithm bandwidth against size: nbytes over T, what an application sees of the link."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from collmark.analysis.figures import bandwidth
from collmark.analysis.figures.bandwidth import Rate, draw_rates, rate_caption, rate_title
from collmark.analysis.figures.words import ALPHA, ASYMPTOTE

NEEDS = bandwidth.NEEDS
ALGORITHM = Rate(words="algorithm bandwidth", column="nbytes", limit="its limit", slope=f"nbytes / {ALPHA}")
"""nbytes / T: algbw of nccl-tests, and of :func:`collmark.core.metrics.algorithm_bandwidth`."""


def algorithm_bandwidth(table: pd.DataFrame) -> Figure:
    """Draw algorithm bandwidth against nbytes, a panel per operation, all within the same limits.

    Parameters
    ----------
    table : DataFrame
        With the columns `NEEDS`, as :func:`collmark.analysis.figures.place.placed` returns them.
    """
    return draw_rates(table, ALGORITHM)


def title(table: pd.DataFrame) -> str:
    """Return what the picture says."""
    return rate_title(table, ALGORITHM)


def caption(table: pd.DataFrame) -> str:
    """Return what the marks are."""
    words = f"Algorithm bandwidth: nbytes / T; its limit: {ASYMPTOTE} x nbytes / bus bytes."
    return f"{rate_caption(table, ALGORITHM)} {words}"
