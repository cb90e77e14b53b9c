"""What the local launcher and its ranks say to each other, without a backend."""

import os
import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest

from collmark.bench.event import Beat, Fault, PipedEvent
from collmark.bench.launchers.rank_process import RankProcess, signal_name
from collmark.bench.process import EventPipe, status_of, words_of
from collmark.core.errors import InterruptedRunError, MeasurementError, UnavailableError, UsageError

pytestmark = pytest.mark.timeout(60)


def read_event(descriptor: int) -> PipedEvent:
    (length,) = struct.unpack("<I", os.read(descriptor, 4))
    return msgspec.msgpack.decode(os.read(descriptor, length), type=PipedEvent)


def test_an_event_reaches_the_launcher() -> None:
    read_end, write_end = os.pipe()
    EventPipe(write_end).emit(Fault(text="no", status=4))
    assert read_event(read_end) == Fault(text="no", status=4)
    os.close(read_end)
    os.close(write_end)


def test_a_full_pipe_stops_rank_0_but_never_its_watchdog() -> None:
    read_end, write_end = os.pipe()
    pipe = EventPipe(write_end)
    done = threading.Event()

    def emit_too_much() -> None:
        pipe.emit(Fault(text="x" * 200_000, status=4))
        done.set()

    thread = threading.Thread(target=emit_too_much)
    thread.start()
    assert not done.wait(0.3)
    began = time.monotonic()
    pipe.try_emit(Beat())
    pipe.try_emit(Fault(text="last words", status=4), 0.2)
    assert time.monotonic() - began < 1
    whole = 4 + len(msgspec.msgpack.encode(Fault(text="x" * 200_000, status=4)))
    got = b""
    while len(got) < whole:
        got += os.read(read_end, 1 << 16)
    thread.join(5)
    assert len(got) == whole
    pipe.try_emit(Beat())
    assert read_event(read_end) == Beat()
    os.close(read_end)
    os.close(write_end)


def test_a_pipe_without_a_reader_is_no_error() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    EventPipe(write_end).emit(Beat())
    os.close(write_end)


def test_a_rank_whose_startup_does_not_come_ends() -> None:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "collmark.bench.process", "0.5"], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.wait(20) == 4
    process.communicate()


def test_a_rank_whose_launcher_is_gone_before_it_speaks_ends() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "collmark.bench.process", "30"], stdin=subprocess.DEVNULL, check=False, timeout=20
    )
    assert done.returncode == 4


def test_a_process_is_told_what_does_not_fit_into_its_pipe_and_never_waited_for(tmp_path: Path) -> None:
    rank = RankProcess(1, tmp_path / "log", (), 30)
    try:
        os.kill(rank._process.pid, signal.SIGSTOP)
        began = time.monotonic()
        rank.send(b"x" * 300_000)
        rank.send(b".")
        assert time.monotonic() - began < 1
        assert rank.is_owed
        while not rank.is_stopped:
            time.sleep(0.01)
        assert rank.status is None
    finally:
        rank.kill()
        rank.reap()
    assert rank.status == -signal.SIGKILL
    assert not rank.is_stopped
    rank.send(b"to nobody")
    assert not rank.is_owed
    assert rank.last_line() == str(tmp_path / "log")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (MeasurementError("x"), 4),
        (UnavailableError("x"), 3),
        (UsageError("x"), 2),
        (InterruptedRunError("x"), 0),
        (MemoryError("x"), 4),
    ],
)
def test_the_status_of_a_rank_follows_its_error(error: Exception, status: int) -> None:
    assert status_of(error) == status


def test_any_error_is_one_line() -> None:
    assert words_of(RuntimeError("a\nb\x1b[31m")) == "RuntimeError: a b\\x1b[31m"


def test_signals_have_names() -> None:
    assert signal_name(9) == "SIGKILL"
    assert signal_name(40) == "signal 40"
