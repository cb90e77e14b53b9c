"""The timing loop in Python: two clock reads around a call, and nothing else between them.

It knows no operation, no library and no statistics. A native loop for MPI takes its place where there is one.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

NAME = "python"

Stamps = NDArray[np.int64]
"""Time stamps in ns, shape (repetitions,)."""


def blocking_loop(
    count: int, await_start: Callable[[], None], clock: Callable[[], int], calls: Sequence[Callable[[], object]]
) -> tuple[Stamps, Stamps]:
    """Time `count` calls that return when they are done.

    Parameters
    ----------
    count : int
        Repetitions.
    await_start : callable
        Returns when the next repetition may begin.
    clock : callable
        Current time in ns.
    calls : sequence of callable
        The operation, on one pair of buffers after the other; taken in turn.

    Returns
    -------
    enter, exit : array of int64, shape (count,)
        Time stamps in ns.
    """
    enters = [0] * count
    exits = [0] * count
    for index, call in zip(range(count), itertools.cycle(calls), strict=False):
        await_start()
        before = clock()
        call()
        after = clock()
        enters[index] = before
        exits[index] = after
    return np.array(enters, dtype=np.int64), np.array(exits, dtype=np.int64)


def asynchronous_loop(
    count: int,
    await_start: Callable[[], None],
    clock: Callable[[], int],
    enqueues: Sequence[Callable[[], object]],
    synchronize: Callable[[], object],
    device_time: Callable[[], int],
) -> tuple[Stamps, Stamps, Stamps, Stamps]:
    """Time `count` calls that only queue work on a device.

    Parameters
    ----------
    count, await_start, clock
        As in :func:`blocking_loop`.
    enqueues : sequence of callable
        Queue the operation, on one pair of buffers after the other; taken in turn.
    synchronize : callable
        Wait until all is done.
    device_time : callable
        ns between the device's own stamps around the last operation, read after the clock.

    Returns
    -------
    enter, queued, exit, device : array of int64, shape (count,)
        Host time stamps before and after queueing and after completion, and device intervals, in ns.
    """
    stamps = np.zeros((4, count), dtype=np.int64)
    for index, enqueue in zip(range(count), itertools.cycle(enqueues), strict=False):
        await_start()
        before = clock()
        enqueue()
        queued = clock()
        synchronize()
        after = clock()
        stamps[:, index] = before, queued, after, device_time()
    return stamps[0], stamps[1], stamps[2], stamps[3]


def back_to_back(calls: Sequence[Callable[[], object]], batch: int) -> list[Callable[[], object]]:
    """Return callables that make `batch` of the calls each, in turn; one call goes on as often as it takes.

    Parameters
    ----------
    calls : sequence of callable
        One, or a multiple of `batch`.
    batch : int
        Calls to make between two reads of the clock.
    """
    if batch == 1:
        return list(calls)
    calls = calls if len(calls) > 1 else [*calls] * batch
    return [functools.partial(_make_all, tuple(calls[at : at + batch])) for at in range(0, len(calls), batch)]


def _make_all(calls: tuple[Callable[[], object], ...]) -> None:
    for call in calls:
        call()
