"""Hosts with clocks of their own, on the virtual clock that knows the truth. S layers, R ranks, I repetitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from collmark.bench.backends.index import BACKENDS
from collmark.bench.common_clock import CommonClock
from collmark.bench.measurement import Measured, Measurement, Terms, _barrier_check
from collmark.bench.simulation.clocks import PlantedClocks
from collmark.bench.simulation.spec import Simulation, check_place_of
from collmark.bench.simulation.team import SimulatedTeam
from collmark.bench.stamps import CLOCK_SHARE, Stamps
from collmark.core.case import Case
from collmark.core.errors import PlanError
from collmark.core.expansion import expand
from collmark.core.operation import Estimand
from collmark.core.placement import Placement
from collmark.core.plan import Plan
from collmark.core.record import Clock, ClockModel, Status

Times = NDArray[np.int64]
NODES, EACH = 8, 8
PLANTED: dict[str, Any] = {"clock_offset": 1000.0, "clock_drift": 50e-6, "alpha": 2e-3}
SHORT = 50e-6  # s: T of calls that the clocks cannot tell
TERMS = Terms(launch=1, precision=0.05, timeout=30.0, tick=1e-9)


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A case that was measured: its stamps by each host's own clock, as they were mapped, and the truth."""

    measured: Measured
    model: ClockModel
    own_SRI: Times
    mapped_SRI: Times
    true_SRI: Times

    @property
    def record_clock(self) -> Clock:
        """Return the kind of clocks."""
        return self.measured.record.clock

    @property
    def estimand(self) -> Estimand:
        """Return what T is."""
        assert self.measured.record.timing is not None
        return self.measured.record.timing.estimand


MeasureAll = Callable[..., list[Seen]]


def last_in_last_out(stamps_SRI: Times) -> Times:
    length: Times = stamps_SRI[1].max(axis=0) - stamps_SRI[0].max(axis=0)
    return length


def first_in_last_out(stamps_SRI: Times) -> Times:
    length: Times = stamps_SRI[1].max(axis=0) - stamps_SRI[0].min(axis=0)
    return length


def cases_of(operations: tuple[str, ...], nodes: int, each: int, sizes: str = "1KiB") -> tuple[Case, ...]:
    plan = Plan(operations=operations, sizes=sizes, backends=("simulated",))
    placement = Placement(nodes=nodes, ranks_per_node=each)
    return expand(plan, placement, {"simulated": BACKENDS["simulated"].capability}).cases


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch) -> MeasureAll:
    """Return a function that measures cases one after the other on one team."""

    def measure_all(
        operations: tuple[str, ...],
        planted: dict[str, Any],
        nodes: int = NODES,
        each: int = EACH,
        launch: int = 1,
        budget: float = 0.5,
    ) -> list[Seen]:
        blocks: list[tuple[Times, Times]] = []
        unwatched = CommonClock.moments

        def watched(common: CommonClock, layers_SRI: Times) -> Times:
            blocks.append((layers_SRI, unwatched(common, layers_SRI)))
            return blocks[-1][1]

        monkeypatch.setattr(CommonClock, "moments", watched)
        simulation = msgspec.convert(planted, Simulation)
        team = SimulatedTeam(simulation, nodes * each, launch, nodes=nodes)
        clocks = PlantedClocks(simulation, nodes, each, launch)
        team.common.settle(1.0, simulation.tick)
        measurement = Measurement(team, TERMS, lambda: False, lambda _progress: None)
        seen = []
        for case in cases_of(operations, nodes, each):
            blocks.clear()
            (measured,) = measurement.measure([case], budget)
            model = measured.record.clock_model
            assert model is not None
            own_SRI, mapped_SRI = (np.concatenate(parts, axis=2) for parts in zip(*blocks, strict=True))
            true_SRI = np.vectorize(clocks.moment, otypes=[np.int64])(np.arange(nodes * each)[:, None], own_SRI)
            seen.append(Seen(measured=measured, model=model, own_SRI=own_SRI, mapped_SRI=mapped_SRI, true_SRI=true_SRI))
        monkeypatch.setattr(CommonClock, "moments", unwatched)
        return seen

    return measure_all


def test_64_ranks_on_8_hosts_are_told_within_the_bound(measure: MeasureAll) -> None:
    for seen in measure(("all_reduce", "barrier"), PLANTED):
        record, model = seen.measured.record, seen.model
        assert record.clock is Clock.MODELLED
        assert record.simulated
        assert record.status is Status.CONVERGED
        assert record.timing is not None
        assert record.timing.estimand is Estimand.LAST_IN_LAST_OUT
        assert model.error < CLOCK_SHARE * record.timing.median
        assert model.leaders == list(range(EACH, NODES * EACH, EACH))
        off_H = np.abs(seen.mapped_SRI - seen.true_SRI).reshape(2, NODES, -1).max(axis=(0, 2)) * 1e-9
        assert off_H[0] == 0
        assert (off_H[1:] <= model.bound).all()
        assert off_H[1:].max() > 1e-7  # there is something to bound
        length = last_in_last_out(seen.true_SRI)
        assert np.abs(last_in_last_out(seen.mapped_SRI) - length).max() * 1e-9 <= model.error


def test_without_a_model_the_figures_would_be_others(measure: MeasureAll) -> None:
    # Rank 0 is late by 1 ms: by the clock that is furthest ahead alone, its own wait is part of L.
    late = {"straggler_rank": 0, "straggler_delay": 1e-3}
    all_reduce, broadcast = measure(("all_reduce", "broadcast"), PLANTED | late)
    length = last_in_last_out(all_reduce.true_SRI)
    assert np.abs(last_in_last_out(all_reduce.mapped_SRI) - length).max() * 1e-9 <= all_reduce.model.error
    assert np.abs(last_in_last_out(all_reduce.own_SRI) - length).min() * 1e-9 > 30 * all_reduce.model.error
    length = first_in_last_out(broadcast.true_SRI)
    assert np.abs(first_in_last_out(broadcast.mapped_SRI) - length).max() * 1e-9 <= broadcast.model.error
    assert np.abs(first_in_last_out(broadcast.own_SRI) - length).min() * 1e-9 > 100


@pytest.mark.slow
def test_bounds_hold_in_99_of_100_launches(measure: MeasureAll) -> None:
    within = []
    for launch in range(1, 101):
        planted = PLANTED | {"within_cv": 0.2}
        (seen,) = measure(("all_reduce",), planted, nodes=3, each=1, launch=launch)
        off_R = np.abs(seen.mapped_SRI - seen.true_SRI).max(axis=(0, 2)) * 1e-9
        lengths = last_in_last_out(seen.mapped_SRI) - last_in_last_out(seen.true_SRI)
        within.append((off_R[1:] <= seen.model.bound).all() and np.abs(lengths).max() * 1e-9 <= seen.model.error)
    assert np.mean(within) >= 0.99


def test_starts_are_agreed_across_hosts(measure: MeasureAll) -> None:
    (seen,) = measure(("all_reduce",), PLANTED | {"skew": 0.0})
    enter_RI = seen.true_SRI[0]
    assert (enter_RI.max(axis=0) - enter_RI.min(axis=0)).max() * 1e-9 <= seen.model.error
    ranks = seen.measured.record.ranks
    assert ranks is not None
    assert ranks.skew is not None
    assert ranks.skew <= seen.model.error
    assert len(ranks.last_in) == NODES * EACH


def test_calls_too_short_for_the_clocks_are_the_longest_local_duration(measure: MeasureAll) -> None:
    for seen in measure(("all_reduce", "broadcast", "ping_pong"), PLANTED | {"alpha": SHORT}):
        record = seen.measured.record
        assert record.clock is Clock.LOCAL
        assert record.simulated
        assert record.ranks is not None
        assert record.timing is not None
        assert record.ranks.skew is record.ranks.skewed is None
        assert record.ranks.last_in == []
        assert seen.model.error >= CLOCK_SHARE * record.timing.median
        if record.case.operation == "ping_pong":
            assert record.timing.estimand is Estimand.HALF_ROUND_TRIP
            assert record.timing.median == pytest.approx(SHORT, rel=0.1)
        else:
            assert record.timing.estimand is Estimand.LONGEST_LOCAL
            assert record.timing.median == pytest.approx(record.ranks.longest)


def test_a_barrier_is_checked_by_its_stamps_where_clocks_can_tell(measure: MeasureAll) -> None:
    (long,) = measure(("barrier",), PLANTED)
    assert long.measured.record.check.checked > 10
    assert long.measured.record.check.left_out == "no payload: checked by its time stamps"
    (short,) = measure(("barrier",), PLANTED | {"alpha": SHORT})
    assert short.measured.record.check.checked == 0
    assert short.measured.record.check.left_out == "no payload, and no common clock to check it by"


@pytest.mark.parametrize(("early", "wrong"), [(0, 0), (9_000, 0), (11_000, 5)])
def test_nobody_is_said_to_leave_a_barrier_early_by_less_than_the_bound(early: int, wrong: int) -> None:
    enter_RI = np.tile(np.arange(5) * 10**6, (2, 1))
    left_RI = enter_RI + np.array([[-early], [500_000]])
    stamps = Stamps(layers_SRI=np.stack([enter_RI, left_RI]), starts_I=None, comparable=True, error=10e-6)
    (case,) = cases_of(("barrier",), 2, 1)
    assert _barrier_check(case, stamps).wrong == wrong


def test_a_clock_that_is_set_costs_its_case_l_and_is_said(measure: MeasureAll) -> None:
    # Of three cases the second is measured while the last host's clock is set by 5 s.
    names = ("all_reduce", "all_gather", "barrier")
    noise = {"within_cv": 0.3, "clock_jump": 5.0}
    # Cases of half a second of calls, after one second of looks.
    seen = measure(names, PLANTED | noise | {"clock_jump_at": 2.0}, nodes=3, each=2)
    kinds = [one.record_clock for one in seen]
    at = kinds.index(Clock.LOCAL)
    assert kinds.count(Clock.LOCAL) == 1
    assert [bool(one.model.note) for one in seen] == [index == at for index in range(3)]
    assert seen[at].estimand is Estimand.LONGEST_LOCAL
    assert seen[at].model.error > 4.9
    assert "the clock of rank 4's host left its model by 5000000 us" in seen[at].model.note
    assert all(one.estimand is Estimand.LAST_IN_LAST_OUT for index, one in enumerate(seen) if index != at)


def test_a_coarse_clock_is_part_of_the_bound(measure: MeasureAll) -> None:
    (fine,) = measure(("all_reduce",), PLANTED, nodes=2, each=1)
    (coarse,) = measure(("all_reduce",), PLANTED | {"tick": 1e-5}, nodes=2, each=1)
    assert coarse.model.error >= fine.model.error + 0.9e-5
    off_R = np.abs(coarse.mapped_SRI - coarse.true_SRI).max(axis=(0, 2)) * 1e-9
    assert off_R[1] <= coarse.model.bound[0]


def test_without_planted_clocks_hosts_read_the_virtual_clock() -> None:
    team = SimulatedTeam(Simulation(), 4, 1, nodes=2)
    team.common.settle(1.0, 1e-9)
    assert team.clock is Clock.VIRTUAL
    assert team.now() == 0


def test_clocks_of_other_hosts_need_other_hosts() -> None:
    check_place_of(Simulation(clock_drift=1e-5), Placement(nodes=2))
    check_place_of(Simulation(), Placement())
    with pytest.raises(PlanError, match="one node has one clock; give placements of several nodes"):
        check_place_of(Simulation(clock_drift=1e-5), Placement(ranks_per_node=2))
