"""The thread that ends a process when its launcher, its peers or its own call no longer move.

A hung collective cannot be interrupted from Python: the only way out is to end the process. So the thread says
what it knows and exits; whatever was finished before is on disk.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import socket
import threading
import time
from collections.abc import Callable

import msgspec

from collmark.core.errors import UnavailableError

USAGE_STATUS, MISSING_STATUS, LOST_STATUS = 2, 3, 4
BEAT, STOP, LAST_CASE, LAST_WORDS = b".", b"s", b"c", b"!"
PERIOD = 0.5  # s between beats: rare enough not to disturb a measurement
LEAST_SILENCE = 4 * PERIOD  # s: on a busy machine a beat comes late without anything being wrong
QUIET = 6 * PERIOD  # s without a beat: of several ranks that did not come back, these are the ones to name
START_FACTOR, START_LEAST = 4, 20.0
END_SECONDS = 15.0  # for libraries to close after the last record
STOP_SECONDS = 3.0  # for ranks to stop in good order after a signal


def start_patience(timeout: float) -> float:
    """Return the seconds that ranks have to start: interpreters and libraries may be read from a slow disk."""
    return max(START_FACTOR * timeout, START_LEAST)


def is_about_hub(text: str) -> bool:
    """Whether a reason says that rank 0 is lost: nobody else will tell the user then."""
    return re.match(r"rank 0\b", text) is not None


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """Why a process ends before its time.

    Attributes
    ----------
    text : str
        One line.
    status : int
        Exit status.
    told : bool
        A peer has said so, which has told the user as well.
    """

    text: str
    status: int = LOST_STATUS
    told: bool = False


class Watchdog:
    """A thread that watches a launcher, peers and a deadline.

    Parameters
    ----------
    timeout : float
        Seconds of silence after which a peer or the launcher is given up; peers that start have longer.
    on_loss : callable
        Called with the reason before the process ends.
    """

    def __init__(self, timeout: float, on_loss: Callable[[Loss], None]) -> None:
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)
        self.stop_requested = threading.Event()
        self.end_requested = threading.Event()
        self.beat: Callable[[], None] = lambda: None
        self.guard: Callable[[], None] = lambda: None
        self._timeout = max(timeout, LEAST_SILENCE)
        self._silence = max(start_patience(timeout), LEAST_SILENCE)
        self._on_loss = on_loss
        self._selector = selectors.DefaultSelector()
        self._peers: dict[socket.socket, str] = {}
        self._heard: dict[object, float] = {}
        self._words: dict[object, bytes] = {}
        self._told_by: set[object] = set()
        self._lifeline: int | None = None
        self._deadline, self._patience, self._what = float("inf"), timeout, ""
        self._beaten = 0.0
        self._late_since = float("inf")
        self._closing: tuple[float, int] | None = None
        self._signalled: Callable[[], int] = lambda: 0
        self._stop_patience, self._stopping_since = STOP_SECONDS, float("inf")
        self._ended = threading.Event()

    def start(self) -> None:
        """Start watching."""
        self._thread.start()

    def watch_lifeline(self, descriptor: int) -> None:
        """End this process when the launcher closes its end of a pipe, or stops writing beats to it."""
        self._heard[descriptor] = time.monotonic()
        self._lifeline = descriptor
        os.set_blocking(descriptor, False)
        self._selector.register(descriptor, selectors.EVENT_READ)

    def watch_peer(self, connection: socket.socket, name: str) -> None:
        """Exchange beats with a peer over its pulse connection."""
        connection.settimeout(0.0)
        self._heard[connection] = time.monotonic()
        self._peers[connection] = name
        self._selector.register(connection, selectors.EVENT_READ)

    def watch_signals(self, received: Callable[[], int], patience: float = STOP_SECONDS) -> None:
        """End this process when it is still there so many seconds after a signal; `received` returns its number."""
        self._signalled, self._stop_patience = received, patience

    def arm(self, timeout: float, what: str) -> None:
        """Give what happens next so many seconds."""
        self._what = what
        self._patience = timeout
        self._deadline = time.monotonic() + timeout

    def disarm(self) -> None:
        """Nothing is waited for."""
        self._deadline = float("inf")

    def started(self) -> None:
        """Allow peers no longer silence than any others: all have loaded what they need."""
        self._silence = self._timeout

    def raise_priority(self, priority: int) -> None:
        """Run above ranks of scheduling class SCHED_FIFO, which would starve this thread when they spin or hang."""
        for candidate in (priority + 1, priority):
            with contextlib.suppress(OSError, AttributeError):
                os.sched_setscheduler(self._thread.native_id or 0, os.SCHED_FIFO, os.sched_param(candidate))
                return

    def end_within(self, seconds: float = END_SECONDS, status: int = 0) -> None:
        """Let peers leave, and end this process with `status` if its libraries do not close in time."""
        self._closing = (time.monotonic() + seconds, status)

    def end(self) -> None:
        """Stop watching."""
        self._ended.set()

    def last_words(self, text: str, status: int = LOST_STATUS) -> None:
        """Tell the peers, but not those it was heard from, why this process ends, and what status they should have."""
        for connection in tuple(self._peers):
            if connection in self._told_by:
                continue
            with contextlib.suppress(OSError):
                connection.send(LAST_WORDS + f"{status:03d}{text}".encode()[:2000] + b"\n")

    def _run(self) -> None:
        try:
            while not self._ended.is_set():
                # Silence counts up to here: what was sent before is read in this pass, however long an import that
                # does not let other threads run, or a stop of this very process, delays it.
                now = time.monotonic()
                losses = [self._listen(key.fileobj) for key, _events in self._selector.select(PERIOD)]
                self._beat_peers()
                losses += [self._silent(now), self._overdue(now), self._disturbed()]
                # A peer that vanished without a word comes before those that died of it and say so.
                for loss in sorted((loss for loss in losses if loss), key=lambda loss: loss.told):
                    self._leave(loss)
        except Exception as error:  # noqa: BLE001 - unwatched ranks may hang for ever: better to end with a reason
            self._leave(Loss(text=f"the watchdog failed: {type(error).__name__}: {error}"))

    def _beat_peers(self) -> None:
        now = time.monotonic()
        if now - self._beaten < PERIOD:
            return
        self._beaten = now
        for connection in tuple(self._peers):
            with contextlib.suppress(OSError):  # a peer that is gone shows when it is listened to
                connection.send(BEAT)
        self.beat()

    def _listen(self, source: object) -> Loss | None:
        try:
            data = os.read(source, 4096) if isinstance(source, int) else source.recv(4096)  # type: ignore[attr-defined]
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:
            data = b""
        self._heard[source] = time.monotonic()
        if source == self._lifeline:
            if STOP in data:
                self.stop_requested.set()
            if LAST_CASE in data:
                self.end_requested.set()
            return None if data else Loss(text=f"the launcher is gone{self._during()}")
        return self._hear(source, data)

    def _hear(self, source: object, data: bytes) -> Loss | None:
        """Take what a peer sent: beats, at last perhaps words, then nothing."""
        if self._closing:
            if not data:
                self._selector.unregister(source)  # type: ignore[arg-type]
            return None
        name = self._called(source)
        words = self._words.get(source, b"")
        words = words + data if words else data.lstrip(BEAT)
        if words.startswith(LAST_WORDS):
            self._words[source] = words
            if data and b"\n" not in words:
                return None
            text = words[4:].split(b"\n")[0].decode(errors="replace")
            self._told_by.add(source)
            status = int(words[1:4]) if words[1:4].isdigit() else LOST_STATUS
            # Who only passes on what another has said is not named.
            is_whole = not status or (text.startswith("rank ") and not is_about_hub(text))
            return Loss(text=text if is_whole else f"{name}: {text}", status=status, told=True)
        if data:
            return None
        return Loss(text=f"{name} is gone{self._during()}")

    def _silent(self, now: float) -> Loss | None:
        if self._lifeline is not None and now - self._heard[self._lifeline] > self._timeout:
            return Loss(text=f"the launcher silent for {self._timeout:g} s{self._during()}")
        silent = [peer for peer in tuple(self._peers) if now - self._heard[peer] > self._silence]
        if self._closing or not silent:
            return None
        names = ", ".join(self._called(peer) for peer in silent)
        return Loss(text=f"{names} silent for {self._silence:g} s{self._during()}")

    def _overdue(self, now: float) -> Loss | None:
        number = self._signalled()
        if number:
            self._stopping_since = min(self._stopping_since, now)
            if now - self._stopping_since > self._stop_patience:
                return Loss(text=f"stopped at once{self._during()}", status=128 + number)
        if self._closing:
            end, status = self._closing
            return Loss(text="the library did not close in time", status=status) if now > end else None
        if now <= self._deadline:
            self._late_since = float("inf")
            return None
        self._late_since = min(self._late_since, now)
        if now - self._late_since < PERIOD / 2:
            return None  # this process may have been stopped: its call has until the next pass to come back
        quiet = [name for peer, name in self._peers.items() if now - self._heard[peer] > QUIET]
        who = f"{', '.join(quiet)} silent" if quiet else "every rank is alive, but none came back"
        return Loss(text=f"{who} for {self._patience:g} s{self._during()}")

    def _disturbed(self) -> Loss | None:
        """Whether somebody from outside makes going on pointless: `guard` raises UnavailableError then."""
        try:
            if not self._closing:
                self.guard()
        except UnavailableError as error:
            return Loss(text=str(error), status=MISSING_STATUS)
        return None

    def _called(self, source: object) -> str:
        return self._peers.get(source, "the launcher") if isinstance(source, socket.socket) else "the launcher"

    def _during(self) -> str:
        return f" in {self._what}" if self._what else ""

    def _leave(self, loss: Loss) -> None:
        if self._ended.is_set():
            return
        try:
            self._on_loss(loss)  # before the others end: a launcher may then end this process too
        finally:
            self.last_words(loss.text, loss.status)
            os._exit(loss.status)
