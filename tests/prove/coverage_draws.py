"""Simulated runs whose truth is known: what the coverage of intervals over launches is counted on.

A draw is one run: a few launches of one case, each measured by the runner itself on simulated ranks. Draws depend
on their seed alone. Legend: L launches, I repetitions.
"""

from __future__ import annotations

import functools
import math

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import integrate, optimize, stats

from collmark.bench.measurement import Measured, Measurement, Terms
from collmark.bench.simulation.spec import Simulation
from collmark.bench.simulation.team import SimulatedTeam
from collmark.bench.stamps import Stamps, repetition_times
from collmark.core.case import Case
from collmark.core.estimate import Estimate
from collmark.core.placement import Placement
from collmark.core.plan import Plan
from collmark.core.record import Status
from collmark.core.statistics import log_t_interval, median_interval

LAUNCHES = 5
RANKS = 2
SECONDS = 1e-3  # T without any noise: twenty calls are 20 ms, all that the first warm-up asks for
CONTAMINATION = (1.5, 4.0)
CASE = Case(
    operation="all_reduce",
    backend="simulated",
    dtype="float32",
    placement=Placement(ranks_per_node=RANKS),
    nbytes=4096,
    requested_nbytes=4096,
    reduction="sum",
)


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What is planted.

    Attributes
    ----------
    launch_sd, within_cv : float
        Standard deviation of log T between launches, and between repetitions of one launch.
    autocorrelation : float
        Of successive repetitions, first order.
    contaminated : float
        Share of repetitions that take 1.5 to 4 times as long, uniformly.
    """

    launch_sd: float
    within_cv: float
    autocorrelation: float = 0.6
    contaminated: float = 0.08

    def __str__(self) -> str:
        return (
            f"launch SD {self.launch_sd:.0%}, within CV {self.within_cv:.0%}, "
            f"autocorrelation {self.autocorrelation:g}, contaminated {self.contaminated:.0%}"
        )


class Draw(msgspec.Struct, frozen=True, kw_only=True):
    """What one run says of T.

    Attributes
    ----------
    interval : Estimate or None
        Over launches, as collmark reports it.
    stable : Estimate or None
        The same without the launches whose status is unstable; None where fewer than two are left.
    naive : Estimate or None
        What it is compared with: all repetitions of all launches in one pot, the order-statistic interval of their
        median.
    statuses : tuple of Status
        Of each launch.
    repetitions : int
        Of all launches together.
    """

    interval: Estimate | None
    stable: Estimate | None
    naive: Estimate | None
    statuses: tuple[Status, ...]
    repetitions: int


@functools.cache
def truth(setting: Setting) -> float:
    """Return the median of T in s over launches and repetitions, solved from the mixture's distribution function.

    T = SECONDS x exp(launch SD x Z1 + within CV x Z2) x C, with Z1, Z2 standard normal and C uniform between the
    factors of the contamination for its share of repetitions, else 1. Autocorrelation leaves this untouched.
    """
    spread = math.hypot(setting.launch_sd, setting.within_cv)
    low, high = CONTAMINATION

    def excess(log_ratio: float) -> float:
        slow, _error = integrate.quad(
            lambda factor: stats.norm.cdf((log_ratio - math.log(factor)) / spread) / (high - low), low, high
        )
        clean = stats.norm.cdf(log_ratio / spread)
        return float((1 - setting.contaminated) * clean + setting.contaminated * slow - 0.5)

    return SECONDS * math.exp(optimize.brentq(excess, -1.0, math.log(high), xtol=1e-12))


def make_draw(setting: Setting, seed: int) -> Draw:
    """Measure one run: every launch through the runner's own measurement of a case."""
    launches = [measure(setting, seed, launch) for launch in range(1, LAUNCHES + 1)]
    records = [measured.record for measured in launches]
    timings = [record.timing for record in records if record.timing is not None]
    stable = [r.timing.median for r in records if r.timing is not None and r.status is not Status.UNSTABLE]
    return Draw(
        interval=log_t_interval([timing.median for timing in timings]),
        stable=log_t_interval(stable) if len(stable) > 1 else None,
        naive=median_interval(np.concatenate([_steady(measured) for measured in launches])),
        statuses=tuple(record.status for record in records),
        repetitions=sum(timing.repetitions for timing in timings),
    )


def covers(interval: Estimate | None, seconds: float) -> bool:
    """Whether an interval holds the truth; one that could not be given does not."""
    return interval is not None and interval.lower <= seconds <= interval.upper


def measure(setting: Setting, seed: int, launch: int) -> Measured:
    """Measure one launch of a run."""
    simulation = Simulation(
        alpha=SECONDS,
        beta=0.0,
        launch_sd=setting.launch_sd,
        within_cv=setting.within_cv,
        autocorrelation=setting.autocorrelation,
        contaminated=setting.contaminated,
        contamination=CONTAMINATION,
        seed=seed,
    )
    plan = Plan()
    team = SimulatedTeam(simulation, RANKS, launch, plan.timeout)
    terms = Terms(launch=launch, precision=plan.precision, timeout=plan.timeout, tick=simulation.tick)
    measurement = Measurement(team, terms, is_stopping=lambda: False, report=lambda _progress: None)
    (measured,) = measurement.measure([CASE], plan.case_budget)
    return measured


def _steady(measured: Measured) -> NDArray[np.float64]:
    """Return T of the repetitions after the cut, shape (I,)."""
    timing, layers_SRI = measured.record.timing, measured.layers_SRI
    assert timing is not None, "a simulation without planted faults is measured"
    assert layers_SRI is not None, "and its stamps are there"
    stamps = Stamps(layers_SRI=layers_SRI, starts_I=None, comparable=True)
    return repetition_times(stamps.after(timing.cut), CASE.estimand, CASE.messages)
