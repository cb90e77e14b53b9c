"""A whole measurement: here, on one core, without native code, and on a system that tells nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from collmark.bench import environment, memory, scheduling
from collmark.bench.noise import copies, latency, machine, system
from collmark.bench.noise.machine import NOT_BUILT, NOT_TOLD, measure_machine
from collmark.bench.noise.pinned import own_cores
from collmark.core.noise import MachineNoise
from collmark.core.noise_judgement import Verdict, judge
from collmark.kernels.noise import load_native

SECOND = 1_000_000_000
needs_native = pytest.mark.skipif(load_native() is None, reason="the native loops were not built")
needs_pinning = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system cannot pin threads")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy little, and not for long."""
    monkeypatch.setattr(copies, "WINDOW", 1_000_000)
    monkeypatch.setattr(system, "caches", lambda: (256 << 10, 1 << 20))


def measure(cores: Sequence[int]) -> tuple[MachineNoise, list[str]]:
    told: list[str] = []
    return measure_machine(cores, 0.1, told.append), told


@needs_native
@needs_pinning
def test_here() -> None:
    cores = own_cores()
    before = os.sched_getaffinity(0)
    noise, told = measure(cores)
    assert os.sched_getaffinity(0) == before  # only threads of ours were pinned
    assert noise.host.cores == cores
    assert [core.core for core in noise.gaps.cores] == list(cores)
    assert {copy.place for copy in noise.copies} == {"L2", "memory"}
    assert all(0 < copy.copied.lower <= copy.copied.value for copy in noise.copies)
    assert [one.place for one in noise.sums[:2]] == ["L2", "memory"]
    assert [one.cores for one in noise.sums[2:]] == ([len(cores)] if len(cores) > 1 else [])
    assert all(0 < one.summed.lower <= one.summed.value for one in noise.sums)
    assert told[0] == "reading the clocks"
    assert "latency between cores" in noise.absent or noise.latency is not None
    assert judge(noise)


@needs_native
@needs_pinning
@pytest.mark.skipif(len(own_cores()) < 2, reason="one core has no pair")
def test_the_matrix_is_symmetric_and_its_diagonal_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("ROUNDS", 5), ("WINDOWS", 15), ("PATIENCE", 100 * SECOND), ("BUDGET", 100 * SECOND)):
        monkeypatch.setattr(latency, name, value)
    cores = own_cores()[:3]
    noise, _told = measure(cores)
    assert noise.latency is not None
    matrix = noise.latency.one_way
    assert len(matrix) == len(noise.latency.cores) == len(cores)
    for row in range(len(cores)):
        assert matrix[row][row] is None
        for column in range(len(cores)):
            assert matrix[row][column] == matrix[column][row]
    assert len(noise.latency.pairs()) == len(cores) * (len(cores) - 1) // 2
    assert all(estimate.lower > 0 for estimate in noise.latency.pairs().values())
    together = [copy for copy in noise.copies if copy.cores == len(cores)]
    assert len(together) == 2


@needs_native
@needs_pinning
def test_one_core_has_no_pair_and_says_so() -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        noise, _told = measure(own_cores())
    finally:
        os.sched_setaffinity(0, before)
    assert noise.host.cores == (min(before),)
    assert noise.latency is None
    assert noise.absent["latency between cores"] == "one core: there is no pair"
    assert [copy.cores for copy in noise.copies] == [1, 1]


def test_without_native_code_python_measures_what_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "load_native", lambda: None)
    cores = [own_cores()[0]] * 2
    noise, _told = measure(cores)
    assert [clock.loop for clock in noise.clocks] == ["python"]
    assert (noise.gaps.loop, noise.gaps.at_once) == ("python", False)
    assert noise.latency is None
    assert noise.absent["latency between cores"] == NOT_BUILT
    assert "one after the other" in noise.absent["gaps and copies on all cores at once"]
    assert [copy.cores for copy in noise.copies] == [1, 1]
    assert all(finding.found for finding in judge(noise))


def test_a_system_without_proc_and_affinity(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("STAT", "CPUS", "CLOCK_SOURCE", "GROUPS", "GROUP_ROOT"):
        monkeypatch.setattr(system, name, tmp_path / "nothing")
    monkeypatch.setattr(system, "caches", lambda: (None, None))
    monkeypatch.setattr(copies, "ASSUMED_LAST", 1 << 20)
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "nothing")
    monkeypatch.setattr(environment, "_first_line", lambda _path: "")
    monkeypatch.delattr("resource.RUSAGE_THREAD", raising=False)
    for function in ("sched_setaffinity", "sched_getaffinity", "sched_setscheduler", "sched_getscheduler"):
        monkeypatch.delattr(os, function, raising=False)
    noise, _told = measure(own_cores())
    for core in noise.gaps.cores:
        assert [core.core, core.steal, core.frequency, core.preempted] == [None] * 4
    assert noise.latency is None
    assert noise.host.fifo_refusal == scheduling.refusal() == "this system has no SCHED_FIFO"
    for name in ("steal", "frequency", "governor", "context switches", "preemptions", "clock source"):
        assert noise.absent[name] == NOT_TOLD
    assert "256 KiB and 32.0 MiB were assumed" in noise.absent["sizes of caches"]
    assert "one row a thread" in noise.absent["gaps of each core"]
    assert {finding.part for finding in judge(noise)}.isdisjoint({"steal", "frequency", "quota", "latency"})


def test_small_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "caches", lambda: (1 << 20, 1 << 30))
    monkeypatch.setattr(copies, "available_memory", lambda: 32 << 20)
    noise, _told = measure(own_cores()[:1])
    assert noise.copies[-1].nbytes == 4 << 20
    assert "0.0039 x the last-level caches" in noise.absent["copies far beyond the caches"]


def test_buffers_keep_below_what_a_control_group_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "available_memory", lambda: 1 << 40)
    monkeypatch.setattr(copies, "memory_left", lambda: 128 << 20)
    assert copies.sizes(1 << 20, 1 << 30) == (256 << 10, 16 << 20)
    monkeypatch.setattr(copies, "memory_left", lambda: None)
    assert copies.sizes(1 << 20, 1 << 30) == (256 << 10, 4 << 30)
    assert copies.sizes(None, None) == (copies.ASSUMED_L2 // 4, 4 * copies.ASSUMED_LAST)


def test_of_many_cores_some_are_paired() -> None:
    assert latency.choose(range(4)) == (0, 1, 2, 3)
    chosen = latency.choose(range(1000, 1192))
    assert len(set(chosen)) == latency.MOST_CORES
    assert (chosen[0], chosen[-1]) == (1000, 1191)


@needs_native
@needs_pinning
@pytest.mark.skipif(len(own_cores()) < 2, reason="one core has no pair")
@pytest.mark.parametrize("name", ["PATIENCE", "BUDGET"])
def test_a_core_that_does_not_answer_is_left_blank(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(latency, name, 0)
    noise, _told = measure(own_cores()[:2])
    assert noise.latency is not None
    assert noise.latency.pairs() == {}
    assert noise.absent["latency of some pairs"] == "1 pair had no answer: other work held their cores"
    assert "latency" not in {finding.part for finding in judge(noise)}


def test_findings_are_good_or_warnings_that_say_what_to_do() -> None:
    noise, _told = measure(own_cores())
    for finding in judge(noise):
        assert bool(finding.breaks) == bool(finding.mend) == (finding.verdict is Verdict.WARN)
