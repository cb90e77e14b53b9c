"""Segments: another line on each side of sizes where the protocol or the algorithm changes, with a jump between them.

Legend: N sizes, S segments.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from collmark.analysis.models.model import FloatArray, Model

LEAST_POINTS = 4
"""Sizes that a segment must hold: two are no evidence of a line, and three of none that one would leave another for."""
MOST_SEGMENTS = 3


def segments(breaks: Sequence[float]) -> Model:
    """Return the model of a line for each piece between breaks.

    Parameters
    ----------
    breaks : sequence of float
        In bytes, growing: a size equal to a break belongs to the piece above it.
    """
    numbers = range(1, len(breaks) + 2)
    return Model(
        name=name_of(len(breaks) + 1),
        parameters=tuple(f"{name}_{number}" for number in numbers for name in ("alpha", "beta")),
        units=("s", "s/B") * len(numbers),
        terms=functools.partial(_pieces, tuple(breaks)),
        latency="alpha_1",
        slope=f"beta_{len(numbers)}",
        breaks=tuple(breaks),
        source="T = alpha_i + beta_i n in segment i (method.md B.4)",
    )


def name_of(count: int) -> str:
    """Return the name of the model with that many segments."""
    return f"{count} segments"


def _pieces(breaks: tuple[float, ...], nbytes_N: FloatArray) -> FloatArray:
    number_N = np.searchsorted(np.asarray(breaks), nbytes_N, side="right")
    terms: FloatArray = np.zeros((2 * len(breaks) + 2, nbytes_N.size))
    for number in range(len(breaks) + 1):
        inside = number_N == number
        terms[2 * number, inside] = 1.0
        terms[2 * number + 1, inside] = nbytes_N[inside]
    return terms


def best_cuts(cost_NN: FloatArray, count: int) -> tuple[int, ...] | None:
    """Return where to cut so that the sum of the pieces' costs is least.

    Parameters
    ----------
    cost_NN : array
        ``cost[first, last]`` of one piece from a size to another, both included; infinite where it is too short.
    count : int
        Pieces.

    Returns
    -------
    tuple of int or None
        Index of the first size of each piece but the first; None where the sizes are too few.

    Notes
    -----
    Exact, by dynamic programming over the last cut (Bellman 1961, Communications of the ACM 4(6)).
    """
    least_N, cuts = cost_NN[0].copy(), []
    for _piece in range(1, count):
        # total[cut, last]: the best of what lies before the cut, and one piece from the cut to the last size.
        total_NN = np.full_like(cost_NN, np.inf)
        total_NN[1:] = least_N[:-1, None] + cost_NN[1:]
        cuts.append(total_NN.argmin(axis=0))
        least_N = total_NN.min(axis=0)
    if not np.isfinite(least_N[-1]):
        return None
    last, found = len(cost_NN) - 1, []
    for best_N in reversed(cuts):
        found.append(int(best_N[last]))
        last = found[-1] - 1
    return tuple(reversed(found))
