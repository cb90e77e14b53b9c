"""Planted figures on both sides of every limit: which finding, which verdict, which remedy."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from collmark.core import noise_limits as limits
from collmark.core.estimate import Estimate
from collmark.core.noise import ClockReads, Copy, CoreGaps, Gaps, Host, Latency, MachineNoise
from collmark.core.noise_judgement import Finding, Verdict, judge, quantile_hit, remedy, share_hit


def estimate(value: float, half: float = 0.0) -> Estimate:
    return Estimate(
        value=value, lower=max(0.0, value - half), upper=value + half, method="made", count=10, over="windows"
    )


def core(number: int | None = 0, **changes: Any) -> CoreGaps:  # noqa: ANN401 - any field
    values: dict[str, Any] = {
        "core": number, "seconds": 5.0, "gaps": 100, "long_gaps": 0, "lost": estimate(0.001), "rate": estimate(20.0),
        "long_rate": estimate(0.0), "largest": 2e-5, "p99": None, "preempted": 0, "steal": None, "frequency": None,
    }  # fmt: skip
    return CoreGaps(**{**values, **changes})


CLOCK = ClockReads(
    name="clock", loop="native", reads=100, backwards=0, step=2e-8, tick=1e-9, cost=estimate(2e-8),
    cost_p99=estimate(3e-8),
)  # fmt: skip
QUIET = MachineNoise(
    host=Host(name="node", cpu="x", system="y", cores=(0, 1)),
    clocks=(CLOCK,),
    gaps=Gaps(loop="native", threshold=5e-6, long=1e-3, at_once=True, cores=(core(0), core(1))),
    latency=None,
    copies=(),
    absent={},
)


def with_cores(*cores: CoreGaps, **host: Any) -> MachineNoise:  # noqa: ANN401 - any field
    gaps = msgspec.structs.replace(QUIET.gaps, cores=cores)
    return msgspec.structs.replace(QUIET, gaps=gaps, host=msgspec.structs.replace(QUIET.host, **host))


def with_host(**host: Any) -> MachineNoise:  # noqa: ANN401 - any field
    return with_cores(*QUIET.gaps.cores, **host)


def with_clock(**changes: Any) -> MachineNoise:  # noqa: ANN401 - any field
    return msgspec.structs.replace(QUIET, clocks=(msgspec.structs.replace(CLOCK, **changes),))


def with_latency(*seconds: float) -> MachineNoise:
    """Return a machine whose core 0 is so far from each other core."""
    cores = tuple(range(len(seconds) + 1))
    rows = [[None if {0} & {row, column} != {0} or row == column else estimate(seconds[max(row, column) - 1])
             for column in cores] for row in cores]  # fmt: skip
    return msgspec.structs.replace(QUIET, latency=Latency(cores=cores, one_way=tuple(map(tuple, rows))))


def with_copies(*relative: float) -> MachineNoise:
    made = [Copy(place="memory", cores=1, nbytes=1 << 27, copied=estimate(1e10, half * 1e10)) for half in relative]
    return msgspec.structs.replace(QUIET, copies=tuple(made))


def finding_of(noise: MachineNoise, part: str) -> Finding:
    (found,) = (finding for finding in judge(noise) if finding.part == part)
    return found


def test_a_quiet_machine_has_nothing_to_mend() -> None:
    findings = judge(QUIET)
    assert [finding.part for finding in findings] == ["clock", "gaps", "long gaps"]
    assert all(finding.verdict is Verdict.GOOD and not finding.mend for finding in findings)


BOTH_SIDES = {
    "clock": (with_clock(cost=estimate(99e-9)), with_clock(cost=estimate(101e-9))),
    "clock, in Python": (
        with_clock(loop="python", cost=estimate(499e-9)),
        with_clock(loop="python", cost=estimate(501e-9)),
    ),
    "gaps": (with_cores(core(lost=estimate(0.0099))), with_cores(core(lost=estimate(0.0101)))),
    "long gaps": (with_cores(core(long_rate=estimate(9.9))), with_cores(core(long_rate=estimate(10.1)))),
    "long gaps, over cores": (
        with_cores(*[core(long_rate=estimate(4.9))] * 2),
        with_cores(*[core(long_rate=estimate(5.1))] * 2),
    ),
    "latency": (with_latency(499e-9), with_latency(501e-9)),
    "latency, ratio": (with_latency(50e-9, 99e-9), with_latency(50e-9, 101e-9)),
    "steal": (with_cores(core(steal=estimate(0.009))), with_cores(core(steal=estimate(0.011)))),
    "quota": (with_host(quota=1.5, throttled=0.0), with_host(quota=1.5, throttled=0.3)),
    "frequency": (
        with_cores(core(frequency=estimate(2.72e9)), core(frequency=estimate(3e9))),
        with_cores(core(frequency=estimate(2.68e9)), core(frequency=estimate(3e9))),
    ),
    "frequency, governor": (with_host(governor="performance"), with_host(governor="powersave")),
    "memory": (with_copies(0.09), with_copies(0.01, 0.11)),
}


@pytest.mark.parametrize("name", BOTH_SIDES)
def test_both_sides_of_a_limit(name: str) -> None:
    good, bad = (finding_of(noise, name.partition(",")[0]) for noise in BOTH_SIDES[name])
    assert (good.verdict, good.breaks, good.mend) == (Verdict.GOOD, "", "")
    assert bad.verdict is Verdict.WARN
    assert bad.breaks
    assert bad.mend


def test_every_limit_has_a_reason() -> None:
    rows = {name: row for name, row in vars(limits).items() if isinstance(row, limits.Limit)}
    assert len(rows) == 11
    assert all(row.reason and row.value > 0 for row in rows.values())


def test_a_clock_that_goes_back_is_never_good() -> None:
    clock = finding_of(with_clock(backwards=2), "clock")
    assert clock.verdict is Verdict.WARN
    assert "backwards 2 times" in clock.found


def test_a_gap_now_and_then_spoils_only_the_largest_values() -> None:
    # 4 ms every 3 s on one core of two hit 3 of 100,000 operations of 100 us: no p99 is touched, and none is blamed.
    found = finding_of(with_cores(core(0, long_rate=estimate(1 / 3), largest=4e-3), core(1)), "long gaps")
    assert found.verdict is Verdict.GOOD
    assert "one every 3.0 s over 2 cores, the largest 4 ms (core 0)" in found.found
    assert "0.00334 % of operations of 100 us" in found.found
    assert "the largest values are this machine's" in found.found


def test_none_seen_is_said_with_the_time_watched() -> None:
    assert finding_of(QUIET, "long gaps").found == "none of 1 ms or more in 5.0 s a core"
    assert "no gap of 5 us or more" in finding_of(with_cores(core(lost=None, gaps=0)), "gaps").found


@pytest.mark.parametrize(
    ("rate", "words"),
    [(11.0, "p99.9"), (110.0, "p99"), (520.0, "p95"), (7000.0, "the median"), (1.0, "the largest values")],
)
def test_which_quantile_is_the_machines(rate: float, words: str) -> None:
    assert words in quantile_hit(share_hit([(rate, 0.0)]))


def test_gaps_begin_only_while_a_core_runs() -> None:
    # 20 a second of which half the time is lost are 40 for each second that an operation runs.
    assert share_hit([(20.0, 0.5)]) == pytest.approx(40e-4, rel=0.01)
    assert share_hit([(10.0, 0.0)] * 4) == pytest.approx(40e-4, rel=0.01)
    assert share_hit([(1e9, 1.0)]) <= 1


def test_the_remedy_follows_the_cause() -> None:
    cause: dict[str, Any] = {"preempted": 9, "long_gaps": 10, "stolen": False, "throttled": False, "fifo": ""}
    assert remedy(**cause).startswith("--scheduling fifo, or end what else runs here")
    assert remedy(**{**cause, "fifo": "not permitted"}).startswith("end what else runs here")
    assert "not permitted" in remedy(**{**cause, "fifo": "not permitted"})
    assert remedy(**{**cause, "preempted": None}).startswith("--scheduling fifo")
    assert "interrupts and firmware" in remedy(**{**cause, "preempted": 4})
    assert "cores of your own" in remedy(**{**cause, "stolen": True})
    assert "CPU limit" in remedy(**{**cause, "throttled": True})


def test_a_low_priority_is_named() -> None:
    assert "nice 19" in finding_of(with_host(nice=19), "priority").found


def test_the_worst_core_is_named_and_the_others_counted() -> None:
    cores = [core(4, lost=estimate(0.02)), core(7, lost=estimate(0.3, 0.1)), core(9)]
    found = finding_of(with_cores(*cores), "gaps").found
    assert found == "core 7 loses 30 [20, 40] % of its time in gaps; cores above 1 %: 2 of 3"


def test_threads_that_are_not_pinned_have_no_core() -> None:
    assert "thread 1 loses" in finding_of(with_cores(core(None), core(None, lost=estimate(0.2))), "gaps").found
