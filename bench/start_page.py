"""The page of shared memory on which the ranks of one host agree on starts, and blocks timed by the native loop.

The page has no name in any file system: rank 0 makes an anonymous file, the others open it through /proc. So nothing
is left behind, however a rank dies.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from collmark.bench import environment
from collmark.bench.clock import grain_of
from collmark.core.record import Timer
from collmark.kernels.native import NAME, NativeLoop, Place, Program

BLOCK_NS = 100_000_000  # so often Python runs: signals are heard, and the watchdog knows that calls come back
CALIBRATION = 4000


def make_page(nbytes: int) -> tuple[mmap.mmap, bytes] | None:
    """Make the page on rank 0; return it and what the others need to open it, None where the system has no such."""
    if not hasattr(os, "memfd_create"):
        return None
    try:
        descriptor = os.memfd_create("collmark-starts", os.MFD_CLOEXEC)
        os.ftruncate(descriptor, nbytes)
        # The descriptor stays open for the others to come by.
        return mmap.mmap(descriptor, nbytes), f"{os.getpid()} {descriptor} {environment.clock_id()}".encode()
    except OSError:
        return None


def open_page(ticket: bytes, nbytes: int) -> mmap.mmap | None:
    """Open rank 0's page; None where there is none, or rank 0 lives in another namespace of processes or time."""
    if not ticket:
        return None
    pid, descriptor, clock = ticket.decode().split(" ", 2)
    if clock != environment.clock_id():
        return None
    with contextlib.suppress(OSError, ValueError):
        opened = os.open(f"/proc/{pid}/fd/{descriptor}", os.O_RDWR | os.O_CLOEXEC)
        try:
            # Another process may have that number in another namespace: it has no file of this name.
            if "memfd:collmark-starts" in str(Path(f"/proc/self/fd/{opened}").readlink()):
                return mmap.mmap(opened, nbytes)
        finally:
            os.close(opened)
    return None


class BlockTimer:
    """Times blocks of repetitions with the native loop.

    Parameters
    ----------
    loop : NativeLoop
        Loaded.
    page : mmap or None
        Shared by all ranks; without it each start is agreed over the control channel.
    rank, ranks : int
        Own index, and number of ranks.
    crowded : bool
        There are more ranks than cores: a rank that waits lets others run.
    words_of : callable
        What a call's return code means.
    """

    def __init__(
        self,
        loop: NativeLoop,
        page: mmap.mmap | None,
        *,
        rank: int,
        ranks: int,
        crowded: bool,
        words_of: Callable[[int], str] = str,
    ) -> None:
        self.loop = loop
        self._page = page
        self._words_of = words_of
        self.place = Place(rank=rank, ranks=ranks, crowded=int(crowded), sequence=1)
        if page is not None:
            self.place.page = ctypes.addressof(ctypes.c_char.from_buffer(page))

    @property
    def agrees(self) -> bool:
        """Whether starts are agreed on the page, by the loop itself."""
        return self._page is not None

    def block(
        self,
        program: Program,
        count: int,
        *,
        arm: Callable[[], None],
        await_start: Callable[[], None],
        batch: int = 1,
        first: int = 0,
    ) -> NDArray[np.int64]:
        """Time `count` repetitions of `batch` programs; return starts, entries, exits in ns, shape (3, count).

        Parameters
        ----------
        program : Program
            What is called.
        count : int
            Repetitions.
        arm : callable
            Called before each wait: gives what comes its time.
        await_start : callable
            Returns when the next repetition may begin, where there is no page; starts are then 0.
        batch : int
            Programs between two reads of the clock.
        first : int
            Turn of the first repetition, where programs are taken in turn.

        Raises
        ------
        RuntimeError
            If a call failed.
        """
        if not self.agrees:
            return self._one_by_one(program, count, await_start, batch, first)
        parts: list[NDArray[np.int64]] = []
        done = 0
        while done < count:
            arm()
            stamps, fault = self.loop.block(
                self.place, program, count=count - done, batch=batch, limit=BLOCK_NS, first=first + done
            )
            self._check(fault)
            parts.append(stamps)
            done += stamps.shape[1]
        return np.concatenate(parts, axis=1)

    def _one_by_one(
        self, program: Program, count: int, await_start: Callable[[], None], batch: int, first: int
    ) -> NDArray[np.int64]:
        stamps = np.zeros((3, count), dtype=np.int64)
        for index in range(count):
            await_start()
            enter, left, fault = self.loop.once(program, batch, first + index)
            self._check(fault)
            stamps[1:, index] = enter, left
        return stamps

    def _check(self, fault: int) -> None:
        if fault:
            raise RuntimeError(self._words_of(fault))

    def calibrate(self) -> Timer:
        """Measure the clock as this loop reads it, in a few ms."""
        bare, called = (
            np.diff(self.loop.alone(self.loop.empty_program(calls), CALIBRATION), axis=0)[0] for calls in (0, 1)
        )
        steps = np.diff(self.loop.alone(self.loop.empty_program(0), CALIBRATION).T.ravel())
        return Timer(
            name="clock_gettime(CLOCK_MONOTONIC)",
            tick=grain_of(steps) * 1e-9,
            cost=float(np.median(bare)) * 1e-9,
            cost_p99=float(np.percentile(bare, 99)) * 1e-9,
            call_overhead=float(np.median(called)) * 1e-9,
            loop=NAME,
        )
