"""Time of a run over time of another, against size: beyond the band of the smallest effect of interest it matters."""

from __future__ import annotations

from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from collmark.analysis.compare.verdict import Verdict
from collmark.analysis.figures import contrast, marks
from collmark.analysis.figures.palette import BAND, GROUND
from collmark.analysis.figures.words import BEYOND, slower_words
from collmark.core.numeral import counted
from collmark.core.units import format_nbytes

NEEDS = (*contrast.NEEDS, "effect", "verdict")
SHAPES = {Verdict.SLOWER: "v", Verdict.FASTER: "^", Verdict.NO_EVIDENCE: "o", Verdict.CANNOT_TELL: "o"}
MOST_NAMED = 3
"""Runs of which each is counted by itself."""
HOLLOW = (Verdict.CANNOT_TELL,)
SHADES = ("run-b", "tier-unknown", "run-a")
"""Those of the other runs: the first is what they stand against."""


def change(table: pd.DataFrame) -> Figure:
    """Draw T of other runs over T of the first against nbytes, on a ratio axis about 1, a panel per series.

    Parameters
    ----------
    table : DataFrame
        With the columns `NEEDS`, a row a comparison (:mod:`collmark.analysis.compare`), placed.
    """
    return marks.by_panel(marks.sized(table), _draw, "nothing of a size was compared", size=(400.0, 230.0))


def _draw(panel: Axes, rows: pd.DataFrame, table: pd.DataFrame) -> None:
    def draw_points(own: pd.DataFrame, shade: str, _position: int) -> None:
        for verdict, some in own.groupby("verdict", sort=False):
            style: dict[str, Any] = {"marker": SHAPES[Verdict(verdict)], "s": marks.POINT, "edgecolor": shade}
            style |= {"linewidth": 1.3, "zorder": 3}
            if verdict in HOLLOW:  # most, of many runs: seaborn takes several times as long
                panel.scatter(some["nbytes"], some["ratio"], facecolor=GROUND.light, **style)
            else:
                sns.scatterplot(some, x="nbytes", y="ratio", ax=panel, facecolor=shade, legend=False, **style)

    band = 1 + float(rows["effect"].iloc[0])
    panel.axhspan(1 / band, band, color=BAND.light, zorder=0)
    contrast.draw_ratios(panel, rows, table, draw_points, SHADES)


def title(table: pd.DataFrame) -> str:
    """Return what the picture says."""
    rows = marks.sized(table)
    if rows.empty:
        return "Nothing of a size was compared"
    series, runs = rows["panel"].unique(), rows["other"].unique()
    where = f"{series[0]}: " if len(series) == 1 else ""
    if len(runs) > MOST_NAMED:
        return f"{where}{_words(f'{len(runs)} runs', rows)}"
    return where + "; ".join(_words(str(name), own) for name, own in rows.groupby("other", sort=False))


def _words(name: str, rows: pd.DataFrame) -> str:
    """Return how many of the comparisons that are drawn have which verdict: those without a size are not."""
    counts = ", ".join(f"{int((rows['verdict'] == verdict).sum())} {verdict}" for verdict in Verdict)
    panels = len(rows["panel"].unique())
    of = f" in {panels} panels" if panels > 1 else ""
    words = f"{name} against {rows['base'].iloc[0]}, {counted(len(rows), 'comparison')}{of}: {counts}"
    slower = rows[rows["verdict"] == Verdict.SLOWER]
    if slower.empty:
        return words
    worst = slower.loc[slower["ratio"].idxmax()]
    # Where every run has a panel of its own, the panel's name ends with the run's.
    is_told = worst["other"] == name or (panels > 1 and worst["panel"].endswith(f", {worst['other']}"))
    told = [worst["panel"] if panels > 1 else "", "" if is_told else worst["other"]]
    where = ", ".join([*filter(None, told), format_nbytes(int(worst["nbytes"]))])
    return f"{words}; slowest: {where}, {slower_words(worst['ratio'])}"


def caption(table: pd.DataFrame) -> str:
    """Return what the marks are."""
    effect = 100 * float(table["effect"].iloc[0])
    counts = sorted(table["contrast_launches"].unique())
    over = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    whisker = "one launch: no interval" if counts == [1] else f"whisker: 95 % over {over} launches a side (Welch)"
    return (
        f"T over T of the first run; {whisker}; {BEYOND}. Band: the smallest "
        f"effect of interest, {effect:g} %. Triangle down: slower; up: faster; dot: no evidence of an effect, the "
        "whisker lies in the band; hollow: cannot tell."
    )
