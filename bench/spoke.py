"""Another rank's end of the control channel."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable

import msgspec

from collmark.bench.handshake import (
    Hello,
    TurnedAwayError,
    join,
    receive_exactly,
    receive_frame,
    receive_soon,
    send_frame,
)
from collmark.bench.relay import (
    ALL,
    COMMANDS,
    NUMBER,
    PORT,
    PULSES,
    READY,
    Children,
    Place,
    join_parent,
    listen_beside,
    receive_children,
    receive_start,
)
from collmark.bench.tree import Tree, merged
from collmark.core.errors import MeasurementError


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
        self.rank, self._tree = hello.rank, Tree(hello.ranks)
        self._below = self._tree.below(self.rank)
        self._name = "rank 0"
        self.watched: list[tuple[socket.socket, str]] = []
        """Connections for pulses, and whose they are."""
        self._hub = self._parent = join(addresses, secret, hello, COMMANDS, timeout)
        self._opened = [self._hub]
        try:
            self._take_place(addresses[0][0], secret, hello, timeout)
        except BaseException:
            self.close()
            raise

    def _take_place(self, host: str, secret: bytes, hello: Hello, timeout: float) -> None:
        """Find the parent and the children."""
        # Rank 0 waits as long for ranks as this one does, and may have begun later.
        timeout *= 2
        children = self._tree.children(self.rank)
        listener = listen_beside(self._hub, host, len(children)) if children else None
        if listener is not None:
            self._opened.append(listener)
            send_frame(self._hub, PORT.pack(listener.getsockname()[1]))
        hub = self._hub.getpeername()[:2]
        if self._tree.parent(self.rank):
            place = receive_place(self._hub, timeout)
            self._parent, pulses = join_parent(place, hub[0], secret, hello, timeout)
            self._opened.append(self._parent)
            self._name = place.name
        else:
            pulses = join([hub], secret, hello, PULSES, timeout)
        self._opened.append(pulses)
        self.watched.append((pulses, self._name))
        connections: dict[int, socket.socket] = {}
        hellos: dict[int, Hello] = {}
        if listener is not None:
            found, hellos = receive_children(
                listener, secret, self.rank, self._tree, timeout=timeout, hear=self._hear_refusal
            )
            connections = found[COMMANDS]
            self._opened += [*connections.values(), *found[PULSES].values()]
            self.watched += [(found[PULSES][rank], f"rank {rank} ({hellos[rank].host})") for rank in children]
        self._children = Children(self.rank, self._tree, connections, lambda rank: f"rank {rank} ({hellos[rank].host})")
        self._sources = select.poll()
        for connection in {self._parent, self._hub}:
            self._sources.register(connection, select.POLLIN)

    def _hear_refusal(self) -> None:
        """Raise what rank 0 says while this rank waits for others: nothing else than that there is no launch."""
        if select.select([self._hub], [], [], 0)[0]:
            receive_place(self._hub, 1.0)

    def own_address(self) -> str:
        """Return the address by which this rank reaches rank 0."""
        return str(self._hub.getsockname()[0])

    def receive(self) -> bytes:
        """Return the next frame of rank 0, handed on first; MeasurementError when who sends it is gone."""
        source = self._parent
        if self._parent is not self._hub:
            ready = {descriptor for descriptor, _event in self._sources.poll()}
            source = self._parent if self._parent.fileno() in ready else self._hub
        try:
            frame = receive_frame(source)
        except OSError as error:
            raise self._gone() from error
        if frame[:1] == ALL:
            self._children.tell(frame)
        return frame[1:]

    def _gone(self) -> MeasurementError:
        return MeasurementError(f"{self._name} is gone")

    def send(self, data: bytes) -> None:
        """Send a reply to rank 0, with those of the ranks further down; MeasurementError when somebody is gone."""
        frame = merged(data, self._children.frames(), self.rank, self._tree)
        try:
            send_frame(self._parent, frame)
        except OSError as error:
            raise self._gone() from error

    def ready(self) -> int:
        """Say that this rank and those further down are ready, and return the agreed start on its own clock, ns."""
        self._children.await_ready()
        try:
            self._parent.sendall(READY)
            starts = receive_start(self._parent, self._below)
        except OSError as error:
            raise self._gone() from error
        self._children.send_starts(starts)
        return starts[self.rank]

    def tell_time(self, count: int, clock: Callable[[], int]) -> None:
        """Answer rank 0 so often with what our clock reads."""
        try:
            for _turn in range(count):
                receive_soon(self._hub, len(READY))
                self._hub.sendall(NUMBER.pack(clock()))
        except OSError as error:
            raise MeasurementError("rank 0 is gone") from error

    def outlives_hub(self, seconds: float) -> bool:
        """Whether rank 0 goes within so many seconds, whatever it still says."""
        deadline = time.monotonic() + seconds
        try:
            while True:
                receive_exactly(self._hub, 1, deadline)
        except TimeoutError:
            return False
        except OSError:
            return True

    def close(self) -> None:
        """Close all connections."""
        for connection in self._opened:
            connection.close()


def receive_place(connection: socket.socket, timeout: float) -> Place:
    """Return where rank 0 says that this rank belongs, once all ranks are there.

    Raises
    ------
    TurnedAwayError
        If there is no launch.
    MeasurementError
        If rank 0 is gone, or says nothing in time.
    """
    try:
        frame = receive_frame(connection, deadline=time.monotonic() + timeout)
    except TimeoutError as error:
        raise MeasurementError(f"rank 0 has named no parent within {timeout:g} s") from error
    except OSError as error:
        raise MeasurementError("rank 0 is gone") from error
    connection.settimeout(None)
    place = msgspec.msgpack.decode(frame, type=Place)
    if place.refused:
        raise TurnedAwayError(place.refused, place.status)
    return place
