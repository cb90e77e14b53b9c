"""Files that the user names: never overwritten unasked, written whole or not at all, ``-`` for stdout."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from collmark.core.errors import MeasurementError, UsageError

STDOUT = "-"


def check_free(path: Path, *, force: bool) -> None:
    """Raise UsageError where a file is there already, unless the user insists."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file")
    if path.is_file() and not force:
        raise UsageError(f"{path} exists already; choose another name, or overwrite it with --force")


def write_whole(path: Path, write: Callable[[Path], object], *, force: bool) -> None:
    """Let `write` fill a new file beside `path` and put it in its place.

    Raises
    ------
    UsageError
        If the file is there already, or its folder cannot be written.
    MeasurementError
        If the disk is full.
    """
    check_free(path, force=force)
    if path.exists() and not path.is_file():  # a device or a pipe is written to; to replace it would destroy it
        _write_through(path, write)
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        try:
            temporary.touch()
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}; choose another place") from error
        try:
            write(temporary)
            temporary.replace(path)
        except OSError as error:
            raise MeasurementError(f"cannot write {path}: {error.strerror}; nothing was written") from error
    finally:
        temporary.unlink(missing_ok=True)


def _write_through(path: Path, write: Callable[[Path], object]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / path.name
        write(whole)
        try:
            with path.open("wb") as stream:
                stream.write(whole.read_bytes())
        except OSError as error:
            raise MeasurementError(f"cannot write {path}: {error.strerror}; choose another place") from error
