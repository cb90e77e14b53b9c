"""The short form, in every launch: each rank watches for gaps for a moment, all at once, where and as they then run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TypeVar

import msgspec
import numpy as np

from collmark.bench.noise.gaps import watch_window
from collmark.bench.noise.system import switches, throttled
from collmark.core.host_noise import HostNoise
from collmark.core.noise import GAP, LONG
from collmark.core.units import MIB, NANOSECONDS_PER_SECOND, BytesPerSecond, NBytes, Seconds
from collmark.kernels.addition import Adder, add, additions
from collmark.kernels.noise import PythonProbe, load_native

T = TypeVar("T")
WATCHED: Seconds = 0.3
SUMMED: Seconds = 0.02
SUMMED_NBYTES: NBytes = MIB
"""Of each of two buffers of float32: gloo reduces in segments of at most 1 MiB (gloo/allreduce.cc)."""


class RankNoise(msgspec.Struct, frozen=True, kw_only=True):
    """What one rank saw; steal, throttled and switches are its host's. Fields as in :class:`HostNoise`."""

    loop: str
    watched: Seconds
    lost: Seconds
    long: int
    largest: Seconds
    preempted: int | None
    frequency: float | None
    steal: float | None
    throttled: Seconds | None
    switches: float | None
    summed: BytesPerSecond | None = None


def watch_rank(adder: Adder = add) -> RankNoise:
    """Watch from this thread, which is a rank's, and see how fast it adds."""
    probe = load_native() or PythonProbe()
    stopped, switched, began = throttled(), switches(), time.monotonic()
    window = watch_window(probe, None, round(WATCHED * NANOSECONDS_PER_SECOND))
    took, stopped_now, switched_now = time.monotonic() - began, throttled(), switches()
    lengths = window.watch.lengths_G * 1e-9
    return RankNoise(
        loop=probe.name,
        watched=(window.watch.last - window.watch.first) * 1e-9,
        lost=float(lengths.sum()),
        long=int((lengths >= LONG).sum()),
        largest=float(lengths.max(initial=0.0)),
        preempted=window.preempted,
        frequency=window.frequency,
        steal=window.steal,
        throttled=None if stopped is None or stopped_now is None else max(0.0, stopped_now - stopped),
        switches=None if switched is None or switched_now is None else (switched_now - switched) / took,
        summed=_summed(adder),
    )


def _summed(adder: Adder) -> BytesPerSecond | None:
    """Return how many bytes of one buffer are added to another a second, all ranks at once: 1/gamma.

    None where a library's function does not add.
    """
    to, source = np.ones((2, SUMMED_NBYTES // 4), dtype=np.float32)
    adder(to, source)
    if not (to == 2).all():
        return None
    count, took = additions(to, source, round(SUMMED * NANOSECONDS_PER_SECOND), adder)
    return count * to.nbytes / took * NANOSECONDS_PER_SECOND


def host_noise(ranks: Sequence[RankNoise]) -> HostNoise:
    """Return what the ranks of one host saw, in their order; what is the host's, as the first of them saw it."""
    first = ranks[0]
    return HostNoise(
        loop=first.loop,
        threshold=GAP,
        watched=[rank.watched for rank in ranks],
        lost=[rank.lost for rank in ranks],
        long=[rank.long for rank in ranks],
        largest=[rank.largest for rank in ranks],
        preempted=_all_told([rank.preempted for rank in ranks]),
        frequency=_all_told([rank.frequency for rank in ranks]),
        steal=first.steal,
        throttled=first.throttled,
        switches=first.switches,
        summed=_all_told([rank.summed for rank in ranks]),
    )


def _all_told(values: list[T | None]) -> list[T] | None:
    told = [value for value in values if value is not None]
    return told if len(told) == len(values) else None
