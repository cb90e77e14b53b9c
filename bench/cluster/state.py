"""What was submitted, kept beside the results in ``slurm/jobs.json``: so that nothing is submitted twice."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from collmark.bench.cluster.profile import Profile
from collmark.core.decoding import decoded
from collmark.core.errors import ParseError, UsageError
from collmark.core.placement import Placement

FOLDER = "slurm"
"""Folder below the results: job scripts, the plan of each job, what jobs printed."""
FILE = "jobs.json"
VERSION = 1


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One placement in one allocation.

    Attributes
    ----------
    job, name : str
        The job, and which of its placements.
    allocation : int
        1, 2 ... of those that repeat it.
    placement : Placement
        Nodes and ranks.
    runs : dict of str to int
        Folder of each backend's run, and its number of cases.
    first, launches : int
        Its first and last launch: each allocation adds its own to the same runs.
    seconds : float
        Time limit.
    ids : tuple of str
        Jobs of Slurm that were submitted for it, the last one last.
    """

    job: str
    name: str
    allocation: int
    placement: Placement
    runs: dict[str, int]
    first: int = 1
    launches: int
    seconds: float
    ids: tuple[str, ...] = ()


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What lies in a folder of results, and what Slurm was asked for.

    Attributes
    ----------
    version : int
        Of this file.
    profile : Profile
        As it was submitted last.
    entries : tuple of Entry
        In the order of submission.
    collect : str
        Id of the last job that collects.
    """

    version: int = VERSION
    profile: Profile
    entries: tuple[Entry, ...] = ()
    collect: str = ""


def read_state(results: Path) -> State | None:
    """Return what was submitted for a folder of results; None where nothing was.

    Raises
    ------
    ParseError
        If the file is none of ours, or of a later version.
    """
    path = results / FOLDER / FILE
    try:
        raw = msgspec.json.decode(path.read_bytes())
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise ParseError(str(path), 0, str(error)) from error
    version = raw.get("version") if isinstance(raw, dict) else None
    if version != VERSION:
        raise ParseError(str(path), 0, f"version {version!r} is not {VERSION}: read it with the collmark that wrote it")
    try:
        return decoded(raw, State)
    except UsageError as error:
        raise ParseError(str(path), 0, str(error)) from error


def write_state(results: Path, state: State) -> None:
    """Replace the file atomically: whoever reads it sees the old one or the new one."""
    write_file(results / FOLDER / FILE, msgspec.json.format(msgspec.json.encode(state), indent=1))


def write_file(path: Path, text: bytes) -> None:
    """Replace a file atomically; it is on disk when this returns.

    Raises
    ------
    UsageError
        If it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise UsageError(f"cannot write {path}: {error.strerror}; choose another place with --output") from error


@contextlib.contextmanager
def submitting(results: Path) -> Iterator[None]:
    """Keep others from submitting for the same folder at the same time.

    Raises
    ------
    UsageError
        If somebody does, or the folder cannot be written.
    """
    folder = results / FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror}; choose another place with --output") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(f"{results}: another collmark slurm submit is at work there; wait for it") from error
        except OSError as error:  # some file systems of a network have no locks
            raise UsageError(f"cannot lock {folder}: {error.strerror}; choose another place with --output") from error
        yield
    finally:
        os.close(descriptor)
