"""The control channel between ranks: TCP, a secret per launch, and no collective of the library under test.

Rank 0 is the hub. Every other rank holds two connections to it: one for commands and replies, one for pulses, by
which each side knows that the other process lives even while its call hangs. Frames are a length and msgpack.
"""

from __future__ import annotations

import contextlib
import resource
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from collmark.bench.handshake import (
    Hello,
    Reception,
    join,
    receive_exactly,
    receive_frame,
    receive_soon,
    send_frame,
)
from collmark.bench.watchdog import USAGE_STATUS
from collmark.core.errors import InterruptedRunError, MeasurementError, UnavailableError, UsageError

COMMANDS, PULSES = "commands", "pulses"
READY = b"r"
NUMBER = struct.Struct("<q")
LINGER_SECONDS = 1.0  # for other copies of a rank to hear why there will be no launch
TURN_AWAY_SECONDS = 10.0  # for ranks that are still to come to load what they need to hear it
SPARE_FILES = 128
NAMED = 8  # missing ranks that are named


class Hub:
    """Rank 0's end of the control channel.

    Parameters
    ----------
    listener : socket
        Bound and listening; it stays open, for a process that comes late with another's rank to hear of it.
    secret : bytes
        Known to the ranks of this launch.
    own : Hello
        What rank 0 says of itself.
    """

    def __init__(self, listener: socket.socket, secret: bytes, own: Hello) -> None:
        self.ranks = own.ranks
        self._reception = Reception(listener, secret)
        self._hellos: dict[int, Hello] = {0: own}
        self._commands: dict[int, socket.socket] = {}
        self._pulses: dict[int, socket.socket] = {}
        self._is_closed = False
        self._door = threading.Lock()  # late callers are heard by the watchdog's thread

    @property
    def hellos(self) -> list[Hello]:
        """What every rank said of itself, in rank order."""
        return [self._hellos[rank] for rank in range(self.ranks)]

    @property
    def hosts(self) -> list[str]:
        """Host of every rank."""
        return [hello.host for hello in self.hellos]

    def name(self, rank: int) -> str:
        """Return a rank as messages call it."""
        return f"rank {rank} ({self._hellos[rank].host})"

    def own_address(self) -> str:
        """Return the address by which the other ranks reach rank 0; empty where there are none."""
        return next((str(connection.getsockname()[0]) for connection in self._commands.values()), "")

    def gather_ranks(
        self,
        timeout: float,
        is_stopping: Callable[[], bool] = lambda: False,
        on_pulse: Callable[[socket.socket, str], None] = lambda _connection, _name: None,
    ) -> None:
        """Wait until every rank has joined on both connections; `on_pulse` receives each connection for pulses.

        Raises
        ------
        UnavailableError
            If a rank is there twice, or another number of ranks is claimed.
        UsageError, UnavailableError
            If a rank says that it cannot begin.
        MeasurementError
            If some ranks do not come, or one leaves again.
        InterruptedRunError
            If a stop was asked for.
        """
        _allow_files(2 * self.ranks)
        deadline = time.monotonic() + timeout
        while len(self._pulses) < self.ranks - 1:
            if is_stopping():
                raise InterruptedRunError("stopped while the ranks joined")
            if time.monotonic() > deadline:
                raise MeasurementError(
                    f"{self._missing()} of {self.ranks} did not join within {timeout:g} s (see what was said there and "
                    "that rank 0's host can be reached, or allow longer with --timeout)"
                )
            try:
                for hello, connection in self._reception.introductions(0.1):
                    self._admit(hello, connection, on_pulse)
            except UnavailableError as error:
                self._reception.refuse_all(str(error), LINGER_SECONDS)
                raise
            self._check_present()

    def _missing(self) -> str:
        missing = [str(rank) for rank in range(1, self.ranks) if rank not in self._pulses]
        more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
        return f"rank{'s' if len(missing) > 1 else ''} {', '.join(missing[:NAMED])}{more}"

    def hear_latecomers(self) -> None:
        """Answer who comes now, when all ranks are there; UnavailableError where it is a second process of a rank."""
        with self._door:
            for hello, connection in () if self._is_closed else self._reception.introductions(0.0):
                self._admit(hello, connection, lambda _connection, _name: None)

    def _admit(self, hello: Hello, connection: socket.socket, on_pulse: Callable[[socket.socket, str], None]) -> None:
        refused = self._objection(hello)
        if hello.fault and not refused:
            self._end_for(hello, connection)
        is_there = self._reception.answer(hello, connection, refused)
        if refused:
            raise UnavailableError(refused)
        if not is_there:
            return
        self._hellos[hello.rank] = hello
        if hello.purpose == COMMANDS:
            self._commands[hello.rank] = connection
        else:
            self._pulses[hello.rank] = connection
            on_pulse(connection, self.name(hello.rank))

    def _end_for(self, hello: Hello, connection: socket.socket) -> NoReturn:
        """Raise what a rank says of itself, once those that are not yet here have heard that there is no launch."""
        self._reception.answer(hello, connection, hello.fault, hello.status)
        words = f"rank {hello.rank} ({hello.host}): {hello.fault}"
        to_come = self.ranks - 2 - len(self._pulses)  # those that are here hear it from the watchdog
        self._reception.refuse_all(words, TURN_AWAY_SECONDS, to_come, hello.status)
        raise UsageError(words) if hello.status == USAGE_STATUS else UnavailableError(words)

    def _objection(self, hello: Hello) -> str:
        if hello.ranks != self.ranks:
            return f"rank {hello.rank} counts {hello.ranks} ranks, rank 0 counts {self.ranks}: two launches are mixed"
        known = self._commands if hello.purpose == COMMANDS else self._pulses
        if hello.rank == 0 or hello.rank in known:
            earlier = self._hellos[hello.rank]
            return (
                f"two processes are rank {hello.rank} (pid {earlier.pid} on {earlier.host}, pid {hello.pid} on "
                f"{hello.host}): the launcher gave both the same rank, as a launcher of another MPI does"
            )
        return ""

    def _check_present(self) -> None:
        # Until it has a pulse, nobody else notices that a rank has left; it sends nothing before.
        for rank in self._commands.keys() - self._pulses.keys():
            try:
                data = self._commands[rank].recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            if not data:
                raise self._lost(rank)

    def broadcast(self, data: bytes) -> None:
        """Send a frame to every other rank."""
        for rank, connection in self._commands.items():
            try:
                send_frame(connection, data)
            except OSError as error:
                raise self._lost(rank) from error

    def gather(self) -> Iterator[tuple[int, bytes]]:
        """Yield one frame of every other rank, in rank order."""
        for rank in range(1, self.ranks):
            try:
                yield rank, receive_frame(self._commands[rank])
            except OSError as error:
                raise self._lost(rank) from error

    def await_ready(self) -> None:
        """Return when every other rank is ready for the next repetition."""
        for rank, connection in self._commands.items():
            try:
                receive_exactly(connection, 1)
            except OSError as error:
                raise self._lost(rank) from error

    def send_starts(self, readings: Sequence[int]) -> None:
        """Tell every other rank when to start, by what its own clock reads then, ns; in rank order."""
        for rank, connection in self._commands.items():
            try:
                connection.sendall(NUMBER.pack(readings[rank]))
            except OSError as error:
                raise self._lost(rank) from error

    def ask_time(self, rank: int, count: int, request: bytes, clock: Callable[[], int]) -> NDArray[np.int64]:
        """Ask a rank for the time so often; return our clock before, its own, ours after, ns, shape (count, 3).

        `request` is the command that makes it answer with :meth:`Spoke.tell_time`.
        """
        connection, rows = self._commands[rank], []
        try:
            send_frame(connection, request)
            for _turn in range(count):
                before = clock()
                connection.sendall(READY)
                data = receive_soon(connection, NUMBER.size)
                after = clock()
                rows.append((before, *NUMBER.unpack(data), after))
        except OSError as error:
            raise self._lost(rank) from error
        return np.array(rows, dtype=np.int64)

    def _lost(self, rank: int) -> MeasurementError:
        return MeasurementError(f"{self.name(rank)} is gone")

    def close(self) -> None:
        """Close all connections."""
        with self._door:
            self._is_closed = True
            self._reception.close()
        for connection in (*self._commands.values(), *self._pulses.values()):
            connection.close()


class Spoke:
    """Another rank's end of the control channel.

    Parameters
    ----------
    addresses : list of (str, int)
        Host and ports to try, in turn, until the hub proves that it knows the secret.
    secret : bytes
        Known to the ranks of this launch.
    hello : Hello
        What this rank says of itself; purpose and proofs are filled in here.
    timeout : float
        Seconds to find the hub.

    Raises
    ------
    UnavailableError
        If the hub refuses this rank.
    MeasurementError
        If the hub is not found in time.
    """

    def __init__(self, addresses: list[tuple[str, int]], secret: bytes, hello: Hello, timeout: float) -> None:
        self._commands = join(addresses, secret, hello, COMMANDS, timeout)
        try:
            self.pulses = join([self._commands.getpeername()[:2]], secret, hello, PULSES, timeout)
        except BaseException:
            self._commands.close()
            raise

    def own_address(self) -> str:
        """Return the address by which this rank reaches rank 0."""
        return str(self._commands.getsockname()[0])

    def receive(self) -> bytes:
        """Return the next frame of rank 0; MeasurementError when it is gone."""
        try:
            return receive_frame(self._commands)
        except OSError as error:
            raise MeasurementError("rank 0 is gone") from error

    def send(self, data: bytes) -> None:
        """Send a frame to rank 0; MeasurementError when it is gone."""
        try:
            send_frame(self._commands, data)
        except OSError as error:
            raise MeasurementError("rank 0 is gone") from error

    def ready(self) -> int:
        """Say that this rank is ready, and return the agreed start on its own clock, ns."""
        try:
            self._commands.sendall(READY)
            (start,) = NUMBER.unpack(receive_exactly(self._commands, NUMBER.size))
        except OSError as error:
            raise MeasurementError("rank 0 is gone") from error
        return int(start)

    def tell_time(self, count: int, clock: Callable[[], int]) -> None:
        """Answer rank 0 so often with what our clock reads."""
        try:
            for _turn in range(count):
                receive_soon(self._commands, len(READY))
                self._commands.sendall(NUMBER.pack(clock()))
        except OSError as error:
            raise MeasurementError("rank 0 is gone") from error

    def outlives_hub(self, seconds: float) -> bool:
        """Whether rank 0 goes within so many seconds, whatever it still says."""
        deadline = time.monotonic() + seconds
        try:
            while True:
                receive_exactly(self._commands, 1, deadline)
        except TimeoutError:
            return False
        except OSError:
            return True

    def close(self) -> None:
        """Close both connections."""
        self._commands.close()
        self.pulses.close()


def _allow_files(connections: int) -> None:
    """Raise the soft limit of open files, which is 1024 on many systems, to what so many connections need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
