"""Measured over modelled: where the model can be believed, and where the cliffs are."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from collmark.analysis.figures import marks
from collmark.analysis.figures.axis import ratio_axis, size_axis
from collmark.analysis.figures.palette import AXIS, BAND, INK
from collmark.analysis.figures.sheet import SMALL
from collmark.analysis.figures.words import curve_caption, slower_words
from collmark.core.units import format_nbytes

NEEDS = (*marks.NEEDED, "operation", "fitted", "describes", "model_seconds")
TOLERANCE = 1.1
"""Of the band: within it model and measurement agree well enough for most uses."""
LEAST, MOST = 1.3, 50.0
NAMED_CLIFFS = 2


def residuals(table: pd.DataFrame) -> Figure:
    """Draw measured over modelled time against nbytes, on a ratio axis about 1.

    Parameters
    ----------
    table : DataFrame
        With the columns `NEEDS`, as :func:`collmark.analysis.figures.place.placed` returns them.
    """
    return marks.by_panel(_modelled(table), _draw, "no series that a model was fitted to", size=(400.0, 230.0))


def _modelled(table: pd.DataFrame) -> pd.DataFrame:
    return marks.sized(table[table["fitted"]])


def _ratio(rows: pd.DataFrame, seconds: str) -> pd.Series:
    return rows[seconds].where(rows[seconds] > 0) / rows["model_seconds"]


def _draw(panel: Axes, rows: pd.DataFrame, table: pd.DataFrame) -> None:
    size_axis(panel, table["nbytes"].min(), table["nbytes"].max())
    panel.set_yscale("log")
    most = _furthest(table)
    panel.set_ylim(1 / most, most)
    ratio_axis(panel.yaxis, most)
    panel.axhspan(1 / TOLERANCE, TOLERANCE, color=BAND.light, zorder=0.5, linewidth=0)
    panel.axhline(1.0, color=AXIS.light, linewidth=1.0, zorder=1)
    for _name, own in marks.curves(panel, rows):
        marks.draw_points(panel, own, _ratio)
        _label_cliffs(panel, own)
    panel.set_ylabel("measured / model")
    panel.set_xlabel("nbytes")
    marks.say_marker(panel, rows)


def _furthest(table: pd.DataFrame) -> float:
    """Return the ratio at the end of the axis: all points and most whiskers lie within."""
    own = marks.cases(table)
    logs = [np.log(_ratio(rows, name).dropna()).abs() for rows, name in ((own, "center"), (table, "seconds"))]
    ends = np.log(_ratio(own, "center_upper").dropna()).abs()
    far = [float(log.max()) for log in logs if len(log)] + ([float(ends.quantile(0.8))] if len(ends) else [])
    return min(MOST, max(LEAST, math.exp(1.12 * max(far, default=0.0))))


def cliffs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the cases of one curve that miss the model by over 10 %, worst first, with their ``ratio``."""
    own = marks.cases(rows)
    found = own.assign(ratio=_ratio(own, "center"))
    far = found[np.log(found["ratio"]).abs() > math.log(TOLERANCE)]
    return far.iloc[np.argsort(-np.log(far["ratio"]).abs(), kind="stable")]


def _label_cliffs(panel: Axes, rows: pd.DataFrame) -> None:
    taken: list[float] = []
    for case in cliffs(rows).head(NAMED_CLIFFS).itertuples():
        # Neighbours would write over each other.
        if any(abs(math.log2(case.nbytes / other)) < 4 for other in taken):
            continue
        taken.append(case.nbytes)
        is_above = case.ratio > 1
        panel.annotate(
            format_nbytes(case.nbytes), (case.nbytes, case.ratio), xytext=(0, 7 if is_above else -7),
            textcoords="offset points", ha="center", va="bottom" if is_above else "top", fontsize=SMALL,
            color=INK.light, gid="halo-cliff",
        )  # fmt: skip


def title(table: pd.DataFrame) -> str:
    """Return what the picture says."""
    rows = _modelled(table)
    if rows.empty:
        return "No model was fitted"
    own = rows.drop_duplicates(["panel", "curve", "case"])
    ratio = _ratio(own, "center")
    logs = np.log(ratio).abs()
    if logs.max() <= math.log(TOLERANCE):
        return f"Every size lies within 10 % of its model ({len(own)} cases)"
    worst = own.loc[logs.idxmax()]
    far, told = int((logs > math.log(TOLERANCE)).sum()), int(logs.notna().sum())
    where = f"{worst['panel']} at {format_nbytes(int(worst['nbytes']))}"
    miss = slower_words(ratio[logs.idxmax()])
    return f"{far} of {told} cases miss the model by over 10 %; most: {where}, {miss}"


def caption(table: pd.DataFrame) -> str:
    """Return what the marks are."""
    rows = _modelled(table)
    return f"{curve_caption(rows.assign(fitted=False))} Band: ±10 %. Labels: the sizes that lie furthest outside."
