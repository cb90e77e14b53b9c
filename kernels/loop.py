"""The timing loop in Python: two clock reads around a call, and nothing else between them.

It knows no operation, no library and no statistics. A native loop for MPI takes its place where there is one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

NAME = "python"

Stamps = NDArray[np.int64]
"""Time stamps in ns, shape (repetitions,)."""


def blocking_loop(
    count: int, await_start: Callable[[], None], clock: Callable[[], int], call: Callable[[], object]
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
    call : callable
        The operation.

    Returns
    -------
    enter, exit : array of int64, shape (count,)
        Time stamps in ns.
    """
    enters = [0] * count
    exits = [0] * count
    for index in range(count):
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
    enqueue: Callable[[], object],
    synchronize: Callable[[], object],
    device_time: Callable[[], int],
) -> tuple[Stamps, Stamps, Stamps, Stamps]:
    """Time `count` calls that only queue work on a device.

    Parameters
    ----------
    count, await_start, clock
        As in :func:`blocking_loop`.
    enqueue, synchronize : callable
        Queue the operation; wait until it is done.
    device_time : callable
        ns between the device's own stamps around the last operation, read after the clock.

    Returns
    -------
    enter, queued, exit, device : array of int64, shape (count,)
        Host time stamps before and after queueing and after completion, and device intervals, in ns.
    """
    stamps = np.zeros((4, count), dtype=np.int64)
    for index in range(count):
        await_start()
        before = clock()
        enqueue()
        queued = clock()
        synchronize()
        after = clock()
        stamps[:, index] = before, queued, after, device_time()
    return stamps[0], stamps[1], stamps[2], stamps[3]
