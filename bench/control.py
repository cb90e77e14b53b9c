"""The control channel between ranks: TCP, a secret per launch, and no collective of the library under test.

Rank 0 is the hub: every other rank introduces itself to it, and keeps that connection, over which clocks are looked at.
Commands, starts and replies go along a tree (:mod:`collmark.bench.tree`), and so do pulses, by which neighbours know
that each other's process lives even while its call hangs. Frames are a length and msgpack.
"""

from __future__ import annotations

import contextlib
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NoReturn

import msgspec
import numpy as np
from numpy.typing import NDArray

from collmark.bench.handshake import Hello, Reception, receive_frame, receive_soon, send_frame
from collmark.bench.relay import ALL, COMMANDS, NUMBER, ONE, PORT, READY, Children, Place
from collmark.bench.tree import Tree
from collmark.bench.watchdog import MISSING_STATUS, USAGE_STATUS
from collmark.core.errors import InterruptedRunError, MeasurementError, UnavailableError, UsageError

LINGER_SECONDS = 1.0  # for other copies of a rank to hear why there will be no launch
TURN_AWAY_SECONDS = 10.0  # for ranks that are still to come to load what they need to hear it
CHECK_SECONDS = 0.5  # between looks at whether ranks are still there
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
        self.tree = Tree(own.ranks)
        self._children = Children(0, Tree(1), {}, self.name)
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
        """Wait until every rank has joined; `on_pulse` receives the connection for pulses of each child.

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
        try:
            self._await_ranks(timeout, is_stopping, on_pulse)
        except (UsageError, UnavailableError) as error:
            status = USAGE_STATUS if isinstance(error, UsageError) else MISSING_STATUS
            self._send_places({}, Place(refused=str(error), status=status))
            raise
        ports = {rank: PORT.unpack(receive_frame(self._commands[rank]))[0] for rank in self.tree.inner()}
        self._send_places(ports, None)
        self._children = Children(0, self.tree, self._commands, self.name)

    def _await_ranks(
        self, timeout: float, is_stopping: Callable[[], bool], on_pulse: Callable[[socket.socket, str], None]
    ) -> None:
        checked = time.monotonic()
        deadline = checked + timeout
        while self._awaited():
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
            if time.monotonic() - checked > CHECK_SECONDS:
                checked = time.monotonic()
                self._check_present()

    def _send_places(self, ports: Mapping[int, int], refusal: Place | None) -> None:
        """Tell ranks that are not our children who their parents are, or that there is no launch."""
        ours = set(self.tree.children(0))
        # Of ours, those that wait for children have no ear yet for the watchdog's words.
        waiting = self._commands.keys() & set(self.tree.inner()) if refusal else set()
        for rank in (self._commands.keys() - ours) | waiting:
            place = refusal or self._place(rank, self.tree.parent(rank), ports)
            with contextlib.suppress(OSError):  # a rank that has gone is missed by its parent
                send_frame(self._commands[rank], msgspec.msgpack.encode(place))

    def _place(self, rank: int, parent: int, ports: Mapping[int, int]) -> Place:
        host = str(self._commands[parent].getpeername()[0])
        if host.startswith(("127.", "::1")) and self._hellos[rank].network != self._hellos[parent].network:
            host = ""  # it is where we are, and only here has that address
        return Place(host=host, port=ports[parent], name=self.name(parent))

    def _awaited(self) -> list[int]:
        """Return the ranks that have not yet joined."""
        children = self.tree.children(0)
        there = self._commands.keys() - (set(children) - self._pulses.keys())
        return [rank for rank in range(1, self.ranks) if rank not in there] if len(there) < self.ranks - 1 else []

    def _missing(self) -> str:
        missing = [str(rank) for rank in self._awaited()]
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
        to_come = len(self._awaited()) - 1  # those that are here hear it from the watchdog, or in place of a parent
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

    @property
    def messages(self) -> int:
        """Messages sent and received since the ranks are there, looks at clocks not counted."""
        return self._children.messages

    def broadcast(self, data: bytes) -> None:
        """Send a frame to every other rank."""
        self._children.tell(ALL + data)

    def gather(self) -> Iterator[tuple[int, bytes]]:
        """Yield one frame of every other rank, in rank order."""
        yield from sorted(self._children.replies().items())

    def await_ready(self) -> None:
        """Return when every other rank is ready for the next repetition."""
        self._children.await_ready()

    def send_starts(self, readings: Sequence[int]) -> None:
        """Tell every other rank when to start, by what its own clock reads then, ns; in rank order."""
        self._children.send_starts(readings)

    def ask_time(self, rank: int, count: int, request: bytes, clock: Callable[[], int]) -> NDArray[np.int64]:
        """Ask a rank for the time so often; return our clock before, its own, ours after, ns, shape (count, 3).

        `request` is the command that makes it answer with :meth:`Spoke.tell_time`.
        """
        connection, rows = self._commands[rank], []
        try:
            send_frame(connection, ONE + request)
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


def _allow_files(connections: int) -> None:
    """Raise the soft limit of open files, which is 1024 on many systems, to what so many connections need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
