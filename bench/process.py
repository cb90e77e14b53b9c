"""The process of one rank, as the local launcher starts it: ``python -m collmark.bench.process SECONDS``.

The first frame of standard input, which has to come within the seconds, says what to do; after it the pipe is the
launcher's lifeline. Rank 0 reports what happens on a pipe of its own. Started through mpiexec, whose pipes are not
the launcher's, a rank is given the name of a socket besides, which takes the place of standard input.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping

import msgspec

from collmark.bench.event import Beat, Fault, PipedEvent
from collmark.bench.job import Job, Seat
from collmark.bench.lead import follow, lead
from collmark.bench.stops import Stops
from collmark.bench.watchdog import LOST_STATUS, Loss, Watchdog
from collmark.core.errors import (
    CollmarkError,
    InterruptedRunError,
    MeasurementError,
    UnavailableError,
    UsageError,
    one_line,
)

STATUS = ((MeasurementError, LOST_STATUS), (UnavailableError, 3), (UsageError, 2), (InterruptedRunError, 0))
"""Exit status of a rank by error; the launcher tells the user's."""
PARENT_DEATH_SIGNAL = 1  # prctl's PR_SET_PDEATHSIG
RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")
MOST_DESCRIPTORS = 8
FAULT_SECONDS = 0.5  # for the pipe to take last words


class Startup(msgspec.Struct, frozen=True, kw_only=True):
    """The first frame of standard input; descriptors are -1 on all ranks but 0."""

    job: Job
    seat: Seat
    listener: int = -1
    events: int = -1
    log: str = ""
    """Takes what this process prints, where its output is not yet there."""


def status_of(error: BaseException) -> int:
    """Return the exit status that an error asks for: whatever a library raises, the measurement is lost."""
    return next((status for kind, status in STATUS if isinstance(error, kind)), LOST_STATUS)


def words_of(error: BaseException) -> str:
    """Return an error as one line."""
    return str(error) if isinstance(error, CollmarkError) else one_line(f"{type(error).__name__}: {error}")


def _read(descriptor: int, count: int, deadline: float) -> bytes:
    data = b""
    while len(data) < count:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
        part = os.read(descriptor, count - len(data)) if ready else b""
        if not part:
            sys.exit(LOST_STATUS)  # the launcher is gone or stopped, and nobody will read why
        data += part
    return data


def _read_startup(descriptor: int, seconds: float) -> Startup:
    # What follows the frame belongs to the watchdog.
    deadline = time.monotonic() + seconds
    (length,) = struct.unpack("<I", _read(descriptor, 4, deadline))
    return msgspec.json.decode(_read(descriptor, length, deadline), type=Startup)


class EventPipe:
    """Rank 0's way to tell the launcher what happens, from any thread.

    A launcher that is stopped reads nothing, and the pipe fills: the rank then waits, and its watchdog, which must
    never wait, notices the silence.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        os.set_blocking(descriptor, False)

    def emit(self, event: PipedEvent) -> None:
        """Write an event, waiting for the launcher to make room."""
        with self._lock:
            self._write(event, float("inf"))

    def try_emit(self, event: PipedEvent, seconds: float = 0.0) -> None:
        """Write an event if that is possible in time."""
        if self._lock.acquire(timeout=seconds):
            try:
                self._write(event, time.monotonic() + seconds)
            finally:
                self._lock.release()

    def _write(self, event: PipedEvent, deadline: float) -> None:
        data = msgspec.msgpack.encode(event)
        view = memoryview(struct.pack("<I", len(data)) + data)
        while view:
            try:
                view = view[os.write(self._descriptor, view) :]
            except BlockingIOError:
                if time.monotonic() > deadline:
                    return  # nothing of a short frame is written unless all of it is
                time.sleep(0.005)
            except OSError:
                return  # the launcher is gone: the lifeline ends this process


class Call:
    """A rank's connection to the launcher, which mpiexec has not handed on: a socket in place of pipes.

    Parameters
    ----------
    address : str
        Name of the launcher's socket; an at sign stands for the null byte of a name outside the file system.
    seconds : float
        For the launcher to answer.
    """

    def __init__(self, address: str, seconds: float) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(seconds)
        self._is_said = False
        try:
            self._socket.connect(address.replace("@", "\0", 1) if address.startswith("@") else address)
            self._socket.sendall(struct.pack("<qq", told_rank(os.environ), os.getpid()))
        except OSError:
            sys.exit(LOST_STATUS)  # the launcher is gone, and nobody will read why
        self.descriptor = self._socket.fileno()

    def startup(self, seconds: float) -> Startup:
        """Return what this rank is told; on rank 0 the descriptors that come along take their places."""
        try:
            data, descriptors, _flags, _address = socket.recv_fds(self._socket, 1, MOST_DESCRIPTORS)
        except OSError:
            data, descriptors = b"", []
        if not data:
            sys.exit(LOST_STATUS)
        startup = _read_startup(self.descriptor, seconds)
        if startup.log:
            log = os.open(startup.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            os.dup2(log, sys.stdout.fileno())
            os.dup2(log, sys.stderr.fileno())
            os.close(log)
        if len(descriptors) > 1:  # more are only held open, as the lock of the run's folder
            return msgspec.structs.replace(startup, listener=descriptors[0], events=descriptors[1])
        return startup

    def say_status(self, status: int) -> None:
        """Tell the launcher, which is not the parent, how this process ends."""
        if not self._is_said:
            self._is_said = True
            with contextlib.suppress(OSError):
                self._socket.settimeout(0.0)
                self._socket.send(bytes([status]))


def told_rank(environ: Mapping[str, str]) -> int:
    """Return the rank that an mpiexec told this process, -1 where it told none."""
    text = next((environ[name] for name in RANK_VARIABLES if name in environ), "")
    return int(text) if text.isdecimal() else -1


def _die_with_parent() -> None:
    """Have the kernel end this process with its launcher, even while it is stopped; elsewhere the lifeline does."""
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)


def _log(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # the log's disk may be full
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def main() -> int:
    """Be one rank and return its exit status."""
    _die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # a job may send it to all processes: the launcher passes it on
    seconds = float(sys.argv[1])
    if len(sys.argv) > 2:
        call = Call(sys.argv[2], seconds)
        code = be_rank(call.startup(seconds), call.descriptor, call.say_status)
        call.say_status(code)
        return code
    lifeline = sys.stdin.fileno()
    return be_rank(_read_startup(lifeline, seconds), lifeline, lambda _status: None)


def be_rank(startup: Startup, lifeline: int, say_status: Callable[[int], None]) -> int:
    """Be the rank that a launcher asks for, and return its exit status.

    `say_status` hears the status before a sudden end.
    """
    rank = startup.seat.rank
    pipe = EventPipe(startup.events) if rank == 0 else None

    def on_loss(loss: Loss) -> None:
        if pipe is not None:
            pipe.try_emit(Fault(text=loss.text, status=loss.status), FAULT_SECONDS)
        _log(loss.text)
        say_status(loss.status)

    watchdog = Watchdog(startup.job.plan.timeout, on_loss)
    watchdog.watch_lifeline(lifeline)
    if pipe is not None:
        watchdog.beat = lambda: pipe.try_emit(Beat())
    watchdog.start()
    try:
        if pipe is not None:
            listener = socket.socket(fileno=startup.listener)
            stops = Stops(now=watchdog.stop_requested.is_set, after_case=watchdog.end_requested.is_set)
            lead(startup.job, startup.seat, listener, watchdog, pipe.emit, stops)
        else:
            follow(startup.job, startup.seat, watchdog)
    except Exception as error:  # noqa: BLE001 - a process boundary: whatever it is, the launcher hears of it
        status, text = status_of(error), words_of(error)
        if status:
            on_loss(Loss(text=text if rank == 0 else f"rank {rank}: {text}", status=status))
        watchdog.last_words(text, status)  # after our own: the others end, and that is noticed
        if not isinstance(error, CollmarkError):
            sys.excepthook(*sys.exc_info())  # to the rank's log, where it can be reported from
        return status
    return 0


if __name__ == "__main__":
    code = main()
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    # Library threads may still run; interpreter shutdown would wait for, or crash in them.
    os._exit(code)
