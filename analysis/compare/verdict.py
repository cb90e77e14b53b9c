"""Slower, faster, no evidence or cannot tell: one verdict for each pair, read from where its interval lies.

With s the smallest effect of interest, the band is 1/(1+s) to 1+s: effects inside it do not matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum

import msgspec
import numpy as np
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


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """One case of B over the same of A.

    Attributes
    ----------
    pair : Pair
        Both sides.
    value : float
        Geometric mean of T over launches of B over that of A.
    estimate : Estimate or None
        The same with its 95 % interval; None where a side has one launch.
    p_value, adjusted : float or None
        Of the test of 1 (two-sided), and after Benjamini and Hochberg.
    verdict : Verdict
        What it says.
    needed : int or None
        Launches on each side that would tell, if they scattered like these; None where it tells, or none would.
    """

    pair: Pair
    value: float
    estimate: Estimate | None
    p_value: float | None
    adjusted: float | None
    verdict: Verdict
    needed: int | None = None


def judge(
    pairs: Sequence[Pair], *, effect: float = EFFECT, floor: float | None = None, rate: float = RATE
) -> list[Comparison]:
    """Return the verdict on each pair.

    Parameters
    ----------
    pairs : sequence of Pair
        All that are compared at once: the false discovery rate is over them.
    effect : float
        The smallest effect of interest, as 0.05.
    floor : float, optional
        Factor above 1 that a thing compared with itself stays below: a smaller effect is called neither slower nor
        faster.
    rate : float
        False discovery rate.

    Notes
    -----
    Welch's t on logarithms of launches (:func:`collmark.analysis.ratio.log_ratio`); Benjamini & Hochberg 1995, JRSS B
    57(1), over all pairs with an interval.
    """
    found = [log_ratio(pair.b.seconds_L, pair.a.seconds_L) for pair in pairs]
    p_values = [None if one is None else p_value(one) for one in found]
    known = [p for p in p_values if p is not None]
    adjusted = iter(stats.false_discovery_control(known) if known else ())
    return [
        _compare(pair, one, p, None if p is None else float(next(adjusted)), effect=effect, floor=floor, rate=rate)
        for pair, one, p in zip(pairs, found, p_values, strict=True)
    ]


def p_value(found: LogMean) -> float:
    """Return the two-sided p-value of a ratio of 1."""
    if found.error == 0:
        return float(found.centre == 0)
    return float(2 * stats.t.sf(abs(found.centre) / found.error, found.degrees))


def decide(
    found: LogMean, adjusted: float, *, effect: float = EFFECT, floor: float | None = None, rate: float = RATE
) -> Verdict:
    """Return the verdict on a ratio whose test has an adjusted p-value."""
    band, least = math.log1p(effect), math.log(max(1 + effect, floor or 1.0))
    half = float(stats.t.ppf((1 + LEVEL) / 2, found.degrees)) * found.error
    if abs(found.centre) + half <= band:
        return Verdict.NO_EVIDENCE
    if adjusted <= rate and abs(found.centre) > least:
        return Verdict.SLOWER if found.centre > 0 else Verdict.FASTER
    return Verdict.CANNOT_TELL


def _compare(
    pair: Pair,
    found: LogMean | None,
    p: float | None,
    adjusted: float | None,
    *,
    effect: float,
    floor: float | None,
    rate: float,
) -> Comparison:
    value = float(np.exp(np.log(pair.b.seconds_L).mean() - np.log(pair.a.seconds_L).mean()))
    if found is None or p is None or adjusted is None:
        return Comparison(
            pair=pair, value=value, estimate=None, p_value=None, adjusted=None, verdict=Verdict.CANNOT_TELL
        )
    verdict = decide(found, adjusted, effect=effect, floor=floor, rate=rate)
    needed = None
    if verdict is Verdict.CANNOT_TELL:
        # How far adjusted p-values lie above the others depends on all pairs: as now.
        times = adjusted / p if p else 1.0
        needed = launches_to_decide(
            found,
            lambda one: (
                decide(one, times * p_value(one), effect=effect, floor=floor, rate=rate) is not Verdict.CANNOT_TELL
            ),
        )
    return Comparison(
        pair=pair,
        value=value,
        estimate=found.interval(LEVEL),
        p_value=p,
        adjusted=adjusted,
        verdict=verdict,
        needed=needed,
    )
