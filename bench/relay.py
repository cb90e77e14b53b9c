"""A rank's connections down the tree, and how a rank further down is told where it belongs."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from collmark.bench.handshake import (
    Hello,
    Reception,
    join,
    receive_exactly,
    receive_frame,
    send_frame,
)
from collmark.bench.tree import Tree, starts_frame, starts_in, taken_apart
from collmark.core.errors import MeasurementError

COMMANDS, PULSES = "commands", "pulses"
READY = b"r"
ALL, ONE = b"*", b"."
"""How a frame begins that is for everybody further down, or only for who receives it."""
NUMBER = struct.Struct("<q")
PORT = struct.Struct("<H")


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """What rank 0 tells a rank that is not to be its child: where its parent listens, or why there is no launch.

    Attributes
    ----------
    host : str
        Empty where it is the host by which the rank reached rank 0.
    port : int
    name : str
        The parent, as messages call it.
    refused : str
        Why there is no launch; rank 0 tells the user.
    status : int
        Exit status of all ranks then.
    """

    host: str = ""
    port: int = 0
    name: str = ""
    refused: str = ""
    status: int = 0


class Children:
    """Connections for commands and replies to the children of a rank.

    Parameters
    ----------
    rank, tree
        Whose children.
    connections : mapping of int to socket
        By rank.
    name : callable
        Returns a rank as messages call it.

    Attributes
    ----------
    messages : int
        Sent and received so far.
    """

    def __init__(
        self, rank: int, tree: Tree, connections: Mapping[int, socket.socket], name: Callable[[int], str]
    ) -> None:
        self._tree = tree
        self._connections = {child: connections[child] for child in tree.children(rank)}
        self._below = {child: tree.below(child) for child in self._connections}
        self._name = name
        self.messages = 0

    def lost(self, rank: int) -> MeasurementError:
        """Return what to raise where a rank does not answer."""
        return MeasurementError(f"{self._name(rank)} is gone")

    def tell(self, frame: bytes) -> None:
        """Send a frame to every child."""
        for rank, connection in self._connections.items():
            try:
                send_frame(connection, frame)
            except OSError as error:
                raise self.lost(rank) from error
        self.messages += len(self._connections)

    def frames(self) -> dict[int, bytes]:
        """Return what every child sends, which holds the replies of those below it."""
        found = {}
        for rank, connection in self._connections.items():
            try:
                found[rank] = receive_frame(connection)
            except OSError as error:
                raise self.lost(rank) from error
        self.messages += len(found)
        return found

    def replies(self) -> dict[int, bytes]:
        """Return one reply of every rank further down."""
        found: dict[int, bytes] = {}
        for rank, frame in self.frames().items():
            found |= taken_apart(frame, rank, self._tree)
        return found

    def await_ready(self) -> None:
        """Return when every rank further down is ready for the next repetition."""
        for rank, connection in self._connections.items():
            try:
                receive_exactly(connection, 1)
            except OSError as error:
                raise self.lost(rank) from error
        self.messages += len(self._connections)

    def send_starts(self, starts: Mapping[int, int] | Sequence[int]) -> None:
        """Tell every rank further down when to start, by what its own clock reads then, ns."""
        for rank, connection in self._connections.items():
            below = self._below[rank]
            try:
                if len(below) == 1:
                    connection.sendall(NUMBER.pack(starts[rank]))
                else:
                    send_frame(connection, starts_frame(starts, below))
            except OSError as error:
                raise self.lost(rank) from error
        self.messages += len(self._connections)


def receive_start(connection: socket.socket, below: Sequence[int]) -> dict[int, int]:
    """Return the agreed starts of a rank, the first of `below`, and of those further down, each by its own clock."""
    if len(below) == 1:
        return {below[0]: int(NUMBER.unpack(receive_exactly(connection, NUMBER.size))[0])}
    return starts_in(receive_frame(connection), below)


def listen_beside(connection: socket.socket, host: str, children: int) -> socket.socket:
    """Listen for children at the address by which this rank has reached rank 0 at `host`."""
    address = str(connection.getsockname()[0])
    if address.startswith(("127.", "::1")) and not host.startswith(("127.", "::1", "localhost")):
        # Only on rank 0's own host is its name a loopback address.
        address = "::" if connection.family == socket.AF_INET6 else ""
    return socket.create_server((address, 0), family=connection.family, backlog=2 * children)


def receive_children(
    listener: socket.socket, secret: bytes, rank: int, tree: Tree, *, timeout: float, hear: Callable[[], None]
) -> tuple[dict[str, dict[int, socket.socket]], dict[int, Hello]]:
    """Wait until all children of a rank have joined it; return their connections by purpose, and what they said.

    `hear` is called again and again meanwhile, and raises where there will be no launch.

    Raises
    ------
    MeasurementError
        If some do not come in time.
    """
    connections: dict[str, dict[int, socket.socket]] = {COMMANDS: {}, PULSES: {}}
    hellos: dict[int, Hello] = {}
    reception, deadline = Reception(listener, secret), time.monotonic() + timeout
    children = tree.children(rank)
    while any(len(found) < len(children) for found in connections.values()):
        hear()
        if time.monotonic() > deadline:
            missing = next(child for child in children if child not in connections[PULSES])
            raise MeasurementError(f"rank {missing} did not find rank {rank} within {timeout:g} s")
        for hello, connection in reception.introductions(0.1):
            if hello.rank in children and reception.answer(hello, connection):
                connections[hello.purpose][hello.rank] = connection
                hellos[hello.rank] = hello
    reception.close()
    return connections, hellos


def join_parent(
    place: Place, host: str, secret: bytes, hello: Hello, timeout: float
) -> tuple[socket.socket, socket.socket]:
    """Connect to the parent that rank 0 has named, for commands and for pulses; `host` is rank 0's."""
    address = (place.host or host, place.port)
    commands = join([address], secret, hello, COMMANDS, timeout)
    try:
        return commands, join([address], secret, hello, PULSES, timeout)
    except BaseException:
        commands.close()
        raise
