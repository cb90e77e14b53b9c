"""What each operation does to data, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from collmark.bench.simulation.delivery import DELIVERIES, deliver
from collmark.core.case import Case
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Placement

A, B, C = [1.0, 2.0, 3.0], [10.0, 20.0, 30.0], [100.0, 200.0, 600.0]


def received(operation: str, sends: list[list[float]], *, reduction: str = "", root: int = 0) -> list[list[float]]:
    ranks = len(sends)
    row = OPERATIONS[operation]
    nbytes = 8 * max(map(len, sends)) * (ranks if operation in ("all_gather", "gather") else 1)
    case = Case(
        operation=operation,
        backend="simulated",
        dtype="float64",
        placement=Placement(ranks_per_node=ranks),
        nbytes=nbytes,
        requested_nbytes=nbytes,
        reduction=reduction,
        root=root,
        traffic="uniform" if row.ragged else "",
    )
    return [out.tolist() for out in deliver(case, [np.array(send) for send in sends])]


@pytest.mark.parametrize(
    ("reduction", "result"),
    [("sum", [111, 222, 633]), ("prod", [1000, 8000, 54000]), ("min", A), ("max", C), ("avg", [37, 74, 211])],
)
def test_reductions(reduction: str, result: list[float]) -> None:
    assert received("all_reduce", [A, B, C], reduction=reduction) == [result] * 3
    assert received("reduce", [A, B, C], reduction=reduction, root=1) == [[], result, []]
    assert received("reduce_scatter", [A, B, C], reduction=reduction) == [[value] for value in result]


def test_gathers() -> None:
    assert received("all_gather", [A, B, C]) == [A + B + C] * 3
    assert received("gather", [A, B, C], root=2) == [[], [], A + B + C]


def test_scatters() -> None:
    assert received("broadcast", [A, [], []]) == [A] * 3
    assert received("broadcast", [[], B, []], root=1) == [B] * 3
    assert received("scatter", [[], B, []], root=1) == [[10], [20], [30]]


@pytest.mark.parametrize("operation", ["all_to_all", "all_to_all_v"])
def test_exchanges(operation: str) -> None:
    assert received(operation, [A, B, C]) == [[1, 10, 100], [2, 20, 200], [3, 30, 600]]


def test_point_to_point() -> None:
    assert received("send_recv", [A, B, C]) == [C, A, B]
    assert received("ping_pong", [A, B, []]) == [B, A, []]
    assert received("bidirectional_stream", [A, B]) == [B, A]
    assert received("stream", [A, []]) == [[], A]


def test_a_barrier_moves_nothing() -> None:
    assert received("barrier", [[], []]) == [[], []]


def test_every_operation_is_here() -> None:
    assert set(DELIVERIES) == set(OPERATIONS)
