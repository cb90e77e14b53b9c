"""Starts the ranks of a launch as processes of this machine, watches over them, and leaves none behind."""

from __future__ import annotations

import os
import secrets
import selectors
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from collmark.bench.event import Beat, Fault, LaunchEnded, PipedEvent
from collmark.bench.job import Job, Seat
from collmark.bench.measurement import Progress
from collmark.bench.process import Startup
from collmark.bench.runner import Finished
from collmark.bench.watchdog import BEAT, LOST_STATUS, PERIOD, STOP
from collmark.core.errors import InterruptedRunError, MeasurementError, UnavailableError, UsageError

STOP_SECONDS = 3.0  # for ranks to stop in good order
SETTLE_SECONDS = 1.0  # after a fault, for the rank that caused it to show
END_SECONDS = 15.0  # for libraries to close after the last record
POLL = 0.1


class LocalLaunch:
    """The processes of one launch.

    Parameters
    ----------
    job : Job
        What to do.
    logs : Path
        Folder for what the ranks print.
    keep : tuple of int
        Descriptors that rank 0 inherits: the lock of the run's folder.
    """

    def __init__(self, job: Job, logs: Path, keep: tuple[int, ...]) -> None:
        self._job = job
        self._timeout = job.plan.timeout
        self._where = ""
        self._fault: Fault | None = None
        self._is_over = False
        self._pending = b""
        self._stopping_since: float | None = None
        self._beat_at = 0.0
        self._ranks: list[subprocess.Popen[bytes]] = []
        self._logs = [logs / f"launch-{job.launch:04d}-rank-{rank}.log" for rank in range(job.placement.ranks)]
        self._events, write_end = os.pipe()
        self._heard = time.monotonic()
        try:
            self._spawn(write_end, keep)
        finally:
            os.close(write_end)

    def _spawn(self, write_end: int, keep: tuple[int, ...]) -> None:
        listener = socket.create_server(("127.0.0.1", 0), backlog=2 * self._job.placement.ranks)
        address: tuple[str, int] = listener.getsockname()[:2]
        secret = secrets.token_bytes(32)
        with listener:
            for rank, log in enumerate(self._logs):
                leads = rank == 0
                inherited = (listener.fileno(), write_end, *keep) if leads else ()
                with log.open("wb") as output:
                    process = subprocess.Popen(
                        [sys.executable, "-P", "-m", "collmark.bench.process"],
                        stdin=subprocess.PIPE,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        pass_fds=inherited,
                        # Ctrl-C in a terminal goes to its foreground group: ranks hear of it from us, in order.
                        start_new_session=True,
                    )
                self._ranks.append(process)
                seat = Seat(
                    rank=rank,
                    ranks=self._job.placement.ranks,
                    local_rank=rank,
                    addresses=(address,),
                    secret=secret,
                )
                startup = Startup(
                    job=self._job,
                    seat=seat,
                    listener=listener.fileno() if leads else -1,
                    events=write_end if leads else -1,
                )
                self._write(process, msgspec.json.encode(startup) + b"\n")
                if process.stdin is not None:
                    os.set_blocking(process.stdin.fileno(), False)

    def run(self, emit: Callable[[PipedEvent], None], is_stopping: Callable[[], bool]) -> None:
        """Emit what happens until the launch is over; no process is left when this returns or raises.

        Raises
        ------
        MeasurementError, UnavailableError, UsageError
            If a rank was lost, or could not start.
        InterruptedRunError
            If a stop was asked for.
        """
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self._events, selectors.EVENT_READ)
                while any(rank.poll() is None for rank in self._ranks):
                    if selector.select(POLL):
                        self._read_events(emit)
                    self._beat()
                    if is_stopping():
                        self._ask_to_stop()
                    if self._must_end():
                        break
                self._read_events(emit)
            self._conclude()
        finally:
            self._end_all()

    def _read_events(self, emit: Callable[[PipedEvent], None]) -> None:
        os.set_blocking(self._events, False)
        try:
            while data := os.read(self._events, 1 << 16):
                self._heard = time.monotonic()
                self._pending += data
        except BlockingIOError:
            pass
        while len(self._pending) >= 4:
            (length,) = struct.unpack("<I", self._pending[:4])
            if len(self._pending) < 4 + length:
                return
            frame, self._pending = self._pending[4 : 4 + length], self._pending[4 + length :]
            self._take(msgspec.msgpack.decode(frame, type=PipedEvent), emit)

    def _take(self, event: PipedEvent, emit: Callable[[PipedEvent], None]) -> None:
        match event:
            case Beat():
                return
            case Fault():
                self._fault = self._fault or event
                return
            case Progress(case=case):
                self._where = f" in {case}"
            case Finished():
                self._where = ""
            case LaunchEnded():
                self._is_over = True
                self._over_at = time.monotonic()
        emit(event)

    def _beat(self) -> None:
        now = time.monotonic()
        if now - self._beat_at >= PERIOD:
            self._beat_at = now
            self._tell_all(BEAT)

    def _ask_to_stop(self) -> None:
        if self._stopping_since is None:
            self._stopping_since = time.monotonic()
            self._tell_all(STOP)

    def _tell_all(self, word: bytes) -> None:
        for rank in self._ranks:
            self._write(rank, word)

    @staticmethod
    def _write(rank: subprocess.Popen[bytes], data: bytes) -> None:
        assert rank.stdin is not None, "every rank was started with a pipe"
        try:
            rank.stdin.write(data)
            rank.stdin.flush()
        except (BrokenPipeError, BlockingIOError):
            return  # a dead rank shows by its status, a stopped one by its silence

    def _must_end(self) -> bool:
        """Whether waiting longer makes no sense."""
        now = time.monotonic()
        if self._stopping_since is not None:
            return now - self._stopping_since > STOP_SECONDS
        if self._is_over:
            return now - self._over_at > END_SECONDS
        if self._fault is not None or any(rank.poll() not in (None, 0) for rank in self._ranks):
            time.sleep(0 if self._first_killed() else SETTLE_SECONDS)
            return True
        if now - self._heard > self._timeout:
            text = f"rank 0 silent for {self._timeout:g} s{self._where}"
            self._fault = Fault(text=text, status=LOST_STATUS)
            return True
        return False

    def _first_killed(self) -> str:
        for index, rank in enumerate(self._ranks):
            status = rank.poll()
            if status is not None and status < 0:
                return f"rank {index} was killed by {signal.Signals(-status).name}{self._where}"
        return ""

    def _conclude(self) -> None:
        """Raise what the end of the ranks means."""
        if self._stopping_since is not None:
            msg = "stopped"
            raise InterruptedRunError(msg)
        if self._is_over:
            return
        killed = self._first_killed()
        if killed:
            raise MeasurementError(killed)
        if self._fault is not None:
            kind = {2: UsageError, 3: UnavailableError}.get(self._fault.status, MeasurementError)
            raise kind(self._fault.text)
        for index, rank in enumerate(self._ranks):
            if rank.poll() not in (None, 0):
                msg = f"rank {index} ended with status {rank.poll()}{self._where}: {_last_line(self._logs[index])}"
                raise UnavailableError(msg) if rank.poll() == 3 else MeasurementError(msg)
        msg = "the ranks ended before the launch did; see its logs"
        raise MeasurementError(msg)

    def _end_all(self) -> None:
        for rank in self._ranks:
            if rank.poll() is None:
                try:
                    os.killpg(rank.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        for rank in self._ranks:
            rank.wait()
            if rank.stdin is not None:
                try:
                    rank.stdin.close()
                except BrokenPipeError:
                    pass
        os.close(self._events)


def _last_line(log: Path) -> str:
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        return str(log)
    return lines[-1] if lines else str(log)
