"""A fitted curve: parameters refitted per launch, their intervals over launches, and how far it can be believed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import pandas as pd

from collmark.analysis.columns import SERIES, Series
from collmark.analysis.models.constant import CONSTANT
from collmark.analysis.models.hockney import HOCKNEY
from collmark.analysis.models.index import MODELS
from collmark.analysis.models.model import FloatArray, Model
from collmark.analysis.models.solve import are_absent, solve, upper_limit
from collmark.analysis.points import is_usable, measured, points, words_of_status
from collmark.core.estimate import Estimate
from collmark.core.operation_table import OPERATIONS
from collmark.core.statistics import log_t_interval

_Times = tuple[FloatArray, FloatArray]

LEAST_SIZES = 3
LEAST_OCTAVES = 3.0
"""Octaves of sizes on a parameter's side of n1/2, below which it is weakly known (method.md B.4)."""
MOST_RMS = 0.25
"""Root mean square of log residuals above which a model does not describe the times (design.md section 7)."""


class Quantity(msgspec.Struct, frozen=True, kw_only=True):
    """One number of a fit, in SI units.

    Attributes
    ----------
    per_launch : tuple of float
        Its value in each launch; empty where the times do not tell it.
    value : float or None
        Geometric mean over launches.
    estimate : Estimate or None
        With its interval over launches; None for one launch.
    weak : str
        Why it is weakly known; empty where it is not.
    below, above : float or None
        One-sided limit at 95 % where the times do not tell it.
    """

    per_launch: tuple[float, ...] = ()
    value: float | None = None
    estimate: Estimate | None = None
    weak: str = ""
    below: float | None = None
    above: float | None = None


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """A model fitted to one series.

    Attributes
    ----------
    series : Series
        What was measured.
    model : str
        Name of the model.
    launches, sizes : int
        Launches that were fitted, each by itself, and sizes that entered.
    left_out, too_short : int
        Records that did not enter (unstable, wrong, failed, no time); launches with too few sizes for a fit.
    alpha : Quantity
        Time that does not depend on size, s: a latency, or the gap between messages of a stream.
    beta : Quantity or None
        Time per bus byte, s/B; None for a constant.
    asymptote : Quantity or None
        1/beta: the bus bandwidth that large sizes come near, B/s.
    half_size : Quantity or None
        nbytes at which half the asymptote is reached, B.
    smallest : Quantity
        T measured at the smallest size, s.
    first, last : int
        Smallest and largest nbytes that entered: the model holds for nothing else.
    bus_ratio : float
        Bus bytes per nbytes.
    rms : float
        Root mean square of ln(measured / model) over sizes.
    worst : float
        Largest relative misfit, measured / model - 1.
    worst_at : int
        nbytes where that is.
    """

    series: Series
    model: str
    launches: int
    sizes: int
    left_out: int
    too_short: int = 0
    alpha: Quantity
    beta: Quantity | None = None
    asymptote: Quantity | None = None
    half_size: Quantity | None = None
    smallest: Quantity
    first: int
    last: int
    bus_ratio: float
    rms: float
    worst: float
    worst_at: int

    @property
    def describes(self) -> bool:
        """Whether the model describes the times; if not, no verdict may rest on it."""
        return self.rms <= MOST_RMS

    def predict(self, bus_nbytes: FloatArray) -> FloatArray:
        """Return T in s at some bus bytes; what the times do not tell counts as zero."""
        parameters = [self.alpha] if self.beta is None else [self.alpha, self.beta]
        return MODELS[self.model].predict([p.value or 0.0 for p in parameters], bus_nbytes)


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """A series that no model was fitted to, and why."""

    series: Series
    reason: str


class Fits(msgspec.Struct, frozen=True, kw_only=True):
    """All fits of a frame."""

    fits: tuple[Fit, ...]
    refused: tuple[Refused, ...]

    def of(self, series: Series) -> Fit | None:
        """Return the fit of a series, if there is one."""
        return next((fit for fit in self.fits if fit.series == series), None)


def fit_frame(table: pd.DataFrame, *, include_unstable: bool = False) -> Fits:
    """Fit the two-parameter model to every series of a frame; a series without payload gets a constant.

    Parameters
    ----------
    table : DataFrame
        As :func:`collmark.analysis.frame.frame` returns it.
    include_unstable : bool
        Let unstable records enter.
    """
    if table.empty:
        return Fits(fits=(), refused=())
    cases = points(table, include_unstable=include_unstable)
    points_of = dict(iter(cases[cases["enters"]].groupby(list(SERIES), sort=False)))
    fits: list[Fit] = []
    refused: list[Refused] = []
    for key, group in measured(table).groupby(list(SERIES), sort=False):
        series = msgspec.convert(dict(zip(SERIES, map(_plain, key), strict=True)), Series)
        own = points_of.get(key)
        reason = _refusal(series, group, 0 if own is None else len(own))
        if own is None or reason:
            refused.append(Refused(series=series, reason=reason))
            continue
        usable = group[is_usable(group, include_unstable=include_unstable) & group["case"].isin(own["case"])]
        fits.append(_fit(series, usable, own, left_out=len(group) - len(usable)))
    return Fits(fits=tuple(fits), refused=tuple(refused))


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value


def _refusal(series: Series, group: pd.DataFrame, sizes: int) -> str:
    if group["ranks"].iloc[0] == 1:
        return "one rank moves nothing"
    if not sizes:
        return f"no record to fit to: {words_of_status(group)}"
    if OPERATIONS[series.operation].sized and sizes < LEAST_SIZES:
        return f"{sizes} size{'' if sizes == 1 else 's'}: alpha and beta need at least {LEAST_SIZES}"
    return ""


def _fit(series: Series, usable: pd.DataFrame, cases: pd.DataFrame, left_out: int) -> Fit:
    model = HOCKNEY if OPERATIONS[series.operation].sized else CONSTANT
    nbytes, seconds = (cases[name].to_numpy(dtype=np.float64) for name in ("bus_nbytes", "seconds"))
    ratio = float((nbytes / np.maximum(cases["nbytes"].to_numpy(), 1)).max())
    own = _sets(usable, len(cases))
    sets = own or [(nbytes, seconds)]
    quantities = _quantities(model, sets, (nbytes, seconds), ratio)
    parameters = [quantities[name].value or 0.0 for name in model.parameters]
    residuals = np.log(seconds / model.predict(parameters, nbytes))
    worst = int(np.argmax(np.abs(np.expm1(residuals))))
    smallest = usable[usable["nbytes"] == usable["nbytes"].min()].groupby("launch")["seconds"].median()
    return Fit(
        series=series,
        model=model.name,
        launches=len(sets),
        too_short=usable["launch"].nunique() - len(own),
        sizes=len(cases),
        left_out=left_out,
        smallest=_over_launches(smallest.to_numpy()),
        first=int(cases["nbytes"].min()),
        last=int(cases["nbytes"].max()),
        bus_ratio=ratio,
        rms=float(np.sqrt(np.mean(residuals**2))),
        worst=float(np.expm1(residuals[worst])),
        worst_at=int(cases["nbytes"].iloc[worst]),
        **quantities,
    )


def _sets(usable: pd.DataFrame, sizes: int) -> list[_Times]:
    """Return bytes and times of each launch that has enough sizes for a fit of its own."""
    return [
        (group["bus_nbytes"].to_numpy(dtype=np.float64), group["seconds"].to_numpy(dtype=np.float64))
        for _launch, group in usable.groupby("launch")
        if group["nbytes"].nunique() >= min(LEAST_SIZES, sizes)
    ]


def _quantities(model: Model, sets: Sequence[_Times], combined: _Times, ratio: float) -> dict[str, Quantity]:
    """Return the parameters of a model and what follows from them, by field of :class:`Fit`."""
    solved_LP = np.array([solve(model, *one) for one in sets])
    absent = np.any([are_absent(model, p, one[0]) for p, one in zip(solved_LP, sets, strict=True)], axis=0)
    found = {
        name: Quantity(below=upper_limit(model, *combined, index))
        if absent[index]
        else _over_launches(solved_LP[:, index])
        for index, name in enumerate(model.parameters)
    }
    if model is not HOCKNEY:
        return found
    alpha_L, beta_L = solved_LP.T
    alpha, beta, half = found["alpha"], found["beta"], Quantity()
    asymptote = Quantity(above=1 / beta.below) if beta.below else _over_launches(1 / beta_L)
    if alpha.value is not None and beta.value is not None:
        half = _over_launches(alpha_L / beta_L / ratio)
        low, high = _octaves(alpha.value / beta.value, combined[0])
        alpha = _weakened(alpha, low, "below")
        beta, asymptote = _weakened(beta, high, "above"), _weakened(asymptote, high, "above")
        half = _weakened(_weakened(half, low, "below"), high, "above")
    return {"alpha": alpha, "beta": beta, "asymptote": asymptote, "half_size": half}


def _over_launches(values_L: FloatArray) -> Quantity:
    estimate = log_t_interval(values_L)
    return Quantity(
        per_launch=tuple(values_L.tolist()),
        value=float(np.exp(np.log(values_L).mean())) if estimate is None else estimate.value,
        estimate=estimate,
    )


def _octaves(half: float, nbytes: FloatArray) -> tuple[float, float]:
    """Return how many octaves of sizes lie below and above the half-performance size, in bus bytes."""
    return math.log2(half / max(float(nbytes.min()), 1.0)), math.log2(nbytes.max() / half)


def _weakened(quantity: Quantity, octaves: float, where: str) -> Quantity:
    if octaves >= LEAST_OCTAVES:
        return quantity
    short = f"{octaves:.1f} octaves of sizes {where} n1/2, needs {LEAST_OCTAVES:.0f}"
    words = short if octaves >= 0 else f"no size {where} n1/2"
    return msgspec.structs.replace(quantity, weak="; ".join(filter(None, (quantity.weak, words))))
