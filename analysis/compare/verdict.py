"""Slower, faster, no evidence or cannot tell: one verdict for each pair, read from where its interval lies.

With s the smallest effect of interest, the band is 1/(1+s) to 1+s: effects inside it do not matter.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from enum import StrEnum

import msgspec
from scipy import stats

from collmark.analysis.compare.align import Pair
from collmark.analysis.ratio import LogMean, launches_to_decide, log_ratio
from collmark.core.estimate import Estimate

EFFECT = 0.05
"""The smallest effect of interest where none is given."""
RATE, LEVEL = 0.05, 0.95


class Verdict(StrEnum):
    """What a ratio says; exactly one applies."""

    SLOWER = "slower"
    """B takes longer: 1 is rejected, the false discovery rate over all comparisons kept, beyond the band."""
    FASTER = "faster"
    """B takes less time, likewise."""
    NO_EVIDENCE = "no evidence"
    """The 95 % interval lies inside the band: an effect of s is ruled out."""
    CANNOT_TELL = "cannot tell"
    """Anything else."""


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What a verdict is by.

    Attributes
    ----------
    effect : float
        The smallest effect of interest, as 0.05.
    floor : float
        Factor that a thing compared with itself stays below: a smaller effect is called neither slower nor faster.
    rate : float
        False discovery rate.
    """

    effect: float = EFFECT
    floor: float = 1.0
    rate: float = RATE


TERMS = Terms()


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """One case of B over the same of A.

    Attributes
    ----------
    pair : Pair
        Both sides.
    value : float
        Geometric mean of T over launches of B over that of A.
    found : LogMean or None
        Its logarithm; None where a side has one launch.
    p_value, adjusted : float
        Of the test of 1 (two-sided), and after Benjamini and Hochberg; 1 where a side has one launch.
    verdict : Verdict
        What it says.
    terms : Terms
        By what.
    """

    pair: Pair
    value: float
    found: LogMean | None
    p_value: float = 1.0
    adjusted: float = 1.0
    verdict: Verdict
    terms: Terms

    @property
    def estimate(self) -> Estimate | None:
        """The ratio with its 95 % interval; None where a side has one launch."""
        return None if self.found is None else self.found.interval(LEVEL)

    @property
    def needed(self) -> int | None:
        """Launches on each side that would tell, if they scattered like these; None where it tells, or none would."""
        if self.found is None or self.verdict is not Verdict.CANNOT_TELL:
            return None
        # How far adjusted p-values lie above the others depends on all pairs: as now.
        times = self.adjusted / self.p_value if self.p_value else 1.0
        return launches_to_decide(
            self.found,
            lambda one: decide(one, min(1.0, times * p_value(one)), self.terms) is not Verdict.CANNOT_TELL,
        )


def judge(pairs: Sequence[Pair], terms: Terms = TERMS) -> list[Comparison]:
    """Return the verdict on each pair.

    Parameters
    ----------
    pairs : sequence of Pair
        All that are compared at once: the false discovery rate is over them.
    terms : Terms
        By what.

    Notes
    -----
    Welch's t on logarithms of launches (:func:`collmark.analysis.ratio.log_ratio`); Benjamini & Hochberg 1995, JRSS B
    57(1), over all pairs with an interval.
    """
    found = [log_ratio(pair.b.seconds_L, pair.a.seconds_L) for pair in pairs]
    p_values = [p_value(one) for one in found if one is not None]
    known = iter(zip(p_values, stats.false_discovery_control(p_values) if p_values else (), strict=True))
    return [_compare(pair, one, terms, known) for pair, one in zip(pairs, found, strict=True)]


def _compare(pair: Pair, found: LogMean | None, terms: Terms, known: Iterator[tuple[float, float]]) -> Comparison:
    value = statistics.geometric_mean(pair.b.seconds_L) / statistics.geometric_mean(pair.a.seconds_L)
    if found is None:
        return Comparison(pair=pair, value=value, found=None, verdict=Verdict.CANNOT_TELL, terms=terms)
    p, adjusted = map(float, next(known))
    verdict = decide(found, adjusted, terms)
    return Comparison(
        pair=pair, value=value, found=found, p_value=p, adjusted=adjusted, verdict=verdict, terms=terms
    )  # fmt: skip


def p_value(found: LogMean) -> float:
    """Return the two-sided p-value of a ratio of 1."""
    if found.error == 0:
        return float(found.centre == 0)
    return float(2 * stats.t.sf(abs(found.centre) / found.error, found.degrees))


def decide(found: LogMean, adjusted: float, terms: Terms = TERMS) -> Verdict:
    """Return the verdict on a ratio whose test has an adjusted p-value."""
    band, least = math.log1p(terms.effect), math.log(max(1 + terms.effect, terms.floor))
    half = float(stats.t.ppf((1 + LEVEL) / 2, found.degrees)) * found.error
    if abs(found.centre) + half <= band:
        return Verdict.NO_EVIDENCE
    if adjusted <= terms.rate and abs(found.centre) > least:
        return Verdict.SLOWER if found.centre > 0 else Verdict.FASTER
    return Verdict.CANNOT_TELL
