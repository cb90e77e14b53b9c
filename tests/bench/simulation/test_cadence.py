"""Simulated calls back to back, and on cold buffers: what was planted comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.bench.simulation.conftest import MeasureCase
from tests.bench.simulation.test_team import operations_on, timing_of

from collmark.core.case import Buffers, Cadence
from collmark.core.operation_table import OPERATIONS
from collmark.core.plan import Plan
from collmark.core.record import Status

MakePlan = Callable[..., Plan]
CADENCES = (Cadence.ISOLATED, Cadence.STREAMING)


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_calls_back_to_back_take_what_was_planted_for_one(
    make_plan: MakePlan, measure_cases: MeasureCase, quiet: dict[str, Any], ranks: int, *, asynchronous: bool
) -> None:
    planted = quiet | {"alpha": 200e-6, "pipelined": 0.25, "asynchronous": asynchronous, "enqueue": 3e-6}
    plan = make_plan(operations_on(ranks), "1KiB", planted, cadences=tuple(CADENCES))
    for measured in measure_cases(plan, ranks):
        case, timing = measured.record.case, timing_of(measured)
        row = OPERATIONS[case.operation]
        streaming = case.cadence is Cadence.STREAMING
        assert case.batch == (20 if streaming else 1)
        fixed = 200e-6 / case.messages
        expected = (fixed + row.model_nbytes(case.exchange) * 1e-10) * (0.75 if streaming else 1)
        # One enqueue shows where nothing is queued ahead; there and back, and streams, share it.
        shown = (3e-6 if asynchronous else 0) / case.batch / {"ping_pong": 2}.get(case.operation, case.messages)
        assert timing.median == pytest.approx(expected + shown, abs=1e-9), case
        ranks_of = measured.record.ranks
        assert ranks_of is not None
        assert ranks_of.longest <= 2.1 * case.messages * (expected + shown)  # of one call, too


def test_cold_buffers_take_longer_by_what_was_planted(
    make_plan: MakePlan, measure_cases: MeasureCase, quiet: dict[str, Any]
) -> None:
    plan = make_plan(("all_reduce", "all_to_all"), "1KiB", quiet | {"cold": 1.5}, buffers=tuple(Buffers))
    seconds = {(m.record.case.operation, m.record.case.buffers): timing_of(m).median for m in measure_cases(plan, 2)}
    for operation in plan.operations:
        assert seconds[operation, Buffers.ROTATED] == pytest.approx(1.5 * seconds[operation, Buffers.SAME], rel=1e-4)


def test_a_wrong_element_in_the_last_of_the_buffers_is_found(make_plan: MakePlan, measure_cases: MeasureCase) -> None:
    planted = {"wrong_rank": 1, "wrong_after": 20}
    plan = make_plan(("all_gather",), "1KiB", planted, buffers=(Buffers.ROTATED,))
    (measured,) = measure_cases(plan, 2)
    assert measured.record.status is Status.WRONG
    assert measured.record.check.wrong == 1
