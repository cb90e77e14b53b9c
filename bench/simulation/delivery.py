"""What each operation does to data, written from its definition and independent of the payload law.

Legend: each function takes the ranks' send arrays in numbers, shape (N,) each, and returns their receive arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from collmark.core.case import Case

Arrays = list[NDArray[np.float64]]
REDUCE: dict[str, Callable[..., NDArray[np.float64]]] = {
    "sum": np.sum,
    "prod": np.prod,
    "min": np.min,
    "max": np.max,
    "avg": np.mean,
}


def _reduced(sends: Arrays, case: Case) -> NDArray[np.float64]:
    return REDUCE[case.reduction](np.stack(sends), axis=0)


def _all_reduce(sends: Arrays, case: Case) -> Arrays:
    return [_reduced(sends, case)] * len(sends)


def _all_gather(sends: Arrays, _case: Case) -> Arrays:
    return [np.concatenate(sends)] * len(sends)


def _reduce_scatter(sends: Arrays, case: Case) -> Arrays:
    return list(np.split(_reduced(sends, case), len(sends)))


def _all_to_all(sends: Arrays, case: Case) -> Arrays:
    counts = case.exchange.counts or ((case.exchange.block,) * len(sends),) * len(sends)
    blocks = [np.split(send, np.cumsum(row)[:-1]) for send, row in zip(sends, counts, strict=True)]
    return [np.concatenate([row[rank] for row in blocks]) for rank in range(len(sends))]


def _broadcast(sends: Arrays, case: Case) -> Arrays:
    return [sends[case.root]] * len(sends)


def _at_root(case: Case, ranks: int, result: NDArray[np.float64]) -> Arrays:
    return [result if rank == case.root else result[:0] for rank in range(ranks)]


def _reduce(sends: Arrays, case: Case) -> Arrays:
    return _at_root(case, len(sends), _reduced(sends, case))


def _gather(sends: Arrays, case: Case) -> Arrays:
    return _at_root(case, len(sends), np.concatenate(sends))


def _scatter(sends: Arrays, case: Case) -> Arrays:
    return list(np.split(sends[case.root], len(sends)))


def _nothing(sends: Arrays, _case: Case) -> Arrays:
    return [send[:0] for send in sends]


def _ring(sends: Arrays, _case: Case) -> Arrays:
    return [sends[rank - 1] for rank in range(len(sends))]


def _swap(sends: Arrays, _case: Case) -> Arrays:
    return [sends[1], sends[0], *(send[:0] for send in sends[2:])]


DELIVERIES: dict[str, Callable[[Arrays, Case], Arrays]] = {
    "all_reduce": _all_reduce,
    "all_gather": _all_gather,
    "reduce_scatter": _reduce_scatter,
    "all_to_all": _all_to_all,
    "all_to_all_v": _all_to_all,
    "broadcast": _broadcast,
    "reduce": _reduce,
    "gather": _gather,
    "scatter": _scatter,
    "barrier": _nothing,
    "send_recv": _ring,
    "ping_pong": _swap,
    "stream": _swap,
    "bidirectional_stream": _swap,
}


def deliver(case: Case, sends: Sequence[NDArray[np.float64]]) -> Arrays:
    """Return what every rank receives."""
    return DELIVERIES[case.operation](list(sends), case)
