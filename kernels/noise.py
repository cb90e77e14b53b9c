"""What disturbs a machine, measured by native code (kernels/source/noise.c), or by Python where it was not built.

Nothing here is judged or summarised: stamps, gaps, times and counts come back as they were. ctypes gives the GIL back
while native code runs, so that threads on several cores run at once; the loops in Python hold it, one at a time.
"""

from __future__ import annotations

import ctypes
import time
from typing import ClassVar, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from collmark.kernels import loop, native

Stamps = NDArray[np.int64]
"""Time stamps or lengths in ns."""
Bytes = NDArray[np.uint8]


class Watch(msgspec.Struct, frozen=True, kw_only=True):
    """What a loop that only reads the clock saw; times in ns.

    Attributes
    ----------
    first, last : int
        The first and the last read.
    lengths_G : array of int64, shape (gaps,)
        Steps between two reads that were as long as the threshold or longer.
    backwards : int
        Steps back in time.
    core : int
        Core that it ended on; -1 where the system does not tell.
    """

    first: int
    last: int
    lengths_G: Stamps
    backwards: int
    core: int = -1


class Probe(Protocol):
    """The loops that native code and Python both have."""

    name: ClassVar[str]

    def reads(self, count: int) -> Stamps:
        """Read the clock so many times in a row; return the stamps in ns."""

    def gaps(self, length: int, threshold: int) -> Watch:
        """Read the clock for `length` ns and note every step of `threshold` ns or more."""

    def copies(self, to: Bytes, source: Bytes, length: int) -> tuple[int, int]:
        """Copy an array over and over for `length` ns; return the copies and the ns that they took."""


class PythonProbe:
    """A :class:`Probe` in Python; it measures one thread at a time."""

    name: ClassVar[str] = loop.NAME

    def reads(self, count: int) -> Stamps:
        """Read the clock so many times in a row; return the stamps in ns."""
        clock = time.monotonic_ns
        return np.array([clock() for _ in range(count)], dtype=np.int64)

    def gaps(self, length: int, threshold: int) -> Watch:
        """Read the clock for `length` ns and note every step of `threshold` ns or more."""
        clock = time.monotonic_ns
        lengths: list[int] = []
        backwards = 0
        before = first = clock()
        ends = first + length
        while before < ends:
            moment = clock()
            step = moment - before
            if step >= threshold:
                lengths.append(step)
            elif step < 0:
                backwards += 1
            before = moment
        return Watch(
            first=first,
            last=before,
            lengths_G=np.array(lengths, dtype=np.int64),
            backwards=backwards,
        )

    def copies(self, to: Bytes, source: Bytes, length: int) -> tuple[int, int]:
        """Copy an array over and over for `length` ns; return the copies and the ns that they took."""
        clock, move = time.monotonic_ns, ctypes.memmove  # of the C library: it needs no compiler
        target, origin, nbytes = to.ctypes.data, source.ctypes.data, source.nbytes
        count, began = 0, clock()
        while True:
            move(target, origin, nbytes)
            count += 1
            took = clock() - began
            if took >= length:
                return count, took


class _Watch(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_int64) for name in ("first", "last", "backwards", "core"))


class NativeProbe:
    """A :class:`Probe` in C, and the ping-pong between two cores, which only it has.

    Parameters
    ----------
    path : str
        The shared library.
    """

    name: ClassVar[str] = native.NAME

    def __init__(self, path: str) -> None:
        library = ctypes.CDLL(path)
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        self._reads = native.bind(library, "collmark_reads", None, number, pointer)
        self._gaps = native.bind(library, "collmark_gaps", number, *[number] * 3, pointer, pointer)
        self._bounce = native.bind(library, "collmark_bounce", number, pointer, *[number] * 3)
        self._copies = native.bind(library, "collmark_copies", number, pointer, pointer, number, number, pointer)

    def reads(self, count: int) -> Stamps:
        """Read the clock so many times in a row; return the stamps in ns."""
        stamps = np.ones(count, dtype=np.int64)
        self._reads(count, stamps.ctypes.data)
        return stamps

    def gaps(self, length: int, threshold: int) -> Watch:
        """Read the clock for `length` ns and note every step of `threshold` ns or more."""
        # Ones and not zeros: a page that is first touched inside the loop would be a gap of our own making.
        lengths = np.ones(length // threshold + 2, dtype=np.int64)
        watch = _Watch()
        count = self._gaps(length, threshold, lengths.size, lengths.ctypes.data, ctypes.byref(watch))
        return Watch(
            first=watch.first,
            last=watch.last,
            lengths_G=lengths[:count].copy(),
            backwards=watch.backwards,
            core=watch.core,
        )

    def bounce(self, line: Stamps, side: int, rounds: int, patience: int) -> int:
        """Be one side of a ping-pong of one cache line.

        Parameters
        ----------
        line : array of int64, shape (1,)
            Zero at first; no other word of its cache line is in use.
        side : int
            0 begins, 1 answers.
        rounds : int
            Round trips that are timed.
        patience : int
            ns for the other side to answer, all in all.

        Returns
        -------
        int
            ns of the round trips; -1 where the other side did not answer.
        """
        return self._bounce(line.ctypes.data, side, rounds, patience)

    def copies(self, to: Bytes, source: Bytes, length: int) -> tuple[int, int]:
        """Copy an array over and over for `length` ns; return the copies and the ns that they took."""
        took = ctypes.c_int64(0)
        count = self._copies(to.ctypes.data, source.ctypes.data, source.nbytes, length, ctypes.byref(took))
        return count, took.value


def load_native() -> NativeProbe | None:
    """Return the native loops, or None where they were not built."""
    return native.load("_noise", NativeProbe)
