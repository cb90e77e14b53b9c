"""Rank 0 leads a launch, the other ranks follow: from the first handshake to the last record."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from collmark.bench import environment, scheduling
from collmark.bench.backends.index import BACKENDS
from collmark.bench.clock import calibrate
from collmark.bench.common_clock import CommonClock
from collmark.bench.control import Hub
from collmark.bench.doctor.examine import check_health, objecting, wall_offsets, way_of
from collmark.bench.doctor.gather import Gathering, tell
from collmark.bench.event import Examined, LaunchEnded, LaunchStarted, PipedEvent
from collmark.bench.group import Group, Report, Roster, check_plan_of, group_of, hello_of, report_of
from collmark.bench.handshake import TurnedAwayError
from collmark.bench.job import Job, Seat
from collmark.bench.measurement import Terms
from collmark.bench.rank import Command, Rank, Stop, TellTime
from collmark.bench.runner import BudgetSpent, run_launch
from collmark.bench.session import Session
from collmark.bench.spoke import Spoke
from collmark.bench.stops import Stops
from collmark.bench.team import DONE, REFUSED, ProcessTeam, Starts, Team, perform, spin_until
from collmark.bench.watchdog import MISSING_STATUS, Watchdog, start_patience
from collmark.core.case import Scheduling
from collmark.core.doctor.finding import Diagnosis
from collmark.core.doctor.table import diagnose
from collmark.core.errors import CollmarkError, InterruptedRunError, MeasurementError, UnavailableError, one_line
from collmark.core.placement import Placement
from collmark.core.record import Host, Launch, Outcome, Timer
from collmark.core.start_up import StartUp, start_up_of
from collmark.core.store import RunFolder, Writer

FOLLOWER_PATIENCE = 1.25  # x the time-out, so that rank 0, which knows more, speaks first
CLOCK_PART = 0.1  # of a launch, to look at the clocks of other hosts first
SETTLE_SECONDS = 1.0  # after a library broke off, for the watchdog to notice which rank is gone


def prepare_process(job: Job, seat: Seat, watchdog: Watchdog) -> float:
    """Do what can fail on one rank alone, before anybody waits for the others in a library.

    Returns
    -------
    float
        Seconds that it took to load the library.
    """
    scheduling.bind(job.plan.binding, seat.local_rank, job.placement.ranks_per_node)
    scheduling.apply(job.plan.scheduling)
    if job.plan.scheduling is Scheduling.FIFO:
        watchdog.raise_priority(scheduling.FIFO_PRIORITY)
    missing = BACKENDS[job.backend].missing()
    if missing:
        raise UnavailableError(missing)
    began = time.monotonic()
    try:
        BACKENDS[job.backend].load(job.plan)
    except (ImportError, RuntimeError, OSError) as error:
        raise _unopened(job.backend, error) from error
    return time.monotonic() - began


def _unopened(backend: str, error: Exception) -> UnavailableError:
    return UnavailableError(f"{backend} cannot be opened: {type(error).__name__}: {error}")


@contextlib.contextmanager
def _settling() -> Iterator[None]:
    """Let the watchdog speak first when a library breaks off: it knows which rank is gone, and ends the process."""
    try:
        yield
    except (MeasurementError, RuntimeError, OSError):
        time.sleep(SETTLE_SECONDS)
        raise


def lead(
    job: Job,
    seat: Seat,
    listener: socket.socket,
    watchdog: Watchdog,
    emit: Callable[[PipedEvent], None],
    stops: Stops,
) -> None:
    """Carry out a launch as rank 0; every record is on disk before it is emitted.

    Raises
    ------
    UnavailableError
        If ranks contradict each other, or the backend cannot be opened.
    UsageError
        If another rank was started with another plan.
    MeasurementError
        If a rank does not come or is lost, or the disk is full.
    InterruptedRunError
        If a stop was asked for, or no further case.
    """
    began = time.monotonic()
    hub, start_up, diagnosis = _assemble(job, seat, listener, watchdog, stops.now)
    if job.only_examine:
        emit(Examined(diagnosis=diagnosis))
        emit(LaunchEnded(launch=job.launch, outcome=Outcome.COMPLETE))
        _dismiss(hub, None, watchdog)
        return
    check_health(diagnosis)
    team, session = _team_of(job, seat, hub, watchdog)
    timer = session.timer.calibrate() if session.timer else calibrate()
    team.common.settle(clock_seconds(job), timer.tick)
    if stops.now():
        raise InterruptedRunError("stopped before the first case")
    folder = RunFolder(Path(job.folder))
    noise = team.listen()
    hosts = [msgspec.structs.replace(host, noise=noise[host.name]) for host in hosts_of(hub)]
    launch = describe_launch(job, hosts, dict(session.facts()), timer, start_seconds=time.monotonic() - began)
    launch = msgspec.structs.replace(launch, doctor=diagnosis, start_up=start_up)
    folder.put_launch(launch)
    emit(LaunchStarted(launch=launch, cases=len(job.cases) - sum(not mark for _key, mark in job.there)))
    budget = job.budget - (time.monotonic() - began)
    stopped: InterruptedRunError | None = None
    try:
        with _settling():
            outcome = measure_all(team, job, folder, launch, budget=budget, emit=emit, stops=stops)
    except InterruptedRunError as error:
        outcome, stopped = Outcome.INTERRUPTED, error
    except Exception as error:
        _note(folder, msgspec.structs.replace(launch, outcome=Outcome.LOST, reason=one_line(str(error))))
        raise
    if stopped:
        _note(folder, msgspec.structs.replace(launch, outcome=outcome, reason=str(stopped)))
    else:
        folder.put_launch(msgspec.structs.replace(launch, outcome=outcome, messages=hub.messages))
    emit(LaunchEnded(launch=job.launch, outcome=outcome))
    _dismiss(hub, session, watchdog)
    if stopped:
        raise stopped


def _note(folder: RunFolder, launch: Launch) -> None:
    """Write down how a launch ended as far as the disk, which may be what failed, lets us."""
    with contextlib.suppress(CollmarkError):
        folder.put_launch(launch)


def _dismiss(hub: Hub, session: Session | None, watchdog: Watchdog) -> None:
    """Let all ranks leave: everything is on disk, so that nothing which happens now is a loss."""
    watchdog.end_within()
    with contextlib.suppress(MeasurementError):
        hub.broadcast(msgspec.msgpack.encode(Stop()))
        for _rank, _reply in hub.gather():
            pass  # a rank that has answered no longer watches the others
    with contextlib.suppress(RuntimeError, OSError):
        if session is not None:
            session.close()
    hub.close()
    watchdog.end()


def _team_of(job: Job, seat: Seat, hub: Hub, watchdog: Watchdog) -> tuple[ProcessTeam, Session]:
    """Open the backend on all ranks."""
    roster = Roster(one_host=len({hello.network for hello in hub.hellos}) == 1, host=seat.addresses[0][0])
    hub.broadcast(msgspec.msgpack.encode(roster))

    def share(value: bytes) -> bytes:
        hub.broadcast(value)
        return value

    session = _open(job, group_of(job, seat, roster, hub.own_address(), share), watchdog)

    def ask(rank: int, count: int) -> NDArray[np.int64]:
        watchdog.arm(job.plan.timeout, f"a look at the clock of {hub.name(rank)}")
        exchanges_E3 = hub.ask_time(rank, count, msgspec.msgpack.encode(TellTime(count=count)), session.clock)
        watchdog.disarm()
        return exchanges_E3

    common = CommonClock([hello.clock for hello in hub.hellos], ask)
    starts = Starts(hub, watchdog, common)
    cores = min(cores_of(hub).values())
    rank = Rank(0, session, starts.await_start, starts.arm)
    return ProcessTeam(hub, rank, starts, common, cores=cores, timeout=job.plan.timeout), session


def clock_seconds(job: Job) -> float:
    """Return how long to look at the clocks of other hosts at first: less where the launch is short."""
    return CLOCK_PART * min(job.budget, len(job.cases) * job.plan.case_budget)


def measure_all(
    team: Team,
    job: Job,
    folder: RunFolder,
    launch: Launch,
    *,
    budget: float,
    emit: Callable[[PipedEvent], None],
    stops: Stops,
) -> Outcome:
    """Measure the cases of a launch on a team, emit what happens, and return how it ended."""
    plan = job.plan
    terms = Terms(
        launch=job.launch,
        precision=plan.precision,
        timeout=plan.timeout,
        tick=launch.timer.tick,
        cache=launch.hosts[0].cache or 0,
    )
    writer = Writer(folder, job.launch, job.samples_left, job.there)
    outcome = Outcome.COMPLETE
    for event in run_launch(team, job.cases, plan, terms, writer, budget=budget, stops=stops, report=emit):
        if isinstance(event, BudgetSpent):
            outcome = Outcome.BUDGET
        emit(event)
    return outcome


def _assemble(
    job: Job, seat: Seat, listener: socket.socket, watchdog: Watchdog, is_stopping: Callable[[], bool]
) -> tuple[Hub, StartUp, Diagnosis]:
    """Wait for all ranks, for each to say that it has the same plan and can do its part, and judge what they say."""
    hub = Hub(listener, seat.secret, hello_of(seat))
    hub.gather_ranks(seat.patience, is_stopping, watchdog.watch_peer)
    watchdog.guard = hub.hear_latecomers
    gathering = Gathering(hub.hellos)
    with objecting(gathering, "placement", job):
        check_evenness(job.placement, hub)
    gathering.add(0, tell(job.backend, job.plan.mpi_library, seat.local_rank, way_of(hub.own_address())))
    loads = [0.0]
    with objecting(gathering, "backend", job, 0):
        loads[0] = prepare_process(job, seat, watchdog)
    for rank, reply in hub.gather():
        report = msgspec.msgpack.decode(reply, type=Report)
        with objecting(gathering, "backend", job, rank):
            if report.refused:
                raise UnavailableError(report.refused if job.only_examine else f"{hub.name(rank)}: {report.refused}")
        check_plan_of(hub.name(rank), report, job.plan)
        gathering.add(rank, report.told)
        loads.append(report.load_seconds)
    diagnosis = diagnose(gathering.facts(job, wall_offsets(hub, gathering, watchdog, job.plan.timeout)))
    return hub, start_up_of([hello.age for hello in hub.hellos], loads), diagnosis


def check_evenness(placement: Placement, hub: Hub) -> None:
    """Raise UnavailableError where ranks lie otherwise than meant: the placement would be a wrong word."""
    counts = Counter((hello.host, hello.network) for hello in hub.hellos)
    found = ", ".join(f"{count} on {host}" for (host, _network), count in counts.items())
    if len(counts) > placement.nodes:
        raise UnavailableError(
            f"ranks lie on {len(counts)} hosts, {found}, and are meant to be {placement} (nodes x ranks per node): set "
            "LOCAL_WORLD_SIZE to the ranks on each"
        )
    if len(counts) == placement.nodes and len(set(counts.values())) > 1:
        raise UnavailableError(
            f"ranks lie unevenly, {found}, and are meant to be {placement} (nodes x ranks per node): tell the "
            f"launcher, as srun --ntasks-per-node={placement.ranks_per_node} does"
        )


def _open(job: Job, group: Group, watchdog: Watchdog) -> Session:
    remedy = BACKENDS[job.backend].remedy()
    watchdog.arm(2 * start_patience(job.plan.timeout), f"opening {job.backend}{f' ({remedy})' if remedy else ''}")
    try:
        with _settling():
            session = BACKENDS[job.backend].open(group)
    except (ImportError, RuntimeError, OSError) as error:
        raise _unopened(job.backend, error) from error
    watchdog.disarm()
    watchdog.started()
    return session


def cores_of(hub: Hub) -> dict[str, int]:
    """Return the cores of each host that its ranks may run on; a launcher may have bound each rank to its own."""
    ids: dict[str, set[int]] = {}
    for hello in hub.hellos:
        ids.setdefault(hello.host, set()).update(hello.cores)
    return {host: len(found) for host, found in ids.items()}


def hosts_of(hub: Hub) -> list[Host]:
    """Return the hosts of a launch; only rank 0's own is described in full."""
    ranks_of: dict[str, list[int]] = {}
    for hello in hub.hellos:
        ranks_of.setdefault(hello.host, []).append(hello.rank)
    cores = cores_of(hub)
    own = hub.hellos[0].host
    return [
        msgspec.structs.replace(environment.describe_host(ranks), cores=cores[host])
        if host == own
        else Host(name=host, ranks=ranks, cores=cores[host], cpu="", system="")
        for host, ranks in ranks_of.items()
    ]


def describe_launch(
    job: Job, hosts: list[Host], libraries: dict[str, str], timer: Timer, *, start_seconds: float
) -> Launch:
    """Return what run.json says of a launch while it runs."""
    return Launch(
        id=job.launch,
        backend=job.backend,
        placement=str(job.placement),
        started=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        launcher=job.launcher,
        hosts=hosts,
        libraries=libraries,
        environment=environment.allowed_environment(os.environ),
        timer=timer,
        scheduling=scheduling.name(),
        start_seconds=start_seconds,
        allocation=job.allocation,
        restarts=list(job.restarts),
    )


def follow(job: Job, seat: Seat, watchdog: Watchdog) -> None:
    """Carry out a launch as any other rank: do what rank 0 says until it says stop."""
    spoke = Spoke(list(seat.addresses), seat.secret, hello_of(seat), seat.patience)
    for pulses, name in spoke.watched:
        watchdog.watch_peer(pulses, name)
    session = None
    with _settling():
        told = tell(job.backend, job.plan.mpi_library, seat.local_rank, way_of(spoke.own_address()))
        try:
            load_seconds = prepare_process(job, seat, watchdog)
        except UnavailableError as error:
            spoke.send(msgspec.msgpack.encode(report_of(job.plan, told, str(error))))
            if not job.only_examine:
                raise
        else:
            spoke.send(msgspec.msgpack.encode(report_of(job.plan, told, load_seconds=load_seconds)))
        roster = _summoned(spoke)
    if roster is not None:
        group = group_of(job, seat, roster, spoke.own_address(), lambda _value: spoke.receive())
        try:
            session = _open(job, group, watchdog)
        except UnavailableError as error:
            watchdog.last_words(str(error), MISSING_STATUS)
            watchdog.end()
            if spoke.outlives_hub(SETTLE_SECONDS):  # it has told the user, in one line whatever the number of ranks
                raise TurnedAwayError(str(error), MISSING_STATUS) from error
            raise
        with _settling():
            _obey(spoke, seat, session, watchdog)
    watchdog.end_within()
    with contextlib.suppress(MeasurementError, RuntimeError, OSError):
        spoke.send(DONE)
        if session is not None:
            session.close()
    spoke.close()
    watchdog.end()


def _summoned(spoke: Spoke) -> Roster | None:
    """Tell the time of day until there is a launch; return who is in it, or None where nothing is to be measured."""
    while isinstance(word := msgspec.msgpack.decode(spoke.receive(), type=Roster | TellTime | Stop), TellTime):
        spoke.tell_time(word.count, time.time_ns)
    return word if isinstance(word, Roster) else None


def _obey(spoke: Spoke, seat: Seat, session: Session, watchdog: Watchdog) -> None:
    """Carry out commands until the last."""

    def arm(timeout: float) -> None:
        watchdog.arm(FOLLOWER_PATIENCE * timeout + 1, "a call")

    def await_start(timeout: float) -> None:
        arm(timeout)
        spin_until(spoke.ready())

    rank = Rank(seat.rank, session, await_start, arm)
    while not isinstance(command := msgspec.msgpack.decode(spoke.receive(), type=Command), Stop):
        if isinstance(command, TellTime):
            spoke.tell_time(command.count, session.clock)
            continue
        try:
            reply = DONE + perform(rank, command)
        except UnavailableError as error:
            reply = REFUSED + str(error).encode()
        watchdog.disarm()
        spoke.send(reply)
