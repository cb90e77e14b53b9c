"""Simulated ranks: what was planted comes out of the same measurement code as real ranks use, exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.bench.simulation.conftest import MeasureCase, cases_of

from collmark.bench.measurement import Measured
from collmark.bench.simulation.spec import Simulation
from collmark.bench.simulation.team import SimulatedTeam
from collmark.core.dtype import DTYPES
from collmark.core.errors import InterruptedRunError, MeasurementError
from collmark.core.matrix import learn, pack
from collmark.core.operation_table import OPERATIONS
from collmark.core.plan import Plan
from collmark.core.record import Clock, Record, Status, Timing
from collmark.core.reduction import REDUCTIONS

MakePlan = Callable[..., Plan]
ALL = tuple(OPERATIONS)
MOVING = [name for name, row in OPERATIONS.items() if row.sized]
PAIRS = [name for name, row in OPERATIONS.items() if row.pair]


def timing_of(measured: Measured) -> Timing:
    assert measured.record.timing is not None, measured.record
    return measured.record.timing


def operations_on(ranks: int) -> tuple[str, ...]:
    return tuple(name for name in ALL if OPERATIONS[name].minimum_ranks <= ranks)


# -- exact without noise


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_t_is_the_formula_without_noise(
    make_plan: MakePlan, measure_cases: MeasureCase, quiet: dict[str, Any], ranks: int
) -> None:
    # alpha and beta such that no T is a whole number of ns by itself.
    planted = quiet | {"alpha": 523.3e-6, "beta": 1.7e-10}
    plan = make_plan(operations_on(ranks), "32B,1000B,64KiB,256KiB", planted)
    found = measure_cases(plan, ranks)
    assert len(found) == 4 * len(operations_on(ranks)) - 3  # a barrier has one size
    for measured in found:
        case, timing = measured.record.case, timing_of(measured)
        row = OPERATIONS[case.operation]
        if row.streams:
            expected = 523.3e-6 / case.messages + case.nbytes * 1.7e-10
        else:
            expected = 523.3e-6 + row.bus_factor(ranks) * case.nbytes * 1.7e-10
        # Stamps are whole ns; a stream's are shared by its messages, and there and back is two times T.
        grain = 0.5e-9 / {"ping_pong": 2}.get(case.operation, case.messages)
        assert timing.median == pytest.approx(expected, abs=1.01 * grain, rel=1e-12), case
        assert timing.minimum == pytest.approx(timing.maximum, abs=1e-12), case
        assert measured.record.status is Status.CONVERGED
        assert timing.estimand is case.estimand


def test_rounding_has_no_bias(make_plan: MakePlan, measure_cases: MeasureCase, quiet: dict[str, Any]) -> None:
    plan = make_plan(("all_reduce",), "64B:64KiB:x1.2", quiet | {"alpha": 1e-3, "beta": 1.37e-10})
    errors = []
    for measured in measure_cases(plan, 2):
        case = measured.record.case
        errors.append(timing_of(measured).median - (1e-3 + case.nbytes * 1.37e-10))
    assert abs(np.mean(errors)) < 0.15e-9
    assert np.abs(errors).max() <= 0.51e-9


@pytest.mark.parametrize("tick", [1e-8, 1e-6])
def test_a_coarse_clock_shows_its_tick(
    make_plan: MakePlan, measure_cases: MeasureCase, quiet: dict[str, Any], tick: float
) -> None:
    plan = make_plan(("all_reduce", "broadcast", "ping_pong"), "64B,1MiB", quiet | {"alpha": 33.3e-6, "tick": tick})
    for measured in measure_cases(plan, 3):
        timing, case = timing_of(measured), measured.record.case
        expected = 33.3e-6 + OPERATIONS[case.operation].bus_factor(3) * case.nbytes * 1e-10
        assert timing.median == pytest.approx(expected, abs=1.01 * tick)
        assert measured.layers_SRI is not None
        assert not (measured.layers_SRI % round(tick * 1e9)).any()
        assert timing.lower is not None
        assert timing.upper is not None
        assert timing.upper - timing.lower >= tick * (1 - 1e-9)


def test_a_tick_that_is_no_small_share_of_t_never_converges(
    make_plan: MakePlan, measure_cases: MeasureCase, quiet: dict[str, Any]
) -> None:
    plan = make_plan(("all_reduce",), "64B", quiet | {"alpha": 5e-6, "tick": 1e-6})
    (measured,) = measure_cases(plan, 2, budget=0.1)
    assert measured.record.status is Status.BUDGET


def test_a_protocol_switch_is_where_it_was_planted(
    make_plan: MakePlan, measure_cases: MeasureCase, quiet: dict[str, Any]
) -> None:
    planted = quiet | {"alpha": 10e-6, "beta": 1e-9, "switch_at": 8192, "alpha_after": 30e-6, "beta_after": 1e-10}
    for measured in measure_cases(make_plan(("ping_pong",), "1KiB:64KiB:x2", planted), 2):
        nbytes = measured.record.case.nbytes
        expected = 30e-6 + nbytes * 1e-10 if nbytes >= 8192 else 10e-6 + nbytes * 1e-9
        assert timing_of(measured).median == pytest.approx(expected, abs=1e-9)


# -- noise


def test_noise_has_the_planted_spread(make_plan: MakePlan, measure_cases: MeasureCase, quiet: dict[str, Any]) -> None:
    planted = quiet | {"alpha": 1e-3, "within_cv": 0.2}
    plan = make_plan(("barrier",), "8B", planted, precision=0.005)
    (measured,) = measure_cases(plan, 2, budget=60.0)
    assert measured.layers_SRI is not None
    enter, left = measured.layers_SRI[:2]
    logs = np.log((left.max(axis=0) - enter.max(axis=0)) * 1e-9 / 1e-3)
    assert len(logs) > 2000
    assert logs.std() == pytest.approx(0.2, rel=0.1)
    assert logs.mean() == pytest.approx(0.0, abs=0.02)
    assert timing_of(measured).tau < 1.5


def test_autocorrelation_shows_as_tau(make_plan: MakePlan, measure_cases: MeasureCase, quiet: dict[str, Any]) -> None:
    planted = quiet | {"alpha": 1e-3, "within_cv": 0.2, "autocorrelation": 0.8}
    (measured,) = measure_cases(make_plan(("barrier",), "8B", planted, precision=0.01), 2, budget=60.0)
    # (1 + rho) / (1 - rho) = 9
    assert 5 < timing_of(measured).tau < 14
    # The spread is what was planted all the same.
    assert measured.layers_SRI is not None
    enter, left = measured.layers_SRI[:2]
    assert np.log(left.max(axis=0) - enter.max(axis=0)).std() == pytest.approx(0.2, rel=0.15)


def test_launches_have_levels_of_their_own(
    make_plan: MakePlan, measure_cases: MeasureCase, quiet: dict[str, Any]
) -> None:
    plan = make_plan(("all_reduce", "broadcast"), "64B", quiet | {"alpha": 1e-3, "launch_sd": 0.1})
    logs = np.array(
        [
            [np.log(timing_of(measured).median / 1e-3) for measured in measure_cases(plan, 2, launch=launch)]
            for launch in range(1, 101)
        ]
    )
    assert logs.std(axis=0) == pytest.approx([0.1, 0.1], rel=0.25)
    assert logs.mean(axis=0) == pytest.approx([0, 0], abs=0.035)
    # Each case has its own: a launch is not slower as a whole.
    assert abs(np.corrcoef(logs.T)[0, 1]) < 0.35


def test_a_simulation_is_repeatable_and_its_seed_matters(make_plan: MakePlan, measure_cases: MeasureCase) -> None:
    def medians(seed: int) -> list[float]:
        plan = make_plan(("all_reduce", "broadcast"), "64B,1KiB", {"seed": seed})
        return [timing_of(measured).median for measured in measure_cases(plan, 3)]

    assert medians(1) == medians(1)
    assert medians(1) != medians(2)


def test_contamination_shows_in_the_tail_and_hardly_in_the_median(
    make_plan: MakePlan, measure_cases: MeasureCase, quiet: dict[str, Any]
) -> None:
    planted = quiet | {"alpha": 1e-3, "within_cv": 0.01, "contaminated": 0.04, "contamination": [3.5, 4.0]}
    (measured,) = measure_cases(make_plan(("barrier",), "8B", planted, precision=0.0005), 2, budget=3.0)
    timing = timing_of(measured)
    assert timing.median == pytest.approx(1e-3, rel=0.005)
    assert 3.4e-3 < timing.p99 < 4.2e-3
    assert timing.second_mode == pytest.approx(0.04, abs=0.02)
    assert timing.outliers == round(timing.second_mode * (timing.repetitions - timing.cut))
    assert measured.record.status is not Status.UNSTABLE


def test_a_second_mode_is_unstable(make_plan: MakePlan, measure_cases: MeasureCase, quiet: dict[str, Any]) -> None:
    planted = quiet | {"alpha": 1e-3, "within_cv": 0.01, "contaminated": 0.15, "contamination": [4.0, 5.0]}
    (measured,) = measure_cases(make_plan(("barrier",), "8B", planted, precision=0.0005), 2, budget=3.0)
    assert measured.record.status is Status.UNSTABLE


# -- ranks


def test_skew_is_separable_from_the_operation(
    make_plan: MakePlan, measure_cases: MeasureCase, quiet: dict[str, Any]
) -> None:
    plan = make_plan(("all_reduce", "all_to_all", "barrier"), "1KiB", quiet | {"alpha": 20e-6, "skew": 40e-6})
    for measured in measure_cases(plan, 8):
        record, case = measured.record, measured.record.case
        expected = 20e-6 + OPERATIONS[case.operation].bus_factor(8) * case.nbytes * 1e-10
        assert timing_of(measured).median == pytest.approx(expected, abs=1e-9)
        assert record.ranks is not None
        assert record.ranks.skew is not None
        assert record.ranks.skew > 40e-6
        assert record.ranks.skewed == 1.0
        assert record.ranks.longest > 2 * expected


@pytest.mark.parametrize("late", [0, 2])
def test_a_straggler_enters_last_and_is_late_by_what_was_planted(
    make_plan: MakePlan, measure_cases: MeasureCase, quiet: dict[str, Any], late: int
) -> None:
    planted = quiet | {"straggler_rank": late, "straggler_delay": 15e-6}
    (measured,) = measure_cases(make_plan(("all_reduce",), "1KiB", planted), 4)
    ranks = measured.record.ranks
    assert ranks is not None
    assert ranks.last_in[late] == sum(ranks.last_in)
    assert ranks.lateness[late] == pytest.approx(15e-6, abs=1e-9)
    assert timing_of(measured).median == pytest.approx(20e-6 + 1.5 * 1024e-10, abs=1e-9)


@pytest.mark.parametrize("operation", ALL)
@pytest.mark.parametrize("dead", [0, 2])
def test_a_dead_rank_is_named_within_the_time_out(
    make_plan: MakePlan, measure_cases: MeasureCase, operation: str, dead: int
) -> None:
    plan = make_plan((operation,), "1KiB", {"dead_rank": dead, "dead_after": 7}, timeout=12.0)
    with pytest.raises(MeasurementError, match=rf"rank {dead} \(simulated\) silent for 12 s in {operation}"):
        measure_cases(plan, 3)


def test_a_stop_is_heard_between_ranks(make_plan: MakePlan) -> None:
    asked: list[bool] = []
    team = SimulatedTeam(Simulation(), 3, 1, is_stopping=lambda: bool(asked))
    case = cases_of(make_plan(("all_reduce",), "64B", {}), 3)[0]
    team.bind([case])
    asked.append(True)
    with pytest.raises(InterruptedRunError):
        team.prepare(1, poison=True)
    team.release()


def test_a_dead_rank_costs_the_time_out_and_no_more(make_plan: MakePlan) -> None:
    simulation = Simulation(dead_rank=1, dead_after=3)
    team = SimulatedTeam(simulation, 2, 1, timeout=9.0)
    plan = make_plan(("barrier",), "8B", {})
    team.bind(cases_of(plan, 2)[:1])
    team.block(3, 9.0)
    before = team.now()
    with pytest.raises(MeasurementError):
        team.block(1, 9.0)
    assert 9.0 <= team.now() - before < 9.1


def test_a_dead_rank_outside_the_group_kills_nobody(make_plan: MakePlan, measure_cases: MeasureCase) -> None:
    (measured,) = measure_cases(
        make_plan(("barrier",), "8B", {"dead_rank": 5, "wrong_rank": 5, "straggler_rank": 5}), 2
    )
    assert measured.record.status is Status.CONVERGED


# -- results


def combinations(*, moving: bool) -> list[tuple[str, str]]:
    return [
        (name, reduction)
        for name in (MOVING if moving else ALL)
        for reduction in (REDUCTIONS if OPERATIONS[name].reduces else ("",))
    ]


def receiver_of(record: Record, wanted: int) -> int:
    """Return a rank that receives something, `wanted` if it does."""
    operation, exchange = OPERATIONS[record.case.operation], record.case.exchange
    receivers = [r for r in range(exchange.ranks) if any(s.count for s in operation.expects(exchange, r))]
    return wanted if wanted in receivers else receivers[0]


@pytest.mark.parametrize(("operation", "reduction"), combinations(moving=True))
@pytest.mark.parametrize("after", [0, 20], ids=["at once", "later"])
def test_a_planted_wrong_element_is_found_and_named(
    make_plan: MakePlan, measure_cases: MeasureCase, operation: str, reduction: str, after: int
) -> None:
    plan = make_plan((operation,), "480B", {"alpha": 1e-3}, dtypes=tuple(DTYPES), reductions=(reduction or "sum",))
    for clean in measure_cases(plan, 3):
        rank = receiver_of(clean.record, 1)
        planted = {"alpha": 1e-3, "wrong_rank": rank, "wrong_element": 2, "wrong_after": after}
        one = msgspec.structs.replace(plan, dtypes=(clean.record.case.dtype,), simulation=planted)
        ((found),) = measure_cases(one, 3)
        record = found.record
        assert record.status is Status.WRONG, record.case
        assert record.check.wrong == 1
        assert record.check.first.startswith(f"rank {rank}, element 2: expected ")
        assert (record.timing, found.layers_SRI) == (None, None)


@pytest.mark.parametrize("traffic", ["zipf:3:1", "moe:6:2:1:3:8B", "moe:6:2:9:3:8B", "file", "file:scaled"])
def test_a_planted_wrong_element_is_found_under_any_traffic(
    make_plan: MakePlan, measure_cases: MeasureCase, traffic: str
) -> None:
    matrix = pack("made.csv", ((0, 0, 0), (104, 0, 64), (0, 480, 8)))  # rank 0 sends nothing at all
    digest = learn(matrix)
    plan = make_plan(
        ("all_to_all_v",), "480B", {"alpha": 1e-3}, dtypes=tuple(DTYPES), matrices={digest: matrix},
        traffic=traffic.replace("file", f"file:{digest}"),
    )  # fmt: skip
    for clean in measure_cases(plan, 3):
        assert clean.record.check.wrong == 0
        assert clean.record.check.checked == 2 * sum(map(sum, clean.record.case.exchange.counts or ()))
        rank = receiver_of(clean.record, 1)
        planted = {"alpha": 1e-3, "wrong_rank": rank, "wrong_element": 2}
        one = msgspec.structs.replace(plan, dtypes=(clean.record.case.dtype,), simulation=planted)
        ((found),) = measure_cases(one, 3)
        assert (found.record.status, found.record.check.wrong) == (Status.WRONG, 1), found.record.case
        assert found.record.check.first.startswith(f"rank {rank}, element 2: expected ")


@pytest.mark.parametrize(("operation", "reduction"), combinations(moving=False))
def test_right_results_are_checked_and_pass(
    make_plan: MakePlan, measure_cases: MeasureCase, operation: str, reduction: str
) -> None:
    plan = make_plan((operation,), "480B,484B", {"alpha": 1e-3}, dtypes=tuple(DTYPES), reductions=(reduction or "sum",))
    for measured in measure_cases(plan, 3):
        check = measured.record.check
        assert check.wrong == 0
        assert check.checked > 0
        if operation == "barrier":
            assert check.left_out == "no payload: checked by its time stamps"
        else:
            assert check.left_out == ""


def test_what_would_fill_the_memory_is_not_moved_and_said_so(
    make_plan: MakePlan, measure_cases: MeasureCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collmark.bench.simulation.team.LARGEST_MOVED", 8192)
    moved, kept = measure_cases(make_plan(("all_reduce",), "4096B,4100B", {}), 2)
    assert moved.record.check.checked == 2 * 2 * 1024
    assert kept.record.check.checked == 0
    assert kept.record.check.left_out == "simulated: nothing was moved"
    assert kept.record.timing is not None


# -- asynchronous


def test_asynchronous_calls_run_through_the_same_code(
    make_plan: MakePlan, measure_cases: MeasureCase, quiet: dict[str, Any]
) -> None:
    planted = quiet | {"alpha": 50e-6, "asynchronous": True, "enqueue": 4e-6, "within_cv": 0.1}
    plan = make_plan(tuple(name for name in ALL if name not in PAIRS), "4KiB", planted)
    for measured in measure_cases(plan, 3):
        record, layers = measured.record, measured.layers_SRI
        assert layers is not None
        assert layers.shape[:2] == (4, 3)
        enter, left, queued, device = layers
        assert (enter < queued).all()
        assert (queued < left).all()
        assert record.status is Status.CONVERGED
        assert record.check.wrong == 0
        assert record.enqueue == pytest.approx(4e-6, abs=1e-9)
        # A device stamps its own interval in every repetition on every rank: the host's, without queueing.
        assert np.abs(device - (left - enter - 4000)).max() <= 1
        assert record.device == pytest.approx(np.median(device.max(axis=0)) * 1e-9)
        assert record.device is not None
        assert timing_of(measured).median > record.device * 0.9


def test_blocking_calls_have_neither(make_plan: MakePlan, measure_cases: MeasureCase) -> None:
    (measured,) = measure_cases(make_plan(("barrier",), "8B", {}), 3)
    assert (measured.record.enqueue, measured.record.device) == (None, None)
    assert measured.layers_SRI is not None
    assert measured.layers_SRI.shape[:2] == (2, 3)


def test_records_say_that_they_are_simulated(make_plan: MakePlan, measure_cases: MeasureCase) -> None:
    (measured,) = measure_cases(make_plan(("barrier",), "8B", {}), 2)
    assert measured.record.simulated
    assert measured.record.clock is Clock.VIRTUAL
    assert measured.record.evidence.tier == "simulated"


def test_nobody_leaves_before_entering(make_plan: MakePlan, measure_cases: MeasureCase) -> None:
    planted = {"skew": 100e-6, "alpha": 1e-6, "straggler_rank": 1, "straggler_delay": 1e-3}
    for measured in measure_cases(make_plan(ALL, "64B", planted), 3):
        assert measured.layers_SRI is not None
        assert (measured.layers_SRI[1] > measured.layers_SRI[0]).all()
        assert measured.record.check.wrong == 0
