"""Latency between cores: a cache line that two pinned threads write in turn."""

from __future__ import annotations

import mmap
import threading
import time
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from collmark.bench.noise.pinned import together
from collmark.core.estimate import Estimate
from collmark.core.intervals import quantile_interval
from collmark.core.noise import Latency
from collmark.kernels.noise import NativeProbe

WINDOWS = 51
ROUNDS = 200  # round trips a window: 10 us and more, 1,000 x the tick of an ordinary clock, and seldom broken by a gap
PATIENCE = 10_000_000_000  # ns for a pair, whose cores other work may hold
BUDGET = 60_000_000_000  # ns for all of them
LINE = 256  # B from one window's line to the next: processors fetch lines of 64 or 128 B in pairs
MOST_CORES = 32  # 496 pairs, a few seconds


def choose(cores: Sequence[int]) -> tuple[int, ...]:
    """Return the cores to pair: all, or so many at equal distances, the first and the last among them."""
    if len(cores) <= MOST_CORES:
        return tuple(cores)
    return tuple(cores[round(place)] for place in np.linspace(0, len(cores) - 1, MOST_CORES))


def measure_latency(probe: NativeProbe, cores: Sequence[int]) -> Latency:
    """Measure every pair of some cores, one after the other."""
    ends = time.monotonic_ns() + BUDGET
    found = {}
    for pair in combinations(cores, 2):
        now = time.monotonic_ns()
        found[pair] = _pair(probe, pair, min(now + PATIENCE, ends)) if now < ends else None
    both = {**found, **{(other, one): estimate for (one, other), estimate in found.items()}}
    return Latency(
        cores=tuple(cores), one_way=tuple(tuple(both.get((row, column)) for column in cores) for row in cores)
    )


def _pair(probe: NativeProbe, pair: tuple[int, int], deadline: int) -> Estimate | None:
    """Return the one-way latency, its median over windows; None where a core did not answer until then."""
    lines = np.frombuffer(mmap.mmap(-1, WINDOWS * LINE), dtype=np.int64).reshape(WINDOWS, -1)
    lines.fill(0)

    def play(side: int, stop: threading.Event) -> list[int]:
        taken = []
        for line in lines:
            left = 0 if stop.is_set() else deadline - time.monotonic_ns()
            taken.append(probe.bounce(line[:1], side, ROUNDS, left))
            if taken[-1] < 0:
                stop.set()  # the other side need not wait for the windows to come
        return taken

    begun, _answered = together(pair, play)
    if min(begun) < 0:
        return None
    return quantile_interval([taken * 1e-9 / (2 * ROUNDS) for taken in begun], 0.5, over="windows")
