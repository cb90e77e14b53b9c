"""Simulated runs end to end, as they lie on disk; what was planted is named, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from tests.bench.simulation.conftest import Simulated, SimulateRun, cases_of

from collmark.bench.event import LaunchEnded, LaunchStarted
from collmark.bench.measurement import Progress
from collmark.bench.runner import BudgetSpent, Finished
from collmark.bench.simulation.spec import Simulation
from collmark.core.chance import CHANCE
from collmark.core.disturbance import drift_of, findings
from collmark.core.errors import InterruptedRunError, MeasurementError, PlanError
from collmark.core.plan import Plan
from collmark.core.record import Clock, Outcome, Record, Sentinel, Status
from collmark.core.store import read_samples
from collmark.core.straggler import End, absence_words, stragglers

MakePlan = Callable[..., Plan]
OPERATIONS = ("all_reduce", "all_gather", "broadcast", "ping_pong")
SIZES = "1KiB,64KiB"


def ordinary(run: Simulated) -> list[Record]:
    return [record for record in run.records if record.sentinel is None]


@pytest.fixture
def clean_run(make_plan: MakePlan, simulate_run: SimulateRun) -> Simulated:
    return simulate_run(make_plan(OPERATIONS, SIZES, {"alpha": 1e-4}, launches=2), 3)


def test_every_case_has_a_record_in_every_launch(clean_run: Simulated) -> None:
    for launch in (1, 2):
        keys = [record.case.key for record in ordinary(clean_run) if record.launch == launch]
        assert sorted(keys) == sorted(case.key for case in clean_run.run.cases)
    orders = [[record.case.key for record in ordinary(clean_run) if record.launch == launch] for launch in (1, 2)]
    assert orders[0] != orders[1]
    assert {record.status for record in clean_run.records} == {Status.CONVERGED}
    assert all(record.simulated and record.clock is Clock.VIRTUAL for record in clean_run.records)


def test_run_json_tells_of_its_launches(clean_run: Simulated) -> None:
    launches = clean_run.run.launches
    assert [launch.id for launch in launches] == [1, 2]
    for launch in launches:
        assert launch.outcome is Outcome.COMPLETE
        assert (launch.backend, launch.placement) == ("simulated", "1x3")
        (host,) = launch.hosts  # not the machine that computed it
        assert (host.name, host.ranks, host.cpu, host.memory) == ("simulated", [0, 1, 2], "simulated", None)
        assert launch.timer.name == "virtual"
        assert launch.timer.tick == 1e-9
        assert launch.libraries["simulated"]


def test_events_come_in_order(clean_run: Simulated) -> None:
    kinds = [type(event) for event in clean_run.events if not isinstance(event, Progress)]
    rows = len(clean_run.run.cases) + 3
    assert kinds == [LaunchStarted, *[Finished] * rows, LaunchEnded] * 2
    finished = [event.record for event in clean_run.events if isinstance(event, Finished)]
    assert finished == clean_run.records


def test_raw_samples_give_the_summaries_again(clean_run: Simulated) -> None:
    for record in clean_run.records:
        assert record.samples is not None
        assert record.timing is not None
        stamps = read_samples(clean_run.folder, record.samples)
        assert stamps.shape == (2, 3, record.timing.repetitions)
        if record.case.operation != "ping_pong":
            enter, left = stamps[:, :, record.timing.cut :]
            first = enter.min(axis=0) if record.case.operation == "broadcast" else enter.max(axis=0)
            assert np.median(left.max(axis=0) - first) * 1e-9 == pytest.approx(record.timing.median)


def test_samples_end_with_their_share(make_plan: MakePlan, simulate_run: SimulateRun) -> None:
    run = simulate_run(make_plan(OPERATIONS, SIZES, {"alpha": 1e-4}, launches=1, samples=3000), 3)
    kept = [record.samples for record in run.records if record.samples]
    assert 0 < len(kept) < len(run.records)
    assert (run.folder.path / "samples-0001.i64").stat().st_size <= 3000


def test_an_interval_over_launches_holds_what_was_planted(make_plan: MakePlan, simulate_run: SimulateRun) -> None:
    # launch_sd scatters medians around the planted time by about that much.
    run = simulate_run(make_plan(("all_reduce",), "1KiB", {"alpha": 1e-3, "launch_sd": 0.05}, launches=40), 2)
    logs = [math.log(record.timing.median / 1e-3) for record in ordinary(run) if record.timing]
    assert len(logs) == 40
    assert np.std(logs) == pytest.approx(0.05, rel=0.35)
    assert np.mean(logs) == pytest.approx(0.0, abs=0.025)


# -- ends


def test_a_spent_budget(make_plan: MakePlan, simulate_run: SimulateRun) -> None:
    run = simulate_run(make_plan(OPERATIONS, SIZES, {"alpha": 0.05}, launches=1), 3, budget=1.5)
    assert run.run.launches[0].outcome is Outcome.BUDGET
    (spent,) = [event for event in run.events if isinstance(event, BudgetSpent)]
    assert spent.cases == len(run.run.cases) - len(ordinary(run)) > 0


def test_a_dead_rank_loses_the_launch_and_keeps_its_records(make_plan: MakePlan, simulate_run: SimulateRun) -> None:
    events: list[object] = []
    plan = make_plan(OPERATIONS, SIZES, {"alpha": 1e-3, "dead_rank": 2, "dead_after": 300}, launches=1)
    with pytest.raises(MeasurementError, match=r"rank 2 \(simulated\) silent for 30 s in "):
        simulate_run(plan, 3, emit=events.append)
    assert sum(isinstance(event, Finished) for event in events) > 2


def test_a_stop_ends_the_launch_in_good_order(make_plan: MakePlan, simulate_run: SimulateRun) -> None:
    events: list[object] = []
    with pytest.raises(InterruptedRunError):
        simulate_run(
            make_plan(OPERATIONS, SIZES, {"alpha": 1e-3}),
            3,
            emit=events.append,
            is_stopping=lambda: sum(isinstance(event, Finished) for event in events) >= 4,
        )
    assert isinstance(events[-1], LaunchEnded)
    assert events[-1].outcome is Outcome.INTERRUPTED
    assert sum(isinstance(event, Finished) for event in events) == 4


def test_a_wrong_table_is_refused_before_anything_is_written(make_plan: MakePlan, simulate_run: SimulateRun) -> None:
    with pytest.raises(PlanError, match="unknown key 'alhpa'"):
        simulate_run(make_plan(OPERATIONS, SIZES, {"alhpa": 1}), 3)


def test_asynchronous_launches_need_nothing_else(make_plan: MakePlan, simulate_run: SimulateRun) -> None:
    planted = {"alpha": 1e-4, "asynchronous": True, "enqueue": 7e-6}
    run = simulate_run(make_plan(OPERATIONS, SIZES, planted, launches=1), 3)
    for record in run.records:
        assert record.status is Status.CONVERGED
        assert record.enqueue == pytest.approx(7e-6, abs=1e-9)
        assert record.device is not None
        assert record.samples is not None
        assert read_samples(run.folder, record.samples).shape[0] == 4


# -- disturbances


def test_a_planted_straggler_is_named(make_plan: MakePlan, simulate_run: SimulateRun) -> None:
    planted = {"alpha": 1e-4, "skew": 20e-6, "straggler_rank": 2, "straggler_delay": 60e-6}
    run = simulate_run(make_plan(("all_reduce", "all_gather", "broadcast"), SIZES, planted, launches=2), 4)
    (straggler,) = stragglers(run.run, run.records)
    assert (straggler.end, straggler.rank, straggler.ranks, straggler.host) == (End.ENTERED, 2, 4, "simulated")
    assert (straggler.cases, straggler.judged) == (6, 6)
    assert straggler.seconds.value == pytest.approx(60e-6, rel=0.2)
    assert straggler.share.value > 0.5
    (sentence,) = findings(run.run, run.records)
    assert sentence.startswith("rank 2 (simulated) enters late in 6 of 6 cases (simulated 1x4): last in ")


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 4, 64])
def test_a_delay_of_a_fifth_of_the_operation_is_named(
    make_plan: MakePlan, simulate_run: SimulateRun, ranks: int
) -> None:
    alpha, beta = 1e-4, 1e-10
    (case,) = cases_of(make_plan(("all_reduce",), "1MiB", {}), ranks)
    delay = 0.2 * Simulation(alpha=alpha, beta=beta).seconds(case)
    late = {"alpha": alpha, "beta": beta, "straggler_rank": 1, "straggler_delay": delay}
    run = simulate_run(make_plan(("all_reduce",), "1MiB", late, launches=2), ranks)
    (straggler,) = stragglers(run.run, run.records)
    assert (straggler.end, straggler.rank, straggler.ranks) == (End.ENTERED, 1, ranks)
    assert straggler.share.value == 1
    assert straggler.seconds.value == pytest.approx(delay, abs=2e-6)
    assert straggler.relative.value == pytest.approx(0.2, rel=0.15)
    assert straggler.chance <= CHANCE
    assert absence_words(run.run, run.records) == ""


@pytest.mark.parametrize("drift", [0.5, -0.2])
def test_a_planted_drift_is_named(make_plan: MakePlan, simulate_run: SimulateRun, drift: float) -> None:
    # In one second of virtual time T grows by half, or shrinks by a fifth.
    plan = make_plan(OPERATIONS, "1KiB:64KiB:x2", {"alpha": 1e-3, "drift": drift}, launches=1)
    run = simulate_run(plan, 3)
    marks = {record.sentinel: record for record in run.records if record.sentinel}
    start, end = marks[Sentinel.START].timing, marks[Sentinel.END].timing
    assert start is not None
    assert end is not None
    ratio = drift_of(run.records)
    assert ratio is not None
    assert ratio.value == pytest.approx(end.median / start.median)
    assert ratio.lower <= ratio.value <= ratio.upper
    assert (ratio.lower > 1) if drift > 0 else (ratio.upper < 1)
    (sentence,) = findings(run.run, run.records)
    assert sentence.startswith(f"launch 1 drifted: {marks[Sentinel.START].case} took ")


def test_drift_is_seen_by_the_sentinel_alone(make_plan: MakePlan, simulate_run: SimulateRun) -> None:
    run = simulate_run(make_plan(OPERATIONS, SIZES, {"alpha": 1e-3, "drift": 1.0}, launches=1), 3)
    assert drift_of(ordinary(run)) is None
    start = [record for record in run.records if record.sentinel is Sentinel.START]
    assert drift_of(start) is None


def test_clean_runs_name_nobody(make_plan: MakePlan, simulate_run: SimulateRun) -> None:
    named = []
    for seed in range(100):
        plan = make_plan(("all_reduce", "broadcast"), SIZES, {"alpha": 1e-3, "seed": seed}, launches=1)
        run = simulate_run(plan, 3)
        named.append(findings(run.run, run.records))
        assert named[-1] or absence_words(run.run, run.records).startswith("no straggler: in ")
    assert sum(map(bool, named)) <= 5, [sentences for sentences in named if sentences]


@pytest.mark.parametrize(
    "planted", [{"skew": 30e-6}, {"within_cv": 0.3}, {"contaminated": 0.1}, {"autocorrelation": 0.7}], ids=str
)
def test_noise_that_spares_nobody_names_nobody(
    make_plan: MakePlan, simulate_run: SimulateRun, planted: dict[str, float]
) -> None:
    drifts, named = [], 0
    for seed in range(20):
        plan = make_plan(("all_reduce", "broadcast"), SIZES, planted | {"alpha": 1e-4, "seed": seed}, launches=1)
        run = simulate_run(plan, 4)
        named += bool(findings(run.run, run.records))
        drifts.append(drift_of(run.records))
    assert named <= 2
    assert sum(drift is not None and not drift.lower <= 1 <= drift.upper for drift in drifts) <= 1
