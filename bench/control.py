"""The control channel between ranks: TCP, a secret per launch, and no collective of the library under test.

Rank 0 is the hub. Every other rank holds two connections to it: one for commands and replies, one for pulses, by
which each side knows that the other process lives even while its call hangs. Frames are a length and msgpack.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import struct
import time
from collections.abc import Iterator

import msgspec

from collmark.core.errors import MeasurementError, UnavailableError

COMMANDS, PULSES = "commands", "pulses"
NONCE = 16
LARGEST_FRAME = 1 << 30
READY = b"r"


class Hello(msgspec.Struct, frozen=True, kw_only=True):
    """What a joining rank says of itself."""

    rank: int
    ranks: int
    host: str
    boot: str
    pid: int
    cores: int
    purpose: str
    proof: bytes
    nonce: bytes


class Welcome(msgspec.Struct, frozen=True, kw_only=True):
    """The hub's answer: its own proof, or why the rank is refused."""

    proof: bytes = b""
    refused: str = ""


def proof(secret: bytes, nonce: bytes, words: str) -> bytes:
    """Return the proof that its maker knows the secret."""
    return hmac.digest(secret, nonce + words.encode(), "sha256")


def receive_exactly(connection: socket.socket, count: int) -> bytes:
    """Return `count` bytes; ConnectionError when the other side is gone."""
    data = bytearray()
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            msg = "the connection was closed"
            raise ConnectionError(msg)
        data += part
    return bytes(data)


def send_frame(connection: socket.socket, data: bytes) -> None:
    """Send a length and the data."""
    connection.sendall(struct.pack("<I", len(data)) + data)


def receive_frame(connection: socket.socket) -> bytes:
    """Return the data of one frame."""
    (length,) = struct.unpack("<I", receive_exactly(connection, 4))
    if length > LARGEST_FRAME:
        msg = f"a frame of {length} B is no message of ours"
        raise ConnectionError(msg)
    return receive_exactly(connection, length)


def _tuned(connection: socket.socket) -> socket.socket:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


class Hub:
    """Rank 0's end of the control channel.

    Parameters
    ----------
    listener : socket
        Bound and listening.
    secret : bytes
        Known to the ranks of this launch.
    own : Hello
        What rank 0 says of itself.
    """

    def __init__(self, listener: socket.socket, secret: bytes, own: Hello) -> None:
        self.ranks = own.ranks
        self._listener = listener
        self._secret = secret
        self._hellos: dict[int, Hello] = {0: own}
        self._commands: dict[int, socket.socket] = {}
        self.pulses: dict[int, socket.socket] = {}

    @property
    def hellos(self) -> list[Hello]:
        """What every rank said of itself, in rank order."""
        return [self._hellos[rank] for rank in range(self.ranks)]

    @property
    def hosts(self) -> list[str]:
        """Host of every rank."""
        return [hello.host for hello in self.hellos]

    def gather_ranks(self, timeout: float) -> None:
        """Wait until every rank has joined on both connections.

        Raises
        ------
        UnavailableError
            If a rank is there twice, another number of ranks is claimed, or some do not come.
        """
        deadline = time.monotonic() + timeout
        while len(self._commands) + len(self.pulses) < 2 * (self.ranks - 1):
            self._listener.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                connection, _address = self._listener.accept()
            except TimeoutError as error:
                missing = sorted(set(range(self.ranks)) - set(self._hellos))
                msg = (
                    f"rank {', '.join(map(str, missing))} of {self.ranks} did not join within {timeout:g} s; "
                    "see its log, and that every rank can reach rank 0's host"
                )
                raise UnavailableError(msg) from error
            self._admit(_tuned(connection))

    def _admit(self, connection: socket.socket) -> None:
        connection.settimeout(5)
        nonce = secrets.token_bytes(NONCE)
        try:
            connection.sendall(nonce)
            hello = msgspec.msgpack.decode(receive_frame(connection), type=Hello)
        except (OSError, msgspec.MsgspecError):
            connection.close()  # a stranger, or a port scan: not one of ours
            return
        if not hmac.compare_digest(hello.proof, proof(self._secret, nonce, f"{hello.rank}{hello.purpose}")):
            connection.close()
            return
        refused = self._objection(hello)
        answer = Welcome(refused=refused, proof=proof(self._secret, hello.nonce, "hub"))
        send_frame(connection, msgspec.msgpack.encode(answer))
        if refused:
            connection.close()
            raise UnavailableError(refused)
        connection.settimeout(None)
        self._hellos[hello.rank] = hello
        (self._commands if hello.purpose == COMMANDS else self.pulses)[hello.rank] = connection

    def _objection(self, hello: Hello) -> str:
        known = self._commands if hello.purpose == COMMANDS else self.pulses
        if hello.rank == 0 or hello.rank in known:
            earlier = self._hellos[hello.rank]
            return (
                f"two processes are rank {hello.rank} (pid {earlier.pid} on {earlier.host}, pid {hello.pid} on "
                f"{hello.host}): the launcher gave every process the same rank, as a launcher of another MPI does"
            )
        if hello.ranks != self.ranks:
            return f"rank {hello.rank} counts {hello.ranks} ranks, rank 0 counts {self.ranks}: two launches are mixed"
        return ""

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

    def send_start(self, nanoseconds: int) -> None:
        """Tell every other rank when to start."""
        data = struct.pack("<q", nanoseconds)
        for connection in self._commands.values():
            connection.sendall(data)

    def _lost(self, rank: int) -> MeasurementError:
        return MeasurementError(f"rank {rank} ({self._hellos[rank].host}) is gone")

    def close(self) -> None:
        """Close all connections."""
        for connection in (*self._commands.values(), *self.pulses.values(), self._listener):
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
    """

    def __init__(self, addresses: list[tuple[str, int]], secret: bytes, hello: Hello, timeout: float) -> None:
        self._commands = join(addresses, secret, hello, COMMANDS, timeout)
        self.pulses = join([self._commands.getpeername()[:2]], secret, hello, PULSES, timeout)

    def receive(self) -> bytes:
        """Return the next frame of rank 0; MeasurementError when it is gone."""
        try:
            return receive_frame(self._commands)
        except OSError as error:
            msg = "rank 0 is gone"
            raise MeasurementError(msg) from error

    def send(self, data: bytes) -> None:
        """Send a frame to rank 0."""
        send_frame(self._commands, data)

    def ready(self) -> int:
        """Say that this rank is ready, and return the agreed start in ns."""
        self._commands.sendall(READY)
        (start,) = struct.unpack("<q", receive_exactly(self._commands, 8))
        return int(start)

    def close(self) -> None:
        """Close both connections."""
        self._commands.close()
        self.pulses.close()


def join(addresses: list[tuple[str, int]], secret: bytes, hello: Hello, purpose: str, timeout: float) -> socket.socket:
    """Connect to the hub for one purpose.

    Raises
    ------
    UnavailableError
        If the hub refuses, or is not found in time.
    """
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        for address in addresses:
            try:
                connection = _tuned(socket.create_connection(address, timeout=5))
            except OSError:
                continue
            welcome = _introduce(connection, secret, hello, purpose)
            if welcome is None:
                connection.close()
                continue
            if welcome.refused:
                connection.close()
                raise UnavailableError(welcome.refused)
            connection.settimeout(None)
            return connection
        time.sleep(0.05)
    places = ", ".join(f"{host}:{port}" for host, port in addresses[:2])
    msg = f"rank {hello.rank} did not find rank 0 at {places} within {timeout:g} s"
    raise UnavailableError(msg)


def _introduce(connection: socket.socket, secret: bytes, hello: Hello, purpose: str) -> Welcome | None:
    """Return the hub's answer, or None where the other side is not our hub."""
    own = secrets.token_bytes(NONCE)
    try:
        nonce = receive_exactly(connection, NONCE)
        hello = msgspec.structs.replace(
            hello, purpose=purpose, nonce=own, proof=proof(secret, nonce, f"{hello.rank}{purpose}")
        )
        send_frame(connection, msgspec.msgpack.encode(hello))
        welcome = msgspec.msgpack.decode(receive_frame(connection), type=Welcome)
    except (OSError, msgspec.MsgspecError):
        return None
    return welcome if hmac.compare_digest(welcome.proof, proof(secret, own, "hub")) else None
