"""T beside NCCL's own model, a prior: how far the times are from what a library reckons with."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from collmark.analysis.costs.nccl_tuning import WORDS
from collmark.analysis.figures import marks
from collmark.analysis.figures.axis import decade_axis, size_axis
from collmark.analysis.figures.palette import INK
from collmark.analysis.figures.sheet import SMALL
from collmark.analysis.figures.words import curve_caption

NEEDS = (*marks.NEEDED, "fitted", "describes", "prior_name", "prior_seconds")
DASHDOT = (0, (6, 2, 1, 2))


def prior(table: pd.DataFrame) -> Figure:
    """Draw time against nbytes, and for each curve the prior's time, a panel per operation.

    Parameters
    ----------
    table : DataFrame
        With the columns `NEEDS`, as :func:`collmark.analysis.costs.prior.with_prior` returns them.
    """
    return marks.by_panel(marks.sized(table), _draw, "no operation that NCCL's model knows")


def _draw(panel: Axes, rows: pd.DataFrame, table: pd.DataFrame) -> None:
    size_axis(panel, table["nbytes"].min(), table["nbytes"].max())
    panel.set_yscale("log")
    low, high = marks.y_limits(table, marks.micro, below=0.08, above=0.12)
    priors = marks.micro(table, "prior_seconds").dropna()
    low, high = min(low, float(priors.min()) / 2), max(high, float(priors.max()) * 1.6)
    panel.set_ylim(low, high)
    decade_axis(panel.yaxis, low, high)
    labels, lines = [], []
    for name, own in marks.curves(panel, rows):
        line = marks.cases(own).sort_values("nbytes")
        reckoned = marks.micro(line, "prior_seconds")
        panel.plot(line["nbytes"], reckoned, color=marks.colour(own), linewidth=1.3, linestyle=DASHDOT, zorder=2)
        lines.append((line["nbytes"].iloc[0], reckoned.iloc[0]))
        marks.draw_points(panel, own, marks.micro)
        labels.append((float(np.nanmax([reckoned.max(), marks.micro(line, "center").max()])), name, name))
    panel.annotate(
        WORDS, min(lines, key=lambda place: float(place[1])), xytext=(0, -6), textcoords="offset points", ha="left",
        va="top", fontsize=SMALL, color=INK.light, gid="halo-prior",
    )  # fmt: skip
    panel.set_ylabel("T (µs)")
    panel.set_xlabel("nbytes")
    marks.say_marker(panel, rows)
    marks.end_labels(panel, labels, right=0.91)


def title(table: pd.DataFrame) -> str:
    """Return what the picture says."""
    own = marks.sized(table).drop_duplicates(["panel", "curve", "case"])
    ratios = (own["center"] / own["prior_seconds"]).dropna()
    if ratios.empty:
        return f"{WORDS}: nothing to set beside it"
    return f"T is {ratios.min():.2g} to {ratios.max():.2g} times what {WORDS}, reckons with"


def caption(table: pd.DataFrame) -> str:
    """Return what the marks are."""
    rows = marks.sized(table)
    names = ", ".join(sorted(set(rows["prior_name"])))
    words = f" Dash-dotted: {WORDS} ({names}), by which it ranks its algorithms; nothing is fitted to it."
    return curve_caption(rows.assign(fitted=False)) + words
