"""What was submitted is kept whole in one file, and written by one at a time."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest

from collmark.bench.cluster.state import FOLDER, read_state, submitting, write_file
from collmark.core.errors import UsageError


def test_a_file_of_jobs_is_the_old_one_or_the_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "jobs.json"
    write_file(path, b"old")
    first = path.stat().st_ino

    def refuse(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as context:
        context.setattr(os, "fsync", refuse)
        with pytest.raises(UsageError, match=r"jobs\.json: No space left on device"):
            write_file(path, b"new")
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == {"jobs.json": b"old"}
    write_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_ino != first, "another file under the old name, and not the old file written over"


def test_a_file_system_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_descriptor: int, _operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(UsageError, match=r"cannot lock .*: No locks available"), submitting(tmp_path):
        pass


@pytest.mark.parametrize("text", [b"{", b"[]", b'{"version": 2}', b'{"version": 1}', b"\xff"])
def test_a_file_of_jobs_that_cannot_be_read_is_named(tmp_path: Path, text: bytes) -> None:
    (tmp_path / FOLDER).mkdir(parents=True)
    (tmp_path / FOLDER / "jobs.json").write_bytes(text)
    with pytest.raises(UsageError, match=r"jobs\.json: "):
        read_state(tmp_path)
