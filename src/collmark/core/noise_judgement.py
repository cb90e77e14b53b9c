"""The noise of a machine in plain words: each finding good or a warning, with what it breaks and how to mend it.

The thresholds stand in :mod:`collmark.core.noise_limits`. Estimates are judged by their value; what is not told is not
judged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from enum import StrEnum

import msgspec

from collmark.core import noise_limits as limits
from collmark.core.estimate import Estimate
from collmark.core.noise import CoreGaps, MachineNoise
from collmark.core.numeral import counted
from collmark.core.units import GIGA, format_duration, format_gigabytes_per_second, format_microseconds

QUANTILES = ((0.5, "the median"), (0.05, "p95"), (0.01, "p99"), (0.001, "p99.9"))
UNTHROTTLED = "raise the container's CPU limit, or use fewer ranks"


class Verdict(StrEnum):
    """What a finding says."""

    GOOD = "good"
    WARN = "warn"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One finding.

    Attributes
    ----------
    part : str
        What was looked at, as one word.
    verdict : Verdict
        Whether it disturbs.
    found : str
        What was measured.
    breaks, mend : str
        Which figures it spoils, and what to do; empty where it is good.
    """

    part: str
    verdict: Verdict
    found: str
    breaks: str = ""
    mend: str = ""


def judge(noise: MachineNoise) -> tuple[Finding, ...]:
    """Return what was found, in the order of the parts."""
    return tuple(finding for rule in _RULES for finding in rule(noise))


def percent(share: float) -> str:
    """Return a share in per cent.

    Examples
    --------
    >>> percent(0.834), percent(0.00012), percent(1.0)
    ('83.4 %', '0.012 %', '100 %')
    """
    return f"{number(100 * share)} %"


def number(value: float) -> str:
    """Return a number to 3 digits, more where its integer part has more.

    Examples
    --------
    >>> number(0.01234), number(12345.6)
    ('0.0123', '12346')
    """
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def percent_interval(estimate: Estimate) -> str:
    """Return a share in per cent, with its interval."""
    value, lower, upper = (number(100 * share) for share in (estimate.value, estimate.lower, estimate.upper))
    return f"{value} [{lower}, {upper}] %"


def share_hit(long_gaps: Iterable[tuple[float, float]]) -> float:
    """Return the share of small operations on all of some cores that a long gap hits.

    Parameters
    ----------
    long_gaps : iterable of (float, float)
        Of each core, long gaps per second, and the share of its time that lies in gaps: they begin only while it runs.
    """
    running = sum(rate / max(1 - lost, 1e-3) for rate, lost in long_gaps)
    # Where a collective waits for its slowest rank, a gap on any of the cores counts.
    return -math.expm1(-running * limits.SMALL.value)


def quantile_hit(share: float) -> str:
    """Return which figures of a case are the machine's where such a share of its repetitions is hit."""
    name = next((name for least, name in QUANTILES if share >= least), "")
    return f"quantiles from {name} on" if name else "the largest values"


def slower(lost: float) -> str:
    """Return what it means that a share of a core's time is lost."""
    return f"what keeps a core busy takes {number(1 / max(1 - lost, 1e-3))} times as long"


def remedy(*, preempted: int | None, long_gaps: int, stolen: bool, throttled: bool, fifo: str) -> str:
    """Return what to do about gaps, by what made them.

    Parameters
    ----------
    preempted : int or None
        Times that another thread took the core.
    long_gaps : int
        Gaps of 1 ms and more.
    stolen : bool
        A hypervisor takes its share.
    throttled : bool
        A quota stopped the process.
    fifo : str
        Why SCHED_FIFO is not to be had; empty where it is.
    """
    if throttled:
        return UNTHROTTLED
    if stolen:
        return "ask for cores of your own: a hypervisor gives them to others"
    if preempted is not None and 2 * preempted < long_gaps:
        return "no other thread had the cores: look for interrupts and firmware (Linux's osnoise and hwlat tracers)"
    others = "end what else runs here, or use fewer ranks than cores"
    return f"{others} ({fifo})" if fifo else f"--scheduling fifo, or {others}"


def _good(part: str, found: str) -> Finding:
    return Finding(part=part, verdict=Verdict.GOOD, found=found)


def _warn(part: str, found: str, breaks: str, mend: str) -> Finding:
    return Finding(part=part, verdict=Verdict.WARN, found=found, breaks=breaks, mend=mend)


def _clock(noise: MachineNoise) -> Iterator[Finding]:
    clock, source = noise.clocks[0], noise.host.clock_source or "not told"
    back = sum(one.backwards for one in noise.clocks)
    if back:
        yield _warn(
            "clock", f"it went backwards {counted(back, 'time')}", "no time can be believed", "use another machine"
        )
    least = limits.TIMED.value * max(clock.cost.value, clock.tick)
    found = f"a read costs {format_microseconds(clock.cost.value)} us ({clock.name}, source {source})"
    single = f"operations from {format_microseconds(least)} us on can be timed one at a time"
    limit = limits.READ if clock.loop == "native" else limits.PYTHON_READ
    if clock.cost.value > limit.value:
        yield _warn("clock", found, f"only {single}", "choose a clock source that is read in user space (tsc on x86)")
    elif not back:
        yield _good("clock", f"{found}: {single}")


def _priority(noise: MachineNoise) -> Iterator[Finding]:
    if noise.host.nice > 0:
        breaks = "gaps are longer than those that ranks at nice 0 meet"
        yield _warn("priority", f"this process runs at nice {noise.host.nice}", breaks, "measure at nice 0")


def _lost(noise: MachineNoise) -> Iterator[Finding]:
    told = [(core, core.lost) for core in noise.gaps.cores if core.lost is not None]
    if not told:
        yield _good("gaps", f"no gap of {format_duration(noise.gaps.threshold)} or more was seen")
        return
    worst, lost = max(told, key=lambda one: one[1].value)
    found = f"{core_name(noise, worst)} loses {percent_interval(lost)} of its time in gaps"
    if lost.value < limits.LOST.value:
        yield _good("gaps", f"{found}, no core more")
        return
    over = sum(one.value >= limits.LOST.value for _core, one in told)
    more = f"; cores above {percent(limits.LOST.value)}: {over} of {len(noise.gaps.cores)}"
    yield _warn("gaps", found + more, slower(lost.value), _mend(noise, noise.gaps.cores))


def _long(noise: MachineNoise) -> Iterator[Finding]:
    cores = noise.gaps.cores
    rate = sum(core.long_rate.value for core in cores)
    long = format_duration(noise.gaps.long)
    if not rate:
        yield _good("long gaps", f"none of {long} or more in {format_duration(cores[0].seconds)} a core")
        return
    worst = max(cores, key=lambda core: core.largest)
    often = f"{number(rate)} a second" if rate >= 1 else f"one every {format_duration(1 / rate)}"
    struck = share_hit((core.long_rate.value, core.lost.value if core.lost else 0.0) for core in cores)
    found = (
        f"of {long} or more, {often} over {counted(len(cores), 'core')}, the largest {format_duration(worst.largest)} "
        f"({core_name(noise, worst)})"
    )
    hit = f"about {percent(struck)} of operations of {format_duration(limits.SMALL.value)} on all of them are hit"
    theirs = f"{quantile_hit(struck)} are this machine's and not the library's"
    if struck < limits.STRUCK.value:
        yield _good("long gaps", f"{found}: {hit}, {theirs}")
    else:
        yield _warn("long gaps", found, f"{hit}: {theirs}", _mend(noise, cores))


def _latency(noise: MachineNoise) -> Iterator[Finding]:
    pairs = noise.latency.pairs() if noise.latency is not None else {}
    if not pairs:
        return
    (near, least), (far, most) = (pick(pairs.items(), key=lambda one: one[1].value) for pick in (min, max))
    found = f"{format_microseconds(most.value)} us between cores {far[1]} and {far[0]}"
    if len(pairs) > 1:
        found = f"{format_microseconds(least.value)} us between cores {near[1]} and {near[0]}, {found}"
    if most.value > limits.LATENCY.value:
        breaks = "operations over shared memory wait for cores that do not run at the same time"
        yield _warn("latency", found, breaks, _mend(noise, noise.gaps.cores))
    elif most.value >= limits.LATENCY_RATIO.value * least.value:
        breaks = "small operations depend on where their ranks lie, and change where ranks wander"
        yield _warn("latency", found, breaks, "--bind cores, on cores that lie together (taskset)")
    else:
        yield _good("latency", found)


def _steal(noise: MachineNoise) -> Iterator[Finding]:
    told = [(core, core.steal) for core in noise.gaps.cores if core.steal is not None]
    if not told:
        return
    worst, steal = max(told, key=lambda one: one[1].value)
    if steal.value < limits.STEAL.value:
        yield _good("steal", f"a hypervisor takes at most {percent(steal.value)} of a core's time")
        return
    found = f"a hypervisor takes {percent_interval(steal)} of the time of {core_name(noise, worst)}"
    yield _warn("steal", found, slower(steal.value), "ask for cores of your own")


def _quota(noise: MachineNoise) -> Iterator[Finding]:
    host = noise.host
    limit = "" if host.quota is None else f" of {counted_cores(host.quota)}"
    if host.throttled:
        found = f"a CPU quota{limit} stopped this process for {format_duration(host.throttled)}"
        breaks = "times hold the rest of the quota's period, 100 ms as a rule"
        yield _warn("quota", found, breaks, UNTHROTTLED)
    elif limit:
        yield _good("quota", f"a CPU quota{limit} was not met")


def _frequency(noise: MachineNoise) -> Iterator[Finding]:
    told = [core.frequency.value for core in noise.gaps.cores if core.frequency is not None]
    governor = f"governor {noise.host.governor}" if noise.host.governor else ""
    speeds = f"cores spin at {min(told) / GIGA:.3g} to {max(told) / GIGA:.3g} GHz" if told else ""
    found = ", ".join(filter(None, (governor, speeds)))
    mend = "cpupower frequency-set -g performance"
    if told and min(told) < limits.FREQUENCY_RATIO.value * max(told):
        yield _warn("frequency", found, "ranks on slower cores come last", mend)
    elif governor and noise.host.governor != "performance":
        yield _warn("frequency", found, "clocks follow the load: what comes after a pause is slower", mend)
    elif found:
        yield _good("frequency", found)


def _memory(noise: MachineNoise) -> Iterator[Finding]:
    beyond = [copy for copy in noise.copies if copy.place == "memory"]
    words = ", ".join(
        f"{counted(copy.cores, 'core')} {format_gigabytes_per_second(copy.copied.value)} GB/s" for copy in beyond
    )
    widest = max((copy.copied.relative_half_width for copy in beyond), default=0.0)
    if widest >= limits.COPY_WIDTH.value:
        breaks = f"copies vary, their intervals are +-{percent(widest)}: figures of large sizes vary with them"
        yield _warn("memory", f"copied: {words}", breaks, "end what else uses the memory")
    elif beyond:
        yield _good("memory", f"copied: {words}")


_RULES = (_clock, _priority, _lost, _long, _latency, _steal, _quota, _frequency, _memory)


def core_name(noise: MachineNoise, core: CoreGaps) -> str:
    """Return what a core is called; where threads cannot be pinned it is only a thread."""
    return f"thread {noise.gaps.cores.index(core)}" if core.core is None else f"core {core.core}"


def counted_cores(quota: float) -> str:
    """Return a number of cores that need not be whole."""
    return f"{quota:.3g} core{'' if quota == 1 else 's'}"


def _mend(noise: MachineNoise, cores: Iterable[CoreGaps]) -> str:
    own = list(cores)
    told = [core.preempted for core in own if core.preempted is not None]
    return remedy(
        preempted=sum(told) if told else None,
        long_gaps=sum(core.long_gaps for core in own),
        stolen=any(core.steal is not None and core.steal.value >= limits.STEAL.value for core in own),
        throttled=bool(noise.host.throttled),
        fifo=noise.host.fifo_refusal,
    )
