"""The clocks that timing loops read: their steps, what a read costs, and whether they ever go backwards."""

from __future__ import annotations

import numpy as np

from collmark.bench.clock import READS, grain_of
from collmark.core.estimate import Estimate
from collmark.core.intervals import quantile_interval
from collmark.core.noise import ClockReads
from collmark.kernels.noise import Probe, PythonProbe, Stamps

WINDOWS = 25
NAMES = {"native": "clock_gettime(CLOCK_MONOTONIC)", "python": "time.monotonic_ns"}


def read_clocks(native: Probe | None) -> tuple[ClockReads, ...]:
    """Measure the clocks that there are, each in a few ms."""
    probes: list[Probe] = [PythonProbe()] if native is None else [native, PythonProbe()]
    windows = [[probe.reads(READS) for _ in range(WINDOWS)] for probe in probes]
    return tuple(summarise(NAMES[probe.name], probe.name, own) for probe, own in zip(probes, windows, strict=True))


def summarise(name: str, loop: str, windows: list[Stamps]) -> ClockReads:
    """Return what reads of a clock say.

    Parameters
    ----------
    name, loop : str
        The clock, and what read it.
    windows : list of array of int64, shape (reads,)
        Stamps in ns, one array a window; more than 5 of them.
    """
    steps_W = [np.diff(stamps) for stamps in windows]
    steps = np.concatenate(steps_W)
    forward = steps[steps > 0]
    tick = grain_of(steps) * 1e-9

    def over_windows(share: float) -> Estimate:
        found = quantile_interval([np.quantile(steps, share) * 1e-9 for steps in steps_W], 0.5, over="windows")
        assert found is not None, "there are enough windows"
        return found.widened(tick)  # a clock tells no step better than to its tick

    return ClockReads(
        name=name,
        loop=loop,
        reads=sum(stamps.size for stamps in windows),
        backwards=int((steps < 0).sum()),
        step=float(forward.min()) * 1e-9 if forward.size else 0.0,
        tick=tick,
        cost=over_windows(0.5),
        cost_p99=over_windows(0.99),
    )
