"""Starts the ranks of a launch on this machine through an MPI library's own mpiexec, and leaves none behind.

mpiexec is only asked to start processes. Each calls this process back over a socket, is told what to do as the local
launcher's ranks are, and is watched in the same ways: by its lifeline, by rank 0's events, by its end.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from collmark.bench.backends.mpi_library import OPEN_MPI, launcher_family
from collmark.bench.job import Job
from collmark.bench.launchers.local import LocalLaunch
from collmark.bench.launchers.rank_process import Outbox, last_line, startup_frame
from collmark.bench.process import Startup
from collmark.core.errors import InterruptedRunError, MeasurementError, UnavailableError

GONE = 1  # status of a rank that ended without a word
END_SECONDS = 5.0  # for mpiexec to end once its ranks are gone
GREETING = struct.Struct("<qq")
# mpiexec's own words on a rank that a signal has killed, in MPICH's manner and in Open MPI's.
KILLED = (
    re.compile(r"= +PID (?P<pid>\d+) RUNNING AT .*\n= +EXIT CODE: (?P<signal>\d+)\n"),
    re.compile(r"process rank (?P<rank>\d+) .*?exited\s+on\s+signal\s+(?P<signal>\d+)", re.DOTALL),
)
# Open MPI refuses to start processes of root unless asked twice: whoever runs collmark as root has decided that.
ROOT_MAY = {
    f"{name}_ALLOW_RUN_AS_ROOT{suffix}": "1" for name in ("OMPI", "PRTE") for suffix in ("", "_CONFIRM")
}  # fmt: skip
# mpiexec ends with the launcher even where that is killed: the kernel sends it a signal, which it passes on.
SHIM = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 15, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])"


class CalledRank:
    """A rank that mpiexec has started, and that has called back.

    Parameters
    ----------
    rank, pid : int
        Its index and process.
    connection : socket
        Over which it has called.
    log : Path
        Takes what it prints.
    """

    def __init__(self, rank: int, pid: int, connection: socket.socket, log: Path) -> None:
        self.rank, self.pid, self.log = rank, pid, log
        self._connection = connection
        connection.settimeout(0.0)
        self._outbox = Outbox(connection.fileno())
        # A number may be used again; this stays with the process.
        self._process = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
        self._said: int | None = None
        self._is_over = False
        self.killed_by = 0

    def start(self, startup: Startup, descriptors: list[int]) -> None:
        """Tell it what to do; the first byte carries the descriptors."""
        socket.send_fds(self._connection, [b"+"], descriptors)
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
        """Exit status as it said, minus the signal's number where mpiexec tells of one; None while it runs."""
        if not self._is_over:
            with contextlib.suppress(BlockingIOError):
                try:
                    said = self._connection.recv(16)
                except ConnectionError:
                    said = b""
                if said:
                    self._said = said[-1]
                else:
                    self._is_over = True
        if not self._is_over:
            return None
        if self._said is not None:
            return self._said
        return -self.killed_by if self.killed_by else GONE

    @property
    def is_stopped(self) -> bool:
        """Whether a signal has stopped it; False where the system does not tell."""
        if self._is_over:
            return False
        with contextlib.suppress(OSError, IndexError):
            return Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] == "T"
        return False

    def kill(self) -> None:
        """Kill it."""
        if self._is_over and self._process < 0:
            return
        with contextlib.suppress(OSError):
            if self._process >= 0:
                signal.pidfd_send_signal(self._process, signal.SIGKILL)
            else:
                os.kill(self.pid, signal.SIGKILL)

    def reap(self) -> None:
        """Close what is left of it; its process is mpiexec's to wait for."""
        self._outbox.close_after(self._connection.close)
        self._is_over = True
        if self._process >= 0:
            os.close(self._process)
            self._process = -1

    def last_line(self) -> str:
        """Return the last line that it printed, or where its log is."""
        return last_line(self.log)


class MpiexecLaunch(LocalLaunch):
    """The processes of one launch, mpiexec among them.

    Parameters
    ----------
    job, logs, keep
        As for :class:`collmark.bench.launchers.local.LocalLaunch`.
    mpiexec : str
        The launcher that belongs to the library in use.
    """

    def __init__(self, job: Job, logs: Path, keep: tuple[int, ...], mpiexec: str) -> None:
        super().__init__(job, logs, keep)
        self._mpiexec = mpiexec
        self._process: subprocess.Popen[bytes] | None = None

    def _spawn_ranks(self, listener: socket.socket, write_end: int) -> None:
        self._logs.mkdir(exist_ok=True)
        secret = secrets.token_bytes(32)
        with _open_door(2 * self._job.placement.ranks) as (door, address):
            self._start_mpiexec(address)
            called = self._hear_all(door)
        self._ranks += [called[rank] for rank in sorted(called)]  # beats begin
        for rank, process in sorted(called.items()):
            startup = self._startup_of(rank, secret, listener, write_end)
            inherited = [listener.fileno(), write_end, *self._keep] if rank == 0 else []
            process.start(msgspec.structs.replace(startup, log=str(process.log.resolve())), inherited)

    def _start_mpiexec(self, address: str) -> None:
        words = command_of(self._mpiexec, self._job.placement.ranks)
        own = [sys.executable, "-P", "-m", "collmark.bench.process", f"{self._silence:g}", address]
        shim = [sys.executable, "-I", "-S", "-c", SHIM] if sys.platform == "linux" else []
        with self._log_of("mpiexec").open("wb") as output:
            self._process = subprocess.Popen(
                [*shim, *words, *own],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | ROOT_MAY,
                start_new_session=True,  # Ctrl-C in a terminal goes to its foreground group: we stop ranks in order
            )

    def _hear_all(self, door: socket.socket) -> dict[int, CalledRank]:
        """Return every rank once it has called back, by its index."""
        ranks, deadline = self._job.placement.ranks, time.monotonic() + self._silence
        called: dict[int, CalledRank] = {}
        try:
            while len(called) < ranks:
                self._check_start(len(called), deadline)
                caller = _next_caller(door)
                if caller is not None:
                    self._take_caller(called, *caller)
        except BaseException:
            self._ranks += called.values()  # to be ended with the rest
            raise
        return called

    def _check_start(self, there: int, deadline: float) -> None:
        """Raise what makes waiting for more ranks pointless."""
        assert self._process is not None, "it was started"
        if self._is_stopping():
            raise InterruptedRunError("stopped while the ranks started")
        ranks = self._job.placement.ranks
        status = self._process.poll()
        if status is not None:
            why = last_line(self._log_of("mpiexec"))
            raise UnavailableError(f"{self._mpiexec} ended with status {status} before {ranks} ranks were there: {why}")
        if time.monotonic() > deadline:
            raise MeasurementError(
                f"{there} of {ranks} ranks came within {self._silence:g} s after {self._mpiexec} was started; see "
                f"{self._log_of('mpiexec')}"
            )

    def _take_caller(self, called: dict[int, CalledRank], connection: socket.socket, rank: int, pid: int) -> None:
        ranks = self._job.placement.ranks
        log = self._log_of(f"rank-{rank}")
        process = CalledRank(rank, pid, connection, log)
        if rank in called or not 0 <= rank < ranks:
            self._ranks.append(process)
            said = "no rank" if rank < 0 else f"rank {rank} a second time" if rank in called else f"rank {rank}"
            raise UnavailableError(f"{self._mpiexec} told a process {said} of {ranks}: it belongs to another MPI")
        called[rank] = process

    def _killed(self) -> str:
        """Return which ranks a signal has killed, as mpiexec tells: the others it has killed itself."""
        try:
            words = self._log_of("mpiexec").read_text(encoding="utf-8", errors="replace")
        except OSError:
            words = ""
        for found in (match for pattern in KILLED for match in pattern.finditer(words)):
            about = found.groupdict()
            for rank in self._called():
                if str(rank.pid) == about.get("pid") or str(rank.rank) == about.get("rank"):
                    rank.killed_by = int(about["signal"]) & 127
        return super()._killed()

    def _called(self) -> Iterator[CalledRank]:
        for rank in self._ranks:
            assert isinstance(rank, CalledRank), "no others are started"
            yield rank

    def _end_all(self) -> None:
        try:
            super()._end_all()
        finally:
            self._end_mpiexec()

    def _end_mpiexec(self) -> None:
        """Wait for mpiexec, which ends after its ranks; then ask it to, which lets it clean up; then kill it."""
        if self._process is None:
            return
        for number in (0, signal.SIGTERM, signal.SIGKILL):
            if number:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(END_SECONDS if self._has_started or number else 0.1)
                return


def command_of(mpiexec: str, ranks: int) -> list[str]:
    """Return the words that start `ranks` processes on this host, on whatever cores the system gives them."""
    if launcher_family(mpiexec) == OPEN_MPI:
        return [mpiexec, "--host", f"localhost:{ranks}", "--bind-to", "none", "-n", str(ranks)]
    return [mpiexec, "-hosts", "localhost", "-bind-to", "none", "-n", str(ranks)]


@contextlib.contextmanager
def _open_door(backlog: int) -> Iterator[tuple[socket.socket, str]]:
    """Give a socket to be called on, and its name: on Linux one that is in no file system."""
    with contextlib.ExitStack() as stack:
        door = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        if sys.platform == "linux":
            address = f"@collmark-{secrets.token_hex(16)}"
            door.bind("\0" + address[1:])
        else:
            address = str(Path(stack.enter_context(tempfile.TemporaryDirectory()), "door"))
            door.bind(address)
        door.listen(backlog)
        door.settimeout(0.1)
        yield door, address


def _next_caller(door: socket.socket) -> tuple[socket.socket, int, int] | None:
    """Return the connection, rank and pid of the next process of this user that calls; None if none does now."""
    try:
        connection, _address = door.accept()
    except TimeoutError:
        return None
    try:
        connection.settimeout(1.0)
        rank, pid = GREETING.unpack(connection.recv(GREETING.size, socket.MSG_WAITALL))
        if hasattr(socket, "SO_PEERCRED"):
            pid, uid, _gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            if uid != os.getuid():
                raise ConnectionError("another user's process")
    except (OSError, struct.error):
        connection.close()
        return None
    return connection, rank, pid
