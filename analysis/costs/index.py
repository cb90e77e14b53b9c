"""The index of the cost table: every algorithm of every operation.

Left out: all_to_all_v, whose bytes are the traffic's and not the number of ranks'; ping_pong and streams, which have
two ranks.
"""

from __future__ import annotations

from collmark.analysis.costs import all_gather, all_reduce, all_to_all, reduce_scatter, rooted
from collmark.analysis.costs.algorithm import Algorithm
from collmark.core.registry import Registry

_ROWS = (*all_reduce.ROWS, *all_gather.ROWS, *reduce_scatter.ROWS, *all_to_all.ROWS, *rooted.ROWS)

ALGORITHMS = Registry("algorithm", [(row.key, row) for row in _ROWS])


def algorithms_of(operation: str) -> tuple[Algorithm, ...]:
    """Return the algorithms of an operation, in the order of the table; none where it has none."""
    return tuple(row for row in ALGORITHMS.values() if row.operation == operation)
