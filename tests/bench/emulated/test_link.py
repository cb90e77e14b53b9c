"""A link's bucket holds no more than it must, and its counters are told apart from headers."""

from __future__ import annotations

import pytest

from collmark.bench.emulated.link import LARGEST_FRAME, Counters, Link

MEGABIT = 1e6 / 8


@pytest.mark.parametrize("patience", [1e-4, 1e-3])
@pytest.mark.parametrize("megabits", [1, 50, 200, 1800])
def test_a_bucket_holds_the_largest_frame_and_what_comes_while_a_timer_is_late(
    megabits: float, patience: float
) -> None:
    link = Link(rate=megabits * MEGABIT, patience=patience)
    assert link.burst == pytest.approx(LARGEST_FRAME + link.rate * patience, abs=1)
    assert link.burst > LARGEST_FRAME
    assert link.pause == pytest.approx(link.burst / link.rate)


def test_tc_is_told_bits() -> None:
    assert Link(rate=50 * MEGABIT).discipline.startswith("tbf rate 50000000bit burst 7764 ")


def test_counters_are_told_since_a_moment_and_without_headers() -> None:
    before = Counters(sent=1000, packets_sent=10, received=500, packets_received=5)
    after = Counters(sent=1000 + 66 + 1448, packets_sent=11, received=566, packets_received=6)
    found = after.since(before)
    assert (found.sent, found.packets_sent, found.received, found.packets_received) == (1514, 1, 66, 1)
    assert found.payload_sent == 1448
