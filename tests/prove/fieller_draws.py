"""Launches that scatter by a factor or by an amount, and how often Welch and Fieller cover their ratio."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import msgspec
import numpy as np

from collmark.analysis.fieller import fieller
from collmark.analysis.ratio import ratio
from collmark.core.estimate import Estimate

TRUTH = 9.0
LEVEL = 0.95
LAUNCHES = ((2, 2), (3, 3), (5, 5), (10, 10), (3, 10))
SCATTER = (0.03, 0.10, 0.30)


class Law(StrEnum):
    """How launches scatter: the one that Welch on logarithms assumes, and the one that Fieller does."""

    FACTOR = "lognormal"
    AMOUNT = "normal"


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of draws.

    Attributes
    ----------
    law, launches, scatter
        What was drawn: launches above and below, and the standard deviation relative to the truth on both sides.
    welch, fieller : float
        Share of the intervals that hold the truth; one that is not bounded holds it.
    unbounded : float
        Share of Fieller's that are not bounded.
    widths : tuple of float
        Median of upper end / lower end by Welch; by Fieller where bounded and positive, else NaN.
    """

    law: Law
    launches: tuple[int, int]
    scatter: float
    welch: float
    fieller: float
    unbounded: float
    widths: tuple[float, float]


def coverages(draws: int) -> Iterator[Coverage]:
    """Yield every setting in turn, each from a seed of its own."""
    settings = [(law, launches, scatter) for law in Law for scatter in SCATTER for launches in LAUNCHES]
    for seed, (law, launches, scatter) in enumerate(settings):
        if law is Law.AMOUNT and scatter == max(SCATTER):
            continue  # would be negative once in 2,000 launches: no time is
        yield _coverage(np.random.default_rng(seed), law, launches, scatter, draws)


def _coverage(random: np.random.Generator, law: Law, launches: tuple[int, int], scatter: float, draws: int) -> Coverage:
    found: list[tuple[Estimate | None, Estimate | None]] = []
    for _draw in range(draws):
        over, under = (
            np.exp(random.normal(0, scatter, n)) if law is Law.FACTOR else random.normal(1, scatter, n)
            for n in launches
        )
        check = fieller(TRUTH * over, under)
        found.append((ratio(TRUTH * over, under, LEVEL), None if check is None else check.interval(LEVEL)))
    return Coverage(
        law=law,
        launches=launches,
        scatter=scatter,
        welch=_covered([one for one, _two in found]),
        fieller=_covered([two for _one, two in found]),
        unbounded=sum(two is None for _one, two in found) / draws,
        widths=(_width([one for one, _two in found]), _width([two for _one, two in found])),
    )


def _covered(intervals: list[Estimate | None]) -> float:
    return sum(one is None or one.lower <= TRUTH <= one.upper for one in intervals) / len(intervals)


def _width(intervals: list[Estimate | None]) -> float:
    return float(
        np.median([one.upper / one.lower if one is not None and one.lower > 0 else np.inf for one in intervals])
    )
