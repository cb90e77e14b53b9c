"""The process of one rank, as the local launcher starts it: ``python -m collmark.bench.process``.

The first line of standard input says what to do; after it the pipe is the launcher's lifeline. Rank 0 reports
what happens on a pipe of its own.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
import threading
from collections.abc import Callable

import msgspec

from collmark.bench.event import Beat, Fault, PipedEvent
from collmark.bench.job import Job, Seat
from collmark.bench.lead import follow, lead
from collmark.bench.watchdog import LOST_STATUS, Watchdog
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


class Startup(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of standard input; descriptors are -1 on all ranks but 0."""

    job: Job
    seat: Seat
    listener: int = -1
    events: int = -1


def status_of(error: BaseException) -> int:
    """Return the exit status that an error asks for: whatever a library raises, the measurement is lost."""
    return next((status for kind, status in STATUS if isinstance(error, kind)), LOST_STATUS)


def _read_startup(descriptor: int) -> Startup:
    # Byte by byte: what follows the line belongs to the watchdog.
    line = bytearray()
    while not line.endswith(b"\n"):
        part = os.read(descriptor, 1)
        if not part:
            raise SystemExit(LOST_STATUS)
        line += part
    return msgspec.json.decode(line, type=Startup)


def emitter(descriptor: int) -> Callable[[PipedEvent], None]:
    """Return a function that writes events to a pipe, from any thread."""
    lock = threading.Lock()

    def emit(event: PipedEvent) -> None:
        data = msgspec.msgpack.encode(event)
        with lock:
            view = memoryview(struct.pack("<I", len(data)) + data)
            while view:
                view = view[os.write(descriptor, view) :]

    return emit


def main() -> int:
    """Be one rank and return its exit status."""
    lifeline = sys.stdin.fileno()
    startup = _read_startup(lifeline)
    is_leader = startup.seat.rank == 0
    emit = emitter(startup.events) if is_leader else None

    def on_fault(text: str) -> None:
        if emit is not None:
            emit(Fault(text=text, status=LOST_STATUS))
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    watchdog = Watchdog(startup.job.plan.timeout, on_fault)
    watchdog.watch_lifeline(lifeline)
    if emit is not None:
        watchdog.beat = lambda: emit(Beat())
    watchdog.start()
    try:
        if is_leader and emit is not None:
            listener = socket.socket(fileno=startup.listener)
            lead(startup.job, startup.seat, listener, watchdog, emit, watchdog.stop_requested.is_set)
        else:
            follow(startup.job, startup.seat, watchdog)
    except Exception as error:
        status = status_of(error)
        text = str(error) if isinstance(error, CollmarkError) else one_line(f"{type(error).__name__}: {error}")
        if status:
            watchdog.last_words(text)
            on_fault_text = text if is_leader else f"rank {startup.seat.rank}: {text}"
            if emit is not None:
                emit(Fault(text=on_fault_text, status=status))
            sys.stderr.write(f"{on_fault_text}\n")
        if not isinstance(error, CollmarkError):
            sys.excepthook(*sys.exc_info())  # to the rank's log, where it can be reported from
        return status
    return 0


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    # Library threads may still run; interpreter shutdown would wait for, or crash in them.
    os._exit(code)
