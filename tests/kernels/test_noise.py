"""The loops that noise is measured with: what they see of a stop, of a partner that does not answer, of a copy."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from collmark.kernels import native
from collmark.kernels.noise import NativeProbe, Probe, PythonProbe, load_native

THRESHOLD = 5_000
PATIENCE = 20_000_000_000  # ns: on a busy machine a thread waits for its core

WATCH = """
import json, sys
from collmark.kernels.noise import PythonProbe, load_native
probe = load_native() if sys.argv[1] == "native" else PythonProbe()
print("begins", flush=True)
watch = probe.gaps(2_000_000_000, 5_000)
print(json.dumps({"lengths": watch.lengths_G.tolist(), "seconds": (watch.last - watch.first) * 1e-9}))
"""


@pytest.fixture(scope="module")
def built() -> NativeProbe:
    found = load_native()
    if found is None:
        pytest.skip("the native loops were not built (install a C compiler, then pip install -e .)")
    return found


@pytest.fixture(params=["native", "python"])
def probe(request: pytest.FixtureRequest) -> Probe:
    if request.param == "python":
        return PythonProbe()
    found: NativeProbe = request.getfixturevalue("built")
    return found


def test_reads_never_fall(probe: Probe) -> None:
    before = time.monotonic_ns()
    stamps = probe.reads(5000)
    assert stamps.shape == (5000,)
    assert before <= stamps[0]
    assert stamps[-1] <= time.monotonic_ns()
    assert (np.diff(stamps) >= 0).all()


def test_gaps_are_at_least_the_threshold_and_lie_in_what_was_watched(probe: Probe) -> None:
    before = time.monotonic_ns()
    watch = probe.gaps(50_000_000, THRESHOLD)
    after = time.monotonic_ns()
    assert before <= watch.first < watch.last <= after
    assert watch.last - watch.first >= 50_000_000
    assert (watch.lengths_G >= THRESHOLD).all()
    assert watch.lengths_G.sum() <= watch.last - watch.first
    assert watch.backwards == 0
    assert watch.core in {-1, *range(os.cpu_count() or 1)}


def test_with_a_threshold_of_nothing_every_step_is_a_gap(probe: Probe) -> None:
    watch = probe.gaps(200_000, 1)
    assert watch.lengths_G.sum() == watch.last - watch.first


def test_steps_of_a_made_clock_are_its_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    stamps = iter([100, 150, 200, 5200, 5150, 10149, 15149, 90_000])
    monkeypatch.setattr(time, "monotonic_ns", lambda: next(stamps))
    watch = PythonProbe().gaps(15_000, THRESHOLD)
    assert watch.lengths_G.tolist() == [5000, 5000]  # and not the 4999 from 5150 on
    assert (watch.first, watch.last, watch.backwards) == (100, 15149, 1)


@pytest.fixture
def watcher(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", WATCH, request.param]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("watcher", ["native", "python"], indirect=True)
def test_a_process_that_is_stopped_sees_a_gap_as_long(watcher: subprocess.Popen[str]) -> None:
    assert watcher.stdout is not None
    assert watcher.stdout.readline() == "begins\n"
    time.sleep(0.3)  # well inside the 2 s
    os.kill(watcher.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, watcher.pid, os.WSTOPPED | os.WNOWAIT)
    began = time.monotonic_ns()
    time.sleep(0.2)
    stopped = time.monotonic_ns() - began
    os.kill(watcher.pid, signal.SIGCONT)
    told = json.loads(watcher.stdout.readline())
    assert max(told["lengths"]) >= stopped
    assert sum(told["lengths"]) * 1e-9 <= told["seconds"]


def test_two_sides_of_a_ping_pong(built: NativeProbe) -> None:
    line = np.zeros(1, dtype=np.int64)
    taken = {}

    def play(side: int) -> None:
        taken[side] = built.bounce(line, side, 10, PATIENCE)

    answering = threading.Thread(target=play, args=(1,), daemon=True)
    answering.start()
    play(0)
    answering.join(timeout=60)
    assert taken[0] > 0
    assert taken[1] > 0
    # 0 from side 0 first, then each number once: 10 round trips, the one before them, and what nobody waits for.
    assert line[0] == 2 * 11 + 1


@pytest.mark.parametrize("side", [0, 1])
def test_a_partner_that_does_not_answer_is_given_up(built: NativeProbe, side: int) -> None:
    assert built.bounce(np.zeros(1, dtype=np.int64), side, 10, 1_000_000) == -1


def test_copies_arrive_and_are_counted(probe: Probe) -> None:
    source = np.random.default_rng(1).integers(0, 256, 100_003, dtype=np.uint8)
    to = np.zeros_like(source)
    began = time.monotonic_ns()
    count, took = probe.copies(to, source, 2_000_000)
    assert 2_000_000 <= took <= time.monotonic_ns() - began
    assert count >= 1
    assert np.array_equal(to, source)


def test_without_the_library_there_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(native.importlib.util, "find_spec", lambda _name: None)  # type: ignore[attr-defined]
    assert load_native() is None
    (tmp_path / "other.so").write_text("no library", encoding="utf-8")
    spec = SimpleNamespace(origin=str(tmp_path / "other.so"))
    monkeypatch.setattr(native.importlib.util, "find_spec", lambda _name: spec)  # type: ignore[attr-defined]
    assert load_native() is None
