"""Traffic of ragged operations: how many elements every rank sends to every other.

A traffic is written ``uniform`` (all pairs alike) or ``zipf:EXPONENT[:SEED]`` (destinations of Zipf popularity,
in a seeded order of its own for every source, as tokens routed to experts).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from collmark.core.errors import UnknownNameError, UsageError
from collmark.core.numeral import parse_number, parse_whole, shown
from collmark.core.registry import Registry

Counts = tuple[tuple[int, ...], ...]
DEFAULT_TRAFFIC = "uniform"
ALLOWED = "write uniform, or zipf:EXPONENT[:SEED] such as zipf:1.2:7"
MOST_BYTES = 2**53
"""Shares are taken in floating point, which counts no further without gaps."""


def _uniform(ranks: int, arguments: list[str]) -> NDArray[np.float64]:
    if arguments:
        msg = "uniform takes no arguments"
        raise ValueError(msg)
    return np.ones((ranks, ranks))


def _zipf(ranks: int, arguments: list[str]) -> NDArray[np.float64]:
    exponent = parse_number(arguments[0]) if arguments else 1.0
    seed = parse_whole(arguments[1]) if len(arguments) > 1 else 0
    if len(arguments) > 2 or not 0 <= exponent <= 10 or seed < 0:
        msg = "the exponent lies in 0 to 10, the seed is a whole number"
        raise ValueError(msg)
    weights = np.arange(1, ranks + 1) ** -exponent
    popularity = np.random.default_rng(seed)
    return np.stack([popularity.permutation(weights) for _ in range(ranks)])


_GENERATORS: Registry[Callable[[int, list[str]], NDArray[np.float64]]] = Registry(
    "traffic", {"uniform": _uniform, "zipf": _zipf}
)


def counts_of(traffic: str, *, nbytes: int, ranks: int, itemsize: int) -> Counts:
    """Return the elements every rank sends to every rank, shape (ranks, ranks), own share included.

    Parameters
    ----------
    traffic : str
        ``uniform`` or ``zipf:EXPONENT[:SEED]``.
    nbytes : int
        The heaviest rank's max(sent, received) in bytes; rounded down to whole elements per pair.
    ranks, itemsize : int
        Number of ranks, bytes per element.

    Raises
    ------
    UsageError
        If the traffic cannot be read, or the size is above `MOST_BYTES`.
    """
    if nbytes > MOST_BYTES:
        raise UsageError(f"{nbytes} B of ragged traffic: at most {MOST_BYTES} B can be shared out exactly")
    name, *arguments = traffic.split(":")
    try:
        weights = _GENERATORS[name](ranks, arguments)
    except UnknownNameError:
        raise
    except ValueError as error:
        msg = f"{shown(traffic)}: {error}; {ALLOWED}"
        raise UsageError(msg) from error
    heaviest = max(weights.sum(axis=0).max(), weights.sum(axis=1).max())
    counts = np.floor(weights * (nbytes // itemsize / heaviest) + 1e-9).astype(int)
    return tuple(tuple(int(count) for count in row) for row in counts)


@lru_cache(maxsize=4096)
def elements_of(traffic: str, *, nbytes: int, ranks: int, itemsize: int) -> int:
    """Return the elements that all ranks send together, for the arguments of :func:`counts_of`.

    With growing nbytes no count of a traffic falls, so that equal sums mean equal counts.
    """
    return sum(map(sum, counts_of(traffic, nbytes=nbytes, ranks=ranks, itemsize=itemsize)))
