"""How many modes the repetitions of a case have: peaks of the distribution of T with a clear valley between them.

A series that has several takes one of a few typical times in each repetition, as where a library chooses between
algorithms, or a process between cores. Its median then is the time of one mode, or of none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, signal, special, stats

from collmark.analysis.results import Results
from collmark.core.case import Case
from collmark.core.estimate import Mean
from collmark.core.numeral import counted, listed
from collmark.core.record import BINS_PER_OCTAVE, Histogram, Record
from collmark.core.statistics import log_t_interval, t_interval
from collmark.core.units import format_microseconds

LEAST_SHARE = 0.05
"""Of the repetitions, below which a peak is no mode, as below which a launch is not unstable."""
DEEPEST = 0.5
"""Density in a valley over that at the lower of its peaks, above which it parts no modes."""
CHANCE = 0.01
"""By which a valley may come about by chance."""
THIRD = 1 / 3
THIRD_OF_NORMAL = 2 * float(stats.norm.ppf(0.5 + THIRD / 2))
"""Length over standard deviation of the shortest interval that holds a third of a normal distribution."""

Density = NDArray[np.float64]
Counts = NDArray[np.int64]


class Mode(msgspec.Struct, frozen=True, kw_only=True):
    """One mode of one series: where its peak lies, in s, and its share of the repetitions."""

    seconds: float
    share: float


class Modes(msgspec.Struct, frozen=True, kw_only=True):
    """The modes of a case that has several.

    Attributes
    ----------
    run : str
        Name of the run's folder.
    case : Case
        What was measured.
    marker : str
        Why its figures are no measurement; empty where they are one.
    launches, several, alike : int
        Launches with a distribution, those with several modes, and those with as many as are listed.
    seconds, shares : tuple of Mean
        Of each mode, over the launches that are alike: where it lies in s, and its share of the repetitions.
    """

    run: str
    case: Case
    marker: str
    launches: int
    several: int
    alike: int
    seconds: tuple[Mean, ...]
    shares: tuple[Mean, ...]


def modes_of(histogram: Histogram, tau: float = 1.0) -> list[Mode]:
    """Return the modes of one series, by rising T.

    Parameters
    ----------
    histogram : Histogram
        Of its repetitions.
    tau : float
        Their autocorrelation time: n dependent values are worth n / tau.

    Notes
    -----
    The histogram of log T is smoothed by a normal kernel of 0.9 sigma n^(-1/5) (Silverman 1986, 3.31), where sigma
    comes from the shortest interval that holds a third of the values: other modes do not widen it. Neighbouring peaks
    are two modes where the density between them falls to half of the lower, where so few values around the valley,
    beside those around that peak, are unlikely in a density without it (exact binomial test, 1 %), and where each
    holds 5 % of the repetitions. Else the lower peak of the shallowest valley is given up, until all valleys are clear.
    """
    # So much room that the smoothed density is zero at both ends.
    sigma = _bandwidth(histogram, tau)
    room = int(5 * sigma) + 2
    counts = np.pad(_dense(histogram), room)
    density = ndimage.gaussian_filter1d(counts.astype(np.float64), sigma, mode="constant", truncate=5)
    peaks: list[int] = signal.find_peaks(density)[0].tolist()
    sums = np.concatenate([[0], np.cumsum(counts)])
    while len(peaks) > 1 and (weakest := _weakest(peaks, density, sums, max(1, round(sigma)))) is not None:
        peaks.remove(weakest)
    shares = np.diff(sums[[0, *_valleys(peaks, density), -1]]) / sums[-1]
    first = histogram.bins[0] - room
    return [
        Mode(seconds=2.0 ** ((first + peak + 0.5) / BINS_PER_OCTAVE), share=float(share))
        for peak, share in zip(peaks, shares, strict=True)
    ]


def _dense(histogram: Histogram) -> Counts:
    counts = np.zeros(histogram.bins[-1] - histogram.bins[0] + 1, dtype=np.int64)
    counts[np.array(histogram.bins) - histogram.bins[0]] = histogram.counts
    return counts


def _bandwidth(histogram: Histogram, tau: float) -> float:
    """Return the standard deviation of the kernel, in bins."""
    sums = np.concatenate([[0], np.cumsum(histogram.counts)])
    total = int(sums[-1])
    last = np.searchsorted(sums[1:], sums[:-1] + total * THIRD)
    is_there = last < len(histogram.bins)
    bins = np.array(histogram.bins)
    shortest = int((bins[last[is_there]] - bins[is_there]).min()) + 1
    return max(1.0, 0.9 * shortest / THIRD_OF_NORMAL * math.pow(total / tau, -0.2))


def _valleys(peaks: Sequence[int], density: Density) -> list[int]:
    return [low + int(density[low:high].argmin()) for low, high in pairwise(peaks)]


def _weakest(peaks: Sequence[int], density: Density, sums: Counts, reach: int) -> int | None:
    """Return the peak that is no mode of its own, the least clear one first; None where all are."""

    def around(place: int) -> int:
        return int(sums[min(place + reach + 1, sums.size - 1)] - sums[max(place - reach, 0)])

    valleys = _valleys(peaks, density)
    unclear: dict[int, float] = {}
    for (low, high), valley in zip(pairwise(peaks), valleys, strict=True):
        lower = low if density[low] < density[high] else high
        depth, few = float(density[valley] / density[lower]), around(valley)
        many = min(around(low), around(high))
        if depth > DEEPEST or special.bdtrc(many - 1, many + few, 0.5) > CHANCE:
            unclear[lower] = max(depth, unclear.get(lower, 0.0))
    if unclear:
        return max(unclear, key=unclear.__getitem__)
    shares = np.diff(sums[[0, *valleys, -1]]) / sums[-1]
    least = int(shares.argmin())
    return peaks[least] if shares[least] < LEAST_SHARE else None


def several_modes(results: Iterable[Results]) -> list[Modes]:
    """Return the cases that have several modes in a launch, in the order of their runs."""
    found = []
    for one in results:
        cases: dict[str, list[Record]] = {}
        for record in one.records:
            if record.sentinel is None and record.timing is not None and record.timing.histogram is not None:
                cases.setdefault(record.case.key, []).append(record)
        found += [modes for own in cases.values() if (modes := _of_case(one.name, own)) is not None]
    return found


def modes_words(found: Sequence[Modes]) -> str:
    """Return which cases have several modes, and where the modes lie, in a sentence; empty where none has."""
    if not found:
        return ""
    cases = listed([_words(one) for one in found], separator="; ")
    return (
        f"several modes of T inside a launch in {counted(len(found), 'case')}, whose median is the time of one of them "
        f"or of none: {cases}"
    )


def _words(one: Modes) -> str:
    modes = [
        f"{format_microseconds(seconds.value)} us in {100 * share.value:.0f} %"
        for seconds, share in zip(one.seconds, one.shares, strict=True)
    ]
    return f"{' '.join(filter(None, (one.marker, str(one.case))))}: {', '.join(modes)}"


def _of_case(run: str, records: Sequence[Record]) -> Modes | None:
    found = [
        modes_of(record.timing.histogram, record.timing.tau)
        for record in records
        if record.timing is not None and record.timing.histogram is not None and record.timing.histogram.bins
    ]
    counts = Counter(len(modes) for modes in found if len(modes) > 1)
    if not counts:
        return None
    number = counts.most_common(1)[0][0]
    alike = [modes for modes in found if len(modes) == number]
    each = list(zip(*alike, strict=True))
    return Modes(
        run=run,
        case=records[0].case,
        marker=records[0].marker or "",
        launches=len(found),
        several=counts.total(),
        alike=len(alike),
        seconds=tuple(_center([mode.seconds for mode in modes]) for modes in each),
        shares=tuple(_mean([mode.share for mode in modes]) for modes in each),
    )


def _center(values_L: Sequence[float]) -> Mean:
    return Mean(value=math.exp(float(np.log(values_L).mean())), interval=log_t_interval(values_L))


def _mean(values_L: Sequence[float]) -> Mean:
    return Mean(value=float(np.mean(values_L)), interval=t_interval(values_L))
