"""Simulated curves of every shape: what is counted on is which model is chosen, and what it makes of them.

A draw is one run: a few launches over a sweep of sizes. Legend: L launches, N sizes.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import NDArray
from tests.prove.fit_draws import FloatArray, make_frame

from collmark.analysis.models.fit import Fit, fit_frame

LAUNCHES = 5
ALPHA, BETA = 20e-6, 1e-10  # s, s/B: a line bends at 200 kB
EAGER, STEEP = 5e-6, 4e-10  # s, s/B: of the segment before
SWITCH, SECOND_SWITCH = 8 << 10, 1 << 20  # B
SLOPED = 64 << 10  # B


class Truth(msgspec.Struct, frozen=True, kw_only=True):
    """A curve.

    Attributes
    ----------
    name : str
        What it is.
    seconds : callable
        T in s at sizes in bytes.
    models : tuple of str
        Names of the models that are right; empty where none of ours is.
    alpha, beta : float or None
        What T comes near for small sizes, s, and T / bytes for large ones, s/B; None where there is no such thing.
    """

    name: str
    seconds: Callable[[FloatArray], FloatArray]
    models: tuple[str, ...]
    alpha: float | None = ALPHA
    beta: float | None = BETA

    @property
    def has_breaks(self) -> bool:
        """Whether there are several segments in truth."""
        return any("segments" in name for name in self.models)


def _norm(exponent: float) -> Callable[[FloatArray], FloatArray]:
    def seconds(nbytes: FloatArray) -> FloatArray:
        found: FloatArray = (ALPHA**exponent + (BETA * nbytes) ** exponent) ** (1 / exponent)
        return found

    return seconds


def _line(nbytes: FloatArray) -> FloatArray:
    return ALPHA + BETA * nbytes


def _jump(nbytes: FloatArray) -> FloatArray:
    return np.where(nbytes <= SWITCH, EAGER + STEEP * nbytes, ALPHA + BETA * nbytes)


def _slope(nbytes: FloatArray) -> FloatArray:
    continued = EAGER + (STEEP - BETA) * SLOPED
    return np.where(nbytes <= SLOPED, EAGER + STEEP * nbytes, continued + BETA * nbytes)


def _three(nbytes: FloatArray) -> FloatArray:
    middle = np.where(nbytes <= SECOND_SWITCH, ALPHA + 2.5 * BETA * nbytes, 6 * ALPHA + BETA * nbytes)
    return np.where(nbytes <= SWITCH, EAGER + STEEP * nbytes, middle)


def _dip(nbytes: FloatArray) -> FloatArray:
    found: FloatArray = _line(nbytes) * (1 + 0.3 * np.exp(-0.5 * (np.log2(nbytes / (256 << 10)) / 1.5) ** 2))
    return found


TRUTHS = (
    Truth(name="constant", seconds=lambda n: np.full_like(n, ALPHA), models=("constant",), beta=None),
    Truth(name="line", seconds=_line, models=("alpha-beta",)),
    Truth(name="p-norm, q 0.6", seconds=_norm(0.6), models=("p-norm", "square root")),
    Truth(name="p-norm, q 3", seconds=_norm(3.0), models=("p-norm",)),
    Truth(name="square root", seconds=lambda n: _line(n) + 4.5e-8 * np.sqrt(n), models=("square root", "p-norm")),
    Truth(name="jump at 8 KiB", seconds=_jump, models=("2 segments",), alpha=EAGER),
    Truth(name="slope changes at 64 KiB", seconds=_slope, models=("2 segments",), alpha=EAGER),
    Truth(name="jumps at 8 KiB and 1 MiB", seconds=_three, models=("3 segments",), alpha=EAGER),
    Truth(name="smooth dip of 30 % at 256 KiB", seconds=_dip, models=()),
)


def _octaves(first: int, last: int, step: int = 1) -> NDArray[np.int64]:
    return 2 ** np.arange(first, last + 1, step, dtype=np.int64)


GRIDS = {
    "16 B to 64 MiB, x2": _octaves(4, 26),
    "16 B to 64 MiB, x4": _octaves(4, 26, 2),
    "16 B to 64 KiB, x2": _octaves(4, 16),
    "512 KiB to 1 GiB, x2": _octaves(19, 30),
}
"""Sizes in B; the last two lie badly: all below the bend of a line at 200 kB, and all above it."""


class Noise(msgspec.Struct, frozen=True, kw_only=True):
    """How launches scatter.

    Attributes
    ----------
    launch_sd, point_sd : float
        Standard deviation of log T of a whole launch, and of a case of it by itself.
    contaminated : float
        Share of the points, one of a launch and size, that take 1.5 to 4 times as long.
    """

    launch_sd: float = 0.03
    point_sd: float = 0.02
    contaminated: float = 0.0

    def __str__(self) -> str:
        return f"{self.contaminated:.0%} of points slow" if self.contaminated else "clean"


NOISES = (Noise(), Noise(contaminated=0.08))


def draw(truth: Truth, sizes_N: NDArray[np.int64], noise: Noise, seed: int) -> Fit:
    """Return what a fit makes of a simulated run."""
    random = np.random.default_rng(seed)
    shape = (LAUNCHES, sizes_N.size)
    logs = random.normal(0, noise.launch_sd, (LAUNCHES, 1)) + random.normal(0, noise.point_sd, shape)
    slow = np.where(random.random(shape) < noise.contaminated, random.uniform(1.5, 4.0, shape), 1.0)
    (fit,) = fit_frame(make_frame(truth.seconds(sizes_N.astype(np.float64)) * np.exp(logs) * slow, sizes_N)).fits
    return fit
