"""The folder of a run: run.json, records.jsonl, raw samples, logs.

A record is on disk before the next case starts, and a fault while writing never damages what was written before.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import shutil
import warnings
import zlib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from collmark.core.case import Case
from collmark.core.errors import MeasurementError, ParseError, SchemaError, UsageError, short_path
from collmark.core.numeral import counted
from collmark.core.record import Launch, Record, Run, SampleReference, Sentinel
from collmark.core.schema import read_object

LAYERS = (2, 4)
LATEST = "latest"  # names the newest run
RUN_FILE, RECORDS_FILE, LOCK_FILE = "run.json", "records.jsonl", ".lock"


class TornLineWarning(UserWarning):
    """The last line of records.jsonl was cut off by a crash and is skipped."""


class RepeatedRecordWarning(UserWarning):
    """Lines of records.jsonl give a case in a launch once more, and are left out: a launch counts once."""


class RunFolder:
    """A run's folder, open for reading; :meth:`lock` it for writing.

    Parameters
    ----------
    path : Path
        The folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    @classmethod
    def create(cls, path: Path, run: Run, records: Iterable[Record] | None = None) -> RunFolder:
        """Make the folder, its run.json and records that are there from the start.

        Such records were not measured and can be made again, as from logs: the disk is not waited for. A run.json that
        records are going to follow is on disk before they are.

        Raises
        ------
        UsageError
            If that cannot be written, or is there already.
        """
        folder = cls(path)
        try:
            str(path.absolute()).encode()  # it is passed on as text
            path.mkdir(parents=True)
        except FileExistsError as error:
            where = "exists already" if path.exists() else f"cannot be made: {error.filename} is a file"
            raise UsageError(f"{path} {where}; choose another --output or --label") from error
        except UnicodeEncodeError as error:
            raise _unwritable(path, "its name is not UTF-8") from error
        except OSError as error:
            raise _unwritable(path, error.strerror) from error
        try:
            (path / "logs").mkdir()
            with (path / RECORDS_FILE).open("xb") as file:
                file.writelines(msgspec.json.encode(record) + b"\n" for record in records or ())
            folder.write_run(run, synced=records is None)  # last: without it the folder is no run
        except (OSError, MeasurementError) as error:
            shutil.rmtree(path, ignore_errors=True)  # half a run would look like one
            raise _unwritable(path, error.strerror if isinstance(error, OSError) else str(error)) from error
        return folder

    def read_run(self) -> Run:
        """Read run.json."""
        path = self.path / RUN_FILE
        try:
            return read_object(path.read_bytes(), Run, str(path))
        except OSError as error:
            msg = f"{self.path} is not a run: {RUN_FILE}: {error.strerror}; collmark list shows runs"
            raise UsageError(msg) from error
        except SchemaError:
            raise
        except UsageError as error:
            raise ParseError(str(path), 0, str(error)) from error

    def write_run(self, run: Run, *, synced: bool = True) -> None:
        """Replace run.json atomically.

        Parameters
        ----------
        run : Run
        synced : bool
            Return only when it is on disk.
        """
        path = self.path / RUN_FILE
        temporary = path.with_suffix(".json.new")
        text = msgspec.json.format(msgspec.json.encode(run), indent=1)
        try:
            with temporary.open("wb") as file:
                file.write(text + b"\n")
                file.flush()
                if synced:
                    os.fsync(file.fileno())
            temporary.replace(path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)  # what is left of it fills the disk for nothing
            raise _disk_fault(path, error) from error

    def put_launch(self, launch: Launch) -> None:
        """Add a launch to run.json, or replace the one of the same id."""
        run = self.read_run()
        others = [known for known in run.launches if known.id != launch.id]
        self.write_run(msgspec.structs.replace(run, launches=sorted([*others, launch], key=lambda known: known.id)))

    def records(self) -> Iterator[Record]:
        """Yield the records in the order of writing.

        A torn last line is skipped with a warning, as are lines that give a case in a launch once more.

        Raises
        ------
        ParseError
            If any other line is no record: it names file, line and field.
        """
        path = self.path / RECORDS_FILE
        lines: dict[tuple[str, int, Sentinel | None], int] = {}
        repeated: list[tuple[int, int]] = []
        for number, record in self._lines(path):
            first = lines.setdefault((record.case.key, record.launch, record.sentinel), number)
            if first == number:
                yield record
            else:
                repeated.append((number, first))
        if repeated:
            number, first = repeated[0]
            more = f", as {counted(len(repeated) - 1, 'later line')} repeating others" if len(repeated) > 1 else ""
            warnings.warn(
                f"{path}:{number}: the case and launch of line {first} once more: left out{more}",
                RepeatedRecordWarning,
                stacklevel=2,
            )

    def _lines(self, path: Path) -> Iterator[tuple[int, Record]]:
        """Yield line numbers and records."""
        try:
            lines = path.read_bytes().split(b"\n")
        except FileNotFoundError as error:
            # Every run is made with it, empty: without it records were lost, and not just none made.
            raise UsageError(f"{path} is missing, and with it all that the run had measured") from error
        except OSError as error:
            msg = f"{path}: {error.strerror}"
            raise UsageError(msg) from error
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                yield number, read_object(line, Record, f"{path}:{number}")
            except SchemaError:
                raise
            except UsageError as error:
                if number == len(lines):
                    warnings.warn(f"{path}: skipped a torn last line", TornLineWarning, stacklevel=3)
                    return
                raise ParseError(str(path), number, str(error)) from error

    def lock(self) -> int:
        """Take the folder for writing and return the lock's file descriptor, to be passed to the writing rank.

        The lock belongs to the open file, so that it ends with the last process that holds the descriptor.
        """
        path = self.path / LOCK_FILE
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise _unwritable(self.path, error.strerror) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            msg = f"{self.path} is being written by another collmark; wait for it or end it"
            raise UsageError(msg) from error
        except OSError as error:  # some file systems of a network have no locks
            os.close(descriptor)
            msg = f"{self.path} cannot be locked ({error.strerror}); --output takes a folder on another file system"
            raise UsageError(msg) from error
        self._lock = descriptor
        return descriptor

    def unlock(self) -> None:
        """Give the folder back."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def mend(self) -> None:
        """Cut off a torn last line, so that the next record starts on a line of its own; a whole one is ended."""
        path = self.path / RECORDS_FILE
        try:
            with path.open("r+b") as file:
                content = file.read()
                end = content.rfind(b"\n") + 1
                if _is_record(content[end:]):
                    file.write(b"\n")
                else:
                    file.truncate(end)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _unwritable(path, error.strerror) from error


class Writer:
    """Appends records and raw samples of one launch to a run's folder.

    Parameters
    ----------
    folder : RunFolder
        The run.
    launch : int
        Id of the launch.
    samples_left : int
        Bytes of raw samples that may still be kept.
    there : collection of (str, str)
        What earlier processes of this launch have written: keys of cases, each with its place as a sentinel, if any.
    """

    def __init__(
        self, folder: RunFolder, launch: int, samples_left: int, there: Collection[tuple[str, str]] = ()
    ) -> None:
        self._there = frozenset(there)
        self._records = folder.path / RECORDS_FILE
        self._name = f"samples-{launch:04d}.i64"
        self._samples = folder.path / self._name
        self._samples_left = samples_left

    def has(self, case: Case, sentinel: Sentinel | None) -> bool:
        """Whether a case, or that repeat of the sentinel, was written before."""
        return (case.key, sentinel or "") in self._there

    def append(self, record: Record, stamps_SRI: NDArray[np.int64] | None) -> Record:
        """Write one record, its samples first, and return it as it is on disk.

        Raises
        ------
        MeasurementError
            If the disk refuses: the files are then as they were before.
        """
        if stamps_SRI is not None and stamps_SRI.nbytes <= self._samples_left:
            data = np.ascontiguousarray(stamps_SRI, dtype="<i8").tobytes()
            offset = _append(self._samples, data)
            self._samples_left -= len(data)
            layers, ranks, repetitions = stamps_SRI.shape
            reference = SampleReference(
                file=self._name, offset=offset, shape=(layers, ranks, repetitions), crc32=zlib.crc32(data)
            )
            record = msgspec.structs.replace(record, samples=reference)
        try:
            _append(self._records, msgspec.json.encode(record) + b"\n")
        except MeasurementError:
            if record.samples is not None:
                with contextlib.suppress(OSError):
                    os.truncate(self._samples, record.samples.offset)  # nobody would know whose they are
            raise
        return record


def read_samples(folder: RunFolder, reference: SampleReference) -> NDArray[np.int64]:
    """Return the raw stamps of a record in ns, shape (2 or 4, ranks, repetitions), checked against the checksum."""
    path = folder.path / reference.file
    if reference.shape[0] not in LAYERS:
        raise ParseError(str(path), 1, f"{counted(reference.shape[0], 'layer')} of stamps: 2, or 4 if asynchronous")
    count = math.prod(reference.shape)
    try:
        with path.open("rb") as file:
            # No more than there is: the numbers in a file are believed only when they fit each other.
            size = os.fstat(file.fileno()).st_size
            data = b""
            if reference.offset + 8 * count <= size:
                file.seek(reference.offset)
                data = file.read(8 * count)
    except OSError as error:
        msg = f"{path}: {error.strerror}"
        raise UsageError(msg) from error
    if len(data) != 8 * count or zlib.crc32(data) != reference.crc32:
        raise ParseError(str(path), 1, f"samples at byte {reference.offset} do not match their checksum")
    return np.frombuffer(data, dtype="<i8").reshape(reference.shape)


def _append(path: Path, data: bytes) -> int:
    """Append and flush to disk; return the offset. On a fault the file keeps its old length."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            offset = os.fstat(descriptor).st_size
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(descriptor, view) :]
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, offset)
                raise
        finally:
            os.close(descriptor)
    except OSError as error:
        raise _disk_fault(path, error) from error
    return offset


def _is_record(line: bytes) -> bool:
    try:
        msgspec.json.decode(line, type=Record)
    except (msgspec.MsgspecError, ValueError):
        return False
    return True


def _unwritable(path: Path, reason: str | None) -> UsageError:
    return UsageError(f"cannot write results to {short_path(path)}: {reason}; choose another place with --output")


def _disk_fault(path: Path, error: OSError) -> MeasurementError:
    return MeasurementError(f"cannot write {path}: {error.strerror}; everything finished before is kept")
