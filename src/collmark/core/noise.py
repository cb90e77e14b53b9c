"""What `collmark noise` measures of a machine: clocks, gaps, latency between cores, copies and sums of memory.

Times are seconds, sizes bytes, rates per second. What every launch keeps of its hosts, in short, is
:class:`collmark.core.record.HostNoise`.
"""

from __future__ import annotations

import msgspec

from collmark.core.estimate import Estimate
from collmark.core.units import NBytes, Seconds

GAP: Seconds = 5e-6
"""Shortest step between two reads of the clock that is a gap: the default of Linux's osnoise tracer (rtla osnoise)."""
LONG: Seconds = 1e-3
"""From here on a gap is long: interrupts are over within tens of us, slices of a scheduler begin at about 1 ms (Linux's
smallest is 0.7 to 3 ms, by the number of cores)."""


class ClockReads(msgspec.Struct, frozen=True, kw_only=True):
    """Reads of one clock, nothing between them.

    Attributes
    ----------
    name, loop : str
        The clock, and the loop that reads it: native or python.
    reads, backwards : int
        Reads, and those before the one before them.
    step, tick : float
        Smallest step that is not zero, which a coarse clock and a costly read both make large; what steps are multiples
        of. s.
    cost, cost_p99 : Estimate
        Median and 99 % quantile of the step from one read to the next, over windows, s.
    """

    name: str
    loop: str
    reads: int
    backwards: int
    step: Seconds
    tick: Seconds
    cost: Estimate
    cost_p99: Estimate


class CoreGaps(msgspec.Struct, frozen=True, kw_only=True):
    """Gaps in a loop on one core that only reads the clock.

    Attributes
    ----------
    core : int or None
        The core; None where the system cannot pin threads.
    seconds : float
        Time watched, s; a window ends with the gap that its end falls into.
    gaps, long_gaps : int
        Gaps seen, and those of 1 ms and more.
    lost : Estimate or None
        Share of the time that lay in gaps; None where there were none.
    rate, long_rate : Estimate
        Gaps per second; where none was seen the upper end says how many may have been missed by chance.
    largest : float
        Largest gap seen, which a longer watch may exceed; 0 where there was none, s.
    p99 : Estimate or None
        99 % quantile of the gaps; None where they are too few to bound it, s.
    preempted : int or None
        Times that the system gave the core to another thread; None where it does not tell.
    steal : Estimate or None
        Share of the core's time that a hypervisor took; None where the system does not tell.
    frequency : Estimate or None
        Of the core while it spun, Hz; None where the system does not tell.
    """

    core: int | None
    seconds: Seconds
    gaps: int
    long_gaps: int
    lost: Estimate | None
    rate: Estimate
    long_rate: Estimate
    largest: Seconds
    p99: Estimate | None
    preempted: int | None
    steal: Estimate | None
    frequency: Estimate | None


class Gaps(msgspec.Struct, frozen=True, kw_only=True):
    """Gaps on several cores.

    Attributes
    ----------
    loop : str
        native or python.
    threshold, long : float
        From where on a step is a gap, and a gap is long, s.
    at_once : bool
        All cores spun together; otherwise one after the other.
    cores : tuple of CoreGaps
        One entry a core.
    """

    loop: str
    threshold: Seconds
    long: Seconds
    at_once: bool
    cores: tuple[CoreGaps, ...]


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """One-way latency between cores: half a round trip of a cache line that both write.

    Attributes
    ----------
    cores : tuple of int
        Row and column of the matrix.
    one_way : tuple of tuple of Estimate or None
        Median over windows, s; the same in both directions, since a round trip has both. None on the diagonal, and
        where a core did not answer.
    """

    cores: tuple[int, ...]
    one_way: tuple[tuple[Estimate | None, ...], ...]

    def pairs(self) -> dict[tuple[int, int], Estimate]:
        """Return the latencies that were measured, by the two cores, each pair once."""
        return {
            (one, other): estimate
            for row, one in enumerate(self.cores)
            for column, other in enumerate(self.cores[:row])
            if (estimate := self.one_way[row][column]) is not None
        }


class Copy(msgspec.Struct, frozen=True, kw_only=True):
    """Copies from one buffer to another, by memcpy of the C library.

    Attributes
    ----------
    place : str
        Where both buffers of a core lie: L2 or memory.
    cores : int
        Cores that copy at once, each between buffers of its own.
    nbytes : int
        Size of one buffer.
    copied : Estimate
        Bytes copied by all cores together, B/s; each is read once and written once, so that the memory moves at least
        twice that.
    """

    place: str
    cores: int
    nbytes: NBytes
    copied: Estimate


class Summation(msgspec.Struct, frozen=True, kw_only=True):
    """Sums of one buffer into another, by numpy's add: what a reduction does with what it receives.

    Attributes
    ----------
    place : str
        Where both buffers of a core lie: L2 or memory.
    cores : int
        Cores that sum at once, each between buffers of its own.
    nbytes : int
        Size of one buffer.
    dtype : str
        Element type.
    summed : Estimate
        Bytes of one buffer that all cores together go through, B/s: of one core it is 1/gamma.
    """

    place: str
    cores: int
    nbytes: NBytes
    dtype: str
    summed: Estimate


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """What the system tells of the machine; empty or None where it does not.

    Attributes
    ----------
    name, cpu, system : str
        Host name, processor model, operating system.
    cores : tuple of int
        Cores that this process may run on.
    clock_source : str
        What the kernel's clock is made of.
    governor : str
        CPU frequency governor.
    l2, last_level : int or None
        Size of one core's L2 cache, and of all last-level caches together, B.
    quota : float or None
        Cores' worth of time that the control group allows.
    throttled : float or None
        Time for which that quota stopped this process while gaps were watched, s.
    switches : float or None
        Context switches of the whole host while gaps were watched, per second.
    fifo_refusal : str
        Why ranks could not run at SCHED_FIFO; empty where they could.
    nice : int
        Niceness of this process: above 0 other processes come first.
    """

    name: str
    cpu: str
    system: str
    cores: tuple[int, ...]
    clock_source: str = ""
    governor: str = ""
    l2: NBytes | None = None
    last_level: NBytes | None = None
    quota: float | None = None
    throttled: Seconds | None = None
    switches: float | None = None
    fifo_refusal: str = ""
    nice: int = 0


class MachineNoise(msgspec.Struct, frozen=True, kw_only=True):
    """All that was measured.

    Attributes
    ----------
    host : Host
        The machine.
    clocks : tuple of ClockReads
        The clocks that timing loops read.
    gaps : Gaps
        Gaps on each core.
    latency : Latency or None
        Between cores.
    copies, sums : tuple of Copy, of Summation
        Of memory.
    absent : dict of str to str
        What was not measured or not told, and why.
    """

    host: Host
    clocks: tuple[ClockReads, ...]
    gaps: Gaps
    latency: Latency | None
    copies: tuple[Copy, ...]
    sums: tuple[Summation, ...] = ()
    absent: dict[str, str]
