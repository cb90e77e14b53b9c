"""How fast memory is copied and summed: by one core and by all, inside the L2 cache and far beyond the last one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np

from collmark.bench.memory import available_memory
from collmark.bench.noise.pinned import together
from collmark.bench.noise.system import memory_left
from collmark.core.estimate import Estimate
from collmark.core.noise import Copy, Summation
from collmark.core.statistics import log_t_interval
from collmark.core.units import MIB, NBytes
from collmark.kernels.addition import additions
from collmark.kernels.noise import NativeProbe, Probe, PythonProbe

WINDOWS = 10
WINDOW = 30_000_000  # ns
ASSUMED_L2, ASSUMED_LAST = 256 << 10, 32 * MIB  # small for an L2, as large as common last levels, where nothing is told
BEYOND = 4  # x the last-level caches, as STREAM asks of each array (McCalpin, stream.c)
MOST_SHARE = 1 / 8  # of the memory that can be had, for one of two buffers
LEAST = 1 * MIB
PATIENCE = 120.0  # s for all threads to have their buffers


def sizes(l2: NBytes | None, last_level: NBytes | None) -> tuple[NBytes, NBytes]:
    """Return the size of a buffer of which two fit into half an L2, and of one beyond all last-level caches."""
    beyond = BEYOND * (last_level or ASSUMED_LAST)
    limits = [int(there * MOST_SHARE) for there in (available_memory(), memory_left()) if there is not None]
    return (l2 or ASSUMED_L2) // 4, max(LEAST, min(beyond, *limits))


def measure_copies(native: NativeProbe | None, cores: Sequence[int], small: NBytes, large: NBytes) -> tuple[Copy, ...]:
    """Measure copies of both sizes; by all cores at once only with native code, where threads do not share the GIL."""
    probe: Probe = native or PythonProbe()
    groups = [cores[:1], cores] if native is not None and len(cores) > 1 else [cores[:1]]
    found = []
    for place, whole in (("L2", small), ("memory", large)):
        for group in groups:
            nbytes = whole if place == "L2" else max(LEAST, whole // len(group))
            found.append(_copy(probe, place, group, nbytes))
    return tuple(found)


def measure_sums(cores: Sequence[int], small: NBytes, large: NBytes) -> tuple[Summation, ...]:
    """Measure sums of float32 in both sizes; by all cores at once only beyond the caches, where calls are long."""
    plan = [("L2", small, cores[:1]), ("memory", large, cores[:1])]
    plan += [("memory", max(LEAST, large // len(cores)), cores)] if len(cores) > 1 else []
    return tuple(
        Summation(
            place=place,
            cores=len(group),
            nbytes=nbytes,
            dtype="float32",
            summed=_rate(group, nbytes, np.float32, additions),
        )
        for place, nbytes, group in plan
    )


def _copy(probe: Probe, place: str, cores: Sequence[int], nbytes: NBytes) -> Copy:
    copied = _rate(cores, nbytes, np.uint8, probe.copies)
    return Copy(place=place, cores=len(cores), nbytes=nbytes, copied=copied)


def _rate(
    cores: Sequence[int], nbytes: NBytes, dtype: type[np.generic], carry_out: Callable[..., tuple[int, int]]
) -> Estimate:
    """Return how many bytes of one buffer all cores together go through, B/s: each has two buffers of its own."""
    together_now = threading.Barrier(len(cores), timeout=PATIENCE)

    def work(_position: int, _stop: threading.Event) -> list[float]:
        # Written by the thread itself: its pages lie near its core.
        to, source = np.ones((2, nbytes // np.dtype(dtype).itemsize), dtype=dtype)
        rates = []
        for _window in range(WINDOWS + 1):
            together_now.wait()
            count, took = carry_out(to, source, WINDOW)
            rates.append(count * to.nbytes / took * 1e9)
        return rates[1:]  # the first finds cold caches and frequencies

    rates_W = np.sum(together(cores, work), axis=0)
    rate = log_t_interval(rates_W, over="windows")
    assert rate is not None, "there are enough windows"
    return rate
