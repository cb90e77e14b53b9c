"""Which model describes a curve: the smallest that no larger one beats by far, and no octave left out speaks against.

Legend: K sets, N sizes, S segments.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from collmark.analysis.models.constant import CONSTANT
from collmark.analysis.models.hockney import HOCKNEY, P_NORM, SQUARE_ROOT
from collmark.analysis.models.model import FloatArray, Model, Truths
from collmark.analysis.models.segments import LEAST_POINTS, MOST_SEGMENTS, best_cuts, segments
from collmark.analysis.models.solve import losses, solve_many

STEP = 6.0
"""Gain of the Bayesian criterion below which the smaller model stays (method.md B.4: at 0 it is left far too often)."""
FLOOR = 0.005
"""Misfit that is not worth a parameter: clocks and drift make as much, and a perfect fit has no logarithm."""
LEAST_CLIFF = 0.10
"""Relative misfit from which a size may be a cliff."""
MOST_CLIFFS = 1 / 8
"""Share of the sizes that may be cliffs: more of them are a shape that no model here has."""
_PER_CLIFF = 2  # which size, and how high


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A model that was tried.

    Attributes
    ----------
    model : Model
        What T looks like.
    parameters_P : ndarray
        Fitted to the sizes that are no cliffs.
    cliffs_N : ndarray of bool
        Sizes that stand apart from it, and did not enter.
    residuals_N : ndarray
        ln(measured / model) at every size.
    criterion : float
        Bayesian information criterion: N ln(mean loss) + parameters x ln N. The scatter, breaks and cliffs count as
        parameters.
    """

    model: Model
    parameters_P: FloatArray
    cliffs_N: Truths
    residuals_N: FloatArray
    criterion: float


def choose(nbytes_N: FloatArray, seconds_N: FloatArray, ends_2N: FloatArray | None = None) -> Choice:
    """Return the model of a curve.

    Parameters
    ----------
    nbytes_N : ndarray
        Sizes in bytes, growing, shape (N,), at least 3.
    seconds_N : ndarray
        Times in s, positive.
    ends_2N : ndarray or None
        Lower and upper ends of the times' intervals, s, where there are some: a size whose interval holds the model is
        no cliff.

    Notes
    -----
    Candidates are taken from small to large. One takes the place of the best so far where it gains more than
    :data:`STEP` and predicts octaves that were left out no worse (method.md B.4); a line takes that of a constant where
    it gains anything.
    """
    (best, *others) = (
        min((tried(model, nbytes_N, seconds_N, ends_2N) for model in rank), key=lambda one: one.criterion)
        for rank in _ranks(nbytes_N, seconds_N)
    )
    for one in others:
        if one.model is HOCKNEY:  # that bytes take time is known beforehand, and needs little proof
            best = one if one.criterion < best.criterion else best
        elif one.criterion < best.criterion - STEP and _is_confirmed(one, best, nbytes_N, seconds_N):
            best = one
    return best


def _ranks(nbytes_N: FloatArray, seconds_N: FloatArray) -> Iterator[Sequence[Model]]:
    """Yield models of as many parameters each, from few to many, as far as there are sizes for them."""
    yield (CONSTANT,)
    yield (HOCKNEY,)
    if nbytes_N.size >= 2 * len(P_NORM.parameters):
        yield (P_NORM, SQUARE_ROOT)
    if nbytes_N.size >= 2 * LEAST_POINTS:
        costs_NN = _costs(nbytes_N, seconds_N)
        for count in range(2, MOST_SEGMENTS + 1):
            cuts = best_cuts(costs_NN, count)
            if cuts is not None:
                yield (segments([math.sqrt(nbytes_N[cut - 1] * nbytes_N[cut]) for cut in cuts]),)


def _costs(nbytes_N: FloatArray, seconds_N: FloatArray) -> FloatArray:
    """Return what a line through each run of sizes leaves over, by first and last size; infinite where too short."""
    size = nbytes_N.size
    firsts_K, lasts_K = np.triu_indices(size, LEAST_POINTS - 1)
    places_N = np.arange(size)
    uses_KN = (places_N >= firsts_K[:, None]) & (places_N <= lasts_K[:, None])
    costs_NN: FloatArray = np.full((size, size), np.inf)
    costs_NN[firsts_K, lasts_K] = solve_many(HOCKNEY, nbytes_N, np.broadcast_to(seconds_N, uses_KN.shape), uses_KN)[1]
    return costs_NN


def tried(model: Model, nbytes_N: FloatArray, seconds_N: FloatArray, ends_2N: FloatArray | None = None) -> Choice:
    """Return a model fitted to a curve, with the sizes that stand apart from it; see :func:`choose`."""
    parameters_P = solve_many(model, nbytes_N, seconds_N[None])[0][0]
    modelled_N = model.predict(parameters_P.tolist(), nbytes_N)
    is_held_N = np.zeros(nbytes_N.size, dtype=bool)
    if ends_2N is not None:
        is_held_N = (ends_2N[0] <= modelled_N) & (modelled_N <= ends_2N[1])
    cliffs_N = _cliffs(np.log(seconds_N / modelled_N), is_held_N)
    if cliffs_N.any():
        parameters_P = solve_many(model, nbytes_N, seconds_N[None], ~cliffs_N[None])[0][0]
    residuals_N = np.log(seconds_N / model.predict(parameters_P.tolist(), nbytes_N))
    count = len(model.parameters) + len(model.breaks) + 1 + _PER_CLIFF * int(cliffs_N.sum())
    return Choice(
        model=model,
        parameters_P=parameters_P,
        cliffs_N=cliffs_N,
        residuals_N=residuals_N,
        criterion=_scatter(residuals_N, cliffs_N) + count * math.log(nbytes_N.size),
    )


def _scatter(residuals_N: FloatArray, apart_N: Truths) -> float:
    """Return the first term of the criterion; sizes that stand apart add nothing to it."""
    return residuals_N.size * math.log(2 * float(losses(residuals_N[~apart_N]).sum()) / residuals_N.size + FLOOR**2)


def _cliffs(residuals_N: FloatArray, is_held_N: Truths) -> Truths:
    """Return the sizes that the others are better described without: each must gain what a parameter must.

    Those whose interval holds the model are none.
    """
    apart_N: Truths = np.zeros(residuals_N.size, dtype=bool)
    price = _PER_CLIFF * math.log(residuals_N.size) + STEP
    best_N, least = apart_N, _scatter(residuals_N, apart_N)
    off_N = np.where(is_held_N, 0.0, np.abs(np.expm1(residuals_N)))
    for count, place in enumerate(np.argsort(-off_N)[: int(residuals_N.size * MOST_CLIFFS)], 1):
        if off_N[place] < LEAST_CLIFF:
            break
        apart_N = apart_N.copy()
        apart_N[place] = True
        criterion = _scatter(residuals_N, apart_N) + count * price
        if criterion < least:
            best_N, least = apart_N, criterion
    return best_N


def _is_confirmed(one: Choice, other: Choice, nbytes_N: FloatArray, seconds_N: FloatArray) -> bool:
    """Whether a model predicts octaves that it has not seen no worse than another does."""
    octaves_N = np.floor(np.log2(np.maximum(nbytes_N, 1.0) / max(float(nbytes_N.min()), 1.0)))
    apart_N = one.cliffs_N | other.cliffs_N
    return _left_out(one.model, nbytes_N, seconds_N, octaves_N, apart_N) <= _left_out(
        other.model, nbytes_N, seconds_N, octaves_N, apart_N
    )


def _left_out(
    model: Model, nbytes_N: FloatArray, seconds_N: FloatArray, octaves_N: FloatArray, apart_N: Truths
) -> float:
    """Return what a model loses at sizes whose octave was left out when it was fitted."""
    is_out_KN = octaves_N == np.unique(octaves_N[~apart_N])[:, None]
    parameters_KP, _costs = solve_many(
        model, nbytes_N, np.broadcast_to(seconds_N, is_out_KN.shape), ~is_out_KN & ~apart_N
    )
    predicted_KN = np.array([model.predict(parameters_P.tolist(), nbytes_N) for parameters_P in parameters_KP])
    asked_KN = is_out_KN & ~apart_N
    return float(losses(np.log(np.broadcast_to(seconds_N, is_out_KN.shape)[asked_KN] / predicted_KN[asked_KN])).sum())
