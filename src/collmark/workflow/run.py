"""Carry out a plan: launches one after the other, each record on disk before the next case."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from collmark import __version__
from collmark.bench.environment import usable_cores
from collmark.bench.event import Event, LaunchStarted, PipedEvent, RunStarted
from collmark.bench.job import Job
from collmark.bench.launchers.joined import Joined
from collmark.bench.launchers.seating import be_rank, send_home, turn_away
from collmark.bench.launchers.start import launch_of
from collmark.bench.memory import check_memory
from collmark.bench.simulation.launch import simulate_launch
from collmark.core.case import Case
from collmark.core.errors import CollmarkError, InterruptedRunError, MeasurementError, UsageError, one_line
from collmark.core.metrics import like_medians
from collmark.core.placement import Placement
from collmark.core.plan import AUTO, Plan, check_plan
from collmark.core.record import SCHEMA_VERSION, Launch, Outcome, Record, Run, Sentinel, Status
from collmark.core.statistics import log_t_interval
from collmark.core.store import RUN_FILE, RunFolder
from collmark.workflow.bound import most_seconds
from collmark.workflow.interruption import StopSignals
from collmark.workflow.places import new_run_path
from collmark.workflow.prepare import SIMULATED, Prepared, same_plan

UNBOUNDED = 1e9  # s
MOST_AUTO_LAUNCHES = 100
IN_A_ROW = 4  # intervals over launches that must be narrow before `auto` stops: docs/proof/ratios.md
DONE = frozenset({Status.CONVERGED, Status.BUDGET, Status.UNSTABLE, Status.WRONG, Status.FAILED})


class Sink(msgspec.Struct, frozen=True, kw_only=True):
    """Who is told what happens.

    Attributes
    ----------
    emit : callable
        Receives every event.
    on_fault : callable
        Receives the one line of a watchdog that is about to end this very process.
    """

    emit: Callable[[Event], None]
    on_fault: Callable[[str], None]


def create_run(
    prepared: Prepared, *, output: Path | None, label: str, command: Sequence[str], path: Path | None = None
) -> RunFolder:
    """Make the folder of a new run."""
    return RunFolder.create(
        path or new_run_path(output, label),
        Run(
            schema_version=SCHEMA_VERSION,
            label=label,
            created=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            version=__version__,
            command=list(command),
            plan=prepared.plan,
            cases=list(prepared.cases),
            notices=[*prepared.notices, *prepared.warnings],
        ),
    )


def missing_rounds(run: Run, records: Iterable[Record], launches: int) -> list[list[Case]]:
    """Return the cases that each launch to come must hold, so that every case has `launches` records.

    A launch is an independent replicate: a case broken off in launch 3 is measured in a new launch, beside the
    other cases that are missing there.
    """
    there = Counter(record.case.key for record in records if record.sentinel is None and record.status in DONE)
    wanted = [(case, launches - there[case.key]) for case in run.cases]
    most = max((need for _case, need in wanted), default=0)
    return [[case for case, need in wanted if need > position] for position in range(max(0, most))]


def carry_out(
    folder: RunFolder, sink: Sink, signals: StopSignals, joined: Joined | None = None, launch: int | None = None
) -> None:
    """Measure what is missing in a run.

    Parameters
    ----------
    folder, sink, signals
        The run, who is told, who stops it.
    joined : Joined or None
        The launcher that started this process, if any.
    launch : int or None
        The launch that these ranks are, of which only what is missing is measured; None for one more.

    Raises
    ------
    InterruptedRunError
        If a signal came; everything finished is on disk.
    MeasurementError
        If a rank was lost, the disk is full (everything finished is on disk), or the folder was taken away.
    """
    others = None if SIMULATED in folder.read_run().plan.backends else joined  # rank 0 simulates all ranks itself
    with telling_others(others):
        lock = folder.lock()
    try:
        with telling_others(others):
            folder.mend()
        with _missing_folder_noticed(folder):
            _Execution(folder, lock, sink, signals, joined).run(launch)
    except KeyboardInterrupt as error:
        raise InterruptedRunError("stopped at once", signals.received or signal.SIGINT) from error
    finally:
        folder.unlock()


def lacks_sentinel(launch: Launch | None, there: Collection[tuple[str, str]]) -> bool:
    """Whether a launch was broken off before the last repeat of its sentinel.

    Parameters
    ----------
    launch : Launch or None
        None where there is none yet.
    there : collection of (str, str)
        Its records: key of the case, and which repeat of the sentinel it is; empty for none.
    """
    is_broken_off = launch is not None and launch.outcome not in (Outcome.COMPLETE, Outcome.BUDGET)
    return is_broken_off and len({mark for _key, mark in there if mark}) < len(Sentinel)


@contextlib.contextmanager
def _missing_folder_noticed(folder: RunFolder) -> Iterator[None]:
    """Name the cause of whatever goes wrong in a run whose folder was taken away."""
    try:
        yield
    except (CollmarkError, OSError) as error:
        gone = next((path for path in (folder.path, folder.path / RUN_FILE) if not path.exists()), None)
        if gone is None:
            raise
        raise MeasurementError(f"measurement lost: {gone} vanished during the run") from error


@contextlib.contextmanager
def telling_others(joined: Joined | None) -> Iterator[None]:
    """Pass an error of rank 0 alone, met before the launch begins, on to the other ranks, which wait for it."""
    try:
        yield
    except CollmarkError as error:
        if joined is not None and joined.rank == 0:
            turn_away(joined, error)
        raise


class _Execution:
    """One `carry_out`."""

    def __init__(self, folder: RunFolder, lock: int, sink: Sink, signals: StopSignals, joined: Joined | None) -> None:
        self._folder = folder
        self._lock = lock
        self._sink = sink
        self._signals = signals
        self._joined = joined
        self._launch: Launch | None = None
        self._run = folder.read_run()
        self._plan = self._run.plan
        check_plan(self._plan)
        self._ends = time.monotonic() + (self._plan.budget or UNBOUNDED)

    def run(self, launch: int | None) -> None:
        """Make the launches that are missing, and more while `auto` asks for them; or what is missing of one."""
        records = list(self._folder.records())
        if launch is not None:
            self._complete(launch, records)
            return
        launches = 1 if self._joined else self._plan.first_launches
        # Every process set that joins is one more launch of the whole plan, whatever is there.
        rounds = missing_rounds(self._run, [] if self._joined else records, launches)
        check_memory([case for cases in rounds for case in cases if case.backend != SIMULATED])
        self._announce(rounds, records)
        self._make(rounds)
        if self._plan.launches == AUTO and not self._joined:
            for _extra in range(MOST_AUTO_LAUNCHES - launches):
                wide = self._too_wide()
                if not wide or time.monotonic() >= self._ends:
                    return
                self._make([wide])

    def _complete(self, launch: int, records: Sequence[Record]) -> None:
        """Be one launch of the run: measure what earlier processes of it have not, if anything."""
        own = [record for record in records if record.launch == launch and record.status in DONE]
        there = {(record.case.key, record.sentinel or "") for record in own}
        known = next((one for one in self._run.launches if one.id == launch), None)
        missing = [case for case in self._run.cases if (case.key, "") not in there]
        self._announce([missing] if missing else [], own)
        if not missing and not lacks_sentinel(known, there):
            if self._joined:
                send_home(self._joined, f"launch {launch} is complete", self._plan.timeout)
            return
        if self._signals.received or self._signals.is_ending():
            raise InterruptedRunError("stopped before the launch", self._signals.number)
        groups = list(grouped(self._run.cases))
        if len(groups) > 1:
            raise UsageError(f"--launch {launch}: the run has launches of several backends or placements; use --resume")
        ((backend, placement), cases) = groups[0]
        job = self._job(backend, placement, cases, self._ends - time.monotonic(), launch)
        restarts = (*known.restarts, ending_of(known)) if known else ()
        self._carry_out(msgspec.structs.replace(job, there=tuple(sorted(there)), restarts=restarts))

    def _announce(self, rounds: Sequence[Sequence[Case]], records: Sequence[Record]) -> None:
        groups = [group for cases in rounds for group in grouped(cases)]
        # A launcher may have bound this rank to a core of its own.
        cores = os.cpu_count() or 1 if self._joined else usable_cores()
        self._sink.emit(
            RunStarted(
                folder=str(self._folder.path),
                run=self._run,
                records=sum(len(cases) for cases in rounds),
                kept=sum(record.sentinel is None for record in records),
                at_most=most_seconds(self._plan, [cases for _key, cases in groups], cores),
                warnings=tuple(self._run.notices),
            )
        )

    def _make(self, rounds: Sequence[Sequence[Case]]) -> None:
        launches = [group for cases in rounds for group in grouped(cases)]
        backends = [backend for (backend, _placement), _cases in launches]
        for position, ((backend, placement), cases) in enumerate(launches):
            remaining = self._ends - time.monotonic()
            if remaining <= 0 and not self._joined:  # where others wait for rank 0, the launch ends in good order
                return
            if self._signals.received or self._signals.is_ending():
                raise InterruptedRunError("stopped between launches", self._signals.number)
            known = [launch.id for launch in self._folder.read_run().launches]
            budget = remaining * share_of_next(backends[position:], self._plan.shares)
            self._carry_out(self._job(backend, placement, cases, budget, max(known, default=0) + 1))

    def _job(self, backend: str, placement: Placement, cases: Sequence[Case], budget: float, launch: int) -> Job:
        sampled = sum(path.stat().st_size for path in self._folder.path.glob("samples-*.i64"))
        return Job(
            folder=str(self._folder.path.resolve()),
            launch=launch,
            backend=backend,
            placement=placement,
            cases=tuple(cases),
            plan=self._plan,
            budget=budget,
            samples_left=max(0, self._plan.samples - sampled),
            launcher=self._joined.launcher if self._joined else "collmark",
            allocation=one_line(os.environ.get("SLURM_JOB_ID", "")),
        )

    def _carry_out(self, job: Job) -> None:
        self._launch = None
        try:
            if job.backend == SIMULATED:
                simulate_launch(job, self._emit, self._signals.is_stopping, self._signals.is_ending)
            elif self._joined:
                received, is_ending = (lambda: self._signals.received), self._signals.is_ending
                be_rank(self._joined, job, self._emit, received, self._on_fault, is_ending)
            else:
                launch = launch_of(job, self._folder.path / "logs", keep=(self._lock,))
                launch.run(self._emit, self._signals.is_stopping, self._signals.is_ending)
        except InterruptedRunError as error:
            self._mark(Outcome.INTERRUPTED, str(error))
            raise InterruptedRunError(str(error), self._signals.number) from error
        except MeasurementError as error:
            self._mark(Outcome.LOST, str(error))
            raise MeasurementError(f"{error}, launch {job.launch}") from error
        except OSError as error:  # of whoever shows events
            self._mark(Outcome.INTERRUPTED, f"the output cannot be written: {error}")
            raise

    def _emit(self, event: PipedEvent) -> None:
        if isinstance(event, LaunchStarted):
            self._launch = event.launch
        self._sink.emit(event)  # type: ignore[arg-type]

    def _on_fault(self, text: str) -> None:
        """Tell why the watchdog is about to end this very process, a rank, and note it: nobody else will."""
        self._sink.on_fault(text)
        self._mark(Outcome.INTERRUPTED if self._signals.received else Outcome.LOST, text)

    def _mark(self, outcome: Outcome, reason: str) -> None:
        """Note in run.json how the launch ended, as far as the disk still lets us."""
        if self._launch is None:
            return
        with contextlib.suppress(CollmarkError):
            self._folder.put_launch(msgspec.structs.replace(self._launch, outcome=outcome, reason=reason))

    def _too_wide(self) -> list[Case]:
        """Return the cases whose interval over launches is not yet within the precision twice in a row."""
        of_case: dict[str, list[Record]] = {}
        for record in self._folder.records():
            if record.sentinel is None and record.timing is not None and record.timing.median > 0:
                of_case.setdefault(record.case.key, []).append(record)
        medians = {key: like_medians(records)[0] for key, records in of_case.items()}
        return [case for case in self._run.cases if not is_settled(medians.get(case.key, []), self._plan.precision)]


def ending_of(launch: Launch) -> str:
    """Return how the processes of a launch ended, which others follow."""
    hosts = ", ".join(host.name for host in launch.hosts)
    return f"began {launch.started} on {hosts}: {launch.reason or 'nobody was left to say how it ended'}"


def share_of_next(backends: Sequence[str], shares: Mapping[str, float]) -> float:
    """Return the share of the time left that the first of these launches may take."""
    weights = [shares.get(backend, 1.0) for backend in backends]
    return weights[0] / sum(weights)


def is_settled(medians: Sequence[float], precision: float) -> bool:
    """Whether the interval over launches is within the precision, and was so without the last one, two and three.

    A rule that stops at the first narrow interval finds those that are narrow by chance, and cover less.
    """
    intervals = [log_t_interval(list(medians[: max(0, len(medians) - left)])) for left in range(IN_A_ROW)]
    return all(interval is not None and interval.relative_half_width <= precision for interval in intervals)


def grouped(cases: Sequence[Case]) -> Iterator[tuple[tuple[str, Placement], list[Case]]]:
    """Yield the cases that can share processes: one backend on one placement of all ranks."""
    groups: dict[tuple[str, Placement], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.backend, case.world), []).append(case)
    yield from groups.items()


def open_into(path: Path, prepared: Prepared, command: Sequence[str]) -> RunFolder:
    """Return the run that a process set joins, made if it is not there; its plan must be the same."""
    if not path.exists():
        return create_run(prepared, output=None, label="", command=command, path=path)
    folder = RunFolder(path)
    same_plan(folder.read_run().plan, prepared.plan)
    return folder


def follow(prepared: Prepared, joined: Joined, sink: Sink, signals: StopSignals | None = None) -> None:
    """Be any rank but 0 of a joined launch: rank 0 knows the cases, writes and shows.

    Raises
    ------
    UnavailableError, MeasurementError
        If the launch does not come about, or is lost.
    """
    job = Job(
        folder="",
        launch=0,
        backend=prepared.plan.backends[0],
        placement=prepared.plan.placements[0],
        cases=(),
        plan=prepared.plan,
        budget=0.0,
        samples_left=0,
        launcher=joined.launcher,
    )
    be_rank(joined, job, lambda _event: None, lambda: signals.received if signals else 0, sink.on_fault)


def check_joined_launches(plan: Plan, joined: Joined, *, asked: bool) -> Plan:
    """Return the plan with one launch; UsageError where more were asked for in words."""
    if asked and plan.launches not in (1, AUTO):
        msg = (
            f"--launches {plan.launches}: ranks started by {joined.launcher} are one launch; repeat the whole "
            "command that often with --into RUN"
        )
        raise UsageError(msg)
    return msgspec.structs.replace(plan, launches=1)
