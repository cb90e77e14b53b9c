"""What a run still has to do, and how it ends; on simulated ranks."""

import os
import signal
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from collmark.bench.event import Event, LaunchEnded, RunStarted
from collmark.bench.launchers.joined import Joined
from collmark.bench.runner import Finished
from collmark.core.case import Case
from collmark.core.errors import InterruptedRunError, MeasurementError, PlanError, UsageError
from collmark.core.placement import Placement
from collmark.core.plan import AUTO, Plan
from collmark.core.record import Outcome, Record, Run, Status
from collmark.core.store import RunFolder
from collmark.workflow.interruption import StopSignals
from collmark.workflow.prepare import prepare
from collmark.workflow.run import (
    Sink,
    carry_out,
    check_joined_launches,
    create_run,
    grouped,
    is_settled,
    missing_rounds,
    open_into,
    share_of_next,
)

PLAN = Plan(
    operations=("all_reduce", "all_gather"), sizes="64B:4KiB:x8", backends=("simulated",), launches=3, case_budget=0.2
)
CASES = 6
JOINED = Joined(launcher="torchrun", rank=0, ranks=2, local_rank=0, nodes=1, host="127.0.0.1", job="j")


def new_run(folder: Path, plan: Plan = PLAN) -> RunFolder:
    prepared = prepare(plan, ranks=2, oversubscribe=True, joined=None)
    return create_run(prepared, output=None, label="", command=["collmark"], path=folder / "run")


def carried_out(
    run: RunFolder, stop_after: int = 10**9, *, number: int = signal.SIGTERM, launch: int | None = None
) -> list[Event]:
    """Carry out what is missing, in a launch that is named or any, and ask for a stop after so many records."""
    events: list[Event] = []
    signals = StopSignals(lambda _number: None)

    def emit(event: Event) -> None:
        events.append(event)
        if isinstance(event, Finished) and sum(isinstance(e, Finished) for e in events) == stop_after:
            os.kill(os.getpid(), number)

    with signals:
        carry_out(run, Sink(emit=emit, on_fault=lambda _text: None), signals, launch=launch)
    return events


def plain(run: RunFolder) -> list[Record]:
    return [record for record in run.records() if record.sentinel is None]


def keys(run: RunFolder) -> list[tuple[int, str, str]]:
    return sorted((record.launch, record.case.key, record.sentinel or "") for record in run.records())


def test_every_case_is_measured_once_in_every_launch(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    events = carried_out(run)
    assert Counter(record.launch for record in plain(run)) == {1: CASES, 2: CASES, 3: CASES}
    assert [launch.outcome for launch in run.read_run().launches] == [Outcome.COMPLETE] * 3
    (started,) = [event for event in events if isinstance(event, RunStarted)]
    assert (started.records, started.kept) == (3 * CASES, 0)
    assert missing_rounds(run.read_run(), run.records(), 3) == []


def test_what_is_emitted_is_on_disk(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    seen: list[int] = []

    def emit(event: Event) -> None:
        if isinstance(event, Finished):
            assert list(run.records())[-1] == event.record
            seen.append(1)

    carry_out(run, Sink(emit=emit, on_fault=lambda _text: None), StopSignals(lambda _number: None))
    assert len(seen) == 3 * (CASES + 3)


@pytest.mark.parametrize("stop_after", [1, 4, 9, 10, 17])
def test_a_stopped_run_is_resumed_with_only_what_is_missing(tmp_path: Path, stop_after: int) -> None:
    run = new_run(tmp_path)
    with pytest.raises(InterruptedRunError) as caught:
        carried_out(run, stop_after)
    assert caught.value.signal_number == signal.SIGTERM
    before = list(run.records())
    kept = len(plain(run))
    events = carried_out(run)
    (started,) = [event for event in events if isinstance(event, RunStarted)]
    assert (started.kept, started.records) == (kept, 3 * CASES - kept)
    assert list(run.records())[: len(before)] == before
    assert set(Counter(record.case.key for record in plain(run)).values()) == {3}
    ids = [launch.id for launch in run.read_run().launches]
    assert ids == sorted(set(ids))


def test_a_signal_for_an_end_after_the_case_ends_a_run_that_is_resumed(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    with pytest.raises(InterruptedRunError) as caught:
        carried_out(run, 5, number=signal.SIGUSR1)
    assert caught.value.signal_number == signal.SIGUSR1
    assert len(list(run.records())) == 5
    (launch,) = run.read_run().launches
    assert (launch.outcome, launch.reason) == (Outcome.INTERRUPTED, "ended after a case, as was asked for")
    carried_out(run)
    assert not missing_rounds(run.read_run(), run.records(), 3)


@pytest.mark.parametrize(
    ("number", "stop_after"), [(signal.SIGTERM, 1), (signal.SIGUSR1, 4), (signal.SIGUSR1, CASES + 2)]
)
def test_a_launch_that_is_broken_off_is_completed_as_itself(tmp_path: Path, number: int, stop_after: int) -> None:
    undisturbed, run = new_run(tmp_path / "undisturbed"), new_run(tmp_path)
    carried_out(undisturbed, launch=2)
    with pytest.raises(InterruptedRunError):
        carried_out(run, stop_after, number=number, launch=2)
    assert len(list(run.records())) == stop_after
    carried_out(run, launch=2)
    assert keys(run) == keys(undisturbed)
    (launch,) = run.read_run().launches
    assert (launch.id, launch.outcome, launch.reason) == (2, Outcome.COMPLETE, "")
    assert [restart[:16] for restart in launch.restarts] == [f"began {launch.started[:10]}"]
    before = list(run.records())
    events = carried_out(run, launch=2)
    assert [type(event) for event in events] == [RunStarted], "there is nothing left to do"
    assert list(run.records()) == before


def test_launches_of_several_placements_are_not_completed_by_number(tmp_path: Path) -> None:
    plan = msgspec.structs.replace(PLAN, placements=(Placement(ranks_per_node=2), Placement(ranks_per_node=3)))
    prepared = prepare(plan, ranks=None, oversubscribe=True, joined=None)
    run = create_run(prepared, output=None, label="", command=["collmark"], path=tmp_path / "run")
    with pytest.raises(UsageError, match="--launch 1: the run has launches of several backends or placements"):
        carried_out(run, launch=1)


def test_a_stop_that_comes_after_the_last_record_changes_nothing(tmp_path: Path) -> None:
    run = new_run(tmp_path, msgspec.structs.replace(PLAN, launches=1))
    events = carried_out(run, CASES + 3)
    assert [event.outcome for event in events if isinstance(event, LaunchEnded)] == [Outcome.COMPLETE]


def test_a_dead_rank_is_an_error_that_names_the_launch_and_is_kept_in_the_run(tmp_path: Path) -> None:
    plan = msgspec.structs.replace(PLAN, simulation={"dead_rank": 1, "dead_after": 200})
    run = new_run(tmp_path, plan)
    with pytest.raises(MeasurementError, match=r"rank 1 .*, launch 1"):
        carried_out(run)
    (launch,) = run.read_run().launches
    assert launch.outcome is Outcome.LOST
    assert "rank 1" in launch.reason


def case(operation: str, backend: str = "simulated") -> Case:
    return Case(
        operation=operation,
        backend=backend,
        dtype="float32",
        placement=Placement(ranks_per_node=2),
        nbytes=64,
        requested_nbytes=64,
        reduction="sum" if operation == "all_reduce" else "",
    )


def run_of(*cases: Case) -> Run:
    return Run(schema_version=1, label="", created="", version="", command=[], plan=PLAN, cases=list(cases), notices=[])


def test_a_broken_off_case_joins_the_cases_that_are_missing_elsewhere(tmp_path: Path) -> None:
    run = new_run(tmp_path, msgspec.structs.replace(PLAN, launches=1))
    carried_out(run)
    one, *others = plain(run)
    description = run.read_run()
    rounds = missing_rounds(description, [one, *others, *others], 3)
    assert [len(cases) for cases in rounds] == [CASES, 1]
    assert rounds[1] == [one.case]


def test_failed_and_wrong_cases_are_done_and_sentinels_count_for_nothing(tmp_path: Path) -> None:
    run = new_run(tmp_path, msgspec.structs.replace(PLAN, launches=1))
    carried_out(run)
    record = plain(run)[0]
    description = run_of(record.case)
    for status in (Status.FAILED, Status.WRONG, Status.UNSTABLE, Status.BUDGET):
        assert missing_rounds(description, [msgspec.structs.replace(record, status=status)], 1) == []
    sentinel = next(r for r in run.records() if r.sentinel is not None)
    assert missing_rounds(run_of(sentinel.case), [sentinel], 1) == [[sentinel.case]]


def test_cases_that_can_share_processes_are_one_launch() -> None:
    cases = [case("all_reduce"), case("all_reduce", "gloo"), case("all_gather"), case("all_gather", "gloo")]
    assert [(key[0], [c.operation for c in group]) for key, group in grouped(cases)] == [
        ("simulated", ["all_reduce", "all_gather"]),
        ("gloo", ["all_reduce", "all_gather"]),
    ]


def test_auto_adds_launches_until_the_interval_is_narrow_four_times_in_a_row(tmp_path: Path) -> None:
    run = new_run(tmp_path, msgspec.structs.replace(PLAN, launches=AUTO, precision=0.3))
    carried_out(run)
    launches = len(run.read_run().launches)
    assert launches >= 5
    assert is_settled([1.0, 1.01, 0.99, 1.0, 1.0, 1.0], 0.05)
    assert not is_settled([1.0, 1.01, 0.99, 1.0, 1.0], 0.05)  # of the first two it was 6 %
    assert not is_settled([1.0, 1.01, 0.99, 1.0, 1.0, 3.0], 0.05)
    assert not any(is_settled([1.0] * few, 0.05) for few in range(5))


def test_a_run_that_is_locked_is_refused(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.lock()
    with pytest.raises(UsageError, match="is being written by another collmark"):
        carried_out(RunFolder(run.path))
    run.unlock()
    carried_out(RunFolder(run.path))


def test_a_process_set_joins_a_run_of_the_same_plan_only(tmp_path: Path) -> None:
    plan = check_joined_launches(Plan(operations=("all_reduce",)), JOINED, asked=False)
    assert plan.launches == 1
    mine = prepare(plan, ranks=None, oversubscribe=False, joined=JOINED)
    made = open_into(tmp_path / "joined", mine, ["collmark"])
    assert open_into(tmp_path / "joined", mine, ["collmark"]).path == made.path
    other = prepare(msgspec.structs.replace(plan, seed=5), ranks=None, oversubscribe=False, joined=JOINED)
    with pytest.raises(PlanError, match="another plan: seed differ"):
        open_into(tmp_path / "joined", other, ["collmark"])


def test_several_launches_of_one_process_set_are_refused_only_where_asked_for() -> None:
    plan = Plan(launches=4)
    with pytest.raises(UsageError, match=r"--launches 4: ranks started by torchrun are one launch.*--into RUN"):
        check_joined_launches(plan, JOINED, asked=True)
    assert check_joined_launches(plan, JOINED, asked=False).launches == 1
    assert check_joined_launches(Plan(launches=1), JOINED, asked=True).launches == 1


def test_launches_share_the_time_by_weight() -> None:
    order, shares = ["gloo", "mpi", "gloo", "mpi"], {"gloo": 5.0, "mpi": 3.0}
    left, given = 160.0, []
    for position in range(len(order)):
        given.append(left * share_of_next(order[position:], shares))
        left -= given[-1]
    assert given == pytest.approx([50, 30, 50, 30])
    assert share_of_next(["gloo", "mpi"], {}) == 0.5
