"""Simulated groups: each at its own pace, slowed down by the others as planted, and judged by itself."""

from __future__ import annotations

import pytest
from tests.bench.simulation.conftest import QUIET, MeasureCase, SimulateRun, plan_of

from collmark.bench.measurement import WRONG_BESIDE
from collmark.core.grouping import Company
from collmark.core.record import Status
from collmark.core.slowdown import slowdowns
from collmark.core.straggler import stragglers


def test_planted_contention_is_found(simulate_run: SimulateRun) -> None:
    plan = plan_of(
        ("all_reduce", "ping_pong"), "1KiB,1MiB", {"contention": 1.6, "launch_sd": 0.0}, launches=4,
        groups=("blocked:2", "strided:2"),
    )  # fmt: skip
    found = slowdowns(simulate_run(plan, 4).records)
    assert len(found) == 2 * 2 * 2 * 2
    for slowdown in found.values():
        assert slowdown.value == pytest.approx(1.6, rel=0.05)


def test_a_group_alone_is_as_fast_as_ranks_that_are_all_there_are(measure_cases: MeasureCase) -> None:
    alone = measure_cases(plan_of(("all_reduce",), "1MiB", QUIET, groups=("blocked:2",)), 4)[0].record
    whole = measure_cases(plan_of(("all_reduce",), "1MiB", QUIET), 2)[0].record
    assert alone.timing is not None
    assert whole.timing is not None
    assert alone.timing.median == pytest.approx(whole.timing.median, rel=1e-3)


def test_a_wrong_element_is_named_in_the_group_that_received_it(simulate_run: SimulateRun) -> None:
    planted = QUIET | {"wrong_rank": 3, "wrong_element": 5}
    plan = plan_of(("all_reduce",), "1KiB", planted, groups=("strided:2",), launches=1)
    records = {(r.case.group.company, r.case.group.index): r for r in simulate_run(plan, 4).records if r.case.group}
    assert records[Company.ALONE, 0].status is Status.CONVERGED
    assert records[Company.ALONE, 1].status is Status.WRONG
    beside, wrong = (records[Company.TOGETHER, index] for index in range(2))
    assert (beside.status, beside.error, beside.timing) == (Status.FAILED, WRONG_BESIDE, None)
    assert (wrong.status, wrong.timing) == (Status.WRONG, None)
    assert wrong.check.first.startswith("rank 3, element 5: ")


def test_data_that_are_wrong_after_the_repetitions_spoil_one_group(simulate_run: SimulateRun) -> None:
    planted = QUIET | {"wrong_rank": 0, "wrong_after": 60}
    plan = plan_of(("all_reduce",), "1KiB", planted, groups=("blocked:2",), launches=1)
    together = [r for r in simulate_run(plan, 4).records if r.case.group and r.case.group.company is Company.TOGETHER]
    statuses = {record.case.group.index: record.status for record in together if record.case.group}
    assert statuses[1] in (Status.CONVERGED, Status.FAILED)
    assert statuses[0] is Status.WRONG


def test_a_noisy_group_goes_on_while_the_others_keep_what_was_judged(measure_cases: MeasureCase) -> None:
    plan = plan_of(("all_reduce",), "1KiB", {"within_cv": 0.3, "seed": 3}, groups=("blocked:2",))
    together = [
        m for m in measure_cases(plan, 8) if m.record.case.group and m.record.case.group.company is Company.TOGETHER
    ]
    counts = {m.record.timing.repetitions for m in together if m.record.timing}
    assert len(together) == 4
    assert len(counts) > 1
    for one in together:
        assert one.record.status is Status.CONVERGED
        assert one.record.timing is not None
        assert one.layers_SRI is not None
        assert one.layers_SRI.shape == (2, 2, one.record.timing.repetitions)


def test_a_straggler_is_named_by_its_index_among_all(simulate_run: SimulateRun) -> None:
    planted = {"straggler_rank": 3, "straggler_delay": 20e-6}
    run = simulate_run(plan_of(("all_reduce",), "1KiB", planted, groups=("strided:2",), launches=2), 4)
    found = stragglers(run.run, run.records)
    assert {one.rank for one in found} == {3}
    assert all("strided:2 of 1x4, group 1" in one.what for one in found)
