"""A fitted curve: parameters refitted per launch, their intervals over launches, and how far it can be believed.

Legend: L launches, N sizes, P parameters.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pandas as pd

from collmark.analysis.columns import SERIES, Series
from collmark.analysis.models.choose import Choice, choose, tried
from collmark.analysis.models.constant import CONSTANT
from collmark.analysis.models.hockney import HOCKNEY, P_NORM
from collmark.analysis.models.index import MODELS
from collmark.analysis.models.model import FloatArray, Model, Truths
from collmark.analysis.models.quantity import Quantity, over_launches, weakened
from collmark.analysis.models.segments import segments
from collmark.analysis.models.solve import are_absent, solve, solve_many, upper_limit
from collmark.analysis.points import is_usable, measured, points, words_of_status
from collmark.core.operation_table import OPERATIONS
from collmark.core.units import format_nbytes

LEAST_SIZES = 3
"""Sizes that a line needs, and each of several."""
LEAST_REACHED = 8 / 9
"""Share of what a model comes near that the size at that end must reach, or the parameter is weakly known: a line
reaches as much three octaves from n1/2 (method.md B.4), a softer bend later."""
MOST_RMS = 0.25
"""Root mean square of log residuals above which a model does not describe the times (design.md section 7)."""


LARGEST = 3
"""Sizes at the large end at which a model must be seen to go along with the times, or 1/beta is not theirs."""
MOST_OFF = 0.03
"""Relative misfit, to one side at each of them, from which it does not: a plateau is to be right within as much."""

MOST_LIMITED_RMS = 0.10
"""Misfit above which no limit of a parameter is given: it would rest on the model being right."""


class Cliff(msgspec.Struct, frozen=True, kw_only=True):
    """A size that stands apart from the model of all others, and did not enter its fit.

    Attributes
    ----------
    nbytes : int
        The size, B.
    misfit : float
        Measured / model - 1.
    """

    nbytes: int
    misfit: float


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """A model fitted to one series.

    Attributes
    ----------
    series : Series
        What was measured.
    model : str
        Name of the model, chosen by :func:`collmark.analysis.models.choose.choose`.
    breaks : tuple of (int, int)
        Of several segments: nbytes of the sizes on either side of each break, B.
    parameters : dict of str to Quantity
        All parameters of the model, by name.
    launches, sizes : int
        Launches that were fitted, each by itself, and sizes that entered.
    left_out, too_short : int
        Records that did not enter (unstable, wrong, failed, no time, a test); launches with too few sizes for a fit.
    alpha : Quantity
        What T comes near for small sizes, s: a latency, or the gap between messages of a stream. Of several segments
        that of the first: where a later one would start is no latency.
    beta : Quantity or None
        Time per bus byte for large sizes, s/B: of several segments, of the last. None where nothing has a size.
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
    cliffs : tuple of Cliff
        Sizes that stand apart.
    rms : float
        Root mean square of ln(measured / model) over the sizes that are no cliffs.
    line_rms : float
        The same of the two-parameter line, fitted to the same sizes.
    worst : float
        Largest relative misfit over all sizes, measured / model - 1.
    worst_at : int
        nbytes where that is.
    """

    series: Series
    model: str
    breaks: tuple[tuple[int, int], ...] = ()
    parameters: dict[str, Quantity]
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
    cliffs: tuple[Cliff, ...] = ()
    rms: float
    line_rms: float
    worst: float
    worst_at: int

    @property
    def describes(self) -> bool:
        """Whether the model describes the times; if not, no verdict may rest on it."""
        return self.rms <= MOST_RMS

    @property
    def model_words(self) -> str:
        """The model in words, with what makes it this one: its exponent, or where another line begins."""
        if self.breaks:
            where = " and ".join(format_nbytes(above) for _below, above in self.breaks)
            return f"{self.model}, another line from {where} on"
        exponent = self.parameters.get(P_NORM.exponent)
        return self.model if exponent is None or exponent.value is None else f"{self.model}, q {exponent.value:.2g}"

    @property
    def cliff_words(self) -> str:
        """The sizes that stand apart from the model, in words; empty where there are none."""
        return ", ".join(
            f"{format_nbytes(cliff.nbytes)} takes {1 + cliff.misfit:.2g} times as long as the model of the others says"
            for cliff in self.cliffs
        )

    def predict(self, bus_nbytes: FloatArray) -> FloatArray:
        """Return T in s at some bus bytes; what the times do not tell counts as zero."""
        return self._model.predict([one.value or 0.0 for one in self.parameters.values()], bus_nbytes)

    def predict_each(self, bus_nbytes: FloatArray) -> FloatArray:
        """Return T in s at some bus bytes by the parameters of each launch, shape (launches, sizes)."""
        of_launches = [one.per_launch or (0.0,) * self.launches for one in self.parameters.values()]
        return np.array([self._model.predict(own, bus_nbytes) for own in zip(*of_launches, strict=True)])

    @property
    def _model(self) -> Model:
        if not self.breaks:
            return MODELS[self.model]
        return segments([self.bus_ratio * math.sqrt(below * above) for below, above in self.breaks])


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
    """Fit a model to every series of a frame: the one that describes it; a constant where nothing has a size.

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
    cases = cases.sort_values("nbytes")
    nbytes_N, seconds_N = (cases[name].to_numpy(dtype=np.float64) for name in ("bus_nbytes", "seconds"))
    is_sized = OPERATIONS[series.operation].sized
    times_LN = _times(usable, cases)
    # One slow launch in three moves a mean, and no median: what is looked for is the shape.
    middle_N = np.exp(np.nanmedian(np.log(times_LN), axis=0))
    ends_2N = cases[["lower", "upper"]].to_numpy(dtype=np.float64).T
    choice = choose(nbytes_N, middle_N, ends_2N) if is_sized else tried(CONSTANT, nbytes_N, middle_N)
    inside_N = ~choice.cliffs_N
    own_LN = _long_enough(times_LN, choice.model, nbytes_N, inside_N)
    ratio = float((nbytes_N / np.maximum(cases["nbytes"].to_numpy(), 1)).max())
    found = _parameters(choice, nbytes_N, middle_N, own_LN if len(own_LN) else middle_N[None])
    misfits_N = seconds_N / choice.model.predict([one.value or 0.0 for one in found.values()], nbytes_N) - 1
    line = HOCKNEY if is_sized else CONSTANT
    line_N = seconds_N / line.predict(solve(line, nbytes_N[inside_N], seconds_N[inside_N]).tolist(), nbytes_N) - 1
    sizes = [int(nbytes) for nbytes in cases["nbytes"]]
    worst = int(np.argmax(np.abs(misfits_N)))
    smallest = usable[usable["nbytes"] == usable["nbytes"].min()].groupby("launch")["seconds"].median()
    told = _told(choice, found, nbytes_N[inside_N], middle_N[inside_N], ratio)
    if choice.model.slope:
        missed = _missed(misfits_N[inside_N], (ends_2N / seconds_N)[:, inside_N])
        told |= {name: weakened(told[name], missed) for name in ("beta", "asymptote", "half_size")}
    return Fit(
        series=series,
        model=choice.model.name,
        breaks=tuple((sizes[cut - 1], sizes[cut]) for cut in np.searchsorted(nbytes_N, choice.model.breaks)),
        parameters=found,
        launches=max(1, len(own_LN)),
        too_short=len(times_LN) - len(own_LN),
        sizes=len(cases),
        left_out=left_out,
        smallest=over_launches(smallest.to_numpy()),
        first=sizes[0],
        last=sizes[-1],
        bus_ratio=ratio,
        cliffs=tuple(Cliff(nbytes=sizes[at], misfit=float(misfits_N[at])) for at in np.flatnonzero(~inside_N)),
        rms=_rms(misfits_N[inside_N]),
        line_rms=_rms(line_N[inside_N]),
        worst=float(misfits_N[worst]),
        worst_at=sizes[worst],
        **told,
    )


def _missed(misfits_N: FloatArray, ends_2N: FloatArray) -> str:
    """Return that the model runs beside the times of the largest sizes, in words; nothing where it does not.

    Where the interval of a size, `ends_2N` over its time, holds the model, nothing is known to be missed.
    """
    own, ends = misfits_N[-LARGEST:], ends_2N[:, -LARGEST:]
    is_held = (ends[0] * (1 + own) <= 1) & (ends[1] * (1 + own) >= 1)
    if len(own) < LARGEST or is_held.any() or not ((own > MOST_OFF).all() or (own < -MOST_OFF).all()):
        return ""
    times = f"{1 + own.mean():.2f} times"
    return f"no model describes the {LARGEST} largest sizes, which take {times} as long as this one says"


def _rms(misfits: FloatArray) -> float:
    """Return the root mean square of ln(measured / model)."""
    return float(np.sqrt(np.mean(np.log1p(misfits) ** 2)))


def _times(usable: pd.DataFrame, cases: pd.DataFrame) -> FloatArray:
    """Return the times of every launch at every size, shape (L, N); NaN where there is none."""
    table = usable.pivot_table(index="launch", columns="nbytes", values="seconds", aggfunc="median")
    times_LN: FloatArray = table.reindex(columns=cases["nbytes"]).to_numpy(dtype=np.float64)
    return times_LN


def _long_enough(times_LN: FloatArray, model: Model, nbytes_N: FloatArray, inside_N: Truths) -> FloatArray:
    """Return the times of the launches that a fit of their own can be made to; NaN on cliffs."""
    uses_LN = np.isfinite(times_LN) & inside_N
    of_terms_TL = ((model.terms(nbytes_N) > 0)[:, None] & uses_LN).sum(axis=2)
    least = min(LEAST_SIZES, len(nbytes_N))
    is_enough_L = (of_terms_TL >= least).all(axis=0) & (uses_LN.sum(axis=1) >= len(model.parameters))
    own_LN: FloatArray = np.where(uses_LN, times_LN, np.nan)[is_enough_L]
    return own_LN


def _parameters(choice: Choice, nbytes_N: FloatArray, seconds_N: FloatArray, own_LN: FloatArray) -> dict[str, Quantity]:
    """Return the parameters of a model over launches, by name."""
    model, inside_N = choice.model, ~choice.cliffs_N
    solved_LP = solve_many(model, nbytes_N, own_LN)[0]
    absent = {
        name
        for parameters_P, own_N in zip(solved_LP.tolist(), own_LN, strict=True)
        for name, is_so in are_absent(model, parameters_P, nbytes_N[np.isfinite(own_N)]).items()
        if is_so
    }
    found = {}
    for index, name in enumerate(model.parameters):
        if name not in absent:
            found[name] = over_launches(solved_LP[:, index])
        elif name in (model.latency, model.slope):
            found[name] = _limited(choice, model, nbytes_N[inside_N], seconds_N[inside_N], name)
        else:
            found[name] = Quantity()
    return found


def _limited(choice: Choice, model: Model, nbytes_N: FloatArray, seconds_N: FloatArray, name: str) -> Quantity:
    """Return a parameter that the times do not tell, with its limit where they follow the chosen model well."""
    rms = float(np.sqrt(np.mean(choice.residuals_N[~choice.cliffs_N] ** 2)))
    return Quantity(below=upper_limit(model, nbytes_N, seconds_N, name)) if rms <= MOST_LIMITED_RMS else Quantity()


def _told(
    choice: Choice, found: dict[str, Quantity], nbytes_N: FloatArray, seconds_N: FloatArray, ratio: float
) -> dict[str, Quantity]:
    """Return what a fit is read for, by field of :class:`Fit`."""
    model = choice.model
    alpha = found[model.latency]
    if not nbytes_N.any():
        return {"alpha": alpha}
    # A constant leaves room for a bandwidth so high that no size shows it.
    beta = found[model.slope] if model.slope else _limited(choice, HOCKNEY, nbytes_N, seconds_N, "beta")
    asymptote, half = Quantity(above=1 / beta.below if beta.below else None), Quantity()
    if beta.per_launch:
        asymptote = over_launches(1 / np.asarray(beta.per_launch))
    if alpha.value is not None and beta.value is not None:
        of_launches = zip(*(one.per_launch or (0.0,) * len(alpha.per_launch) for one in found.values()), strict=True)
        half = over_launches(np.array([model.half_size(own) for own in of_launches]) / ratio)
    # Held against times and not against the model, which may never reach what it comes near.
    if alpha.value is not None and model.slope:
        words = _lacking(alpha.value / float(seconds_N[0]), "alpha is {} of T at the smallest size")
        alpha, half = weakened(alpha, words), weakened(half, words)
    if beta.value is not None:
        words = _lacking(beta.value * float(nbytes_N[-1] / seconds_N[-1]), "the largest size reaches {} of 1/beta")
        beta, asymptote, half = weakened(beta, words), weakened(asymptote, words), weakened(half, words)
    return {"alpha": alpha, "beta": beta, "asymptote": asymptote, "half_size": half}


def _lacking(share: float, words: str) -> str:
    """Return what is said where an end lies far from what the model comes near; nothing where it is near."""
    return (
        "" if share >= LEAST_REACHED else f"{words.format(f'{100 * share:.0f} %')}, needs {100 * LEAST_REACHED:.0f} %"
    )
