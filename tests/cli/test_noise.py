"""``collmark noise``: its tables at several widths, its JSON, and wrong words."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from collmark.bench.noise.pinned import own_cores
from collmark.core.estimate import Estimate
from collmark.core.noise import ClockReads, Copy, CoreGaps, Gaps, Host, Latency, MachineNoise, Summation
from collmark.core.numeral import spans
from collmark.workflow import noise as workflow
from collmark.workflow.noise import Noise, read_cores


def estimate(value: float, arm: float = 0.1) -> Estimate:
    """Return an estimate whose interval is so wide, relative to its value."""
    return Estimate(
        value=value, lower=value * (1 - arm), upper=value * (1 + arm), method="made", count=10, over="windows"
    )


def machine(cores: int) -> MachineNoise:
    """Return a noisy machine of so many cores, each pair 10 ns further apart than the one before."""
    gap = CoreGaps(
        core=0, seconds=5.0, gaps=123_456, long_gaps=9876, lost=estimate(0.1234), rate=estimate(24_691.2),
        long_rate=estimate(1975.2), largest=0.0345, p99=estimate(0.0123), preempted=12_345, steal=estimate(0.0456),
        frequency=estimate(2.45e9),
    )  # fmt: skip
    numbers = tuple(range(cores))
    matrix = tuple(
        tuple(None if row == column else estimate(1e-8 * (row + column)) for column in numbers) for row in numbers
    )
    clock = ClockReads(
        name="clock_gettime(CLOCK_MONOTONIC)", loop="native", reads=100_000, backwards=0, step=2e-8, tick=1e-8,
        cost=estimate(2e-8), cost_p99=estimate(3e-8),
    )  # fmt: skip
    return MachineNoise(
        host=Host(
            name="a-host-whose-name-is-forty-letters-long0", cpu="AMD EPYC 9654 96-Core Processor", system="Linux 6.1",
            cores=numbers, clock_source="tsc", governor="powersave", l2=1 << 20, last_level=1 << 25, switches=2069.4,
        ),
        clocks=(clock, msgspec.structs.replace(clock, name="time.monotonic_ns", loop="python")),
        gaps=Gaps(
            loop="native", threshold=5e-6, long=1e-3, at_once=True,
            cores=tuple(msgspec.structs.replace(gap, core=number) for number in numbers),
        ),
        latency=Latency(cores=numbers, one_way=matrix) if cores > 1 else None,
        copies=(Copy(place="memory", cores=1, nbytes=1 << 27, copied=estimate(9.8e9, 0.02)),),
        sums=(Summation(place="memory", cores=2, nbytes=1 << 27, dtype="float32", summed=estimate(8e9, 0.02)),),
        absent={} if cores > 1 else {"latency between cores": "one core: there is no pair"},
    )  # fmt: skip


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> MachineNoise:
    """Return a made machine, which is measured in place of this one."""
    found = machine(request.param)
    monkeypatch.setattr(workflow, "measure_machine", lambda *_words: found)
    return found


@pytest.mark.manner(22)
@pytest.mark.parametrize("made", [1, 2, 12, 48], indirect=True)
@pytest.mark.parametrize("columns", [80, 100, 120])
def test_no_line_is_too_wide(cli: Callable[..., Any], made: MachineNoise, columns: int) -> None:
    result = cli("noise", env={"COLUMNS": str(columns)})
    assert result.status == 0
    assert max(map(len, (result.out + result.err).splitlines())) <= columns
    assert "..." not in result.out
    words = " ".join(result.out.split())
    assert "WARN gaps: core 0 loses 12.3 [11.1, 13.6] % of its time in gaps" in words
    assert f"cores above 1 %: {len(made.gaps.cores)} of {len(made.gaps.cores)}" in words
    assert "WARN frequency: governor powersave" in words
    assert "good memory: copied: 1 core 9.80 GB/s" in words
    assert "memory 2 128 MiB float32 8.00 [7.84, 8.16] 0.25" in words  # each core takes 1/4 ns a byte


@pytest.mark.parametrize("made", [12], indirect=True)
def test_a_matrix_that_fits_is_shown_whole(cli: Callable[..., Any], made: MachineNoise) -> None:
    del made
    lines = cli("noise").out.splitlines()
    (head,) = (number for number, line in enumerate(lines) if line.split() == ["ns,", "core", *map(str, range(12))])
    for row, line in enumerate(lines[head + 1 : head + 13]):
        found = line.split()
        assert found[0] == str(row)
        assert found[1 + row] == "-"
        assert [float(cell) for cell in found[1 : 1 + row]] == [10.0 * (row + column) for column in range(row)]


@pytest.mark.parametrize("made", [48], indirect=True)
def test_of_a_larger_matrix_the_ends_are_shown(cli: Callable[..., Any], made: MachineNoise) -> None:
    del made
    words = " ".join(cli("noise").out.split())
    assert "of 1128 pairs cores latency" in words
    assert "nearest 0, 1 10 [9, 11]" in words
    assert "furthest 46, 47 930 [837, 1023]" in words
    assert "the 16 cores that lose most of 48, all are in --json" in words
    assert words.count("24691 [22222, 27160]") == 16


@pytest.mark.parametrize("made", [2], indirect=True)
def test_the_only_pair_stands_with_its_interval(cli: Callable[..., Any], made: MachineNoise) -> None:
    del made
    assert "cores latency (ns) 0, 1 10 [9, 11]" in " ".join(cli("noise").out.split())


@pytest.mark.parametrize("made", [1], indirect=True)
def test_what_was_not_measured_is_said_with_its_reason(cli: Callable[..., Any], made: MachineNoise) -> None:
    del made
    assert "not measured: latency between cores: one core: there is no pair" in cli("noise").err


@pytest.mark.parametrize("made", [3], indirect=True)
def test_json_is_the_struct(cli: Callable[..., Any], made: MachineNoise) -> None:
    result = cli("noise", "--json")
    decoded = msgspec.convert(result.json, type=Noise)
    assert decoded.measured == made
    assert [finding.part for finding in decoded.findings][:2] == ["clock", "gaps"]
    assert result.json["measured"]["latency"]["one_way"][1][1] is None


@pytest.mark.slow
def test_this_machine(cli: Callable[..., Any]) -> None:
    core = own_cores()[0]
    words = ["noise", "--duration", "200ms", *(["--cores", str(core)] if hasattr(os, "sched_setaffinity") else [])]
    decoded = msgspec.convert(cli(*words, "--json").json, type=Noise)
    assert len(decoded.measured.gaps.cores) >= 1
    assert decoded.measured.gaps.cores[0].seconds >= 0.199
    assert decoded.findings


@pytest.mark.slow
def test_it_can_be_interrupted() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "collmark", "noise", "--duration", "10 min"], stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            assert any("watching" in line for line in process.stderr)
            process.send_signal(2)
            assert process.wait(timeout=60) == 130
            assert process.stderr.read() == "interrupted\n"
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--duration", "0"), "--duration 0: '0' is not a time: it must be above 0"),
        (("--duration", "50ms"), "from 100 ms to 10 min"),
        (("--duration", "11min"), "from 100 ms to 10 min"),
        (("--duration", "5 parsecs"), "unknown unit"),
        (("--duration", ""), "it is empty"),
        (("--cores", ""), "must be a list of cores, as 0,2-3"),
        (("--cores", "3-1"), "must be a list of cores"),
        (("--cores", "0;1"), "must be a list of cores"),
        (("--cores", "-1"), "must be a list of cores"),
        (("--cores", "9" * 500), "must be a list of cores"),
        (("--cores", "0,999999"), "this process may not run on core 999999; it may on"),
        (("--duraton", "5s"), "did you mean '--duration'?"),
        (("now",), "unexpected extra argument"),
    ],
)
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system cannot pin threads")
def test_wrong_words_are_one_line(cli: Callable[..., Any], words: tuple[str, ...], said: str) -> None:
    result = cli("noise", *words)
    assert (result.status, result.out) == (2, "")
    assert said in " ".join(result.err.split())
    assert result.err.startswith("error: ")
    assert "Traceback" not in result.err


def test_cores_without_pinning_are_refused(cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    result = cli("noise", "--cores", "0")
    assert result.status == 2
    assert "leave it away" in result.err


def test_cores_are_read_once_each_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workflow, "own_cores", lambda: tuple(range(8)))
    monkeypatch.setattr(workflow, "can_pin", lambda: True)
    assert read_cores("5,0-2, 1") == (0, 1, 2, 5)
    assert read_cores(None) == tuple(range(8))
    for cores in [(0,), (0, 1), (0, 1, 2, 5), (7,)]:
        assert read_cores(spans(cores)) == cores
        assert all(one < other for one, other in pairwise(read_cores(spans(cores))))
