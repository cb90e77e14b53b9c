"""Driving buffers out of the caches by reading as much other memory."""

from __future__ import annotations

import numpy as np

LINE = 64  # bytes: the step in which memory comes into a cache, or less


class Eviction:
    """Memory that takes the place of whatever is in the caches.

    Parameters
    ----------
    nbytes : int
        As much as all caches hold, several times over.

    Raises
    ------
    MemoryError
        If there is not so much memory.
    """

    def __init__(self, nbytes: int) -> None:
        self._lines = np.ones(max(1, nbytes // LINE) * (LINE // 8), dtype=np.int64)[:: LINE // 8]

    def __call__(self) -> None:
        """Read every line."""
        self._lines.sum()
