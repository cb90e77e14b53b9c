"""collmark as a program under test, started with a mark by which all its processes are found."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import IO, Any

from collmark.core.record import Record
from collmark.core.store import RunFolder
from collmark.workflow.run import missing_rounds

MARK = "MARK_OF_THIS_TEST"
RANK_MODULE = b"collmark.bench.process"
BIN = Path(sys.executable).parent
LAUNCHER_PREFIXES = ("OMPI_", "PMI_", "PMIX_", "SLURM_", "TORCHELASTIC_", "COLLMARK_")
LAUNCHER_NAMES = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}

SMALL_PLAN = (
    *("--operation", "all_reduce,all_to_all", "--sizes", "8B:2KiB:x16", "--case-budget", "100ms"),
    *("--launches", "2", "--timeout", "3 s"),
)
"""6 cases, of which 2 ranks make 12 records in about 6 s on two cores."""
RECORDS = 12


def clean_environment(**more: str) -> dict[str, str]:
    """Return this process's environment without what a launcher has said."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(LAUNCHER_PREFIXES) and name not in LAUNCHER_NAMES
    }
    # On the search path, as where it is installed: commands to paste are then short.
    return {**kept, "PATH": f"{BIN}{os.pathsep}{kept.get('PATH', os.defpath)}", "OMP_NUM_THREADS": "1", **more}


def processes_with(mark: str) -> dict[int, bytes]:
    """Return the command lines of all living processes that carry a mark, by pid."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                    found[int(folder.name)] = (folder / "cmdline").read_bytes()
            except OSError:
                continue
    return found


class Program:
    """A running ``collmark`` and everything it has started.

    Parameters
    ----------
    words : sequence of str
        The command line.
    folder : Path
        Working folder.
    """

    def __init__(self, *words: str, folder: Path, **environment: str) -> None:
        self.mark = uuid.uuid4().hex
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            list(words),
            cwd=folder,
            env=clean_environment(**{MARK: self.mark}, **environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        self.words: list[str] = []
        self._readers = [
            threading.Thread(target=_take, args=(stream, lines), daemon=True)
            for stream, lines in ((self.process.stdout, self.lines), (self.process.stderr, self.words))
        ]
        for reader in self._readers:
            reader.start()

    @property
    def errors(self) -> str:
        """What it wrote to stderr, its line breaks taken out."""
        return " ".join("".join(self.words).split())

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Return the whole JSON lines of one kind that it has written so far."""
        things = [json.loads(line) for line in tuple(self.lines) if line.endswith("\n") and line.startswith("{")]
        return [thing for thing in things if thing["event"] == kind]

    def ranks(self) -> list[int]:
        """Return the pids of its rank processes, rank 0 first."""
        found = [pid for pid, command in processes_with(self.mark).items() if RANK_MODULE in command]
        return sorted(pid for pid in found if pid != self.process.pid)

    def wait_for(self, what: str, seconds: float = 30.0) -> None:
        """Wait for a word on either stream."""
        deadline = time.monotonic() + seconds
        while not any(what in line for line in (*self.lines, *self.words)):
            assert self.process.poll() is None, f"ended before {what!r}: {self.errors}"
            assert time.monotonic() < deadline, f"{what!r} did not come: {self.errors}"
            time.sleep(0.02)

    def wait_for_events(self, kind: str, count: int, seconds: float = 60.0) -> None:
        """Wait until it has written so many JSON objects of one kind, or has ended."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None and len(self.events(kind)) < count:
            assert time.monotonic() < deadline, f"{count} {kind} objects did not come: {self.errors}"
            time.sleep(0.02)

    def wait_for_ranks(self, count: int, seconds: float = 30.0) -> list[int]:
        """Wait until so many ranks are there, and return their pids; none if the program ends first."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None:
            ranks = self.ranks()
            if len(ranks) == count:
                return ranks
            assert time.monotonic() < deadline, f"{count} ranks did not come: {processes_with(self.mark)} {self.errors}"
            time.sleep(0.02)
        return []

    def end(self, seconds: float = 60.0) -> int:
        """Wait for its end and return the exit status."""
        status = self.process.wait(seconds)
        for reader in self._readers:
            reader.join(5)
        return status

    def wait_until_gone(self, seconds: float, *, but: int = 0) -> float:
        """Wait until no process of it is left, `but` the one named, and return how long that took."""
        began = time.monotonic()
        while left := {pid: command for pid, command in processes_with(self.mark).items() if pid != but}:
            assert time.monotonic() - began < seconds, f"still there after {seconds} s: {left}; {self.errors}"
            time.sleep(0.02)
        return time.monotonic() - began

    def clean_up(self) -> None:
        """Kill what is left of it."""
        for pid in processes_with(self.mark):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait(10)
        for reader, stream in zip(self._readers, (self.process.stdout, self.process.stderr), strict=True):
            reader.join(5)
            if stream is not None:
                stream.close()


def _take(stream: IO[str] | None, lines: list[str]) -> None:
    assert stream is not None, "a pipe was asked for"
    for line in stream:
        lines.append(line)  # noqa: PERF402 - extend would keep what came so far to itself


def collmark(*words: str) -> tuple[str, ...]:
    """Return the command line of collmark in this environment."""
    return (str(BIN / "collmark"), *words)


def small_run(*more: str, ranks: int = 2) -> tuple[str, ...]:
    """Return the command line of a run of a few seconds into the working folder."""
    return collmark("run", "--json", "--ranks", str(ranks), *SMALL_PLAN, "--output", "results", *more)


def only_run(folder: Path) -> RunFolder:
    """Return the only run in a working folder."""
    (path,) = (folder / "results").iterdir()
    return RunFolder(path)


def is_complete(folder: RunFolder, launches: int = 2) -> bool:
    """Whether every case has as many records as launches."""
    return not missing_rounds(folder.read_run(), list(folder.records()), launches)


def name_of(record: Record) -> tuple[int, str, str | None]:
    """Return what tells a record from all others of its run."""
    return record.launch, record.case.key, record.sentinel
