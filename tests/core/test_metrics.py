"""Bandwidths: computed from a case and a time, in the convention of nccl-tests."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis.made import case_of, record_of, replaced

from collmark.core.case import Case
from collmark.core.metrics import algorithm_bandwidth, bus_bandwidth, counted_records
from collmark.core.placement import Placement
from collmark.core.record import Record, Sentinel, Status
from collmark.workflow.listing import summarise

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


def statuses(*found: Status) -> list[Record]:
    """Return records of one case, a launch for each status; a wrong or failed one has no time."""
    timeless = (Status.WRONG, Status.FAILED)
    return [
        replaced(record_of(case_of(), None if status in timeless else launch * 1e-4, launch), status=status)
        for launch, status in enumerate(found, 1)
    ]


STEADY, UNSTABLE = Status.CONVERGED, Status.UNSTABLE


@pytest.mark.parametrize(
    ("found", "launches"),
    [
        ((STEADY, UNSTABLE, Status.BUDGET, Status.FAILED), [1, 3]),
        ((UNSTABLE, UNSTABLE), [1, 2]),
        ((STEADY, Status.WRONG), []),
        ((Status.FAILED,), []),
    ],
)
def test_the_launches_that_count_are_those_of_the_table(found: tuple[Status, ...], launches: list[int]) -> None:
    records = statuses(*found)
    sentinel = replaced(records[0], sentinel=Sentinel.END, launch=9)
    counted = [record.launch for own in counted_records([*records, sentinel]).values() for record in own]
    assert counted == launches
    (row,) = summarise([case_of()], records)
    assert row.launches == len(launches)


def test_unstable_launches_count_where_that_is_asked_for() -> None:
    (counted,) = counted_records(statuses(STEADY, UNSTABLE), include_unstable=True).values()
    assert [record.launch for record in counted] == [1, 2]
