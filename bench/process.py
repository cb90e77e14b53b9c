"""The process of one rank, as the local launcher starts it: ``python -m collmark.bench.process SECONDS``.

The first frame of standard input, which has to come within the seconds, says what to do; after it the pipe is the
launcher's lifeline. Rank 0 reports what happens on a pipe of its own.
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

import msgspec

from collmark.bench.event import Beat, Fault, PipedEvent
from collmark.bench.job import Job, Seat
from collmark.bench.lead import follow, lead
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
FAULT_SECONDS = 0.5  # for the pipe to take last words


class Startup(msgspec.Struct, frozen=True, kw_only=True):
    """The first frame of standard input; descriptors are -1 on all ranks but 0."""

    job: Job
    seat: Seat
    listener: int = -1
    events: int = -1


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
    lifeline = sys.stdin.fileno()
    startup = _read_startup(lifeline, float(sys.argv[1]))
    rank = startup.seat.rank
    pipe = EventPipe(startup.events) if rank == 0 else None

    def on_loss(loss: Loss) -> None:
        if pipe is not None:
            pipe.try_emit(Fault(text=loss.text, status=loss.status), FAULT_SECONDS)
        _log(loss.text)

    watchdog = Watchdog(startup.job.plan.timeout, on_loss)
    watchdog.watch_lifeline(lifeline)
    if pipe is not None:
        watchdog.beat = lambda: pipe.try_emit(Beat())
    watchdog.start()
    try:
        if pipe is not None:
            listener = socket.socket(fileno=startup.listener)
            lead(startup.job, startup.seat, listener, watchdog, pipe.emit, watchdog.stop_requested.is_set)
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
