"""A case over many runs, and where it changed: runs are the unit, since two runs of one thing differ by themselves."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from collmark.analysis.columns import SERIES
from collmark.analysis.compare.side import Side, Times, times_of
from collmark.analysis.compare.verdict import RATE
from collmark.analysis.ratio import log_mean, ratio
from collmark.analysis.results import Results
from collmark.core.estimate import Estimate

FloatArray = npt.NDArray[np.float64]
LEAST_RUNS = 5
"""Runs below which no change is looked for: two on each side, and one that tells."""
LEAST_SIDE = 2
NULL_DRAWS, NULL_SEED = 10_000, 7
KEEP = 0.01
APART = (*(name for name in SERIES if name not in ("run", "tier", "fabric")), "nbytes")


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """A case in one run.

    Attributes
    ----------
    run, label, created : str
        Which run, and when it was begun (UTC).
    seconds : float
        Geometric mean of T over its launches, s.
    estimate : Estimate or None
        The same with its interval; None for one launch.
    tier : str
        By evidence.
    """

    run: str
    label: str
    created: str
    seconds: float
    estimate: Estimate | None
    tier: str


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """Where a case changed.

    Attributes
    ----------
    at : int
        Index of the first point after it.
    ratio : float
        T after over T before, between this change and its neighbours.
    estimate : Estimate or None
        The same with its 95 % interval over runs.
    """

    at: int
    ratio: float
    estimate: Estimate | None


class History(msgspec.Struct, frozen=True, kw_only=True):
    """One case over runs, oldest first; facts are the columns of its series and size."""

    facts: dict[str, object]
    points: tuple[Point, ...]
    changes: tuple[Change, ...]


def histories(
    results: Sequence[Results],
    *,
    rate: float = RATE,
    tables: Sequence[pd.DataFrame] = (),
    include_unstable: bool = False,
) -> list[History]:
    """Return each case that two runs or more measured, over runs in the order of their making.

    Parameters
    ----------
    results : sequence of Results
        The runs.
    rate : float
        False discovery rate over all cases.
    tables : sequence of DataFrame
        The records of each run where they are there already, as :meth:`Side.table` returns them.
    include_unstable : bool
        Take unstable records too.

    Notes
    -----
    A stretch whose level differs from all else, by the largest two-sample t over all stretches (circular binary
    segmentation: Olshen, Venkatraman, Lucito & Wigler 2004, Biostatistics 5(4)); its distribution without a change is
    drawn for each number of runs from normal sequences. Then again inside all parts. A case is parted where Benjamini &
    Hochberg 1995 over all cases, or the p-value up to which that went, allows it; an end of a stretch is no change
    where t of its two neighbours does not reject at 1 %.
    """
    tables = tables or [Side(name=one.name, results=(one,)).table() for one in results]
    found: dict[tuple[object, ...], list[tuple[Results, Times]]] = {}
    for one, table in sorted(zip(results, tables, strict=True), key=lambda pair: in_time(pair[0])):
        for times in times_of(table, include_unstable=include_unstable).values():
            if not times.reason:
                found.setdefault(tuple(times.facts[name] for name in APART), []).append((one, times))
    several = [own for own in found.values() if len(own) > 1]
    logs = [np.array([np.log(times.seconds_L).mean() for _one, times in own]) for own in several]
    most = _largest_p([p for log in logs if (p := split(log)[1]) is not None], rate)
    return [
        History(
            facts=own[-1][1].facts,
            points=tuple(_point(one, times) for one, times in own),
            changes=tuple(_changes(log, most)),
        )
        for own, log in zip(several, logs, strict=True)
    ]


def in_time(one: Results) -> tuple[str, str]:
    """Return what runs are ordered by: when they were begun."""
    return one.run.created, one.name


def split(logs_N: FloatArray) -> tuple[tuple[int, int], float | None]:
    """Return the stretch that stands apart most from all else, and the p-value of there being none; None for too few.

    Parameters
    ----------
    logs_N : array, shape (N,)
        Logarithms of a case in each run.
    """
    if len(logs_N) < LEAST_RUNS:
        return (0, len(logs_N)), None
    stretches, t_K = zip(*((stretch, float(t_D[0])) for stretch, t_D in _t_values(logs_N[None])), strict=True)
    largest = max(t_K)
    exceeding = int(np.count_nonzero(_null(len(logs_N)) >= largest))
    return stretches[t_K.index(largest)], (1 + exceeding) / (1 + NULL_DRAWS)


def _t_values(logs_DN: FloatArray) -> Iterator[tuple[tuple[int, int], FloatArray]]:
    """Yield every stretch, and |t| of it and all else in each draw, variances pooled."""
    count = logs_DN.shape[1]
    centred_DN = logs_DN - logs_DN.mean(axis=1, keepdims=True)
    sums_DN = np.concatenate([np.zeros((len(logs_DN), 1)), centred_DN.cumsum(axis=1)], axis=1)
    squares_D = (centred_DN**2).sum(axis=1)
    for first in range(count):
        for last in range(first + LEAST_SIDE, min(count, first + count - LEAST_SIDE) + 1):
            inside, outside = last - first, count - last + first
            # The mean of all is 0: what one part lies above it, the other lies below.
            between_D = (sums_DN[:, last] - sums_DN[:, first]) ** 2 * (1 / inside + 1 / outside)
            within_D = np.maximum(squares_D - between_D, 1e-12 * squares_D)
            with np.errstate(divide="ignore", invalid="ignore"):
                t_D = np.sqrt(between_D / within_D * (count - 2))
            yield (first, last), np.where(squares_D > 0, t_D, 0.0)


@functools.cache
def _null(count: int) -> FloatArray:
    """Return the largest |t| of sequences without a change."""
    draws = np.random.default_rng(NULL_SEED).standard_normal((NULL_DRAWS, count))
    largest = np.zeros(NULL_DRAWS)
    for _stretch, t_D in _t_values(draws):
        np.maximum(largest, t_D, out=largest)
    return largest


def _largest_p(p_values: Sequence[float], rate: float) -> float:
    """Return the largest p-value that Benjamini and Hochberg's rule takes; 0 where it takes none."""
    if not p_values:
        return 0.0
    adjusted = stats.false_discovery_control(p_values)
    return max((p for p, one in zip(p_values, adjusted, strict=True) if one <= rate), default=0.0)


def _changes(logs_N: FloatArray, most: float) -> Iterator[Change]:
    places = _without_weak(sorted(set(_places(logs_N, 0, most))), logs_N)
    ends = [0, *places, len(logs_N)]
    for before, at, after in zip(ends, places, ends[2:], strict=False):
        one, two = np.exp(logs_N[before:at]), np.exp(logs_N[at:after])
        estimate = ratio(two, one)
        value = math.exp(float(np.log(two).mean() - np.log(one).mean()))
        over_runs = None if estimate is None else msgspec.structs.replace(estimate, over="runs")
        yield Change(at=at, ratio=value, estimate=over_runs)


def _places(logs_N: FloatArray, offset: int, most: float) -> Iterator[int]:
    (first, last), p = split(logs_N)
    if p is None or p > most:
        return
    yield from (offset + at for at in (first, last) if 0 < at < len(logs_N))
    for start, stop in ((0, first), (first, last), (last, len(logs_N))):
        yield from _places(logs_N[start:stop], offset + start, most)


def _without_weak(places: list[int], logs_N: FloatArray) -> list[int]:
    """Return the places whose two neighbouring stretches differ, the weakest taken out until all do."""
    while places:
        ends = [0, *places, len(logs_N)]
        parts = [logs_N[start:stop] for start, stop in itertools.pairwise(ends)]
        weakness = [_p_value(one, two) for one, two in itertools.pairwise(parts)]
        if max(weakness) <= KEEP:
            break
        del places[weakness.index(max(weakness))]
    return places


def _p_value(one: FloatArray, two: FloatArray) -> float:
    """Return the p-value of equal means; of a single run it is left to its stretch to be judged."""
    if len(one) + len(two) < 3:
        return 1.0
    if np.ptp(one) == np.ptp(two) == 0:
        return float(one[0] == two[0])
    return float(stats.ttest_ind(one, two).pvalue)


def _point(one: Results, times: Times) -> Point:
    mean = log_mean(times.seconds_L) if len(times.seconds_L) > 1 else None
    return Point(
        run=one.name,
        label=one.run.label,
        created=one.run.created,
        seconds=float(np.exp(np.log(times.seconds_L).mean())),
        estimate=None if mean is None else mean.interval(0.95),
        tier=str(times.facts["tier"]),
    )
