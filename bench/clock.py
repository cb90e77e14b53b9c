"""The clock of a rank: what a read costs, how finely it ticks, and what an empty call between reads takes."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from collmark.core.record import Timer
from collmark.kernels.loop import NAME, blocking_loop

READS = 4000


def _nothing() -> None:
    return None


def calibrate(clock: Callable[[], int] = time.monotonic_ns, name: str = "time.monotonic_ns") -> Timer:
    """Measure the clock with the timing loop itself, in a few ms.

    Parameters
    ----------
    clock : callable
        Current time in ns.
    name : str
        How the clock is called in records.
    """
    reads = np.array([clock() for _ in range(READS)], dtype=np.int64)
    steps = np.diff(reads)
    positive = steps[steps > 0]
    tick = int(np.gcd.reduce(positive)) if positive.size else 1
    enter, left = blocking_loop(READS, _nothing, clock, _nothing)
    overhead = left - enter
    return Timer(
        name=name,
        # The greatest common divisor of many steps is the clock's grain, even where a read takes several of them.
        tick=tick * 1e-9,
        cost=float(np.median(steps)) * 1e-9,
        cost_p99=float(np.percentile(steps, 99)) * 1e-9,
        call_overhead=float(np.median(overhead)) * 1e-9,
        loop=NAME,
    )
