"""Starts the ranks of a launch as processes of this machine, watches over them, and leaves none behind."""

from __future__ import annotations

import errno
import os
import secrets
import selectors
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from collmark.bench.event import Beat, Fault, LaunchEnded, LaunchStarted, PipedEvent
from collmark.bench.job import Job, Seat
from collmark.bench.launchers.rank_process import RankHandle, RankProcess, signal_name
from collmark.bench.measurement import Progress
from collmark.bench.process import Startup
from collmark.bench.runner import Finished
from collmark.bench.watchdog import (
    BEAT,
    END_SECONDS,
    LAST_CASE,
    LEAST_SILENCE,
    LOST_STATUS,
    PERIOD,
    QUIET,
    STOP,
    STOP_SECONDS,
    start_patience,
)
from collmark.core.errors import InterruptedRunError, MeasurementError, UnavailableError, UsageError
from collmark.core.record import Outcome

SETTLE_SECONDS = 1.0  # after a fault, for the rank that caused it to show
TOGETHER_SECONDS = 0.2  # after a rank was killed, for others that are being killed with it
POLL = 0.1
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


class _Heart(threading.Thread):
    """Beats to the ranks, even while this process waits for a terminal or a pipe that takes no more output."""

    def __init__(self, ranks: list[RankHandle]) -> None:
        super().__init__(name="heart", daemon=True)
        self._ranks = ranks
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.wait(PERIOD):
            for rank in tuple(self._ranks):
                rank.send(BEAT)

    def end(self) -> None:
        self._ended.set()


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
        self._logs = logs
        self._keep = keep
        self._ranks: list[RankHandle] = []
        self._is_stopping: Callable[[], bool] = lambda: False
        self._is_ending: Callable[[], bool] = lambda: False
        self._has_told_to_end = False
        self._heart = _Heart(self._ranks)
        self._silence = start_patience(job.plan.timeout)
        self._heard = self._over_at = 0.0
        self._events = -1
        self._where = " while starting"
        self._pending = b""
        self._fault: Fault | None = None
        self._has_started = False
        self._outcome: Outcome | None = None
        self._stopping_since: float | None = None

    def run(
        self,
        emit: Callable[[PipedEvent], None],
        is_stopping: Callable[[], bool],
        is_ending: Callable[[], bool] = lambda: False,
    ) -> None:
        """Emit what happens until the launch is over; no process is left when this returns or raises.

        Raises
        ------
        MeasurementError, UnavailableError, UsageError
            If a rank was lost, or could not start.
        InterruptedRunError
            If a stop was asked for, or no further case.
        """
        if is_stopping() or is_ending():
            raise InterruptedRunError("stopped before the launch began")
        self._is_stopping, self._is_ending = is_stopping, is_ending
        try:
            self._spawn()
            self._watch(emit)
            self._conclude()
        finally:
            self._end_all()

    def _spawn(self) -> None:
        self._events, write_end = os.pipe()
        listener = socket.create_server(("127.0.0.1", 0), backlog=2 * self._job.placement.ranks)
        self._heard = time.monotonic()
        self._heart.start()
        try:
            with listener:
                self._spawn_ranks(listener, write_end)
        except OSError as error:
            msg = (
                f"cannot start the ranks of launch {self._job.launch}: {error.strerror} {error.filename or ''}".rstrip()
            )
            kind = MeasurementError if error.errno in FULL else UsageError if error.filename else UnavailableError
            raise kind(msg) from error
        finally:
            os.close(write_end)

    def _spawn_ranks(self, listener: socket.socket, write_end: int) -> None:
        self._logs.mkdir(exist_ok=True)
        secret = secrets.token_bytes(32)
        for rank in range(self._job.placement.ranks):
            inherited = (listener.fileno(), write_end, *self._keep) if rank == 0 else ()
            process = RankProcess(rank, self._log_of(f"rank-{rank}"), inherited, self._silence)
            self._ranks.append(process)
            process.start(self._startup_of(rank, secret, listener, write_end))

    def _log_of(self, who: str) -> Path:
        return self._logs / f"launch-{self._job.launch:04d}-{who}.log"

    def _startup_of(self, rank: int, secret: bytes, listener: socket.socket, write_end: int) -> Startup:
        """Return what a rank is told; rank 0 inherits the descriptors that are named."""
        leads = rank == 0
        address: tuple[str, int] = listener.getsockname()[:2]
        return Startup(
            job=self._job if leads else msgspec.structs.replace(self._job, cases=()),
            seat=Seat(
                rank=rank,
                ranks=self._job.placement.ranks,
                local_rank=rank,
                addresses=(address,),
                secret=secret,
                patience=self._silence,
            ),
            listener=listener.fileno() if leads else -1,
            events=write_end if leads else -1,
        )

    def _watch(self, emit: Callable[[PipedEvent], None]) -> None:
        os.set_blocking(self._events, False)
        with selectors.DefaultSelector() as selector:
            selector.register(self._events, selectors.EVENT_READ)
            while any(rank.status is None for rank in self._ranks):
                now = time.monotonic()  # silence counts up to here: what was sent before is read in this pass
                is_owing = any(rank.is_owed for rank in self._ranks)
                if selector.select(POLL / 10 if is_owing else POLL) and not self._read_events(emit):
                    selector.unregister(self._events)  # rank 0 has gone
                if is_owing:
                    self._tell_all(b"")
                if self._is_ending() and not self._has_told_to_end:
                    self._has_told_to_end = True
                    self._tell_all(LAST_CASE)
                if self._is_stopping() and self._stopping_since is None:
                    self._stopping_since = time.monotonic()
                    self._tell_all(STOP)
                if self._must_end(now):
                    break
        self._read_events(emit)

    def _read_events(self, emit: Callable[[PipedEvent], None]) -> bool:
        """Emit what rank 0 has written; False once it will write no more."""
        is_open = True
        try:
            while data := os.read(self._events, 1 << 16):
                self._heard = time.monotonic()
                self._pending += data
            is_open = False
        except BlockingIOError:
            pass
        while len(self._pending) >= 4:
            (length,) = struct.unpack("<I", self._pending[:4])
            if len(self._pending) < 4 + length:
                break
            frame, self._pending = self._pending[4 : 4 + length], self._pending[4 + length :]
            self._take(msgspec.msgpack.decode(frame, type=PipedEvent), emit)
        return is_open

    def _take(self, event: PipedEvent, emit: Callable[[PipedEvent], None]) -> None:
        match event:
            case Beat():
                return
            case Fault():
                self._fault = self._fault or event
                return
            case LaunchStarted():
                self._has_started, self._where = True, ""
                self._silence = max(self._job.plan.timeout, LEAST_SILENCE)
            case Progress(case=case):
                self._where = f" in {case}"
            case Finished():
                self._where = ""
            case LaunchEnded(outcome=outcome):
                self._outcome, self._over_at = outcome, time.monotonic()
        emit(event)
        # Whoever shows events may have waited for a terminal meanwhile: that is no silence of rank 0.
        self._heard = time.monotonic()

    def _tell_all(self, word: bytes) -> None:
        for rank in self._ranks:
            rank.send(word)

    def _must_end(self, now: float) -> bool:
        """Whether waiting longer makes no sense."""
        if self._stopping_since is not None:
            return not self._has_started or now - self._stopping_since > STOP_SECONDS
        if self._outcome is not None:
            return now - self._over_at > END_SECONDS
        is_lost = self._fault is not None or any(rank.status not in (None, 0) for rank in self._ranks)
        if not is_lost and now - self._heard <= self._silence:
            return False
        if is_lost:
            time.sleep(TOGETHER_SECONDS if self._killed() else SETTLE_SECONDS)
        if self._fault is None and self._ranks[0].status is None and now - self._heard > QUIET:
            seconds = min(self._silence, now - self._heard)
            text = f"rank 0 silent for {seconds:.3g} s{self._where}"
            self._fault = Fault(text=text, status=LOST_STATUS)
        return True

    def _killed(self) -> str:
        """Return which ranks a signal has killed, those that died of an error of their own last."""
        by_signal: dict[int, list[int]] = {}
        for rank in self._ranks:
            if (rank.status or 0) < 0:
                by_signal.setdefault(-(rank.status or 0), []).append(rank.rank)
        if not by_signal:
            return ""
        number = min(by_signal, key=lambda number: (number == signal.SIGABRT, by_signal[number]))
        ranks = by_signal[number]
        are = "was" if len(ranks) == 1 else "were"
        return f"{_ranks_in_words(ranks)} {are} killed by {signal_name(number)}{self._where}"

    def _conclude(self) -> None:
        """Raise what the end of the ranks means."""
        if self._outcome in (Outcome.COMPLETE, Outcome.BUDGET):
            return  # nothing that happened afterwards, a stop included, has cost anything
        if self._stopping_since is not None or self._outcome is Outcome.INTERRUPTED:
            raise InterruptedRunError("stopped")
        killed = self._killed()
        if killed:
            raise MeasurementError(killed)
        if self._fault is not None:
            stopped = [rank.rank for rank in self._ranks if rank.is_stopped]
            are = "is" if len(stopped) == 1 else "are"
            note = f" ({_ranks_in_words(stopped)} {are} stopped by a signal)" if stopped else ""
            # A rank that did not join because it hangs is lost, not missing.
            kind = {} if stopped else {2: UsageError, 3: UnavailableError}
            raise kind.get(self._fault.status, MeasurementError)(f"{self._fault.text}{note}")
        for rank in self._ranks:
            if rank.status not in (None, 0):
                msg = f"rank {rank.rank} ended with status {rank.status}{self._where}: {rank.last_line()}"
                raise UnavailableError(msg) if rank.status == 3 else MeasurementError(msg)
        raise MeasurementError(f"the ranks ended before the launch did{self._where}; see {self._logs}")

    def _end_all(self) -> None:
        try:
            self._heart.end()
            for rank in self._ranks:
                rank.kill()
            for rank in self._ranks:
                rank.reap()
        except KeyboardInterrupt:  # a second signal stops the run at once, but leaves no rank behind
            for rank in self._ranks:
                rank.kill()
            raise
        finally:
            if self._events >= 0:
                os.close(self._events)
                self._events = -1


def _ranks_in_words(ranks: list[int]) -> str:
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"
