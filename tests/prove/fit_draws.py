"""Simulated runs with a planted alpha and beta: what bias and coverage of fits are counted on.

A draw is one run: a few launches of one operation over a sweep of sizes, as a frame. Legend: L launches, N sizes,
I repetitions.
"""

from __future__ import annotations

import functools

import msgspec
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from collmark.analysis.columns import COLUMNS
from collmark.analysis.models.fit import Fit, fit_frame

FloatArray = NDArray[np.float64]

LAUNCHES = 5
LIMIT_LAUNCHES = 10_000
REPETITIONS = 60
ALPHA, BETA = 20e-6, 1e-10  # s, s/B: n1/2 is 200 kB
SIZES = 16 * 4 ** np.arange(12)  # B: 16 B to 64 MiB, as a sweep x4
CONTAMINATION = (1.5, 4.0)
PLANTED = {"alpha": ALPHA, "beta": BETA}
TEXTS = {
    "run": "draw",
    "operation": "ping_pong",
    "status": "converged",
    "tier": "simulated",
    "estimand": "half round trip",
}


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What is planted.

    Attributes
    ----------
    launch_sd : float
        Standard deviation of log T between launches.
    together : bool
        A launch is slow or fast at all sizes alike; else each case of a launch has a level of its own.
    within_cv, autocorrelation : float
        Of the repetitions of one case.
    contaminated : float
        Share of repetitions that take 1.5 to 4 times as long, uniformly.
    """

    launch_sd: float
    together: bool
    within_cv: float = 0.05
    autocorrelation: float = 0.6
    contaminated: float = 0.08

    def __str__(self) -> str:
        return f"launch SD {self.launch_sd:.0%}, {'one level a launch' if self.together else 'a level a case'}"


SETTINGS = [Setting(launch_sd=sd, together=together) for sd in (0.01, 0.03, 0.1) for together in (True, False)]


def draw_medians(setting: Setting, launches: int, seed: int) -> FloatArray:
    """Return the medians of T in s, shape (L, N)."""
    random = np.random.default_rng([seed, launches])
    shape = (launches, SIZES.size)
    level = random.normal(0, setting.launch_sd, (launches, 1) if setting.together else shape)
    noise = random.normal(size=(REPETITIONS, *shape))
    rho = setting.autocorrelation
    for i in range(1, REPETITIONS):
        noise[i] = rho * noise[i - 1] + np.sqrt(1 - rho**2) * noise[i]
    slow = np.where(random.random(noise.shape) < setting.contaminated, random.uniform(*CONTAMINATION, noise.shape), 1.0)
    medians: FloatArray = np.median(np.exp(setting.within_cv * noise) * slow, axis=0)
    return (ALPHA + BETA * SIZES) * np.exp(level) * medians


def make_frame(medians_LN: FloatArray, sizes_N: NDArray[np.int64] = SIZES) -> pd.DataFrame:
    """Return launches' medians as a frame; what a fit does not read is empty."""
    launches, sizes = medians_LN.shape
    empty = {"str": "", "int64": 0, "float64": np.nan, "bool": False}
    table = pd.DataFrame({name: [empty[column.kind]] * launches * sizes for name, column in COLUMNS.items()})
    nbytes = np.tile(sizes_N[:sizes], launches)
    return table.assign(
        **TEXTS,
        ranks=2,
        nbytes=nbytes,
        bus_nbytes=nbytes.astype(float),
        case=[f"{size} B" for size in nbytes],
        launch=np.repeat(np.arange(1, launches + 1), sizes),
        seconds=medians_LN.ravel(),
    )


def fit_of(medians_LN: FloatArray) -> Fit:
    """Return what ``collmark fit`` says of some launches."""
    (fit,) = fit_frame(make_frame(medians_LN)).fits
    return fit


def least_squares(medians_LN: FloatArray) -> FloatArray:
    """Return alpha and beta of each launch by ordinary least squares of T on nbytes, shape (L, 2)."""
    terms_N2 = np.stack([np.ones(SIZES.size), SIZES], axis=1)
    return np.asarray(np.linalg.lstsq(terms_N2, medians_LN.T, rcond=None)[0].T, dtype=np.float64)


@functools.cache
def limits(setting: Setting, launches: int = LIMIT_LAUNCHES) -> dict[str, float]:
    """Return what the estimator comes to over very many launches: what its intervals must cover."""
    fit = fit_of(draw_medians(setting, launches, seed=0))
    return {"alpha": value_of(fit, "alpha"), "beta": value_of(fit, "beta")}


def value_of(fit: Fit, name: str) -> float:
    """Return a parameter, which must have been found."""
    quantity = getattr(fit, name)
    assert quantity is not None
    assert quantity.value is not None
    return float(quantity.value)


def covers(fit: Fit, name: str, truth: float) -> bool:
    """Return whether a parameter's interval over launches holds the truth."""
    estimate = getattr(fit, name).estimate
    return bool(estimate.lower <= truth <= estimate.upper)
