"""Files that the user names: a device or a pipe is written to, never replaced."""

import os
import stat
import threading
from pathlib import Path

import pytest

from collmark.cli.output import write_whole
from collmark.core.errors import MeasurementError, UsageError


def write(path: Path) -> None:
    path.write_text("all of it", encoding="utf-8")


@pytest.mark.parametrize("force", [False, True])
def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path, *, force: bool) -> None:
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text(encoding="utf-8")))
    reader.start()
    write_whole(pipe, write, force=force)
    reader.join(10)
    assert got == ["all of it"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_device_that_is_full_says_so_and_stays_a_device() -> None:
    full = Path("/dev/full")
    if not full.is_char_device():
        pytest.skip("/dev/full is no device here")
    with pytest.raises(MeasurementError, match="cannot write /dev/full: No space left"):
        write_whole(full, write, force=True)
    assert full.is_char_device()


@pytest.mark.manner(19)
def test_a_file_is_replaced_only_with_force(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(UsageError, match="exists already"):
        write_whole(path, write, force=False)
    write_whole(path, write, force=True)
    assert path.read_text(encoding="utf-8") == "all of it"
    assert list(tmp_path.iterdir()) == [path]
