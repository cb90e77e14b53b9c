"""Calibration: the clock's grain, what a read costs, and what an empty call between two reads takes."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest

from collmark.bench.clock import READS, calibrate


def clock_of(steps: Callable[[], int], grain: int = 1) -> Callable[[], int]:
    """Return a clock that moves on by so many ns at each read, and shows whole grains."""
    now = 10**12

    def read() -> int:
        nonlocal now
        now += steps()
        return now // grain * grain

    return read


def test_a_regular_clock() -> None:
    timer = calibrate(clock_of(lambda: 30), "regular")
    assert timer.name == "regular"
    assert timer.cost == pytest.approx(30e-9)
    assert timer.cost_p99 == pytest.approx(30e-9)
    assert timer.call_overhead == pytest.approx(30e-9)
    assert timer.loop == "python"


@pytest.mark.parametrize("grain", [1, 10, 41, 1000])
def test_the_grain_is_found_where_a_read_takes_several_of_them_or_less_than_one(grain: int) -> None:
    rng = random.Random(1)
    assert calibrate(clock_of(lambda: rng.randint(60, 90), grain)).tick == pytest.approx(grain * 1e-9)


def test_a_slow_read_now_and_then_shows_in_the_tail_only() -> None:
    reads = iter(range(10 * READS))
    timer = calibrate(clock_of(lambda: 5000 if next(reads) % 50 == 0 else 40))
    assert timer.cost == pytest.approx(40e-9)
    assert timer.cost_p99 == pytest.approx(5e-6)


def test_a_clock_that_stands_still_has_the_least_grain() -> None:
    timer = calibrate(lambda: 7)
    assert timer.tick == pytest.approx(1e-9)
    assert timer.cost == 0


def test_the_call_is_between_the_reads() -> None:
    # READS to see the grain, then two for each empty call.
    count = 0

    def read() -> int:
        nonlocal count
        count += 1
        return count

    calibrate(read)
    assert count == 3 * READS


def test_this_machines_clock() -> None:
    began = time.perf_counter()
    timer = calibrate()
    assert time.perf_counter() - began < 1
    assert timer.name == "time.monotonic_ns"
    assert 0 < timer.tick <= 1e-3
    assert 0 <= timer.cost <= timer.cost_p99
    assert timer.call_overhead < 1e-3
