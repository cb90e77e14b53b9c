"""Bandwidths: computed from a case and a time, in the convention of nccl-tests."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collmark.core.case import Case
from collmark.core.metrics import algorithm_bandwidth, bus_bandwidth
from collmark.core.placement import Placement

CASE = Case(
    operation="all_reduce",
    backend="gloo",
    dtype="float32",
    placement=Placement(ranks_per_node=4),
    nbytes=1_000_000,
    requested_nbytes=1_000_000,
    reduction="sum",
)


@pytest.mark.parametrize(
    ("operation", "ranks", "bus"),
    [
        ("all_reduce", 4, 1.5e9),
        ("all_gather", 4, 0.75e9),
        ("all_to_all", 3, 1e9 * 2 / 3),
        ("broadcast", 8, 1e9),
        ("send_recv", 2, 1e9),
        ("ping_pong", 2, 1e9),
        ("all_reduce", 1, 0.0),
    ],
)
def test_a_megabyte_in_a_millisecond(operation: str, ranks: int, bus: float) -> None:
    case = msgspec.structs.replace(CASE, operation=operation, placement=Placement(ranks_per_node=ranks))
    assert algorithm_bandwidth(case, 1e-3) == pytest.approx(1e9)
    assert bus_bandwidth(case, 1e-3) == pytest.approx(bus)


def test_all_to_all_v_is_shown_as_nccl_tests_prints_it() -> None:
    case = msgspec.structs.replace(CASE, operation="all_to_all_v", traffic="zipf:2:1")
    assert bus_bandwidth(case, 1e-3) == pytest.approx(0.75e9)


def test_a_barrier_has_no_bandwidth() -> None:
    case = msgspec.structs.replace(CASE, operation="barrier", nbytes=0, requested_nbytes=0)
    assert algorithm_bandwidth(case, 1e-3) is None
    assert bus_bandwidth(case, 1e-3) is None


def test_a_time_that_the_clock_did_not_see_gives_no_bandwidth() -> None:
    assert algorithm_bandwidth(CASE, 0.0) is None
    assert bus_bandwidth(CASE, 0.0) is None


@given(st.integers(1, 1 << 50), st.floats(1e-9, 1e6), st.floats(0.1, 10))
def test_dimensions(nbytes: int, seconds: float, factor: float) -> None:
    case = msgspec.structs.replace(CASE, nbytes=nbytes)
    bandwidth, slower = algorithm_bandwidth(case, seconds), algorithm_bandwidth(case, seconds * factor)
    assert bandwidth is not None
    assert slower is not None
    assert bandwidth * seconds == pytest.approx(nbytes)
    assert slower * factor == pytest.approx(bandwidth)
