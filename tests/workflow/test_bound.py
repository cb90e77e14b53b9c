"""What is said of the duration before a run: budgets, and what no budget bounds."""

import msgspec
import pytest

from collmark.core.case import Buffers, Cadence, Case, Form
from collmark.core.placement import Placement
from collmark.core.plan import Plan
from collmark.workflow.bound import (
    ELEMENT_SECONDS,
    START_SECONDS,
    launch_seconds,
    most_seconds,
    reserve_seconds,
    unbudgeted_seconds,
)

PLAN = Plan(case_budget=0.1)
SMALL = Case(
    operation="broadcast",
    backend="gloo",
    dtype="float32",
    placement=Placement(ranks_per_node=2),
    nbytes=64,
    requested_nbytes=64,
)
LARGE = msgspec.structs.replace(SMALL, nbytes=3 * 2**30, requested_nbytes=3 * 2**30)


def test_small_cases_take_their_budgets() -> None:
    cases = [msgspec.structs.replace(SMALL, nbytes=nbytes, requested_nbytes=nbytes) for nbytes in (64, 128, 256)]
    # The sentinel's repeats are one more.
    assert launch_seconds(PLAN, cases, 2) == pytest.approx(START_SECONDS + 4 * 0.1, rel=1e-3)
    assert most_seconds(PLAN, 5 * [cases], 2) == pytest.approx(5 * (START_SECONDS + 4 * 0.1), rel=1e-3)
    assert most_seconds(msgspec.structs.replace(PLAN, budget=7.0), 5 * [cases], 2) == pytest.approx(7.0, rel=1e-3)


def test_large_buffers_are_filled_and_checked_whatever_the_budget() -> None:
    alone = unbudgeted_seconds(LARGE, 2)
    # Written and compared before and after: 4 x 0.8e9 elements, for the case and three times for the sentinel.
    assert alone >= 4 * 3 * 2**28 * ELEMENT_SECONDS
    bound = launch_seconds(PLAN, [LARGE], 2)
    assert bound == pytest.approx(START_SECONDS + reserve_seconds([LARGE], 2) + 4 * alone)
    assert launch_seconds(msgspec.structs.replace(PLAN, case_budget=1e4), [LARGE], 2) < 2e4 + bound
    # What has begun when the budget of the run is spent comes to its end.
    hurried = msgspec.structs.replace(PLAN, budget=1.0)
    assert most_seconds(hurried, 5 * [[LARGE]], 2) == pytest.approx(1.0 + reserve_seconds([LARGE], 2) + alone)


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "uint8"},  # more elements in as many bytes
        {"cadence": Cadence.STREAMING, "batch": 4},
        {"form": Form.NONBLOCKING, "backend": "mpi"},  # the overlap takes calls too
        {"messages": 4, "operation": "stream"},
        {"placement": Placement(ranks_per_node=4)},  # on two cores
    ],
)
def test_what_takes_longer(change: dict[str, object]) -> None:
    assert unbudgeted_seconds(msgspec.structs.replace(LARGE, **change), 2) > unbudgeted_seconds(LARGE, 2)


def test_rotated_buffers_are_many() -> None:
    rotated = msgspec.structs.replace(SMALL, buffers=Buffers.ROTATED)
    assert reserve_seconds([SMALL, rotated], 2) > 10 * reserve_seconds([SMALL], 2)


def test_virtual_time_knows_no_buffers() -> None:
    simulated = msgspec.structs.replace(LARGE, backend="simulated")
    assert launch_seconds(PLAN, [simulated], 2) == pytest.approx(START_SECONDS + 2 * 0.1)
