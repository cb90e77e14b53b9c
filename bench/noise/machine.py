"""Everything about this machine, one part after the other."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from collmark.bench import environment, scheduling
from collmark.bench.noise import system
from collmark.bench.noise.clocks import read_clocks
from collmark.bench.noise.copies import ASSUMED_L2, ASSUMED_LAST, BEYOND, measure_copies, measure_sums, sizes
from collmark.bench.noise.gaps import watch_gaps
from collmark.bench.noise.latency import MOST_CORES, choose, measure_latency
from collmark.bench.noise.pinned import can_pin, own_cores
from collmark.core.noise import Gaps, Host, Latency, MachineNoise
from collmark.core.numeral import counted
from collmark.core.units import Seconds, format_about_nbytes, format_duration
from collmark.kernels.noise import NativeProbe, load_native

NOT_TOLD = "not told by the system"
NOT_BUILT = "the native loops were not built: install a C compiler, then install collmark again"
NOT_PINNED = "this system does not let a thread choose its core"


def measure_machine(cores: Sequence[int], seconds: Seconds, tell: Callable[[str], None]) -> MachineNoise:
    """Measure the noise of this machine.

    Parameters
    ----------
    cores : sequence of int
        Cores to measure, of those that this process may run on.
    seconds : float
        How long gaps are watched for, s.
    tell : callable
        Receives a line before each part.
    """
    probe = load_native()
    absent: dict[str, str] = {}
    tell("reading the clocks")
    clocks = read_clocks(probe)
    tell(f"watching {counted(len(cores), 'core')} for gaps, {format_duration(seconds)}")
    gaps, host = _watched(probe, cores, seconds)
    latency = _latency(probe, cores, absent, tell)
    tell("copying and summing memory")
    small, large = sizes(host.l2, host.last_level)
    if host.last_level and large < BEYOND * host.last_level:
        absent["copies far beyond the caches"] = (
            f"memory for buffers of {format_about_nbytes(large)} only, {large / host.last_level:.2g} x the last-level "
            f"caches where {BEYOND} x are wanted"
        )
    copies = measure_copies(probe, cores, small, large)
    sums = measure_sums(cores, small, large)
    absent |= _not_told(host, gaps)
    return MachineNoise(host=host, clocks=clocks, gaps=gaps, latency=latency, copies=copies, sums=sums, absent=absent)


def _watched(probe: NativeProbe | None, cores: Sequence[int], seconds: Seconds) -> tuple[Gaps, Host]:
    """Watch for gaps, and describe the host with what happened meanwhile."""
    throttled, switches, began = system.throttled(), system.switches(), time.monotonic()
    gaps = watch_gaps(probe, cores, seconds)
    took, after, switched = time.monotonic() - began, system.throttled(), system.switches()
    known = environment.describe_host([])
    l2, last_level = system.caches()
    host = Host(
        name=known.name,
        cpu=known.cpu,
        system=known.system,
        cores=own_cores(),
        clock_source=system.clock_source(),
        governor=known.governor,
        l2=l2,
        last_level=last_level,
        quota=system.quota(),
        throttled=None if throttled is None or after is None else after - throttled,
        switches=None if switches is None or switched is None else (switched - switches) / took,
        fifo_refusal=scheduling.refusal(),
        nice=os.getpriority(os.PRIO_PROCESS, 0),
    )
    return gaps, host


def _latency(
    probe: NativeProbe | None, cores: Sequence[int], absent: dict[str, str], tell: Callable[[str], None]
) -> Latency | None:
    name = "latency between cores"
    if len(cores) < 2:
        absent[name] = "one core: there is no pair"
    elif probe is None:
        absent[name] = NOT_BUILT
    elif not can_pin():
        absent[name] = NOT_PINNED
    else:
        chosen = choose(cores)
        if len(chosen) < len(cores):
            absent["latency of the other cores"] = (
                f"{len(chosen)} of {len(cores)} cores were paired, at equal distances; choose at most {MOST_CORES} by "
                "--cores"
            )
        tell(f"sending a cache line between {len(chosen)} cores")
        found = measure_latency(probe, chosen)
        silent = len(chosen) * (len(chosen) - 1) // 2 - len(found.pairs())
        if silent:
            absent["latency of some pairs"] = f"{counted(silent, 'pair')} had no answer: other work held their cores"
        return found
    return None


def _not_told(host: Host, gaps: Gaps) -> dict[str, str]:
    """Return what the system does not tell, and what needs native code or pinned threads."""
    found = {
        "steal": all(core.steal is None for core in gaps.cores),
        "frequency": all(core.frequency is None for core in gaps.cores),
        "governor": not host.governor,
        "context switches": host.switches is None,
        "preemptions": all(core.preempted is None for core in gaps.cores),
        "clock source": not host.clock_source,
    }
    told = {name: NOT_TOLD for name, is_missing in found.items() if is_missing}
    if host.last_level is None:
        assumed = " and ".join(map(format_about_nbytes, (ASSUMED_L2, ASSUMED_LAST)))
        told["sizes of caches"] = f"{NOT_TOLD}: {assumed} were assumed of L2 and last level"
    if not can_pin():
        told["gaps of each core"] = f"{NOT_PINNED}: one row a thread"
    if not gaps.at_once and len(gaps.cores) > 1:
        told["gaps and copies on all cores at once"] = f"{NOT_BUILT}; cores were watched one after the other, by Python"
    return told
