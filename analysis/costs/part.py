"""One parameter of fits at several rank counts under one algorithm: how well it is described, and what follows.

Legend: P rank counts.
"""

from __future__ import annotations

import msgspec
import numpy as np

from collmark.analysis.costs.algorithm import Algorithm
from collmark.analysis.costs.cliffs import is_off
from collmark.analysis.costs.growth import FloatArray, Law, Observed, deviance, fit_latency, fit_slope, rms
from collmark.analysis.models.quantity import Quantity
from collmark.core.statistics import log_t_interval, t_interval


class RankCliff(msgspec.Struct, frozen=True, kw_only=True):
    """A rank count at which a parameter lies off the chosen law by more than its interval and 10 %."""

    ranks: int
    parameter: str
    ratio: float


class Part:
    """One parameter under one algorithm; a part that is not known costs nothing and says nothing."""

    observed: Observed | None
    row: Algorithm
    law_P: FloatArray

    @property
    def residuals_P(self) -> FloatArray:
        """ln(found / law)."""
        found: FloatArray = np.zeros(0) if self.observed is None else self.observed.logs_P - np.log(self.law_P)
        return found

    @property
    def deviance(self) -> float:
        """-2 ln likelihood."""
        if self.observed is None:
            return 0.0
        return deviance(self.residuals_P, self.observed.variances_P, self.observed.degrees)

    @property
    def rms(self) -> float | None:
        """Of the residuals."""
        return None if self.observed is None else rms(self.residuals_P)

    def cliffs(self, name: str) -> list[RankCliff]:
        """Return the rank counts off the law."""
        if self.observed is None:
            return []
        found = []
        for ranks, values, law in zip(self.observed.ranks, self.observed.per_launch, self.law_P, strict=True):
            interval, value = log_t_interval(values), float(np.exp(np.log(values).mean()))
            lower, upper = (None, None) if interval is None else (interval.lower, interval.upper)
            if is_off(value, float(law), lower, upper):
                found.append(RankCliff(ranks=ranks, parameter=name, ratio=value / float(law)))
        return found


class LatencyPart(Part):
    """Latencies as overhead + messages x alpha."""

    def __init__(self, observed: Observed | None, row: Algorithm) -> None:
        self.observed, self.row = observed, row
        self.laws: list[Law] = []
        if observed is None:
            return
        shape_P = np.array([row.terms(ranks).alpha for ranks in observed.ranks])
        variances_P = observed.variances_P
        self.law = fit_latency(observed.logs_P, variances_P, shape_P)
        self.law_P = self.law.at(shape_P)
        logs = [np.log(values_P) for values_P in observed.sets()]
        if self.law.constant and self.law.slope:
            self.laws = [fit_latency(one, variances_P, shape_P, signed=True) for one in logs]
        else:  # the whole says that one of the two is not there: so it is in every launch
            shape_P = shape_P if self.law.slope else np.ones_like(shape_P)
            levels = [float(np.exp(np.average(one - np.log(shape_P), weights=1 / variances_P))) for one in logs]
            is_flat = not self.law.slope
            self.laws = [Law(constant=x if is_flat else 0.0, slope=0.0 if is_flat else x) for x in levels]

    def overhead(self) -> Quantity:
        """What does not grow with ranks: it may be negative in a launch, hence an interval of amounts."""
        return _over_sets([law.constant for law in self.laws], signed=True)

    def alpha(self) -> Quantity:
        """Per message."""
        return _over_sets([law.slope for law in self.laws])


class BandwidthPart(Part):
    """Times per bus byte as bytes x beta, gamma taken off for beta alone."""

    def __init__(self, observed: Observed | None, row: Algorithm, gamma: float) -> None:
        self.observed, self.row = observed, row
        self.slopes: list[float] = []
        if observed is None:
            return
        terms = [row.bus_terms(ranks) for ranks in observed.ranks]
        shape_P, reduced_P = (np.array([getattr(one, name) for one in terms]) for name in ("beta", "gamma"))
        variances_P, nothing_P = observed.variances_P, np.zeros_like(shape_P)
        # Bytes alone are compared: a gamma that overlaps with them would speak against the right algorithm.
        self.law_P = fit_slope(observed.logs_P, variances_P, shape_P, nothing_P) * shape_P
        self.slopes = [fit_slope(np.log(one), variances_P, shape_P, gamma * reduced_P) for one in observed.sets()]

    def beta(self) -> Quantity:
        """Per byte over a link."""
        return _over_sets(self.slopes)


def _over_sets(values: list[float], *, signed: bool = False) -> Quantity:
    """Return a parameter over sets of launches; one that is zero in some is not told."""
    if not values or not any(values) or (not signed and min(values) <= 0):
        return Quantity(per_launch=tuple(values) if signed else ())
    if signed:
        return Quantity(per_launch=tuple(values), value=float(np.mean(values)), estimate=t_interval(values))
    value = float(np.exp(np.log(values).mean()))
    return Quantity(per_launch=tuple(values), value=value, estimate=log_t_interval(values))
