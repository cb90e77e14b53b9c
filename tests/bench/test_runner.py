"""One launch: the order of its cases, its sentinels, its budget, and records that are on disk in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collmark.bench.measurement import Progress, Terms
from collmark.bench.runner import (
    SENTINEL_SHARE,
    BudgetSpent,
    Finished,
    allowance,
    run_launch,
    sentinel_of,
    shuffled,
)
from collmark.bench.simulation.spec import Simulation
from collmark.bench.simulation.team import SimulatedTeam
from collmark.bench.stops import Stops
from collmark.core.case import Case, companies
from collmark.core.errors import InterruptedRunError, MeasurementError, UnavailableError
from collmark.core.grouping import Company, groups_of
from collmark.core.placement import Placement
from collmark.core.plan import Plan
from collmark.core.plan_field import LEAST_CASE
from collmark.core.record import SCHEMA_VERSION, Record, Run, Sentinel, Status
from collmark.core.store import RECORDS_FILE, RunFolder, Writer

SIMULATION = Simulation(alpha=1e-3, skew=0.0)


def case_of(operation: str, nbytes: int) -> Case:
    return Case(
        operation=operation,
        backend="simulated",
        dtype="float32",
        placement=Placement(ranks_per_node=2),
        nbytes=nbytes,
        requested_nbytes=nbytes,
        reduction="sum" if operation == "all_reduce" else "",
    )


CASES = [case_of(operation, 64 << power) for operation in ("all_reduce", "all_gather") for power in range(5)]


# -- order


def test_every_launch_has_an_order_of_its_own_that_the_seed_decides() -> None:
    orders = [shuffled(CASES, 1, launch) for launch in range(1, 6)]
    for order in orders:
        assert sorted(order, key=lambda case: case.key) == sorted(CASES, key=lambda case: case.key)
    assert len({tuple(case.key for case in order) for order in orders}) == 5
    assert orders == [shuffled(CASES, 1, launch) for launch in range(1, 6)]
    assert orders != [shuffled(CASES, 2, launch) for launch in range(1, 6)]
    assert CASES[0].nbytes == 64  # the argument is left alone


def test_sizes_are_no_monotone_sweep() -> None:
    one_operation = [case_of("all_reduce", 64 << power) for power in range(10)]
    for launch in range(1, 50):
        sizes = [case.nbytes for case in shuffled(one_operation, 1, launch)]
        assert sizes not in (sorted(sizes), sorted(sizes, reverse=True))


def test_the_sentinel_is_the_middle_size_of_the_first_operation() -> None:
    assert sentinel_of(CASES) == case_of("all_reduce", 64 << 2)
    assert sentinel_of(CASES[::-1]) == case_of("all_gather", 64 << 2)
    assert sentinel_of(CASES[:1]) == CASES[0]


# -- budget


@given(
    st.floats(0.01, 100),
    st.floats(0, 1000),
    st.lists(st.floats(0, 1), min_size=1, max_size=60),
)
def test_allowances_never_exceed_the_budget_whatever_the_cases_use(
    case_budget: float, budget: float, used: list[float]
) -> None:
    spent = 0.0
    for position, share in enumerate(used):
        allowed = allowance(case_budget, budget - spent, len(used) - position)
        assert 0 <= allowed <= case_budget
        spent += allowed * share
        assert spent <= budget * (1 + 1e-12)


@given(st.integers(1, 300), st.floats(0.1, 1000))
def test_cases_that_use_all_they_may_use_up_the_budget(cases: int, budget: float) -> None:
    remaining = budget
    for left in range(cases, 0, -1):
        remaining -= allowance(1e9, remaining, left)
    assert remaining == pytest.approx(0, abs=1e-9 * budget)


def test_nobody_gets_less_because_others_finished_early() -> None:
    # Ten cases of a budget of 10 s; the first nine take nothing.
    assert allowance(100, 10, 1) == 10
    assert allowance(2, 10, 1) == 2
    assert allowance(100, 10, 9) == 2


# -- a launch


class Bench:
    """Runs launches of simulated ranks into a folder, and watches the team."""

    def __init__(self, path: Path, simulation: Simulation = SIMULATION, plan: Plan | None = None) -> None:
        self.plan = plan or Plan(case_budget=0.5)
        run = Run(
            schema_version=SCHEMA_VERSION, label="", created="", version="", command=[], plan=self.plan, cases=CASES,
            notices=[],
        )  # fmt: skip
        self.folder = RunFolder.create(path / "run", run)
        self.simulation = simulation
        self.team = SimulatedTeam(simulation, 2, 1)
        self.reserved: list[int] = []
        self.on_bind: Callable[[Case], None] = lambda _case: None

    def events(
        self,
        cases: list[Case] = CASES,
        *,
        launch: int = 1,
        budget: float = 1e9,
        **options: Any,  # noqa: ANN401 - passed on
    ) -> Iterator[Finished | BudgetSpent]:
        team, watch = SimulatedTeam(self.simulation, 2, launch), self
        self.team = team

        class Watched:
            ranks, clock, evidence = team.ranks, team.clock, team.evidence

            def reserve(self, nbytes: int, _eviction: int) -> None:
                watch.reserved.append(nbytes)

            def bind(self, cases: Sequence[Case], cache: int) -> None:
                watch.on_bind(cases[0])
                team.bind(cases, cache)

            def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever else a team does
                return getattr(team, name)

        terms = Terms(launch=launch, precision=self.plan.precision, timeout=30.0, tick=self.simulation.tick)
        given: dict[str, Any] = {"stops": Stops(), "report": lambda _progress: None} | options
        writer = given.pop("writer", None) or Writer(self.folder, launch, 0)
        return run_launch(Watched(), cases, self.plan, terms, writer, budget=budget, **given)

    def records(self, **options: Any) -> list[Record]:  # noqa: ANN401 - passed on
        return [event.record for event in self.events(**options) if isinstance(event, Finished)]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_every_case_is_measured_once_between_sentinels(bench: Bench) -> None:
    records = bench.records(launch=3)
    marks = [record.sentinel for record in records]
    assert marks == [Sentinel.START, *[None] * 5, Sentinel.MIDDLE, *[None] * 5, Sentinel.END]
    assert {record.case for record in records if record.sentinel} == {sentinel_of(CASES)}
    assert [record.case for record in records if not record.sentinel] == shuffled(CASES, 1, 3)
    assert {record.launch for record in records} == {3}
    assert {record.status for record in records} == {Status.CONVERGED}


def test_what_is_yielded_is_what_is_on_disk(bench: Bench) -> None:
    assert list(bench.folder.records()) == []
    records = bench.records()
    assert list(bench.folder.records()) == records


def test_each_record_is_on_disk_before_the_next_case_is_touched(bench: Bench) -> None:
    lines: list[int] = []
    path = bench.folder.path / RECORDS_FILE
    bench.on_bind = lambda _case: lines.append(len(path.read_bytes().splitlines()))
    bench.records()
    assert lines == list(range(len(CASES) + 3))


def test_the_largest_buffers_are_reserved_first_and_once(bench: Bench) -> None:
    order: list[str] = []
    bench.on_bind = lambda _case: order.append(f"bind, {len(bench.reserved)} reserved")
    bench.records()
    assert bench.reserved == [64 << 4]
    assert set(order) == {"bind, 1 reserved"}


def test_buffers_that_do_not_fit_end_the_launch_before_it_begins(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(list[int]):
        def append(self, _nbytes: int) -> None:
            raise UnavailableError("choose smaller --sizes")

    monkeypatch.setattr(bench, "reserved", Refusing())
    with pytest.raises(UnavailableError, match="choose smaller"):
        bench.records()
    assert list(bench.folder.records()) == []


NOISY = Simulation(alpha=1e-3, within_cv=1.0, skew=0.0)


@pytest.mark.parametrize("budget", [3.0, 1.0, 0.4])
def test_the_whole_budget_bounds_the_launch(tmp_path: Path, budget: float) -> None:
    bench = Bench(tmp_path, NOISY, Plan(case_budget=0.5, precision=0.0005))
    events = list(bench.events(budget=budget))
    # One call and its checks may come on top of each case's allowance.
    assert bench.team.now() <= budget + len(events) * 0.02
    spent = [event for event in events if isinstance(event, BudgetSpent)]
    finished = [event.record for event in events if isinstance(event, Finished)]
    ordinary = [record for record in finished if record.sentinel is None]
    if spent:
        assert events[-1] is spent[0]
        assert spent[0].cases == len(CASES) - len(ordinary)
    else:
        assert len(ordinary) == len(CASES)
    assert {record.status for record in finished} <= {Status.BUDGET, Status.UNSTABLE}


def test_a_budget_that_is_spent_says_how_many_cases_it_left(tmp_path: Path) -> None:
    # Every case takes longer than it may: two checks, a warm-up and a repetition there must be.
    bench = Bench(tmp_path, Simulation(alpha=0.03), Plan(case_budget=0.5))
    events = list(bench.events(budget=1.0))
    ordinary = [event for event in events if isinstance(event, Finished) and event.record.sentinel is None]
    assert 0 < len(ordinary) < len(CASES)
    assert events[-1] == BudgetSpent(cases=len(CASES) - len(ordinary))
    assert sum(isinstance(event, BudgetSpent) for event in events) == 1
    assert list(bench.events(budget=0.0)) == [BudgetSpent(cases=len(CASES))]


def test_less_than_the_least_is_not_begun(bench: Bench) -> None:
    cases = CASES[:1]
    # Four rows: the first may take two fifths of the budget.
    events = list(bench.events(cases=cases, budget=LEAST_CASE * 2.49))
    assert events == [BudgetSpent(cases=1)]
    assert isinstance(next(bench.events(cases=cases, budget=LEAST_CASE * 2.51)), Finished)


def test_a_sentinel_takes_a_share_of_what_a_case_may(tmp_path: Path) -> None:
    bench = Bench(tmp_path, NOISY, Plan(case_budget=0.8, precision=0.0005))
    records = bench.records()
    for record in records:
        share = SENTINEL_SHARE if record.sentinel else 1.0
        assert record.wall == pytest.approx(0.8 * share, rel=0.2)


def test_a_stop_keeps_what_is_finished(bench: Bench) -> None:
    finished: list[Finished | BudgetSpent] = []
    events = bench.events(stops=Stops(now=lambda: len(finished) >= 3))
    with pytest.raises(InterruptedRunError):
        finished.extend(events)
    assert len(finished) == 3
    assert len(list(bench.folder.records())) == 3


def test_an_end_after_the_case_keeps_that_case_too(bench: Bench) -> None:
    bound: list[Case] = []
    bench.on_bind = bound.append
    with pytest.raises(InterruptedRunError, match="ended after a case"):
        bench.records(stops=Stops(after_case=lambda: len(bound) >= 3))
    assert [record.case for record in bench.folder.records()] == bound
    assert len(bound) == 3


@pytest.mark.parametrize("there", [0, 1, 4, len(CASES) + 2])
def test_what_earlier_processes_of_a_launch_have_written_is_left_out_and_the_rest_keeps_its_order(
    tmp_path: Path, there: int
) -> None:
    (tmp_path / "whole").mkdir()
    whole = [(record.case.key, record.sentinel or "") for record in Bench(tmp_path / "whole").records()]
    bench = Bench(tmp_path)
    rest = bench.records(writer=Writer(bench.folder, 1, 0, whole[:there]))
    assert [(record.case.key, record.sentinel or "") for record in rest] == whole[there:]


def test_a_lost_rank_keeps_what_is_finished(tmp_path: Path) -> None:
    bench = Bench(tmp_path, msgspec.structs.replace(SIMULATION, dead_rank=1, dead_after=200))
    with pytest.raises(MeasurementError, match="rank 1"):
        bench.records()
    kept = list(bench.folder.records())
    assert 0 < len(kept) < len(CASES)
    assert all(record.timing is not None for record in kept)


def test_a_wrong_result_does_not_end_the_launch(tmp_path: Path) -> None:
    bench = Bench(tmp_path, msgspec.structs.replace(SIMULATION, wrong_rank=1, wrong_after=200))
    records = bench.records()
    assert len(records) == len(CASES) + 3
    assert {record.status for record in records} == {Status.CONVERGED, Status.WRONG}


def test_progress_is_passed_on(bench: Bench) -> None:
    seen: list[Progress] = []
    bench.records(report=seen.append)
    order, sentinel = shuffled(CASES, 1, 1), sentinel_of(CASES)
    begun = [progress.case for progress in seen if progress.repetitions == 0]
    assert begun == [sentinel, *order[:5], sentinel, *order[5:], sentinel]


def test_groups_at_once_are_one_place_in_the_order_and_a_record_each(tmp_path: Path) -> None:
    whole = CASES[0]
    groups = groups_of("blocked:2", Placement(ranks_per_node=4), Company.TOGETHER)
    together = [msgspec.structs.replace(whole, group=group, placement=group.placement) for group in groups]
    assert companies([*together, whole]) == [tuple(together), (whole,)]
    bench = Bench(tmp_path)
    team = SimulatedTeam(bench.simulation, 4, 1)
    terms = Terms(launch=1, precision=0.05, timeout=30.0, tick=1e-9)
    # A launch that was broken off wants the second group only: the first is measured with it, for its company.
    events = run_launch(
        team, together[1:], bench.plan, terms, Writer(bench.folder, 1, 0), budget=10.0, stops=Stops(),
        report=lambda _progress: None,
    )  # fmt: skip
    records = [event.record for event in events if isinstance(event, Finished)]
    assert [record.case for record in records] == [together[1]] * 4
    assert [record.sentinel for record in records].count(None) == 1


def test_the_sentinel_is_one_case_though_its_groups_are_measured_at_once(tmp_path: Path) -> None:
    groups = groups_of("blocked:2", Placement(ranks_per_node=4), Company.TOGETHER)
    together = [msgspec.structs.replace(CASES[0], group=group, placement=group.placement) for group in groups]
    bench = Bench(tmp_path)
    terms = Terms(launch=1, precision=0.05, timeout=30.0, tick=1e-9)
    events = run_launch(
        SimulatedTeam(bench.simulation, 4, 1), together, bench.plan, terms, Writer(bench.folder, 1, 0), budget=10.0,
        stops=Stops(), report=lambda _progress: None,
    )  # fmt: skip
    records = [event.record for event in events if isinstance(event, Finished)]
    assert len({record.case.key for record in records if record.sentinel is not None}) == 1
    assert sorted(record.case.key for record in records if record.sentinel is None) == sorted(c.key for c in together)
    assert len(records) == 3 + 2
