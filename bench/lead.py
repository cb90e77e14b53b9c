"""Rank 0 leads a launch, the other ranks follow: from the first handshake to the last record."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from collmark.bench import environment, scheduling
from collmark.bench.backends.index import BACKENDS
from collmark.bench.clock import calibrate
from collmark.bench.control import Hello, Hub, Spoke
from collmark.bench.event import LaunchEnded, LaunchStarted, PipedEvent
from collmark.bench.job import Job, Seat
from collmark.bench.measurement import Terms
from collmark.bench.rank import Command, Rank, Stop
from collmark.bench.runner import BudgetSpent, run_launch
from collmark.bench.session import Session
from collmark.bench.team import DONE, REFUSED, ProcessTeam, Starts, Team, perform, spin_until
from collmark.bench.watchdog import Watchdog
from collmark.core.errors import UnavailableError
from collmark.core.record import Host, Launch, Outcome, Timer
from collmark.core.store import RunFolder, Writer

JOIN_SECONDS = 60.0  # for the processes of a launch to find each other, interpreters starting included
FOLLOWER_PATIENCE = 1.25  # x the time-out, so that rank 0, which knows more, speaks first


class Roster(msgspec.Struct, frozen=True, kw_only=True):
    """What rank 0 tells everybody once all are there."""

    one_host: bool


class Group:
    """A backend's view of the ranks (:class:`collmark.bench.session.World`)."""

    def __init__(self, seat: Seat, one_host: bool, timeout: float, share: Callable[[bytes], bytes]) -> None:  # noqa: FBT001
        self.rank, self.ranks, self.local_rank = seat.rank, seat.ranks, seat.local_rank
        self.one_host = one_host
        self.timeout = timeout
        self._share = share

    def share(self, value: bytes) -> bytes:
        """Return rank 0's value on every rank."""
        return self._share(value)


def hello_of(seat: Seat) -> Hello:
    """Return what this process says of itself when it joins."""
    return Hello(
        rank=seat.rank,
        ranks=seat.ranks,
        host=socket.gethostname(),
        boot=environment.boot_id(),
        pid=os.getpid(),
        cores=environment.usable_cores(),
        purpose="",
        proof=b"",
        nonce=b"",
    )


def prepare_process(job: Job, seat: Seat) -> None:
    """Do what can fail on one rank alone, before anybody waits for the others in a library."""
    scheduling.bind(job.plan.binding, seat.local_rank, job.placement.ranks_per_node)
    scheduling.apply(job.plan.scheduling)
    missing = BACKENDS[job.backend].missing()
    if missing:
        raise UnavailableError(missing)


def lead(
    job: Job,
    seat: Seat,
    listener: socket.socket,
    watchdog: Watchdog,
    emit: Callable[[PipedEvent], None],
    is_stopping: Callable[[], bool],
) -> None:
    """Carry out a launch as rank 0; every record is on disk before it is emitted.

    Raises
    ------
    UnavailableError
        If ranks do not come, or the backend cannot be opened.
    MeasurementError
        If a rank is lost or the disk is full.
    InterruptedRunError
        If a stop was asked for.
    """
    began = time.monotonic()
    hub = _assemble(job, seat, listener, watchdog)
    one_host = len({hello.boot for hello in hub.hellos}) == 1
    hub.broadcast(msgspec.msgpack.encode(Roster(one_host=one_host)))

    def share(value: bytes) -> bytes:
        hub.broadcast(value)
        return value

    session = _open(job, Group(seat, one_host, job.plan.timeout, share), watchdog)
    starts = Starts(hub, watchdog, comparable=one_host)
    cores = min(hello.cores for hello in hub.hellos)
    team = ProcessTeam(hub, Rank(0, session, starts.await_start), starts, comparable=one_host, cores=cores)
    folder = RunFolder(Path(job.folder))
    launch = describe_launch(
        job, hosts_of(hub), dict(session.facts()), calibrate(), start_seconds=time.monotonic() - began
    )
    folder.put_launch(launch)
    emit(LaunchStarted(launch=launch, cases=len(job.cases)))
    outcome = Outcome.INTERRUPTED
    try:
        budget = job.budget - (time.monotonic() - began)
        outcome = measure_all(team, job, folder, launch, budget=budget, emit=emit, is_stopping=is_stopping)
    finally:
        watchdog.disarm()
        folder.put_launch(msgspec.structs.replace(launch, outcome=outcome))
        emit(LaunchEnded(launch=job.launch, outcome=outcome))
        hub.broadcast(msgspec.msgpack.encode(Stop()))
        watchdog.end()
        session.close()
        hub.close()


def measure_all(
    team: Team,
    job: Job,
    folder: RunFolder,
    launch: Launch,
    *,
    budget: float,
    emit: Callable[[PipedEvent], None],
    is_stopping: Callable[[], bool],
) -> Outcome:
    """Measure the cases of a launch on a team, emit what happens, and return how it ended."""
    plan = job.plan
    terms = Terms(launch=job.launch, precision=plan.precision, timeout=plan.timeout, tick=launch.timer.tick)
    writer = Writer(folder, job.launch, job.samples_left)
    outcome = Outcome.COMPLETE
    for event in run_launch(team, job.cases, plan, terms, writer, budget=budget, is_stopping=is_stopping, report=emit):
        if isinstance(event, BudgetSpent):
            outcome = Outcome.BUDGET
        emit(event)
    return outcome


def _assemble(job: Job, seat: Seat, listener: socket.socket, watchdog: Watchdog) -> Hub:
    """Wait for all ranks, and for each to say that it can do its part."""
    patience = max(JOIN_SECONDS, job.plan.timeout)
    hub = Hub(listener, seat.secret, hello_of(seat))
    hub.gather_ranks(patience)
    for rank, connection in hub.pulses.items():
        watchdog.watch_peer(connection, f"rank {rank} ({hub.hosts[rank]})")
    prepare_process(job, seat)
    for rank, reply in hub.gather():
        if reply[:1] == REFUSED:
            msg = f"rank {rank} ({hub.hosts[rank]}): {reply[1:].decode()}"
            raise UnavailableError(msg)
    return hub


def _open(job: Job, group: Group, watchdog: Watchdog) -> Session:
    watchdog.arm(2 * max(JOIN_SECONDS, job.plan.timeout), f"opening {job.backend}")
    session = BACKENDS[job.backend].open(group)
    watchdog.disarm()
    return session


def hosts_of(hub: Hub) -> list[Host]:
    """Return the hosts of a launch; only rank 0's own is described in full."""
    ranks_of: dict[str, list[int]] = {}
    for hello in hub.hellos:
        ranks_of.setdefault(hello.host, []).append(hello.rank)
    cores = {hello.host: hello.cores for hello in hub.hellos}
    own = hub.hellos[0].host
    return [
        environment.describe_host(ranks)
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
    )


def follow(job: Job, seat: Seat, watchdog: Watchdog) -> None:
    """Carry out a launch as any other rank: do what rank 0 says until it says stop."""
    patience = max(JOIN_SECONDS, job.plan.timeout)
    spoke = Spoke(list(seat.addresses), seat.secret, hello_of(seat), patience)
    watchdog.watch_peer(spoke.pulses, "rank 0")
    try:
        prepare_process(job, seat)
    except UnavailableError as error:
        spoke.send(REFUSED + str(error).encode())
        raise
    spoke.send(DONE)
    roster = msgspec.msgpack.decode(spoke.receive(), type=Roster)
    group = Group(seat, roster.one_host, job.plan.timeout, lambda _value: spoke.receive())
    session = _open(job, group, watchdog)

    def await_start(timeout: float) -> None:
        watchdog.arm(FOLLOWER_PATIENCE * timeout + 1, "a call")
        spin_until(spoke.ready())

    rank = Rank(seat.rank, session, await_start)
    while not isinstance(command := msgspec.msgpack.decode(spoke.receive(), type=Command), Stop):
        try:
            spoke.send(DONE + perform(rank, command))
        except UnavailableError as error:
            spoke.send(REFUSED + str(error).encode())
        watchdog.disarm()
    watchdog.end()
    session.close()
    spoke.close()
