"""Which rank comes last: who is late, and who is done late."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from collmark.analysis.figures.palette import AXIS, INK, NAMED
from collmark.analysis.figures.sheet import SMALL, blank, sheet, themed
from collmark.analysis.figures.words import microseconds, percent
from collmark.core.quantile import student_t_quantile

NEEDS = ("panel", "what", "end", "launch", "rank", "ranks", "last", "repetitions", "lateness", "marker", "shown")
MOST_RANKS = 16
"""Of more ranks, those are drawn that lie furthest from chance."""


def last_rank(table: pd.DataFrame) -> Figure:
    """Draw the share of repetitions in which each rank came last, beside what chance gives.

    Parameters
    ----------
    table : DataFrame
        A row per launch, end and rank, with the columns `NEEDS`.
    """
    with themed():
        shown = table[table["shown"]]
        if shown.empty:
            return blank("clocks of the ranks could not be compared")
        most = min(MOST_RANKS, shown.groupby("panel")["rank"].nunique().max())
        figure, axes = sheet(list(shown["panel"].unique()), size=(400.0, 92.0 + 16.0 * max(most, 4)), top=38.0)
        for panel, (_title, rows) in zip(axes, shown.groupby("panel", sort=False), strict=True):
            _draw(panel, rows)
    return figure


def shares(table: pd.DataFrame) -> pd.DataFrame:
    """Return for each rank of one panel the mean over launches of its share, and its 95 % interval over launches."""
    share = (table["last"] / table["repetitions"]).rename("share")
    found = []
    for rank, values in share.groupby(table["rank"]):
        lower = upper = np.nan
        if len(values) > 1:
            half = student_t_quantile(0.975, len(values) - 1) * values.std() / math.sqrt(len(values))
            lower, upper = max(0.0, values.mean() - half), min(1.0, values.mean() + half)
        found.append({"rank": rank, "share": values.mean(), "lower": lower, "upper": upper, "launches": len(values)})
    return pd.DataFrame(found)


def _draw(panel: Axes, rows: pd.DataFrame) -> None:
    ranks = int(rows["ranks"].iloc[0])
    found = shares(rows)
    if len(found) > MOST_RANKS:
        far = (found["share"] - 1 / ranks).abs().nlargest(MOST_RANKS).index
        found = found.loc[np.sort(far)]
    found = found.reset_index(drop=True).assign(place=range(len(found)))
    shade = NAMED["run-a"].light
    panel.hlines(found["place"], found["lower"], found["upper"], color=shade, linewidth=1.4)
    sns.scatterplot(found, x="share", y="place", ax=panel, color=shade, s=34, linewidth=0, legend=False, zorder=3)
    panel.axvline(1 / ranks, color=AXIS.light, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
    panel.text(
        1 / ranks, 1.0, f"chance {percent(1 / ranks)} %", transform=panel.get_xaxis_transform(), ha="left", va="bottom",
        fontsize=SMALL, color=INK.light, gid="halo-chance",
    )  # fmt: skip
    panel.set_title(panel.get_title(loc="left"), pad=18.0)
    panel.set_xlim(-0.02, 1.02)
    panel.set_ylim(len(found) - 0.5, -0.5)
    places = [0.0, 0.25, 0.5, 0.75, 1.0]
    panel.set_xticks(places, [f"{place:.0%}".replace("%", " %") for place in places])
    panel.set_yticks(found["place"], [f"rank {rank}" for rank in found["rank"]])
    panel.grid(visible=False, axis="y")
    panel.set_xlabel("share of repetitions")
    panel.set_ylabel("")


def title(table: pd.DataFrame) -> str:
    """Return what the picture says: the rank that entered last most often, beside chance, and by how much."""
    if table.empty:
        return "Clocks of the ranks could not be compared"
    far, groups = [], list(table[table["end"] == "entered"].groupby("what", sort=False))
    for what, rows in groups:
        found, ranks = shares(rows), int(rows["ranks"].iloc[0])
        one = found.loc[found["share"].idxmax()]
        late = rows.loc[rows["rank"] == one["rank"], "lateness"].median()
        words = (
            f"Rank {one['rank']:.0f} entered last in {percent(one['share'])} % of repetitions "
            f"(chance {percent(1 / ranks)} %), by {microseconds(late)} µs in the median"
        )
        far.append((one["share"] * ranks, f"{what}: {words}" if len(groups) > 1 else words))
    return max(far)[1]


def caption(table: pd.DataFrame) -> str:
    """Return what the marks are."""
    launches = table.groupby("panel")["launch"].nunique()
    several = f"whisker: 95 % over {launches.max()} launches" if launches.max() > 1 else "one launch: no interval"
    few = f" The {MOST_RANKS} ranks furthest from chance." if table["ranks"].max() > MOST_RANKS else ""
    return f"Dot: mean over launches, all sizes together; {several}; dashed: chance.{few}"
