"""Threads that ran while a case was measured."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from collmark.bench import threads
from collmark.bench.threads import BUSY_SHARE, ThreadMeter

needs_schedstat = pytest.mark.skipif(
    not Path("/proc/self/task/self").parent.exists() or not Path("/proc/self/schedstat").exists(),
    reason="this system does not tell how long threads ran",
)


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that stands in for /proc/self/task."""
    monkeypatch.setattr(threads, "TASKS", tmp_path)
    return tmp_path


def ran(tasks: Path, task: int, nanoseconds: int | str) -> None:
    (tasks / str(task)).mkdir(exist_ok=True)
    (tasks / str(task) / "schedstat").write_text(f"{nanoseconds} 12 3\n")


@pytest.fixture
def second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a second pass between start and count."""
    times = iter([0, 0, 10**9, 10**9, 10**9])
    monkeypatch.setattr(time, "monotonic_ns", lambda: next(times))


@pytest.mark.usefixtures("second")
def test_those_that_ran_long_enough_count(tasks: Path) -> None:
    least = int(BUSY_SHARE * 1e9)
    for task in (1, 2, 3):
        ran(tasks, task, 10**10)
    meter = ThreadMeter()
    meter.start()
    ran(tasks, 1, 10**10 + least)
    ran(tasks, 2, 10**10 + least - 1)
    ran(tasks, 4, least)  # started since
    assert meter.busy() == 2


@pytest.mark.usefixtures("second")
@pytest.mark.parametrize("gone", [1, 2, 3])
def test_a_thread_that_ends_while_it_is_read_hides_no_other(tasks: Path, gone: int) -> None:
    meter = ThreadMeter()
    meter.start()
    for task in (1, 2, 3):
        ran(tasks, task, 10**9)
    (tasks / str(gone) / "schedstat").unlink()
    assert meter.busy() == 2


@pytest.mark.usefixtures("second")
@pytest.mark.parametrize("text", ["", "x y z"])
def test_what_cannot_be_read_does_not_count(tasks: Path, text: str) -> None:
    meter = ThreadMeter()
    meter.start()
    ran(tasks, 1, 10**9)
    ran(tasks, 2, text)
    (tasks / "2" / "schedstat").write_text(text)
    assert meter.busy() == 1


def test_where_the_system_does_not_tell_nobody_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "TASKS", Path("/nowhere/at/all"))
    meter = ThreadMeter()
    meter.start()
    assert meter.busy() == 0


def spin(stop: threading.Event) -> None:
    while not stop.is_set():
        sum(range(1000))


@needs_schedstat
def test_real_threads() -> None:
    stop = threading.Event()
    idle = threading.Thread(target=stop.wait)
    busy = [threading.Thread(target=spin, args=(stop,)) for _ in range(2)]
    meter = ThreadMeter()
    for thread in (idle, *busy):
        thread.start()
    try:
        meter.start()
        deadline = time.monotonic() + 20
        # On a busy machine it may take a while until both had their turn.
        while (found := meter.busy()) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        stop.set()
        for thread in (idle, *busy):
            thread.join()
    assert found in (2, 3)  # this thread, which mostly sleeps, may count
