"""Files that the user names: never overwritten unasked, written whole or not at all, ``-`` for stdout."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from collmark.core.errors import MeasurementError, UsageError

STDOUT = "-"


def check_free(path: Path, *, force: bool) -> None:
    """Raise UsageError where a file is there already, unless the user insists."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file")
    if path.is_file() and not force:
        raise UsageError(f"{path} exists already; choose another name, or overwrite it with --force")


def check_folder(path: Path) -> None:
    """Raise UsageError where something else than a folder is there already."""
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is no folder; choose another name")


def write_all(folder: Path, files: Mapping[str, bytes], *, force: bool) -> list[Path]:
    """Write some files to a folder, which is made; nothing at all where one of them is there, unless forced.

    Raises
    ------
    UsageError
        If a file is there already, or the folder cannot be made or written.
    MeasurementError
        If the disk is full.
    """
    check_folder(folder)
    paths = {folder / name: data for name, data in files.items()}
    for path in paths:
        check_free(path, force=force)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {folder}: {error.strerror}; choose another place") from error
    for path, data in paths.items():
        write_whole(path, partial(Path.write_bytes, data=data), force=force)
    return list(paths)


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
