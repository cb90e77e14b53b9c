"""One rank's process as the launcher holds it: started, spoken to without ever waiting, asked how it is, ended."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

from collmark.bench.process import Startup
from collmark.bench.watchdog import BEAT

REAP_SECONDS = 10.0  # for the kernel to end a killed process


class Outbox:
    """What a rank is told, over a pipe or a socket that this process never waits for.

    Parameters
    ----------
    descriptor : int
        Where it is written.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._outbox = b""
        os.set_blocking(descriptor, False)

    def send(self, data: bytes) -> None:
        """Send bytes as far as there is room, the rest later; beats are left out rather than kept."""
        with self._lock:
            if data != BEAT or not self._outbox:
                self._outbox += data
            self._flush()

    def _flush(self) -> None:
        try:
            while self._outbox:
                self._outbox = self._outbox[os.write(self._descriptor, self._outbox) :]
        except BlockingIOError:
            if self._outbox == BEAT:
                self._outbox = b""
        except (OSError, ValueError):
            self._outbox = b""  # a dead rank shows by its status

    @property
    def is_owed(self) -> bool:
        """Whether it has not yet been told everything."""
        return bool(self._outbox)

    def close_after(self, close: Callable[[], object]) -> None:
        """Close the descriptor while nothing is being written."""
        with self._lock, contextlib.suppress(OSError):
            self._descriptor = -1
            close()


class RankHandle(Protocol):
    """One rank as a launch sees it, whoever started its process."""

    rank: int

    def send(self, data: bytes) -> None:
        """Tell it something, without waiting."""

    @property
    def is_owed(self) -> bool:
        """Whether it has not yet been told everything."""

    @property
    def status(self) -> int | None:
        """Exit status, minus the signal's number where one killed it; None while it runs."""

    @property
    def is_stopped(self) -> bool:
        """Whether a signal has stopped it; False where the system does not tell."""

    def kill(self) -> None:
        """Kill it and whatever it has started."""

    def reap(self) -> None:
        """Wait for the end of a killed process."""

    def last_line(self) -> str:
        """Return the last line that it printed, or where its log is."""


class RankProcess:
    """A process that was just started.

    Parameters
    ----------
    rank : int
        Its index.
    log : Path
        Takes what it prints.
    inherited : tuple of int
        Descriptors that it keeps.
    patience : float
        Seconds that it waits for its startup.
    """

    def __init__(self, rank: int, log: Path, inherited: tuple[int, ...], patience: float) -> None:
        self.rank = rank
        self.log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "collmark.bench.process", f"{patience:g}"],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                bufsize=0,
                pass_fds=inherited,
                # Ctrl-C in a terminal goes to its foreground group: ranks hear of it from the launcher, in order.
                start_new_session=True,
            )
        assert self._process.stdin is not None, "a pipe was asked for"
        self._stdin = self._process.stdin
        self._outbox = Outbox(self._stdin.fileno())

    def start(self, startup: Startup) -> None:
        """Tell it what to do."""
        self.send(startup_frame(startup))

    def send(self, data: bytes) -> None:
        """Tell it something, without waiting."""
        self._outbox.send(data)

    @property
    def is_owed(self) -> bool:
        """Whether it has not yet been told everything."""
        return self._outbox.is_owed

    @property
    def status(self) -> int | None:
        """Exit status, minus the signal's number where one killed it; None while it runs."""
        return self._process.poll()

    @property
    def is_stopped(self) -> bool:
        """Whether a signal has stopped it; False where the system does not tell."""
        if self.status is not None or not hasattr(os, "waitid"):
            return False
        with contextlib.suppress(OSError):
            return os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
        return False

    def kill(self) -> None:
        """Kill it and whatever it has started."""
        if self.status is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def reap(self) -> None:
        """Wait for the end of a killed process and close its pipe."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(REAP_SECONDS)
        self._outbox.close_after(self._stdin.close)

    def last_line(self) -> str:
        """Return the last line that it printed, or where its log is."""
        return last_line(self.log)


def startup_frame(startup: Startup) -> bytes:
    """Return what a rank is told first, as one frame."""
    data = msgspec.json.encode(startup)
    return struct.pack("<I", len(data)) + data


def last_line(log: Path) -> str:
    """Return the last line of a log, or where it is."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1] if lines else str(log)


def signal_name(number: int) -> str:
    """Return a signal's name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
