"""Adding one buffer to another, as a reduction does with what it receives: by numpy's loop, which frees the GIL."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]


def additions(to: FloatArray, source: FloatArray, length: int) -> tuple[int, int]:
    """Add an array to another, in place, over and over for `length` ns; return the additions and the ns they took."""
    clock = time.monotonic_ns
    count, began = 0, clock()
    while True:
        np.add(to, source, out=to)
        count += 1
        took = clock() - began
        if took >= length:
            return count, took
