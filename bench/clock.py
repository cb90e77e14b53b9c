"""The clock of a rank: what a read costs, how finely it ticks, and what an empty call between reads takes."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from collmark.core.record import Timer
from collmark.kernels.loop import NAME, blocking_loop

READS = 4000
GRAINS = (10, 20, 40, 50, 100, 1000)  # ns, that clocks of machines and hypervisors have
ALMOST_ALL = 0.95


def _nothing() -> None:
    return None


def grain_of(steps: NDArray[np.int64]) -> int:
    """Return the clock's grain in ns from steps between its reads.

    The greatest common divisor of many steps, even where a read takes several of them; a clock that is kept in step
    with another shows multiples of its grain with 1 ns more or less now and then, which is no finer grain.
    """
    positive = steps[steps > 0]
    if not positive.size:
        return 1
    near = [grain for grain in GRAINS if np.mean((positive + 1) % grain <= 2) >= ALMOST_ALL]
    return max(int(np.gcd.reduce(positive)), *near, 1)


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
    enter, left = blocking_loop(READS, _nothing, clock, [_nothing])
    overhead = left - enter
    return Timer(
        name=name,
        tick=grain_of(steps) * 1e-9,
        cost=float(np.median(steps)) * 1e-9,
        cost_p99=float(np.percentile(steps, 99)) * 1e-9,
        call_overhead=float(np.median(overhead)) * 1e-9,
        loop=NAME,
    )
