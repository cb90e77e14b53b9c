"""Repetitions from the fastest to the slowest: what the slow ones cost."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from collmark.analysis.figures.axis import nines, nines_axis, plain
from collmark.analysis.figures.marks import say_marker
from collmark.analysis.figures.palette import AXIS, INK, NAMED
from collmark.analysis.figures.sheet import SMALL, blank, sheet, themed

NEEDS = ("panel", "swatch", "marker", "launch", "seconds", "shown")
BEYOND = 10
"""Repetitions that must lie beyond a percentile for it to be drawn."""
SAID = {0.99: "1 in 100", 0.9: "1 in 10"}
"""Percentiles that the title may speak of, and how."""
LEVELS = 40
MOST_LAUNCHES = 20
"""Thin lines in one panel; of more launches these are spread evenly over all."""


def tails(repetitions: pd.DataFrame) -> Figure:
    """Draw time / median against the percentile, on an axis that counts nines, a panel per case.

    Parameters
    ----------
    repetitions : DataFrame
        A row per repetition, with the columns `NEEDS`.
    """
    with themed():
        repetitions = repetitions[repetitions["seconds"] > 0]
        shown = repetitions[repetitions["shown"]]
        if shown.empty:
            return blank("no raw samples were kept")
        figure, axes = sheet(list(shown["panel"].unique()))
        ratios = relative(repetitions)
        counts = repetitions.groupby("panel").size()
        highest = max(1 - BEYOND / int(counts.max()), 0.5)
        for panel, (_title, rows) in zip(axes, shown.groupby("panel", sort=False), strict=True):
            _draw(panel, rows, ratios.loc[rows.index])
            nines_axis(panel, highest)
        _set_ratios(axes, ratios)
    return figure


def relative(repetitions: pd.DataFrame) -> pd.Series:
    """Return T of each repetition over the median of its own launch: how launches differ is no tail."""
    return repetitions["seconds"] / repetitions.groupby(["panel", "launch"])["seconds"].transform("median")


def is_told(share: float, count: float) -> bool:
    """Whether enough of some repetitions lie beyond a percentile for it to mean anything."""
    return count * (1 - share) >= BEYOND - 1e-9  # 1 - 0.99 is a little less than 0.01


def weights(launch: pd.Series) -> pd.Series:
    """Return a weight for each repetition such that every launch has the same in all, however long it went on."""
    return 1.0 / launch.map(launch.value_counts())


def effective(weight: pd.Series) -> float:
    """Return how many repetitions of one weight would tell as much (Kish 1965, Survey Sampling, 11.7)."""
    return float(weight.sum() ** 2 / (weight**2).sum())


def quantile(values: pd.Series, weight: pd.Series, share: float) -> float:
    """Return the value below which lies such a share of the weight."""
    return float(np.quantile(values, share, weights=weight, method="inverted_cdf"))


def quantiles(ratio: pd.Series, weight: pd.Series) -> pd.DataFrame:
    """Return the percentiles of some values, evenly spaced in nines, up to the last with 10 values beyond it."""
    count = effective(weight) if len(ratio) else 0.0
    if count <= BEYOND:
        return pd.DataFrame({"ratio": [], "nines": []})
    places = np.linspace(0.0, nines(1 - BEYOND / count), LEVELS)
    found = np.quantile(ratio, 1 - 10.0**-places, weights=weight, method="inverted_cdf")
    return pd.DataFrame({"ratio": found, "nines": places})


def percentile(nines: float) -> str:
    """Return a percentile in per cent, never rounded up to all of them.

    Examples
    --------
    >>> percentile(1.0), percentile(2.8)
    ('90', '99.84')
    """
    beyond = 100 * 10.0**-nines
    digits = max(0, math.ceil(-math.log10(beyond)) + 1) if beyond < 1 else 0
    return f"{100 - beyond:.{digits}f}"


def _draw(panel: Axes, rows: pd.DataFrame, ratio: pd.Series) -> None:
    numbers = np.sort(rows["launch"].unique())
    chosen = numbers[np.linspace(0, len(numbers) - 1, min(MOST_LAUNCHES, len(numbers))).round().astype(int)]
    launch = rows["launch"]
    weight = weights(launch)
    thin = pd.concat([quantiles(ratio[launch == one], weight[launch == one]).assign(launch=one) for one in chosen])
    style = {"x": "ratio", "y": "nines", "ax": panel, "estimator": None, "sort": False, "legend": False}
    shade = NAMED[rows["swatch"].iloc[0]].light
    if len(numbers) > 1 and len(thin):
        sns.lineplot(thin, units="launch", color=shade, linewidth=0.8, alpha=0.55, **style)
    pooled = quantiles(ratio, weight)
    if len(pooled):
        sns.lineplot(pooled, color=shade, linewidth=2.0, **style)
    panel.axvline(1.0, color=AXIS.light, linewidth=1.0, zorder=1)
    panel.set_xscale("log")
    panel.set_xlabel("T / median of its launch")
    panel.set_ylabel("percentile")
    if len(pooled):
        worst = pooled.iloc[-1]
        panel.annotate(
            f"{percentile(worst['nines'])} %: {worst['ratio']:.2f}x", (worst["ratio"], worst["nines"]),
            xytext=(-8, -2), textcoords="offset points", ha="right", va="center", fontsize=SMALL, color=INK.light,
            gid="halo-worst",
        )  # fmt: skip
    say_marker(panel, rows)


def _set_ratios(axes: list[Axes], ratios: pd.Series) -> None:
    """Give all panels the same ratios, with 1 in view."""
    low = min(0.9, float(ratios.quantile(0.005)) / 1.05)
    high = max(1.25, float(ratios.quantile(min(0.999, 1 - 1 / len(ratios)))) * 1.2)
    steps = (0.1, 0.2, 0.5, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
    places = [step for step in steps if low <= step <= high]
    if math.log10(high / low) > 1:
        places = [step for step in places if step not in {0.8, 1.25, 1.5, 3.0}]
    for panel in axes:
        panel.set_xlim(low, high)
        panel.set_xticks(places, [plain(place) for place in places])
        panel.set_xticks([], minor=True)


def title(repetitions: pd.DataFrame) -> str:
    """Return what the picture says: the worst of its cases at the highest percentile that any of them tells."""
    repetitions = repetitions[repetitions["seconds"] > 0]
    ratios = relative(repetitions)
    groups = [
        (panel, ratios[own.index], weights(own["launch"])) for panel, own in repetitions.groupby("panel", sort=False)
    ]
    for share, words in SAID.items():
        told = [
            (quantile(ratio, weight, share), panel)
            for panel, ratio, weight in groups
            if is_told(share, effective(weight))
        ]
        if told:
            ratio, panel = max(told)
            return f"{words} repetitions of {panel} takes {ratio:.2f} times the median of its launch or more"
    return "Too few repetitions to tell their tail" if groups else "No raw samples were kept"


def caption(repetitions: pd.DataFrame) -> str:
    """Return what the marks are, and why rare slowness matters."""
    counts = repetitions.groupby("panel").size()
    least, most = int(counts.min()), int(counts.max())
    number = f"{least}" if least == most else f"{least} to {most}"
    launches = repetitions["launch"].nunique()
    lines = "One launch" if launches == 1 else f"Thin: one launch; thick: all {launches} launches, of the same weight"
    return (
        f"{lines}, {number} repetitions a panel, warm-up cut, each over its launch's median. A percentile is drawn "
        f"where at least {BEYOND} repetitions lie beyond it; no interval. Why it matters: if each of 64 ranks "
        "were slow in 1 % of calls, independently, 47 % of collectives would wait for one."
    )
