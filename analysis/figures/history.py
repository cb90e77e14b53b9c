"""A case over many runs: did its level change, when, and by how much."""

from __future__ import annotations

import math

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from collmark.analysis.compare.history import LEAST_RUNS
from collmark.analysis.figures import marks
from collmark.analysis.figures.axis import ratio_axis
from collmark.analysis.figures.contrast import ratio_ends
from collmark.analysis.figures.palette import AXIS, INK, NAMED
from collmark.analysis.figures.sheet import SMALL
from collmark.analysis.figures.words import BEYOND, interval_words, slower_words
from collmark.core.numeral import counted

NEEDS = (
    "at", "run", "ratio", "ratio_lower", "ratio_upper", "launches", "stretch", "change", "change_lower", "change_upper",
    "runs", "cases", "changed", "rate", "swatch", "marker", "panel", "shown",
)  # fmt: skip
MOST_TICKS = 10
LINE = 0.075
"""Share of a panel between the labels of neighbouring changes, which would write over each other."""


def history(table: pd.DataFrame) -> Figure:
    """Draw T over T of the first run against runs in order of time, a panel per case, all within the same limits.

    Parameters
    ----------
    table : DataFrame
        With the columns `NEEDS`, a row a case and run (:mod:`collmark.analysis.compare.history`): `stretch` counts the
        levels, `change` is T after over before in the first row of a new one.
    """
    return marks.by_panel(table, _draw, "no case in three runs or more", size=(400.0, 230.0))


def _draw(panel: Axes, rows: pd.DataFrame, table: pd.DataFrame) -> None:
    runs = int(table["runs"].iloc[0])
    panel.set_xlim(0.5, runs + 0.5)
    panel.set_xticks(range(1, runs + 1, math.ceil(runs / MOST_TICKS)))
    panel.set_yscale("log")
    least, most = ratio_ends(table)
    panel.set_ylim(least, most)
    ratio_axis(panel.yaxis, most, least)
    panel.axhline(1.0, color=AXIS.light, linewidth=1.0, zorder=1)
    panel.grid(visible=False, axis="x")
    shade = marks.colour(rows)
    levels = rows.groupby("stretch")
    if levels.ngroups > 1:
        for _stretch, own in levels:
            level = math.exp(own["ratio"].map(math.log).mean())
            panel.hlines(level, own["at"].min() - 0.4, own["at"].max() + 0.4, color=shade, linewidth=1.2, alpha=0.6)
    panel.set_ylabel("T / T of the first run")
    panel.set_xlabel("run, in order of time")
    limits = (rows["ratio_lower"], rows["ratio_upper"])
    marks.draw_whiskers(panel, rows["at"], rows["ratio"], *limits, shade, name="", places=list(rows["run"]))
    sns.scatterplot(rows, x="at", y="ratio", ax=panel, color=shade, s=marks.POINT, zorder=3, legend=False)
    _draw_changes(panel, rows)
    marks.say_marker(panel, rows)


def _draw_changes(panel: Axes, rows: pd.DataFrame) -> None:
    """Draw a rule before each run that a level begins with, and beside it how far it lies from the one before."""
    before = rows["at"].shift()
    changes = rows.assign(rule=(rows["at"] + before) / 2)[rows["change"].notna()]
    for number, one in enumerate(changes.to_dict("records")):
        shade = NAMED["bad" if one["change"] > 1 else "good"].light
        panel.axvline(one["rule"], color=shade, linewidth=1.2, linestyle=(0, (4, 3)), zorder=2)
        is_left = one["rule"] > sum(panel.get_xlim()) / 2
        words = interval_words("{:.3g}".format, one["change"], one["change_lower"], one["change_upper"])
        panel.annotate(
            f"x {words}", (one["rule"], 0.98 - LINE * number), xycoords=panel.get_xaxis_transform(),
            xytext=(-5 if is_left else 5, 0), textcoords="offset points", ha="right" if is_left else "left", va="top",
            fontsize=SMALL, color=INK.light, gid="halo-change",
        )  # fmt: skip


def title(table: pd.DataFrame) -> str:
    """Return what the picture says."""
    if table.empty:
        return "No case is in three runs or more"
    one = table.iloc[0]
    over = f"{counted(int(one['cases']), 'case')} over {one['runs']} runs"
    changes = table[table["change"].notna()]
    if len(changes):
        most = changes.loc[changes["change"].map(lambda ratio: abs(math.log(ratio))).idxmax()]
        where = f"{most['panel']} from run {most['at']} ({most['run']}) on, {slower_words(most['change'])}"
        return f"{one['changed']} of {over} changed level; most: {where}"
    logs = table["ratio"].map(math.log).groupby(table["panel"], sort=False)
    apart = (logs.max() - logs.min()).map(math.exp)
    furthest = f"furthest apart: {apart.idxmax()}, slowest over fastest run {apart.max():.3g}"
    if table.groupby("panel").size().max() < LEAST_RUNS:
        return f"{over}: too few to look for changes of level, from {LEAST_RUNS} runs of a case on; {furthest}"
    return f"No change of level is told in {over}; {furthest}"


def caption(table: pd.DataFrame) -> str:
    """Return what the marks are."""
    least, most = int(table["launches"].min()), int(table["launches"].max())
    over = f"{least}" if least == most else f"{least} to {most}"
    whisker = f"whisker: 95 % over {over} launches of that run" if most > 1 else "one launch: no interval"
    shown, cases = len(table["panel"].unique()), int(table["cases"].iloc[0])
    chosen = f" {shown} of {cases} cases: those that changed first, then those whose runs lie furthest apart." * (
        shown < cases
    )
    return (
        f"T over T of the first run that has the case; dot: geometric mean over launches; {whisker}; {BEYOND}. Upright "
        "rule: change of level, and T after over before with 95 % over runs where each side has several, at a false "
        f"discovery rate of {100 * float(table['rate'].iloc[0]):g} % over all cases; level: geometric mean.{chosen}"
    )
