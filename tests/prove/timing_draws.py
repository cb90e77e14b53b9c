"""Series and stamps whose truth is known: what the estimators inside one launch are judged on.

Draws depend on their seed alone. Legend: R ranks, I repetitions.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import NDArray
from tests.prove.coverage_draws import SECONDS, covers, truth
from tests.prove.coverage_draws import Setting as Mixture
from tests.prove.modes_draws import autoregressive

from collmark.bench.stamps import Stamps, repetition_times
from collmark.bench.stopping import BATCH, Judgement, StoppingRule
from collmark.core.operation import Estimand
from collmark.core.statistics import median_interval, mser5

FloatArray = NDArray[np.float64]

PRECISION = 0.05
TICK = 1e-9  # s
MOST = 2000  # repetitions, where the time of a case would end


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """A series of repetitions: T = SECONDS x head x autoregressive lognormal noise x contamination.

    Attributes
    ----------
    cv, autocorrelation : float
        Of the noise, the latter of first order.
    contaminated : float
        Share of repetitions that take 1.5 to 4 times as long, uniformly.
    head : str
        What the first calls do: empty, or a name of HEADS.
    """

    cv: float
    autocorrelation: float = 0.0
    contaminated: float = 0.0
    head: str = ""

    @property
    def median(self) -> float:
        """Median of T after the head, s."""
        return truth(Mixture(launch_sd=0.0, within_cv=self.cv, contaminated=self.contaminated))

    def draw(self, seed: int) -> FloatArray:
        """Return as many repetitions as the time of a case holds, shape (I,)."""
        random = np.random.default_rng(seed)
        noise = autoregressive(random, MOST, self.autocorrelation)
        slow = np.where(random.random(MOST) < self.contaminated, random.uniform(1.5, 4.0, MOST), 1.0)
        return SECONDS * np.exp(self.cv * noise) * slow * HEADS[self.head](np.arange(float(MOST)))


HEADS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "": lambda call_I: np.ones(len(call_I)),
    "15 calls, 1.5 times as long": lambda call_I: np.where(call_I < 15, 1.5, 1.0),
    "40 calls, 1.3 times as long": lambda call_I: np.where(call_I < 40, 1.3, 1.0),
    "from 3 times as long, halved every 5 calls": lambda call_I: 1 + 2 * 0.5 ** (call_I / 5),
    "from twice as long, halved every 15 calls": lambda call_I: 1 + 0.5 ** (call_I / 15),
}
"""Factors of the first calls, by their words."""


def measure(series_I: FloatArray) -> tuple[Judgement, int]:
    """Return what the rule says when it stops, and after how many repetitions."""
    rule, done = StoppingRule(PRECISION, TICK), 0
    while not rule.is_finished and done < MOST:
        done = min(MOST, done + rule.next_count(done))
        rule.add(series_I[:done])
    assert rule.judgement is not None, "at least one block was judged"
    return rule.judgement, done


class Covered(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the interval of one launch holds the truth, and that of independent repetitions; repetitions taken."""

    widened: bool
    naive: bool
    repetitions: int


def draw_covered(series: Series, seed: int) -> Covered:
    """Measure one series, and look at the same repetitions as if they were independent."""
    series_I = series.draw(seed)
    judgement, done = measure(series_I)
    naive = median_interval(series_I[judgement.cut : done])
    return Covered(
        widened=covers(judgement.interval, series.median), naive=covers(naive, series.median), repetitions=done
    )


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """What was cut from one series, and the medians over the truth that follow from several ways of cutting.

    Attributes
    ----------
    cut, plain : int
        Repetitions that the rule cuts, and that MSER-5 alone would cut.
    repetitions : int
        Of the series.
    median, uncut, tenth, bare : float
        Median over the truth after the cut, without one, after a cut of a tenth, and after that of MSER-5 alone.
    """

    cut: int
    plain: int
    repetitions: int
    median: float
    uncut: float
    tenth: float
    bare: float


def draw_cut(series: Series, seed: int) -> Cut:
    """Measure one series, and cut the same repetitions in other ways."""
    series_I = series.draw(seed)
    judgement, done = measure(series_I)
    measured_I = series_I[:done] / series.median
    plain = mser5(measured_I)

    def after(cut: int) -> float:
        return float(np.median(measured_I[cut:]))

    return Cut(
        cut=judgement.cut,
        plain=plain,
        repetitions=done,
        median=after(judgement.cut),
        uncut=after(0),
        tenth=after(done // 10),
        bare=after(plain),
    )


def is_false(cut: int) -> bool:
    """Whether a cut from a steady series is a fault: one batch is harmless."""
    return cut > BATCH


class Skewed(msgspec.Struct, frozen=True, kw_only=True):
    """A ring operation whose ranks enter apart.

    Attributes
    ----------
    ranks : int
        Ranks; each step of the ring takes STEP, with a CV of 5 %.
    entries : str
        How ranks enter, a name of ENTRIES.
    skew : float
        Its size, s.
    """

    ranks: int
    entries: str
    skew: float


OPERATION = 20e-6  # s
REPETITIONS = 2000
ENTRIES: dict[str, Callable[[np.random.Generator, tuple[int, int]], FloatArray]] = {
    "uniform": lambda random, shape: random.uniform(0, 1, shape),
    "exponential": lambda random, shape: random.exponential(1, shape),
    "one rank late": lambda _random, shape: np.eye(1, shape[0], 1).T * np.ones(shape),
}
"""Entries in units of the skew, by their words; shape (R, I)."""


def draw_stamps(setting: Skewed, seed: int) -> Stamps:
    """Return when ranks enter and leave a ring: 2 (R - 1) steps, each after one's own last and one's neighbour's."""
    random = np.random.default_rng(seed)
    shape = (setting.ranks, REPETITIONS)
    enter_RI = 1e-3 * np.arange(1, REPETITIONS + 1) + setting.skew * ENTRIES[setting.entries](random, shape)
    steps = 2 * (setting.ranks - 1)
    at_RI = enter_RI.copy()
    for _step in range(steps):
        step_RI = OPERATION / steps * np.exp(0.05 * random.standard_normal(shape))
        at_RI = np.maximum(at_RI, np.roll(at_RI, 1, axis=0)) + step_RI
    layers_SRI = np.stack([enter_RI, at_RI])
    return Stamps(layers_SRI=np.round(layers_SRI * 1e9).astype(np.int64), starts_I=None, comparable=True)


def estimates(setting: Skewed, seed: int) -> dict[str, float]:
    """Return the medians of several figures over the one that all ranks see who enter together, less 1."""
    together = _medians(draw_stamps(msgspec.structs.replace(setting, skew=0.0), seed))["L"]
    return {name: seconds / together - 1 for name, seconds in _medians(draw_stamps(setting, seed)).items()}


def _medians(stamps: Stamps) -> dict[str, float]:
    blind = msgspec.structs.replace(stamps, comparable=False)
    figures = {
        "L": repetition_times(stamps, Estimand.LAST_IN_LAST_OUT, 1),
        "D_max": repetition_times(blind, Estimand.LAST_IN_LAST_OUT, 1),
        "mean of locals": stamps.local_RI.mean(axis=0),
        "first in, last out": repetition_times(stamps, Estimand.FIRST_IN_LAST_OUT, 1),
    }
    return {name: float(np.median(seconds_I)) for name, seconds_I in figures.items()}
