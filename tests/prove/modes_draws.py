"""Series with one mode or several: what the search for modes is judged on. Draws depend on their seed alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import signal

from collmark.analysis.modes import Mode, modes_of
from collmark.bench.summary import histogram_of
from collmark.core.record import Histogram
from collmark.core.statistics import autocorrelation_time

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]
SECONDS = 150e-6


def autoregressive(random: np.random.Generator, count: int, rho: float) -> Floats:
    """Return first-order autoregressive noise of unit variance."""
    noise = random.standard_normal(count)
    noise[1:] *= np.sqrt(1 - rho**2)
    return np.asarray(signal.lfilter([1.0], [1.0, -rho], noise))


def mixture(*modes: tuple[float, float], cv: float = 0.03) -> Draw:
    """Return a draw of lognormal modes of (ratio, share)."""
    ratios, shares = zip(*modes, strict=True)
    return lambda random, count: (
        np.exp(cv * random.standard_normal(count)) * random.choice(ratios, size=count, p=shares)
    )


def turns(random: np.random.Generator, count: int) -> Floats:
    """Return two modes that take turns of 50 repetitions in the mean."""
    level = np.where(np.cumsum(random.random(count) < 0.02) % 2, 2.0, 1.0)
    return np.asarray(level * np.exp(0.03 * random.standard_normal(count)))


ONE: dict[str, Draw] = {
    "steady": lambda _random, count: np.ones(count),
    "lognormal, CV 1 %": lambda random, count: np.exp(0.01 * random.standard_normal(count)),
    "lognormal, CV 50 %": lambda random, count: np.exp(0.5 * random.standard_normal(count)),
    "exponential tail": lambda random, count: 1 + 0.3 * random.exponential(size=count),
    "Student's t, 2 degrees": lambda random, count: np.exp(0.05 * random.standard_t(2, count).clip(-40, 40)),
    "uniform": lambda random, count: 1 + random.random(count),
    "autocorrelation 0.9": lambda random, count: np.exp(0.1 * autoregressive(random, count, 0.9)),
    "1 % at 20 times": mixture((1, 0.99), (20, 0.01)),
}
"""Distributions with one mode, by their words."""

TWO: dict[str, Draw] = {
    "70 %, 30 % at 1.5 times": mixture((1.0, 0.7), (1.5, 0.3)),
    "50 %, 50 % at 1.2 times": mixture((1.0, 0.5), (1.2, 0.5)),
    "90 %, 10 % at 3 times": mixture((1.0, 0.9), (3.0, 0.1)),
    "50 %, 30 % at 1.3, 20 % at 2 times": mixture((1.0, 0.5), (1.3, 0.3), (2.0, 0.2)),
}
SEVERAL = {name: 1 + name.count(",") for name in TWO}
"""Planted modes of the others."""


def distribution(series: Floats, tick: float = 1e-9) -> Histogram:
    """Return what a record keeps of a series in s, read from a clock of some tick in s."""
    found = histogram_of(np.round(series / tick) * tick, tick)
    assert found is not None, "no value is as short as the tick"
    return found


def find(draw: Draw, count: int, seed: int, tick: float = 1e-9) -> list[Mode]:
    """Return the modes of one series."""
    series = SECONDS * draw(np.random.default_rng([seed, count]), count)
    return modes_of(distribution(series, tick), autocorrelation_time(series))


def draw_modes(name: str, count: int, seed: int) -> int:
    """Return the number of modes in one series of a distribution."""
    return len(find({**ONE, **TWO}[name], count, seed))
