"""Planted gaps come out as they were planted; this machine's lie within the bounds that hold by construction."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

import numpy as np
import pytest

from collmark.bench.noise import gaps
from collmark.bench.noise.gaps import Window, summarise, watch_gaps
from collmark.bench.noise.pinned import own_cores, together
from collmark.core.noise import GAP, LONG, CoreGaps
from collmark.kernels.noise import PythonProbe, Watch, load_native

SECOND = 1_000_000_000


def window(lengths: Sequence[int], nanoseconds: int = SECOND, **told: float) -> Window:
    """Return a window in which gaps of these lengths were seen."""
    watch = Watch(first=7, last=7 + nanoseconds, lengths_G=np.array(lengths, dtype=np.int64), backwards=0)
    return Window(watch=watch, **told)  # type: ignore[arg-type]


def planted(seed: int, windows: int = 20, rate: float = 50.0, length: float = 3e-4) -> CoreGaps:
    """Return the summary of gaps that come by chance, so many a second, of exponential length above the threshold."""
    random = np.random.default_rng(seed)
    made = []
    for _window in range(windows):
        count = random.poisson(rate)
        made.append(window((GAP * 1e9 + random.exponential(length * 1e9, count)).astype(int).tolist()))
    return summarise(3, made)


def test_what_was_planted_comes_out() -> None:
    found = summarise(3, [window([2_000_000, 8_000_000]), window([10_000_000]), window([])])
    assert (found.core, found.seconds, found.gaps, found.long_gaps) == (3, 3.0, 3, 3)
    assert found.lost is not None
    assert found.lost.value == pytest.approx(0.02 / 3)
    assert found.rate.value == found.long_rate.value == pytest.approx(1.0)
    assert found.largest == pytest.approx(0.01)
    assert found.p99 is None
    assert [found.preempted, found.steal, found.frequency] == [None] * 3


def test_only_gaps_of_1_ms_are_long() -> None:
    found = summarise(0, [window([999_999]), window([1_000_000])])
    assert (found.gaps, found.long_gaps) == (2, 1)
    assert LONG == 1e-3


def test_planted_share_and_rate_lie_in_their_intervals() -> None:
    held_lost = held_rate = 0
    for seed in range(200):
        found = planted(seed)
        assert found.lost is not None
        held_lost += found.lost.lower <= 50 * (GAP + 3e-4) <= found.lost.upper
        held_rate += found.rate.lower <= 50 <= found.rate.upper
    assert held_lost >= 180
    assert held_rate >= 180


def test_the_p99_of_enough_gaps_is_bounded() -> None:
    found = planted(1, windows=40)
    truth = GAP + 3e-4 * math.log(100)
    assert found.gaps > 1500
    assert found.p99 is not None
    assert found.p99.lower <= truth <= found.p99.upper
    assert (found.p99.over, found.p99.count) == ("gaps", found.gaps)


def test_slow_changes_of_short_gaps_leave_the_tail_its_bounds() -> None:
    random = np.random.default_rng(5)
    level = 6000 + 2000 * np.sin(np.arange(2400) / 200)  # of ticks, over some hundreds of them
    lengths = np.where(random.random(2400) < 0.03, 1_000_000 * (1 + random.random(2400)), level).astype(int)
    found = summarise(0, [window(part.tolist()) for part in np.split(lengths, 20)])
    assert found.p99 is not None
    assert 1e-3 < found.p99.lower < found.p99.upper <= 2e-3
    runs = np.sort(lengths)  # where the long ones come in one piece, they say little about the next
    assert summarise(0, [window(part.tolist()) for part in np.split(runs, 20)]).p99 is None


def test_no_share_is_above_1() -> None:
    found = summarise(0, [window([SECOND]), window([SECOND // 2])])
    assert found.lost is not None
    assert (found.lost.lower, found.lost.upper) == (0.0, 1.0)


def test_none_seen_does_not_mean_that_there_are_none() -> None:
    found = summarise(0, [window([])] * 10)
    assert found.lost is None
    assert found.largest == 0.0
    assert found.rate.value == 0.0
    # 10 s without one: at 0.369 a second, such luck would have a probability of 2.5 %.
    assert math.exp(-found.rate.upper * 10) == pytest.approx(0.025)
    assert "none seen" in found.rate.method


def test_what_the_system_tells_is_summed_and_estimated() -> None:
    told = [window([], preempted=2, steal=0.1, frequency=2e9), window([], preempted=3, steal=0.3, frequency=2e9)]
    found = summarise(0, told)
    assert found.preempted == 5
    assert found.steal is not None
    assert found.steal.value == pytest.approx(0.2)
    assert found.frequency is not None
    assert found.frequency.value == pytest.approx(2e9)
    assert summarise(0, [*told, window([])]).steal is None  # a window that is not told says nothing of the whole


@pytest.mark.parametrize("loop", ["native", "python"])
def test_this_machine_within_bounds_that_hold_by_construction(loop: str) -> None:
    probe = load_native() if loop == "native" else None
    if loop == "native" and probe is None:
        pytest.skip("the native loops were not built")
    cores = own_cores()
    found = watch_gaps(probe, cores, 0.2)
    assert (found.loop, found.at_once) == (loop, loop == "native")
    assert [core.core for core in found.cores] == list(cores)
    for core in found.cores:
        assert core.seconds >= (0.2 if loop == "native" else 0.2 / len(cores)) * 0.999
        assert core.lost is None or 0 <= core.lost.lower <= core.lost.value <= 1
        assert core.largest == 0 or GAP <= core.largest <= core.seconds
        assert core.long_gaps <= core.gaps
        assert core.rate.count == gaps.LEAST_WINDOWS


def test_threads_of_different_cores_watch_at_the_same_time() -> None:
    together_now = threading.Barrier(2)
    assert together([own_cores()[0]] * 2, lambda position, _stop: (together_now.wait(60), position)[1]) == [0, 1]


def test_a_failure_on_one_core_stops_the_others() -> None:
    heard: list[bool] = []

    def work(position: int, stop: threading.Event) -> None:
        if position == 0:
            raise RuntimeError("planted")
        heard.append(stop.wait(20))

    with pytest.raises(RuntimeError, match="planted"):
        together([own_cores()[0]] * 2, work)
    assert heard == [True]


def test_watching_ends_with_the_window_when_it_is_stopped() -> None:
    stop = threading.Event()
    stop.set()
    assert gaps._watch(PythonProbe(), [0], 60.0, 0, stop) == []
