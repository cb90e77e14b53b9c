"""The thread that ends a process when its launcher, its peers or its own call no longer move.

A hung collective cannot be interrupted from Python: the only way out is to end the process. So the thread says
what it knows and exits with status 4; whatever was finished before is on disk.
"""

from __future__ import annotations

import os
import selectors
import socket
import threading
import time
from collections.abc import Callable

LOST_STATUS = 4
BEAT, STOP, LAST_WORDS = b".", b"s", b"!"
PERIOD = 0.5  # s between beats: rare enough not to disturb a measurement


class Watchdog(threading.Thread):
    """Watches a launcher, peers and a deadline.

    Parameters
    ----------
    timeout : float
        Seconds of silence after which a peer or the launcher is given up.
    on_fault : callable
        Called with one line of text before the process ends.
    """

    def __init__(self, timeout: float, on_fault: Callable[[str], None]) -> None:
        super().__init__(name="watchdog", daemon=True)
        self.stop_requested = threading.Event()
        self._timeout = timeout
        self._on_fault = on_fault
        self._selector = selectors.DefaultSelector()
        self._peers: dict[socket.socket, str] = {}
        self._heard: dict[object, float] = {}
        self._lifeline: int | None = None
        self._deadline = float("inf")
        self._patience = timeout
        self._what = ""
        self._ended = threading.Event()
        self.beat: Callable[[], None] = lambda: None

    def watch_lifeline(self, descriptor: int) -> None:
        """End this process when the launcher closes its end of a pipe, or stops writing beats to it."""
        self._lifeline = descriptor
        self._heard[descriptor] = time.monotonic()
        os.set_blocking(descriptor, False)
        self._selector.register(descriptor, selectors.EVENT_READ)

    def watch_peer(self, connection: socket.socket, name: str) -> None:
        """Exchange beats with a peer over its pulse connection."""
        connection.setblocking(False)
        self._peers[connection] = name
        self._heard[connection] = time.monotonic()
        self._selector.register(connection, selectors.EVENT_READ)

    def arm(self, timeout: float, what: str) -> None:
        """Give what happens next so many seconds."""
        self._what = what
        self._patience = timeout
        self._deadline = time.monotonic() + timeout

    def disarm(self) -> None:
        """Nothing is waited for."""
        self._deadline = float("inf")

    def end(self) -> None:
        """Stop watching: from here on peers may leave."""
        self._ended.set()

    def last_words(self, text: str) -> None:
        """Tell the peers why this process is about to end."""
        for connection in self._peers:
            try:
                connection.sendall(LAST_WORDS + text.encode()[:2000] + b"\n")
            except OSError:
                continue

    def run(self) -> None:
        """Watch until :meth:`end`."""
        while not self._ended.is_set():
            for key, _events in self._selector.select(PERIOD):
                self._listen(key.fileobj)
            if self._ended.is_set():
                return
            self._beat_peers()
            self.beat()
            self._check_silence()

    def _beat_peers(self) -> None:
        now = time.monotonic()
        if now - self._heard.get("beat", 0.0) < PERIOD:
            return
        self._heard["beat"] = now
        for connection in self._peers:
            try:
                connection.send(BEAT)
            except OSError:
                continue  # a peer that is gone shows when it is listened to

    def _listen(self, source: object) -> None:
        try:
            data = os.read(source, 4096) if isinstance(source, int) else source.recv(4096)  # type: ignore[attr-defined]
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._heard[source] = time.monotonic()
        if LAST_WORDS in data:
            self._fault(f"{self._name(source)}: {data.split(LAST_WORDS, 1)[1].decode(errors='replace').strip()}")
        elif STOP in data:
            self.stop_requested.set()
        elif not data and not self._ended.is_set():
            self._fault(f"{self._name(source)} is gone{self._during()}")

    def _check_silence(self) -> None:
        now = time.monotonic()
        silent = [
            source
            for source in (self._lifeline, *self._peers)
            if source is not None and now - self._heard[source] > self._timeout
        ]
        if silent:
            names = ", ".join(self._name(source) for source in silent)
            self._fault(f"{names} silent for {self._timeout:g} s{self._during()}")
        if now > self._deadline:
            # A peer that has missed several beats is the one to name.
            quiet = [name for peer, name in self._peers.items() if now - self._heard[peer] > 6 * PERIOD]
            who = f"{', '.join(quiet)} silent" if quiet else "every rank is alive, but none came back"
            self._fault(f"{who} for {self._patience:g} s{self._during()}")

    def _name(self, source: object) -> str:
        return self._peers.get(source, "the launcher") if isinstance(source, socket.socket) else "the launcher"

    def _during(self) -> str:
        return f" in {self._what}" if self._what else ""

    def _fault(self, text: str) -> None:
        if not self._ended.is_set():
            self._on_fault(text)
            os._exit(LOST_STATUS)
