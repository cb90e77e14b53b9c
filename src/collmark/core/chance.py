"""What chance may do: the level of a finding, and the tests that findings pass.

Timing ranks import no scipy, so the few distributions that are needed are written out here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from collmark.core.statistics import autocorrelation_time

CHANCE = 0.001
"""By which a finding may come about without a cause, everything that was looked at taken together."""

DRAWS = 1999
SEED = 1
BLOCK_TIMES = 2  # autocorrelation times in a block of repetitions
LEAST_BLOCKS, MOST_BLOCKS = 3, 32
OTHERS = 8  # ranks beside the most frequent whose autocorrelation time is looked at

_Ints = npt.NDArray[np.int64]


def binomial_tail(successes: float, trials: float, probability: float) -> float:
    """Return the probability of at least `successes` in `trials` (both rounded against a finding)."""
    total, least = max(1, math.floor(trials)), math.floor(successes)
    log = [
        math.lgamma(total + 1) - math.lgamma(k + 1) - math.lgamma(total - k + 1)
        + k * math.log(probability) + (total - k) * math.log1p(-probability)
        for k in range(least, total + 1)
    ]  # fmt: skip
    return min(1.0, math.fsum(map(math.exp, log)))


def combined_chance(chances: Sequence[float]) -> float:
    """Return the p-value of several independent ones together, by Fisher's method.

    Parameters
    ----------
    chances
        p-values above 0.

    Notes
    -----
    Minus the sum of their logarithms follows a gamma distribution of that whole shape (Fisher 1932), whose upper tail
    is a sum of Poisson terms.

    Examples
    --------
    >>> [round(combined_chance(chances), 4) for chances in ([0.03], [0.1, 0.1], [0.1, 1.0])]
    [0.03, 0.0561, 0.3303]
    """
    total = -math.fsum(map(math.log, chances))
    if not total > 0:
        return 1.0
    logs = [k * math.log(total) - total - math.lgamma(k + 1) for k in range(len(chances))]
    return min(1.0, math.fsum(map(math.exp, logs)))


def come_last(times_RI: _Ints) -> _Ints:
    """Return which rank came last in each repetition, shape (I,); of several at once each in turn.

    Parameters
    ----------
    times_RI : array of int64, shape (ranks, repetitions)
        Entries or exits on one clock, ns.
    """
    ranks, repetitions = times_RI.shape
    turn_RI = (np.arange(ranks)[:, None] + np.arange(repetitions)) % ranks
    last: _Ints = ((times_RI - times_RI.min(axis=0)) * ranks + turn_RI).argmax(axis=0)
    return last


def chance_last(times_RI: _Ints) -> float | None:
    """Return the probability that some rank comes last so often where ranks differ by chance alone.

    Parameters
    ----------
    times_RI : array of int64, shape (ranks, repetitions)
        Entries or exits on one clock, ns, in the order measured.

    Returns
    -------
    float or None
        A p-value, of a permutation test over blocks of successive repetitions; None for one rank, and where the series
        is too short for three blocks.

    Notes
    -----
    If ranks differ by chance, their names may be exchanged. They are shifted in a circle, in each block by a shift of
    its own; shifts are a group, so that the test is one of randomisation (Lehmann & Romano 2005, 15.2). The statistic
    is the largest count of any rank, which corrects for having looked at all (Westfall & Young 1993). Of 1,999 seeded
    draws, those as extreme count, and the observation itself (Phipson & Smyth 2010).

    Repetitions depend on each other, so blocks last two autocorrelation times of the lateness, or a 32nd of the series.
    Neighbouring blocks still depend a little: for a first-order autoregressive series they hold 1 - (tau - 1/tau) /
    (2 x length) of the variance of the whole, to first order, and what is drawn is widened by as much.
    """
    ranks, repetitions = times_RI.shape
    if ranks < 2 or repetitions < LEAST_BLOCKS * BLOCK_TIMES:
        return None
    last_I = come_last(times_RI)
    counts_R = np.bincount(last_I, minlength=ranks)
    most = int(counts_R.argmax())
    tau = _lateness_time(times_RI, most)
    blocks = min(MOST_BLOCKS, math.floor(repetitions / (BLOCK_TIMES * tau)))
    if blocks < LEAST_BLOCKS:
        return None
    block_I = np.arange(repetitions) * blocks // repetitions
    counts_BR = np.bincount(block_I * ranks + last_I, minlength=blocks * ranks).reshape(blocks, ranks)
    excess = (_largest(counts_BR) - repetitions / ranks) / math.sqrt(1 - (tau - 1 / tau) * blocks / (2 * repetitions))
    hits = np.count_nonzero(excess >= counts_R[most] - repetitions / ranks - 1e-9)
    return (1 + int(hits)) / (1 + DRAWS)


def _lateness_time(times_RI: _Ints, most: int) -> float:
    """Return the autocorrelation time of a rank's lateness behind the mean of all, but no less than that of others.

    A rank that was chosen because it came last most often may just have stayed late, and then seems to depend little.
    """
    late_RI = times_RI - times_RI.min(axis=0)
    late_RI = late_RI - late_RI.mean(axis=0)
    some = np.unique(np.linspace(0, len(late_RI) - 1, OTHERS).round().astype(np.int64))
    others = [autocorrelation_time(late_RI[rank]) for rank in some]
    return max(autocorrelation_time(late_RI[most]), float(np.median(others)))


def _largest(counts_BR: _Ints) -> _Ints:
    """Return the largest count of any rank in each draw, shape (DRAWS,)."""
    blocks, ranks = counts_BR.shape
    shift_BD = np.random.default_rng(SEED).integers(ranks, size=(blocks, DRAWS))
    drawn_DR = np.zeros((DRAWS, ranks), dtype=np.int32)
    for row_R, shift_D in zip(counts_BR.astype(np.int32), shift_BD, strict=True):
        # Row s holds the counts shifted by s.
        drawn_DR += sliding_window_view(np.concatenate([row_R, row_R[:-1]]), ranks)[shift_D]
    largest: _Ints = drawn_DR.max(axis=1)
    return largest
