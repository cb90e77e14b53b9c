"""The native timing loop (kernels/source/loop.c), loaded through ctypes, which gives the GIL back while it runs.

A bound call is a program: function addresses with their arguments as machine words. This file knows no MPI and no
operation; where the library was not built, the same programs run through ctypes one call at a time.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
NAME = "native"
MOST_ARGUMENTS = 12
WORD = ctypes.c_ssize_t

Stamps = NDArray[np.int64]
"""Time stamps in ns."""


class Step(msgspec.Struct, frozen=True):
    """One call: a function's address, and its integers and pointers as words; it returns 0 if all is well."""

    function: int
    arguments: tuple[int, ...]


class _Step(ctypes.Structure):
    _fields_ = (("function", ctypes.c_void_p), ("count", ctypes.c_int64), ("argument", WORD * MOST_ARGUMENTS))


class Place(ctypes.Structure):
    """Where a rank stands in the agreement on starts; it outlives a block, so that waiting goes on in the next."""

    _fields_ = (
        ("page", ctypes.c_void_p),
        ("rank", ctypes.c_int64),
        ("ranks", ctypes.c_int64),
        ("crowded", ctypes.c_int64),
        ("sequence", ctypes.c_int64),
        ("late", ctypes.c_int64),
    )


class Program:
    """Calls in their order, bound to their arguments.

    Parameters
    ----------
    steps : sequence of Step
        At most `MOST_ARGUMENTS` arguments each.
    keeps : sequence of object
        Whatever the arguments point to, kept alive.
    cycle : int
        Programs that stand in `steps`, one after the other, to be taken in turn.
    """

    def __init__(self, steps: Sequence[Step], keeps: Sequence[object] = (), cycle: int = 1) -> None:
        self.keeps = tuple(keeps)
        self.cycle = cycle
        self.count = len(steps) // cycle
        self.steps = (_Step * max(1, len(steps)))()
        for place, step in zip(self.steps, steps, strict=False):
            assert len(step.arguments) <= MOST_ARGUMENTS, "the loop passes no more"
            place.function, place.count = step.function, len(step.arguments)
            place.argument[: len(step.arguments)] = step.arguments
        self.calls = tuple(steps)
        self._calls = [(_prototype(len(step.arguments))(step.function), step.arguments) for step in steps]

    @classmethod
    def in_turn(cls, programs: Sequence[Program]) -> Program:
        """Return programs of as many steps each as one, which a loop takes in turn."""
        return cls([step for one in programs for step in one.calls], [one.keeps for one in programs], len(programs))

    def call(self) -> None:
        """Make the calls from Python; RuntimeError where one of them fails."""
        for function, arguments in self._calls:
            fault = function(*arguments)
            if fault:
                raise RuntimeError(f"a call returned {fault}")


@functools.cache
def _prototype(count: int) -> Callable[[int], Callable[..., int]]:
    return ctypes.CFUNCTYPE(ctypes.c_int, *[WORD] * count)


class NativeLoop:
    """The functions of the native loop.

    Parameters
    ----------
    path : str
        The shared library.
    """

    def __init__(self, path: str) -> None:
        library = ctypes.CDLL(path)
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        self._block = bind(library, "collmark_block", number, pointer, pointer, *[number] * 6, pointer, pointer)
        self._once = bind(library, "collmark_once", None, pointer, *[number] * 4, pointer, pointer)
        self._alone = bind(library, "collmark_alone", None, pointer, number, number, pointer)
        self._page_nbytes = bind(library, "collmark_page_bytes", number, number)
        self.start = bind(library, "collmark_start", None, pointer)
        self.start_address = ctypes.cast(library.collmark_start, ctypes.c_void_p).value or 0
        self.compute_address = ctypes.cast(library.collmark_compute, ctypes.c_void_p).value or 0
        self._nothing = ctypes.cast(library.collmark_nothing, ctypes.c_void_p).value or 0

    def page_nbytes(self, ranks: int) -> int:
        """Return the size in bytes of the page on which so many ranks agree."""
        return int(self._page_nbytes(ranks))

    def block(
        self, place: Place, program: Program, *, count: int, batch: int, limit: int, first: int = 0
    ) -> tuple[Stamps, int]:
        """Time at most `count` repetitions of `batch` programs each, for at most `limit` ns and one repetition.

        Every rank of the page calls this with the same count until it has all repetitions; rank 0 ends a block. `first`
        is the number of the first one, where programs are taken in turn.

        Returns
        -------
        stamps : array of int64, shape (3, repetitions done)
            Agreed starts, entries and exits in ns.
        fault : int
            0, or what the calls of the last repetition returned, or-ed.
        """
        stamps = np.empty((3, count), dtype=np.int64)
        fault = ctypes.c_int32(0)
        done = self._block(
            ctypes.byref(place),
            program.steps,
            program.count,
            batch,
            program.cycle,
            first,
            count,
            limit,
            stamps.ctypes.data,
            ctypes.byref(fault),
        )
        return stamps[:, :done], fault.value

    def once(self, program: Program, batch: int, repetition: int) -> tuple[int, int, int]:
        """Time one repetition, the so-manieth of a block, now; return entry and exit in ns, and the fault."""
        stamps = (ctypes.c_int64 * 2)()
        fault = ctypes.c_int32(0)
        self._once(program.steps, program.count, batch, program.cycle, repetition, stamps, ctypes.byref(fault))
        return stamps[0], stamps[1], fault.value

    def alone(self, program: Program, count: int) -> Stamps:
        """Time `count` repetitions back to back, starts not agreed; return entries and exits, shape (2, count)."""
        stamps = np.empty((2, count), dtype=np.int64)
        self._alone(program.steps, program.count, count, stamps.ctypes.data)
        return stamps

    def empty_program(self, calls: int) -> Program:
        """Return a program of so many calls that do nothing."""
        return Program([Step(self._nothing, ())] * calls)


def bind(library: ctypes.CDLL, name: str, result: object, *arguments: object) -> Callable[..., int]:
    """Return a function of a library with the types of its result and arguments."""
    function = library[name]
    function.restype, function.argtypes = result, arguments  # type: ignore[assignment]
    return function


def load_loop() -> NativeLoop | None:
    """Return the native loop, or None where it was not built."""
    return load("_loop", NativeLoop)


def load(module: str, kind: Callable[[str], T]) -> T | None:
    """Return a library built with collmark, opened, or None where it was not built."""
    spec = importlib.util.find_spec(f"collmark.kernels.{module}")
    if spec is None or not spec.origin:
        return None
    try:
        return kind(spec.origin)
    except (OSError, AttributeError):
        return None  # built for another system, or by another version
