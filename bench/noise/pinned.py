"""Threads on cores of their own, all at once."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def can_pin() -> bool:
    """Whether the system lets a thread choose its core."""
    return hasattr(os, "sched_setaffinity")


def own_cores() -> tuple[int, ...]:
    """Return the cores that this process may run on; without pinning, as many numbers as there are cores."""
    return tuple(sorted(os.sched_getaffinity(0))) if can_pin() else tuple(range(os.cpu_count() or 1))


def pin(core: int) -> None:
    """Keep this thread on a core, where the system can."""
    if can_pin():
        os.sched_setaffinity(0, {core})


def together(cores: Sequence[int], work: Callable[[int, threading.Event], T]) -> list[T]:
    """Do some work in a thread on each core, all at once; return the results in the order of the cores.

    Parameters
    ----------
    cores : sequence of int
        A core for each thread.
    work : callable
        (position in `cores`, event that asks it to stop) to its result.
    """
    stop = threading.Event()

    def on_core(position: int) -> T:
        pin(cores[position])
        return work(position, stop)

    with ThreadPoolExecutor(len(cores), thread_name_prefix="core") as pool:
        try:
            running = [pool.submit(on_core, position) for position in range(len(cores))]
            return [one.result() for one in running]
        finally:
            stop.set()  # after Ctrl-C too: the threads end with the window that they are in
