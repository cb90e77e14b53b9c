"""Made clocks with planted steps, and the clocks of this machine."""

from __future__ import annotations

import numpy as np
import pytest

from collmark.bench.noise.clocks import WINDOWS, read_clocks, summarise
from collmark.kernels.noise import Stamps, load_native


def stamps(steps: list[int], repeats: int = 100) -> Stamps:
    return np.concatenate([[5], 5 + np.cumsum(steps * repeats)]).astype(np.int64)


def test_steps_tick_and_cost_of_a_made_clock() -> None:
    found = summarise("made", "native", [stamps([40, 40, 80])] * 10)
    assert found.step == pytest.approx(40e-9)
    assert found.tick == pytest.approx(40e-9)
    assert found.cost.value == pytest.approx(40e-9)
    assert found.cost_p99.value == pytest.approx(80e-9)
    assert (found.reads, found.backwards) == (3010, 0)
    assert found.cost.over == "windows"
    assert found.cost.half_width >= found.tick  # a clock tells nothing more finely


def test_a_coarse_clock_shows_its_step_and_not_the_cost_of_a_read() -> None:
    found = summarise("coarse", "python", [stamps([0, 0, 0, 1_000_000])] * 10)
    assert found.step == found.tick == pytest.approx(1e-3)
    assert found.cost.value == 0.0


def test_steps_back_are_counted() -> None:
    assert summarise("broken", "native", [stamps([30, 30, -10, 30])] * 10).backwards == 1000


def test_a_clock_that_stands_still_has_no_step() -> None:
    found = summarise("still", "native", [stamps([0])] * 10)
    assert (found.step, found.cost.value) == (0.0, 0.0)


def test_the_clocks_here() -> None:
    native = load_native()
    found = read_clocks(native)
    assert [clock.loop for clock in found] == (["python"] if native is None else ["native", "python"])
    for clock in found:
        assert clock.backwards == 0
        assert 0 < clock.tick <= clock.step
        assert clock.cost.count == WINDOWS
        assert clock.cost.value <= clock.cost_p99.value
