"""Adding one buffer to another, as a reduction does with what it receives."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
Adder = Callable[[FloatArray, FloatArray], object]
"""(to, source): adds the second to the first, in place."""


def add(to: FloatArray, source: FloatArray) -> None:
    """Add by numpy's loop, which frees the GIL."""
    np.add(to, source, out=to)


def additions(to: FloatArray, source: FloatArray, length: int, adder: Adder = add) -> tuple[int, int]:
    """Add an array to another, in place, over and over for `length` ns; return the additions and the ns they took."""
    clock = time.monotonic_ns
    count, began = 0, clock()
    while True:
        adder(to, source)
        count += 1
        took = clock() - began
        if took >= length:
            return count, took
