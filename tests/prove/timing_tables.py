"""The tables of docs/proof/timing.md: each estimator on its draws, the naive method beside it, and what is asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any

import msgspec
import numpy as np
from tests.prove.modes_draws import ONE, SEVERAL, draw_modes
from tests.prove.straggler_draws import DELAY, EVERYTHING_MATTERS, draw_chance, draw_run
from tests.prove.straggler_draws import Setting as Entries
from tests.prove.timing_draws import HEADS, PRECISION, Series, Skewed, draw_covered, draw_cut, estimates, is_false
from tests.prove.variance_draws import Spread, draw_variance

from collmark.analysis.report.scatter import between_ends
from collmark.core.chance import CHANCE
from collmark.core.straggler import End

SEEDS_APART = 1_000_000  # between rows, so that no two share a draw
COVERED = (0.93, 0.97)
MOST_BIAS = 0.01  # of L
MOST_LEFT = PRECISION / 4  # of a transient in the median
MOST_FALSE = 0.03  # cuts of steady series
ERRORS = 2  # standard errors of a share by which it may seem to exceed its level
LEAST_NAMED, LEAST_FOUND = 0.95, 0.95
MOST_MODES = 0.02
HIDDEN = Series(cv=0.05, autocorrelation=0.6, contaminated=0.08)
UNSEEN = Series(cv=0.05, head="40 calls, 1.3 times as long")
SAMPLING_LEFT = 0.12  # of the sampling variance, since 60 repetitions know their autocorrelation time no better


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """One table: headings, rows of cells, and whether each row is what is asked for."""

    headings: tuple[str, ...]
    rows: list[tuple[str, ...]]
    accepted: list[bool]

    def text(self) -> str:
        """Return it as Markdown."""
        marks = ["yes" if accepted else "NO" for accepted in self.accepted]
        body = [(*row, mark) for row, mark in zip(self.rows, marks, strict=True)]
        lines = [(*self.headings, "accepted"), ("---:",) * (len(self.headings) + 1), *body]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


Draws = Callable[[Callable[[int], Any], int], list[Any]]
Row = tuple[tuple[str, ...], bool]


def drawing(executor: Executor, draws: int) -> Draws:
    """Return a function that makes the draws of a row, given what to draw and the number of the row."""

    def draw(one: Callable[[int], Any], row: int) -> list[Any]:
        return list(executor.map(one, range(row * SEEDS_APART, row * SEEDS_APART + draws), chunksize=10))

    return draw


def percent(share: float) -> str:
    """Return a share in per cent."""
    return f"{100 * share:.1f}"


def signed(share: float) -> str:
    """Return a relative bias in per cent."""
    return f"{100 * share:+.1f}"


def error_of(share: float, draws: int) -> float:
    """Return the binomial standard error of a share."""
    return math.sqrt(share * (1 - share) / draws)


def table(headings: Sequence[str], rows: Iterable[Row]) -> Table:
    """Return a table of rows, each with whether it is accepted."""
    found = list(rows)
    return Table(headings=tuple(headings), rows=[cells for cells, _ in found], accepted=[mark for _, mark in found])


def coverage(draw: Draws) -> Table:
    """Return how often the interval of one launch holds the truth, when the rule has stopped."""
    settings = [Series(cv=cv, autocorrelation=rho) for cv in (0.05, 0.2) for rho in (0.0, 0.3, 0.6, 0.9)]
    settings += [Series(cv=0.05, contaminated=0.08), Series(cv=0.2, autocorrelation=0.6, contaminated=0.08)]

    def row(number: int, series: Series) -> Row:
        found = draw(partial(draw_covered, series), number)
        share, naive = (float(np.mean([getattr(one, name) for one in found])) for name in ("widened", "naive"))
        cells = (
            percent(series.cv), f"{series.autocorrelation:g}", percent(series.contaminated),
            f"{percent(share)} ({percent(error_of(share, len(found)))})", percent(naive),
            f"{np.median([one.repetitions for one in found]):.0f}",
        )  # fmt: skip
        return cells, COVERED[0] <= share <= COVERED[1]

    headings = (
        "within CV, %", "autocorrelation", "contaminated, %", "covered, % (SE)", "as if independent, %",
        "repetitions, median",
    )  # fmt: skip
    return table(headings, (row(number, series) for number, series in enumerate(settings, 100)))


def skew(_draw: Draws) -> Table:
    """Return the bias of L and of what others report, where ranks enter apart."""
    entries = (("uniform", 0.0), ("uniform", 5e-6), ("uniform", 50e-6), ("exponential", 20e-6), ("one rank late", 4e-6))
    settings = [Skewed(ranks=ranks, entries=how, skew=size) for ranks in (2, 8, 64) for how, size in entries]

    def row(number: int, setting: Skewed) -> Row:
        found = estimates(setting, number)
        cells = (f"{setting.ranks}", setting.entries, f"{setting.skew * 1e6:g}", *map(signed, found.values()))
        return cells, abs(found["L"]) <= MOST_BIAS

    headings = ("ranks", "entries", "over, us", "L", "D_max", "mean of locals", "first in, last out")
    return table(headings, (row(number, setting) for number, setting in enumerate(settings, 200)))


def steady_cuts(draw: Draws) -> Table:
    """Return how often a steady series is cut."""
    settings = [Series(cv=cv, autocorrelation=rho) for cv in (0.05, 0.2) for rho in (0.0, 0.6, 0.9)]
    settings.append(Series(cv=0.05, autocorrelation=0.6, contaminated=0.08))

    def row(number: int, series: Series) -> Row:
        found = draw(partial(draw_cut, series), number)
        false, plain = (float(np.mean([is_false(getattr(one, name)) for one in found])) for name in ("cut", "plain"))
        cells = (
            percent(series.cv), f"{series.autocorrelation:g}", percent(series.contaminated), percent(false),
            percent(plain), percent(float(np.mean([one.plain > one.repetitions / 3 for one in found]))),
        )  # fmt: skip
        return cells, false <= MOST_FALSE

    headings = (
        "within CV, %", "autocorrelation", "contaminated, %", "cut, %", "by MSER-5 alone, %",
        "by MSER-5 alone over a third, %",
    )  # fmt: skip
    return table(headings, (row(number, series) for number, series in enumerate(settings, 300)))


def transients(draw: Draws) -> Table:
    """Return what is left of a transient in the median."""
    settings = [
        Series(cv=cv, autocorrelation=rho, head=head)
        for head in HEADS
        for cv, rho in ((0.05, 0.0), (0.05, 0.6), (0.2, 0.0), (0.05, 0.9))
        if head and (head, cv, rho) != (UNSEEN.head, UNSEEN.cv, UNSEEN.autocorrelation)
    ]

    def row(number: int, series: Series) -> Row:
        found = draw(partial(draw_cut, series), number)
        bias = {
            name: float(np.mean([getattr(one, name) for one in found])) - 1
            for name in ("median", "uncut", "tenth", "bare")
        }
        cells = (
            series.head, percent(series.cv), f"{series.autocorrelation:g}",
            f"{np.median([one.cut for one in found]):.0f} of {np.median([one.repetitions for one in found]):.0f}",
            *map(signed, bias.values()),
        )  # fmt: skip
        return cells, abs(bias["median"]) <= MOST_LEFT

    headings = (
        "first calls", "within CV, %", "autocorrelation", "cut, median", "bias, %", "without a cut, %",
        "cut of a tenth, %", "MSER-5 alone, %",
    )  # fmt: skip
    return table(headings, (row(number, series) for number, series in enumerate(settings, 400)))


def hidden(draw: Draws) -> float:
    """Return how often the interval holds the truth where outliers hide the dependence of a short series."""
    return float(np.mean([one.widened for one in draw(partial(draw_covered, HIDDEN), 150)]))


def unseen(draw: Draws) -> float:
    """Return the share of series that end inside their transient, where no cut can see it."""
    found = draw(partial(draw_cut, UNSEEN), 450)
    return float(np.mean([one.median > 1.1 for one in found]))


def false_stragglers(draw: Draws) -> Table:
    """Return how often chance names a rank, beside the levels."""
    levels = (0.05, 0.01, CHANCE)
    settings = [Entries(ranks=ranks, repetitions=repetitions, autocorrelation=rho)
                for ranks in (2, 4, 64) for repetitions in (50, 400) for rho in (0.0, 0.3, 0.6, 0.9)]  # fmt: skip

    def row(number: int, setting: Entries) -> Row:
        found = np.array(draw(partial(draw_chance, setting), number))
        shares = [float(np.mean(found[:, 0] <= level)) for level in levels]
        cells = (
            f"{setting.ranks}", f"{setting.repetitions}", f"{setting.autocorrelation:g}",
            *(f"{100 * share:.2f}" for share in shares), percent(float(np.mean(found[:, 1] <= levels[0]))),
        )  # fmt: skip
        most = [level + ERRORS * error_of(level, len(found)) for level in levels]
        return cells, all(share <= limit for share, limit in zip(shares, most, strict=True))

    headings = (
        "ranks", "repetitions", "autocorrelation", *(f"named at {100 * level:g} %" for level in levels),
        "at 5 %, as if independent",
    )  # fmt: skip
    return table(headings, (row(number, setting) for number, setting in enumerate(settings, 500)))


def named_stragglers(draw: Draws) -> Table:
    """Return how often a run names somebody without cause, and a rank that is late by a fifth of T."""

    def row(number: int, ranks: int, rho: float, repetitions: int) -> Row:
        quiet = Entries(ranks=ranks, repetitions=repetitions, autocorrelation=rho, seconds=EVERYTHING_MATTERS)
        late = Entries(ranks=ranks, repetitions=repetitions, autocorrelation=rho, delay=DELAY)
        without = draw(partial(draw_run, quiet, 5, 2), number)
        found = draw(partial(draw_run, late, 5, 2), number)
        false = float(np.mean([bool(run) for run in without]))
        right = float(np.mean([[one.rank for one in run] == [1] for run in found]))
        behind = np.median([run[0].seconds.value for run in found if run])
        cells = (
            f"{ranks}", f"{repetitions}", f"{rho:g}", f"{100 * false:.2f}", percent(right), f"{1e6 * behind:.1f}"
        )  # fmt: skip
        level = len(End) * CHANCE
        return cells, false <= level + ERRORS * error_of(level, len(without)) and right >= LEAST_NAMED

    headings = (
        "ranks", "repetitions", "autocorrelation", "named by chance, %", "late rank named alone, %",
        f"late by, us ({1e6 * DELAY:g} planted)",
    )  # fmt: skip
    settings = [(ranks, *series) for ranks in (2, 4, 64) for series in ((0.0, 60), (0.6, 60), (0.9, 600))]
    return table(headings, (row(number, *setting) for number, setting in enumerate(settings, 600)))


def variance(draw: Draws) -> Table:
    """Return the bias of the variance between launches, and the coverage of its interval."""
    settings = [Spread(launch_sd=sd, within_cv=cv, together=together)
                for sd in (0.01, 0.03, 0.1) for cv in (0.05, 0.2) for together in (True, False)]  # fmt: skip

    def row(number: int, spread: Spread) -> Row:
        found = draw(partial(draw_variance, spread), number)
        planted = spread.launch_sd**2
        parts = np.array([one.observed - one.sampling for one in found])
        observed = float(np.mean([one.observed for one in found]))
        sampling = float(np.mean([one.sampling for one in found]))
        inside = float(np.mean([lower <= spread.launch_sd <= upper for lower, upper in map(between_ends, found)]))
        error = float(parts.std(ddof=1)) / math.sqrt(len(parts))
        bias = float(parts.mean()) - planted
        cells = (
            percent(spread.launch_sd), "launch" if spread.together else "case", percent(spread.within_cv),
            f"{100 * bias / planted:+.0f} ({100 * error / planted:.0f})", f"{100 * (observed / planted - 1):+.0f}",
            percent(inside),
        )  # fmt: skip
        return cells, abs(bias) <= 3 * error + SAMPLING_LEFT * sampling and inside >= COVERED[0]

    headings = (
        "launch SD, %", "a level per", "within CV, %", "bias of the variance, % (SE)", "of the medians' variance, %",
        "SD covered, %",
    )  # fmt: skip
    return table(headings, (row(number, spread) for number, spread in enumerate(settings, 700)))


def modes(draw: Draws) -> Table:
    """Return how often one mode is taken for several, and planted ones are found."""

    def row(number: int, name: str, repetitions: int) -> Row:
        found = np.array(draw(partial(draw_modes, name, repetitions), number))
        planted = SEVERAL.get(name, 1)
        right = float(np.mean(found == planted))
        cells = (name, f"{repetitions}", f"{planted}", percent(right), percent(float(np.mean(found > planted))))
        return cells, right >= (LEAST_FOUND if name in SEVERAL else 1 - MOST_MODES)

    settings = [(name, repetitions) for name in ONE for repetitions in (20, 200, 2000)]
    settings += [(name, 400) for name in SEVERAL]
    headings = ("distribution", "repetitions", "modes", "found, %", "more found, %")
    return table(headings, (row(number, *setting) for number, setting in enumerate(settings, 800)))
