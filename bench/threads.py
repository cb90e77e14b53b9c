"""Threads of this process that really ran: more of them than cores make a figure a scheduler test."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

TASKS = Path("/proc/self/task")
BUSY_SHARE = 0.02  # of the time watched; below it lie watchdogs and idle pools


class ThreadMeter:
    """Counts the threads that ran for at least 2 % of the time since :meth:`start`."""

    def __init__(self) -> None:
        self._before: dict[str, int] = {}
        self._since = time.monotonic_ns()

    def start(self) -> None:
        """Start counting anew."""
        self._before = _run_times()
        self._since = time.monotonic_ns()

    def busy(self) -> int:
        """Return how many threads ran; 0 where the system does not tell."""
        least = BUSY_SHARE * (time.monotonic_ns() - self._since)
        return sum(after - self._before.get(task, 0) >= least for task, after in _run_times().items())


def _run_times() -> dict[str, int]:
    """Return ns on a processor by thread id; empty without Linux's schedstat."""
    times: dict[str, int] = {}
    try:
        tasks = list(TASKS.iterdir())
    except OSError:
        return times  # elsewhere than on Linux
    for task in tasks:
        # A thread may end while it is read.
        with contextlib.suppress(OSError, ValueError, IndexError):
            times[task.name] = int((task / "schedstat").read_text().split()[0])
    return times
