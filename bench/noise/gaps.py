"""Gaps: a loop on every core that only reads the clock, and what it could not see.

The method of the selfish detour benchmark (Beckman, Iskra, Yoshii & Coghlan, Operating system issues for petascale
systems, ACM SIGOPS OSR 40(2), 2006; netgauge has it too): every step between two reads that is longer than a threshold
is time in which something else had the core. Counting work per fixed quantum instead (FTQ: Sottile & Minnich, Analysis
of microbenchmarks for performance tuning of clusters, Cluster 2004) gives the share of time lost, but no single gap.
"""

from __future__ import annotations

import functools
import math
import resource
import threading
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from collmark.bench.noise.pinned import can_pin, together
from collmark.bench.noise.system import CpuTimes, frequency
from collmark.core.estimate import Estimate
from collmark.core.intervals import mean_interval, quantile_interval
from collmark.core.noise import GAP, LONG, CoreGaps, Gaps
from collmark.core.statistics import autocorrelation_time, log_t_interval
from collmark.core.units import NANOSECONDS_PER_SECOND, Seconds
from collmark.kernels.noise import NativeProbe, Probe, PythonProbe, Watch

LONGEST_WINDOW: Seconds = 0.25  # so soon Ctrl-C is heard
LEAST_WINDOWS = 10
LEVEL = 0.95


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """One window of watching on one core.

    Attributes
    ----------
    watch : Watch
        What the loop saw.
    preempted : int or None
        Times that another thread took the core.
    steal, frequency : float or None
        Share that a hypervisor took; Hz at the end.
    """

    watch: Watch
    preempted: int | None = None
    steal: float | None = None
    frequency: float | None = None


def watch_gaps(probe: NativeProbe | None, cores: Sequence[int], seconds: Seconds) -> Gaps:
    """Watch each core for so long: all at once, or, without native code, one after the other in a share of the time."""
    loop: Probe = probe or PythonProbe()
    groups = [cores] if probe is not None else [[core] for core in cores]
    windows: list[list[Window]] = []
    for group in groups:
        windows += together(group, functools.partial(_watch, loop, group, seconds / len(groups)))
    return Gaps(
        loop=loop.name,
        threshold=GAP,
        long=LONG,
        at_once=probe is not None,
        cores=tuple(summarise(core if can_pin() else None, own) for core, own in zip(cores, windows, strict=True)),
    )


def _watch(probe: Probe, cores: Sequence[int], seconds: Seconds, position: int, stop: threading.Event) -> list[Window]:
    """Watch the core that this thread is on; what the system tells of it is asked between windows, by itself."""
    count = max(LEAST_WINDOWS, math.ceil(seconds / LONGEST_WINDOW))
    length = round(seconds / count * NANOSECONDS_PER_SECOND)
    found = []
    for _window in range(count):
        if stop.is_set():
            break
        found.append(watch_window(probe, cores[position], length))
    return found


def watch_window(probe: Probe, core: int | None, length: int) -> Window:
    """Watch for `length` ns; `core` is the one that this thread is kept on, None where it may be anywhere."""
    times, before = CpuTimes(core), preemptions()
    watch = probe.gaps(length, round(GAP * NANOSECONDS_PER_SECOND))
    after = preemptions()
    return Window(
        watch=watch,
        preempted=None if before is None or after is None else after - before,
        steal=CpuTimes(core).steal_since(times),
        frequency=frequency(watch.core if watch.core >= 0 else core),
    )


def preemptions() -> int | None:
    """Return how often the system gave this thread's core to another; None where it does not tell."""
    who = getattr(resource, "RUSAGE_THREAD", None)  # Linux's
    return None if who is None else resource.getrusage(who).ru_nivcsw


def summarise(core: int | None, windows: Sequence[Window]) -> CoreGaps:
    """Return what the windows of one core say, two or more; estimates are over windows."""
    seconds_W = np.array([one.watch.last - one.watch.first for one in windows]) * 1e-9
    lengths_W = [one.watch.lengths_G * 1e-9 for one in windows]
    lengths = np.concatenate(lengths_W)
    lost_W = np.array([lengths.sum() for lengths in lengths_W]) / seconds_W
    told = [one.preempted for one in windows if one.preempted is not None]
    return CoreGaps(
        core=core,
        seconds=float(seconds_W.sum()),
        gaps=lengths.size,
        long_gaps=int((lengths >= LONG).sum()),
        lost=mean_interval(lost_W, over="windows", most=1.0) if lengths.size else None,
        rate=_rate([lengths.size for lengths in lengths_W], seconds_W),
        long_rate=_rate([int((lengths >= LONG).sum()) for lengths in lengths_W], seconds_W),
        largest=float(lengths.max(initial=0.0)),
        p99=_p99(lengths),
        preempted=sum(told) if told else None,
        steal=_over_windows(
            [one.steal for one in windows], lambda shares: mean_interval(shares, over="windows", most=1.0)
        ),
        frequency=_over_windows([one.frequency for one in windows], lambda hz: log_t_interval(hz, over="windows")),
    )


def _rate(counts: Sequence[int], seconds_W: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Estimate:
    """Return events per second; where there were none, up to the Poisson limit (Garwood 1936)."""
    found = mean_interval(np.array(counts) / seconds_W, over="windows", level=LEVEL)
    assert found is not None, "there are at least two windows"
    if sum(counts):
        return found
    upper = -math.log((1 - LEVEL) / 2) / float(seconds_W.sum())
    return msgspec.structs.replace(found, upper=upper, method="none seen, Poisson")


def _p99(lengths: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Estimate | None:
    if not lengths.size:
        return None
    # A quantile's variance grows with how "beyond it or not" depends on the gaps before. Slow changes of the many short
    # ones, which a tail does not feel, would leave it without an upper end.
    tau = autocorrelation_time((lengths > np.quantile(lengths, 0.99)).astype(float))
    return quantile_interval(lengths, 0.99, over="gaps", tau=tau)


def _over_windows(
    values: Sequence[float | None], estimate: Callable[[list[float]], Estimate | None]
) -> Estimate | None:
    told = [value for value in values if value is not None]
    return estimate(told) if len(told) == len(values) else None
