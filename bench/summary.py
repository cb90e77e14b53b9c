"""From the stamps of one case to the summaries that a record keeps."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from collmark.bench.rank import ENTER, EXIT
from collmark.bench.stamps import NS, Stamps, repetition_times, usable_estimand
from collmark.bench.stopping import Judgement
from collmark.core.case import Case
from collmark.core.chance import chance_last, come_last
from collmark.core.operation_table import OPERATIONS
from collmark.core.record import BINS_PER_OCTAVE, Histogram, Ranks, Timing
from collmark.core.statistics import far_outliers, tail_quantiles

PAIR = 2  # ranks
SKEW_SHARE = 0.1  # of T: above it a figure from local durations would be that far off


def summarise_time(case: Case, stamps: Stamps, judgement: Judgement, tick: float) -> Timing:
    """Return the summary of T over the repetitions that were not cut."""
    seconds_I = repetition_times(stamps.after(judgement.cut), case.estimand, case.messages)
    interval, tails = judgement.interval, tail_quantiles(seconds_I)
    return Timing(
        estimand=usable_estimand(case.estimand, comparable=stamps.comparable),
        repetitions=stamps.repetitions,
        cut=judgement.cut,
        median=float(np.median(seconds_I)),
        lower=interval.lower if interval else None,
        upper=interval.upper if interval else None,
        level=interval.level if interval else 0.95,
        tau=judgement.tau,
        minimum=tails.minimum,
        p25=tails.p25,
        p75=tails.p75,
        p95=tails.p95,
        p99=tails.p99,
        maximum=tails.maximum,
        second_mode=judgement.second_mode,
        outliers=int(np.count_nonzero(far_outliers(seconds_I))),
        # As wide as the tick, but for the rounding of its two ends.
        tick_limited=interval is not None and interval.half_width - tick / 2 <= 2 * math.ulp(interval.upper),
        histogram=histogram_of(seconds_I, tick),
    )


def histogram_of(seconds_I: NDArray[np.float64], tick: float) -> Histogram | None:
    """Return the distribution of T in s on a logarithmic scale; None where the clock's tick in s is too coarse."""
    if seconds_I.min() <= tick:
        return None
    # Multiples of a tick would leave some bins empty, as if there were many modes.
    spread_I = seconds_I + tick * np.random.default_rng(0).uniform(-0.5, 0.5, len(seconds_I))
    bins, counts = np.unique(np.floor(BINS_PER_OCTAVE * np.log2(spread_I)).astype(np.int64), return_counts=True)
    return Histogram(bins=bins.tolist(), counts=counts.tolist())


def summarise_ranks(case: Case, stamps: Stamps, cut: int) -> Ranks:
    """Return what differs between the ranks that take part, over the repetitions that were not cut."""
    steady = stamps.after(cut)
    if OPERATIONS[case.operation].pair:
        steady = steady.of(range(PAIR))  # the others idle: they come early, take no time, and are never late
    seconds_I = repetition_times(steady, case.estimand, case.messages)
    enter, left, local_RI = steady.layers_SRI[ENTER], steady.layers_SRI[EXIT], steady.local_RI
    comparable = steady.comparable
    late = None
    if steady.starts_I is not None:
        behind_I = (enter.max(axis=0) - steady.starts_I) * NS
        late = float(np.mean(behind_I > SKEW_SHARE * steady.batch * seconds_I))
    return Ranks(
        shortest=float(np.median(local_RI.min(axis=0))),
        longest=float(np.median(local_RI.max(axis=0))),
        skew=float(np.median(steady.skew_I)) if comparable else None,
        skewed=float(np.mean(steady.skew_I > SKEW_SHARE * steady.batch * seconds_I)) if comparable else None,
        late=late,
        local=np.median(local_RI, axis=1).tolist(),
        last_in=_counts_last(enter) if comparable else [],
        last_out=_counts_last(left) if comparable else [],
        lateness=_lateness(enter) if comparable else [],
        slowest=int(left[:, np.argmax(seconds_I)].argmax()) if comparable else int(local_RI.max(axis=1).argmax()),
        overtime=[0.0 - seconds for seconds in _lateness(-left)] if comparable else [],
        chance_in=chance_last(enter) if comparable else None,
        chance_out=chance_last(left) if comparable else None,
    )


def _counts_last(stamps_RI: NDArray[np.int64]) -> list[int]:
    counts: list[int] = np.bincount(come_last(stamps_RI), minlength=len(stamps_RI)).tolist()
    return counts


def _lateness(enter_RI: NDArray[np.int64]) -> list[float]:
    """Return the median over repetitions of each rank's entry minus the earliest entry of another rank, in s."""
    if len(enter_RI) == 1:
        return [0.0]
    two = np.sort(enter_RI, axis=0)[:2]
    # The earliest of the others is the second for the rank that was first itself.
    others = np.where(enter_RI == two[0], two[1], two[0])
    lateness: list[float] = (np.median(enter_RI - others, axis=1) * NS).tolist()
    return lateness
