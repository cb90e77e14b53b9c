"""How large an element of gloo's benchmark is, by what the tool computed with it."""

from __future__ import annotations

from collections.abc import Sequence

from collmark.analysis.importers.gloo_algorithm import Algorithm
from collmark.analysis.importers.gloo_row import Read

_SINGLE = 1e-6
"""The tool computes bandwidths in single precision."""


def itemsize_of(algorithm: Algorithm, figures: Sequence[Read], threads: int) -> int | None:
    """Return the bytes of an element as the tool counts them; None where several sizes fit, or none.

    A bandwidth is elements x itemsize x threads over the mean time, which percentiles bound where it is not printed.
    """
    fitting = [
        itemsize for itemsize in algorithm.itemsizes if all(_fits(one, itemsize, max(1, threads)) for one in figures)
    ]
    return fitting[0] if len(fitting) == 1 else None


def _fits(one: Read, itemsize: int, threads: int) -> bool:
    nbytes = one.elements * itemsize
    if one.size is not None:
        return one.size == nbytes
    if one.bandwidth is None or one.elements == 0:
        return True
    shortest, longest = one.mean
    lower = one.bandwidth.lower * shortest / threads * (1 - _SINGLE)
    upper = one.bandwidth.upper * longest / threads * (1 + _SINGLE)
    return lower <= nbytes <= upper
