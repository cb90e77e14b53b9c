"""Fieller's interval of a ratio of means: the check beside Welch's t on logarithms.

It takes launches to scatter by an amount, where :mod:`collmark.analysis.ratio` takes them to scatter by a factor. Where
the mean below cannot be told from zero, no interval bounds the ratio: then launches are too few, or too far apart, for
the shape of their scatter not to matter. Legend: L launches.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
import numpy.typing as npt
from scipy import stats

from collmark.analysis.ratio import satterthwaite
from collmark.core.estimate import Estimate

NOT_BOUNDED = "ratio not bounded"


class Fieller(msgspec.Struct, frozen=True, kw_only=True):
    """A ratio of two means, and what its interval follows from.

    Attributes
    ----------
    value : float
        The ratio of the arithmetic means.
    parts : tuple of float
        Relative variance of each mean: variance / count / mean^2, above and below.
    counts : tuple of int
        Launches above and below.
    """

    value: float
    parts: tuple[float, float]
    counts: tuple[int, int]

    def interval(self, level: float) -> Estimate | None:
        """Return the ratio with its interval; None where it is not bounded.

        Parameters
        ----------
        level : float
            Two-sided confidence level.

        Notes
        -----
        Fieller 1954, Journal of the Royal Statistical Society B 16(2): all r with
        (a - r b)^2 <= t^2 (var a + r^2 var b), a and b being the means; bounded where g = t^2 var b / b^2 is below 1.
        Unequal variances: degrees of freedom by Satterthwaite at the ratio found (Tamhane and Logan 2004, Journal of
        Biopharmaceutical Statistics 14(4)).
        """
        over, under = self.parts
        t = float(stats.t.ppf((1 + level) / 2, satterthwaite(self.parts, self.counts)))
        h, g = t**2 * over, t**2 * under
        if g >= 1:
            return None
        half = math.sqrt(h * (1 - g) + g)  # of the quadratic in r, in units of a / b
        return Estimate(
            value=self.value,
            lower=self.value * (1 - half) / (1 - g),
            upper=self.value * (1 + half) / (1 - g),
            level=level,
            method="Fieller",
            count=sum(self.counts),
            over="launches",
        )


def fieller(over_L: npt.ArrayLike, under_L: npt.ArrayLike) -> Fieller | None:
    """Return the ratio of the means of two positive quantities measured in different launches; None for one launch.

    Parameters
    ----------
    over_L, under_L : array
        One positive value per launch, in one unit; the two may differ in length.
    """
    groups = [np.asarray(values, dtype=np.float64) for values in (over_L, under_L)]
    if any(group.size < 2 for group in groups):
        return None
    over, under = (float(group.mean()) for group in groups)
    first, second = (float((group / group.mean()).var(ddof=1)) / group.size for group in groups)
    return Fieller(value=over / under, parts=(first, second), counts=(groups[0].size, groups[1].size))
