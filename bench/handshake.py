"""How ranks find each other: an introduction over TCP in which both sides prove that they know the launch's secret.

Nobody who does not know it, a port scan or another launch, can delay or disturb a launch: strangers are heard beside
the others, briefly, and dropped.
"""

from __future__ import annotations

import errno
import hmac
import secrets
import selectors
import socket
import struct
import time
from collections.abc import Iterator

import msgspec

from collmark.core.errors import MeasurementError, UnavailableError

NONCE = 16
LARGEST_HELLO = 4096
LARGEST_FRAME = 1 << 30
STRANGER_SECONDS = 5.0  # to say hello
NONCE_SECONDS = 3.0  # for a hub to speak first, where there are other addresses to try
LOOKS = 300  # at a connection, some 0.2 ms, before the process sleeps until data comes
WELCOME_SECONDS = 20.0  # for a hub to answer: it has spoken already


class Hello(msgspec.Struct, frozen=True, kw_only=True):
    """What a joining rank says of itself; equal `clock` claims one clock, equal `network` one loopback.

    `age` is that of its process, in s.
    """

    rank: int
    ranks: int
    host: str
    clock: str
    network: str
    pid: int
    cores: tuple[int, ...]
    purpose: str
    proof: bytes
    nonce: bytes
    age: float = 0.0
    fault: str = ""
    """Why this rank cannot begin; it comes to say so, and to hear with which `status` all ranks end."""
    status: int = 0


class Welcome(msgspec.Struct, frozen=True, kw_only=True):
    """The hub's answer: its own proof, or why the rank is refused; with a status where rank 0 has told the user."""

    proof: bytes = b""
    refused: str = ""
    status: int | None = None


class TurnedAwayError(UnavailableError):
    """There will be no launch: rank 0 tells the user why, and all ranks end with the same status.

    Parameters
    ----------
    words
        Why, for the log.
    status
        Exit status of every rank.
    """

    def __init__(self, words: str, status: int) -> None:
        self.status = status
        super().__init__(words)


def proof(secret: bytes, nonce: bytes, words: str) -> bytes:
    """Return the proof that its maker knows the secret."""
    return hmac.digest(secret, nonce + words.encode(), "sha256")


def receive_exactly(connection: socket.socket, count: int, deadline: float | None = None) -> bytes:
    """Return `count` bytes; ConnectionError when the other side is gone, TimeoutError at the deadline."""
    data = bytearray()
    while len(data) < count:
        if deadline is not None:
            connection.settimeout(max(0.001, deadline - time.monotonic()))
        part = connection.recv(count - len(data))
        if not part:
            raise ConnectionError("the connection was closed")
        data += part
    return bytes(data)


def receive_soon(connection: socket.socket, count: int) -> bytes:
    """Return `count` bytes that are about to come: a core that went to sleep would take longer than their way."""
    for _look in range(LOOKS):
        try:
            data = connection.recv(count, socket.MSG_DONTWAIT)
        except BlockingIOError:
            continue
        if not data:
            raise ConnectionError("the connection was closed")
        return data + receive_exactly(connection, count - len(data))
    return receive_exactly(connection, count)


def send_frame(connection: socket.socket, data: bytes) -> None:
    """Send a length and the data."""
    connection.sendall(struct.pack("<I", len(data)) + data)


def receive_frame(connection: socket.socket, *, largest: int = LARGEST_FRAME, deadline: float | None = None) -> bytes:
    """Return the data of one frame; ConnectionError where it is none of ours."""
    (length,) = struct.unpack("<I", receive_exactly(connection, 4, deadline))
    if length > largest:
        raise ConnectionError(f"a frame of {length} B is no message of ours")
    return receive_exactly(connection, length, deadline)


class _Caller:
    """A connection that has not yet introduced itself."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.nonce = secrets.token_bytes(NONCE)
        self.deadline = time.monotonic() + STRANGER_SECONDS
        self._data = b""
        connection.settimeout(0.0)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.send(self.nonce)

    def hear(self) -> Hello | None:
        """Return the hello when it is complete; OSError or MsgspecError where it never will be."""
        part = self.connection.recv(LARGEST_HELLO)
        if not part:
            raise ConnectionError("left without a hello")
        self._data += part
        if len(self._data) < 4:
            return None
        (length,) = struct.unpack("<I", self._data[:4])
        if length > LARGEST_HELLO or len(self._data) > 4 + length:
            raise ConnectionError("no hello of ours")
        return msgspec.msgpack.decode(self._data[4:], type=Hello) if len(self._data) == 4 + length else None


class Reception:
    """Hears everybody who connects, all at once.

    Parameters
    ----------
    listener : socket
        Bound and listening.
    secret : bytes
        What callers have to know.
    """

    def __init__(self, listener: socket.socket, secret: bytes) -> None:
        self._listener = listener
        self._secret = secret
        self._selector = selectors.DefaultSelector()
        self._callers: dict[socket.socket, _Caller] = {}
        listener.settimeout(0.0)
        self._selector.register(listener, selectors.EVENT_READ)

    def introductions(self, seconds: float) -> Iterator[tuple[Hello, socket.socket]]:
        """Wait that long at most, and yield who has proved to belong to the launch; they wait for an answer."""
        for key, _events in self._selector.select(seconds):
            if key.fileobj is self._listener:
                self._accept()
            else:
                caller = self._callers[key.fileobj]  # type: ignore[index]
                hello = self._heard(caller)
                if hello is not None:
                    self._forget(caller)
                    caller.connection.settimeout(None)
                    yield hello, caller.connection
        now = time.monotonic()
        for caller in [caller for caller in self._callers.values() if now > caller.deadline]:
            self._drop(caller)

    def _accept(self) -> None:
        try:
            connection, _address = self._listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise UnavailableError("too many open files for so many ranks: raise the limit (ulimit -n)") from error
            return
        try:
            caller = _Caller(connection)
        except OSError:
            connection.close()
            return
        self._callers[connection] = caller
        self._selector.register(connection, selectors.EVENT_READ)

    def _heard(self, caller: _Caller) -> Hello | None:
        try:
            hello = caller.hear()
        except BlockingIOError:
            return None
        except (OSError, msgspec.MsgspecError):
            self._drop(caller)
            return None
        if hello is None:
            return None
        if not hmac.compare_digest(hello.proof, proof(self._secret, caller.nonce, f"{hello.rank} {hello.purpose}")):
            self._drop(caller)
            return None
        return hello

    def answer(self, hello: Hello, connection: socket.socket, refused: str = "", status: int | None = None) -> bool:
        """Welcome or refuse somebody; False when they have left meanwhile."""
        welcome = Welcome(refused=refused, status=status, proof=proof(self._secret, hello.nonce, "hub"))
        try:
            send_frame(connection, msgspec.msgpack.encode(welcome))
        except OSError:
            connection.close()
            return False
        if refused:
            connection.close()
        return True

    def refuse_all(self, reason: str, seconds: float, ranks: int | None = None, status: int | None = None) -> None:
        """Tell everybody who still comes why there will be no launch, until so many ranks have heard it."""
        deadline = time.monotonic() + seconds
        told: set[int] = set()
        while (left := deadline - time.monotonic()) > 0 and len(told) != ranks:
            for hello, connection in self.introductions(min(left, 0.1)):
                self.answer(hello, connection, reason, status)
                told.add(hello.rank)

    def _forget(self, caller: _Caller) -> None:
        self._selector.unregister(caller.connection)
        del self._callers[caller.connection]

    def _drop(self, caller: _Caller) -> None:
        self._forget(caller)
        caller.connection.close()

    def close(self) -> None:
        """Drop who has not introduced themselves, and let nobody in any more."""
        for caller in list(self._callers.values()):
            self._drop(caller)
        self._selector.close()
        self._listener.close()


def join(addresses: list[tuple[str, int]], secret: bytes, hello: Hello, purpose: str, timeout: float) -> socket.socket:
    """Connect to the hub for one purpose.

    Raises
    ------
    UnavailableError
        If the hub refuses; TurnedAwayError where rank 0 tells the user why.
    MeasurementError
        If it is not found in time.
    """
    deadline = time.monotonic() + timeout
    others_answered = False
    while time.monotonic() < deadline:
        for address in addresses:
            try:
                connection = socket.create_connection(address, timeout=min(5.0, timeout))
            except OSError:
                continue
            try:
                welcome = _introduce(connection, secret, hello, purpose, deadline, alone=len(addresses) == 1)
            except (OSError, msgspec.MsgspecError):
                welcome = None
            if welcome is None or welcome.refused:
                connection.close()
                if welcome is not None and welcome.status is not None:
                    raise TurnedAwayError(welcome.refused, welcome.status)
                if welcome is not None:
                    raise UnavailableError(welcome.refused)
                others_answered = True
                continue
            connection.settimeout(None)
            return connection
        time.sleep(0.05)
    places = ", ".join(f"{host}:{port}" for host, port in addresses[:2])
    stranger = "; what answers there belongs to something else" if others_answered else ""
    raise MeasurementError(f"rank {hello.rank} did not find rank 0 at {places} within {timeout:g} s{stranger}")


def _introduce(
    connection: socket.socket, secret: bytes, hello: Hello, purpose: str, deadline: float, *, alone: bool
) -> Welcome | None:
    """Return the hub's answer, or None where the other side is not our hub."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    own = secrets.token_bytes(NONCE)
    # The only address is the hub's, which may still be loading libraries; among several, a stranger may sit at one.
    patience = deadline if alone else min(deadline, time.monotonic() + NONCE_SECONDS)
    nonce = receive_exactly(connection, NONCE, patience)
    hello = msgspec.structs.replace(
        hello, purpose=purpose, nonce=own, proof=proof(secret, nonce, f"{hello.rank} {purpose}")
    )
    send_frame(connection, msgspec.msgpack.encode(hello))
    patience = max(deadline, time.monotonic() + 1) if alone else time.monotonic() + WELCOME_SECONDS
    data = receive_frame(connection, largest=LARGEST_HELLO, deadline=patience)
    welcome = msgspec.msgpack.decode(data, type=Welcome)
    return welcome if hmac.compare_digest(welcome.proof, proof(secret, own, "hub")) else None
