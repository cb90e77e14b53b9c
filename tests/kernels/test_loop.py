"""The timing loops: which calls come between the two reads of the clock, and in which order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from collmark.kernels.loop import asynchronous_loop, back_to_back, blocking_loop


class Tape:
    """Writes down who was called; its clock counts the calls so far."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def noting(self, name: str) -> Callable[[], None]:
        return lambda: self.calls.append(name)

    def clock(self) -> int:
        self.calls.append("clock")
        return len(self.calls)


def test_nothing_but_the_call_lies_between_the_reads() -> None:
    tape = Tape()
    enter, left = blocking_loop(3, tape.noting("await"), tape.clock, [tape.noting("call")])
    assert tape.calls == ["await", "clock", "call", "clock"] * 3
    assert enter.tolist() == [2, 6, 10]
    assert left.tolist() == [4, 8, 12]
    assert enter.dtype == left.dtype == np.dtype(np.int64)


def test_queueing_waiting_and_the_device_are_told_apart() -> None:
    tape = Tape()
    enqueue, synchronize = tape.noting("enqueue"), tape.noting("synchronize")
    enter, queued, left, device = asynchronous_loop(
        2, tape.noting("await"), tape.clock, [enqueue], synchronize, lambda: 10 * len(tape.calls)
    )
    assert tape.calls == ["await", "clock", "enqueue", "clock", "synchronize", "clock"] * 2
    assert enter.tolist() == [2, 8]
    assert queued.tolist() == [4, 10]
    assert left.tolist() == [6, 12]
    # Read after the last stamp, so that it costs the measurement nothing.
    assert device.tolist() == [60, 120]


def test_calls_are_taken_in_turn() -> None:
    tape = Tape()
    blocking_loop(5, tape.noting("await"), tape.clock, [tape.noting(name) for name in "abc"])
    assert [name for name in tape.calls if len(name) == 1] == list("abcab")


@pytest.mark.parametrize(("names", "batch", "turns"), [
    ("a", 1, ["a"]), ("abcd", 1, ["a", "b", "c", "d"]), ("a", 3, ["aaa"]), ("abcd", 2, ["ab", "cd"]),
    ("abc", 3, ["abc"]),
])  # fmt: skip
def test_batches_go_through_the_calls(names: str, batch: int, turns: list[str]) -> None:
    tape = Tape()
    bursts = back_to_back([tape.noting(name) for name in names], batch)
    seen = []
    for burst in bursts:
        del tape.calls[:]
        burst()
        seen.append("".join(tape.calls))
    assert seen == turns
