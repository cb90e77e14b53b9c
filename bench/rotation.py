"""Cold buffers: how many a case goes through, so that none is in a cache when its turn comes again.

Calls take the buffers in turn. Where one turn through all of them moves less than the caches hold, as with small
messages, other memory is read before the next, outside the timed region: so every call finds its buffers cold,
whatever their size, and the buffers themselves stay few enough to be bound, and registered, once.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from collmark.core.case import Buffers, Case

CACHES = 3  # x the last-level cache, between two uses of a buffer: replacement is not always least recently used
LEAST, MOST = 4, 256  # buffers
PAGE = 4096  # bytes: no two buffers share one
ASSUMED_CACHE = 64 * 2**20  # bytes, where the system does not tell
CPU_CACHE = Path("/sys/devices/system/cpu/cpu0/cache")


def last_level_cache() -> int:
    """Return the size of the largest cache that a core reaches, in bytes; 0 where the system does not tell."""
    sizes = [_size_of(index / "size") for index in CPU_CACHE.glob("index*")]
    if not any(sizes):
        # On Linux without /sys, and where a C library knows of it.
        sizes = [_configured(f"SC_LEVEL{level}_CACHE_SIZE") for level in (2, 3, 4)]
    return max(sizes, default=0)


def _size_of(path: Path) -> int:
    try:
        found = re.fullmatch(r"(\d+)([KMG]?)", path.read_text(encoding="ascii").strip())
    except (OSError, ValueError):
        return 0
    return int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[found[2]] if found else 0


def _configured(name: str) -> int:
    try:
        return max(0, os.sysconf(name))
    except (OSError, ValueError):
        return 0


def slots_of(case: Case, cache: int) -> int:
    """Return the pairs of buffers that a case goes through: a multiple of its batch, 1 where they stay the same.

    Parameters
    ----------
    case : Case
        Which says whether its buffers rotate.
    cache : int
        Last-level cache in bytes, 0 where it is not known.
    """
    if case.buffers is not Buffers.ROTATED:
        return 1
    enough = -(-CACHES * (cache or ASSUMED_CACHE) // max(1, case.nbytes))
    return -(-min(MOST, max(LEAST, enough)) // case.batch) * case.batch


def spacing(nbytes: int) -> int:
    """Return the bytes from one buffer of a case to the next."""
    return -(-nbytes // PAGE) * PAGE


def pool_nbytes(case: Case, cache: int) -> int:
    """Return the bytes in which all buffers of one direction lie."""
    slots = slots_of(case, cache)
    return case.nbytes + (slots - 1) * spacing(case.nbytes)


def eviction_nbytes(case: Case, cache: int) -> int:
    """Return the bytes to read before buffers are used again; 0 where the turn through them has moved enough."""
    if case.buffers is not Buffers.ROTATED:
        return 0
    enough = CACHES * (cache or ASSUMED_CACHE)
    return enough if slots_of(case, cache) * case.nbytes < enough else 0
