"""Entries of ranks that differ by chance alone, and of one that is late: what the test for stragglers is judged on.

Draws depend on their seed alone. Legend: R ranks, I repetitions.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import NDArray
from tests.analysis.made import case_of, record_of, results_of

from collmark.bench.stamps import Stamps
from collmark.bench.summary import summarise_ranks
from collmark.core.chance import binomial_tail, chance_last, come_last
from collmark.core.straggler import Straggler, stragglers

LATENESS = 10e-6  # s: median lateness of a rank
SPREAD = 0.5  # standard deviation of its logarithm
SECONDS = 200e-6  # T
DELAY = 0.2 * SECONDS
EVERYTHING_MATTERS = 1e-6  # s: a T beside which any lateness is long


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What is planted.

    Attributes
    ----------
    ranks, repetitions : int
        Of one record.
    autocorrelation : float
        Of the logarithm of each rank's lateness, first order.
    delay : float
        By which rank 1 enters later, s.
    seconds : float
        T.
    """

    ranks: int
    repetitions: int
    autocorrelation: float
    delay: float = 0.0
    seconds: float = SECONDS

    def __str__(self) -> str:
        return f"{self.ranks} ranks, {self.repetitions} repetitions, autocorrelation {self.autocorrelation:g}"


def draw_entries(setting: Setting, random: np.random.Generator) -> NDArray[np.int64]:
    """Return when ranks enter in ns, shape (R, I): agreed starts 1 ms apart, and lognormal lateness behind them."""
    rho, noise_RI = setting.autocorrelation, random.standard_normal((setting.ranks, setting.repetitions))
    for i in range(1, setting.repetitions):
        noise_RI[:, i] = rho * noise_RI[:, i - 1] + math.sqrt(1 - rho * rho) * noise_RI[:, i]
    late_RI = LATENESS * np.exp(SPREAD * noise_RI)
    late_RI[1] += setting.delay
    return (1_000_000 * np.arange(1, setting.repetitions + 1) + late_RI * 1e9).astype(np.int64)


def draw_chance(setting: Setting, seed: int) -> tuple[float, float]:
    """Return the p-value of one record, 1 if there is none, and what a binomial test of independent ones would say."""
    enter_RI = draw_entries(setting, np.random.default_rng(seed))
    most = np.bincount(come_last(enter_RI)).max()
    naive = min(1.0, setting.ranks * binomial_tail(int(most), setting.repetitions, 1 / setting.ranks))
    chance = chance_last(enter_RI)
    return 1.0 if chance is None else chance, naive


def draw_run(setting: Setting, launches: int, cases: int, seed: int) -> list[Straggler]:
    """Return who is named in a run of some launches and cases; every rank leaves T after the last has entered."""
    random = np.random.default_rng(seed)
    records = []
    for launch in range(1, launches + 1):
        for number in range(cases):
            case = case_of(nbytes=1 << (20 - number), ranks=setting.ranks)
            enter_RI = draw_entries(setting, random)
            nanoseconds = random.uniform(0.98e9 * setting.seconds, 1e9 * setting.seconds, enter_RI.shape)
            exit_RI = enter_RI.max(axis=0) + nanoseconds.astype(np.int64)
            stamps = Stamps(layers_SRI=np.stack([enter_RI, exit_RI]), starts_I=None, comparable=True)
            records.append(record_of(case, setting.seconds, launch, ranks=summarise_ranks(case, stamps, 0)))
    return stragglers(results_of(records).run, records)
