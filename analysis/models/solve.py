"""Parameters of a model from times: robust least squares of logarithms, for many sets of times at once.

Many, because every launch, every octave left out and every piece between two breaks is a fit of its own. Legend:
K sets, N sizes, P parameters, S starts, T terms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats

from collmark.analysis.models.model import FloatArray, Model, Truths, log_value

SOFT = 0.05
"""Log residual beyond which soft-L1 counts a point less (method.md B.4: the least bias of those compared)."""
ABSENT = 1e-3
"""Share of T, where a parameter matters most, below which it ran to zero: the times do not tell it."""
ONE_SIDED = 0.95
EXPONENTS = (0.25, 16.0)
"""Between these the exponent of a norm is looked for: beyond, curves hardly change."""
_EXPONENT_STARTS = (1.0, 3.0)
_SCALES = (1.0, 0.03)
_NOTHING = 1e-12  # of T: smaller parts are not made smaller still
_MOST_STEPS = 200
_LONGEST_STEP = 3.0
_STILL = 1e-9
_GONE = 1e-4  # of T at every size
_DAMPING = (1e-9, 1e9)


def solve(model: Model, nbytes_N: npt.ArrayLike, seconds_N: npt.ArrayLike) -> FloatArray:
    """Return the parameters that describe some times best, shape (P,); see :func:`solve_many`."""
    seconds = np.asarray(seconds_N, dtype=np.float64)
    parameters_KP, _costs = solve_many(model, nbytes_N, seconds[None])
    return np.asarray(parameters_KP[0])


def solve_many(
    model: Model,
    nbytes_N: npt.ArrayLike,
    seconds_KN: npt.ArrayLike,
    uses_KN: npt.ArrayLike | None = None,
    fixed: Mapping[str, float] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return the parameters that describe each of some sets of times best, and what is left over.

    Parameters
    ----------
    model : Model
        What T looks like.
    nbytes_N : array
        Sizes in bytes, shape (N,).
    seconds_KN : array
        Times in s, shape (K, N); positive where they are used.
    uses_KN : array or None
        Which times count, shape (K, N); those that are no number do not. All others where None.
    fixed : mapping or None
        Parameters that are given, by name.

    Returns
    -------
    parameters_KP : ndarray
        All positive. One that ran to zero is tiny: :func:`are_absent` says so.
    costs_K : ndarray
        The sum of :func:`losses`.

    Notes
    -----
    Minimises the sum of soft-L1(ln T - ln model) at a scale of 0.05, over the logarithms of the parameters: every
    octave of sizes weighs alike, and odd points weigh little (method.md B.4). Levenberg-Marquardt steps from several
    starting points; the best end is taken.
    """
    nbytes, seconds = np.asarray(nbytes_N, dtype=np.float64), np.asarray(seconds_KN, dtype=np.float64)
    uses = np.isfinite(seconds) if uses_KN is None else np.isfinite(seconds) & np.asarray(uses_KN, dtype=bool)
    targets = np.log(np.where(uses, seconds, 1.0))
    with np.errstate(divide="ignore"):
        log_terms = np.log(model.terms(nbytes))
    starts_SKP = _starts(model, log_terms, targets, uses)
    free = np.ones(len(model.parameters), dtype=bool)
    for name, value in (fixed or {}).items():
        free[model.index(name)] = False
        starts_SKP[..., model.index(name)] = math.log(value)
    count, sets = starts_SKP.shape[:2]
    ends_KP, costs_K = _descend(
        model, log_terms, np.tile(targets, (count, 1)), np.tile(uses, (count, 1)), np.concatenate(starts_SKP), free
    )
    best_K = costs_K.reshape(count, sets).argmin(axis=0) * sets + np.arange(sets)
    return np.exp(ends_KP[best_K]), costs_K[best_K]


def losses(residuals: FloatArray) -> FloatArray:
    """Return what residuals of logarithms cost: half their square while small, and in proportion to them beyond."""
    found: FloatArray = SOFT**2 * (np.sqrt(1 + (residuals / SOFT) ** 2) - 1)
    return found


def are_absent(model: Model, parameters_P: Sequence[float], nbytes_N: npt.ArrayLike) -> dict[str, bool]:
    """Return for each term's parameter whether it makes up next to nothing of T at every size."""
    with np.errstate(divide="ignore"):
        log_terms = np.log(model.terms(np.asarray(nbytes_N, dtype=np.float64)))
        logs_1P = np.log(np.asarray(parameters_P, dtype=np.float64))[None]
    shares_TN = log_value(model, logs_1P, log_terms)[1][0]
    return {name: bool(share < ABSENT) for name, share in zip(model.parameters, shares_TN.max(axis=1), strict=False)}


def upper_limit(model: Model, nbytes_N: npt.ArrayLike, seconds_N: npt.ArrayLike, name: str) -> float:
    """Return the value that a parameter stays below, one-sided at 95 %.

    The profile of the cost: the largest value at which the other parameters, fitted anew, leave a cost that the scatter
    of the points about the best fit explains (F test with 1 and N - P degrees of freedom).
    """
    nbytes, seconds = np.asarray(nbytes_N, dtype=np.float64), np.asarray(seconds_N, dtype=np.float64)[None]
    (best_P,), (least,) = solve_many(model, nbytes, seconds)
    degrees = max(1, nbytes.size - len(best_P))
    allowed = float(least) * (1 + float(stats.f.ppf(2 * ONE_SIDED - 1, 1, degrees)) / degrees)
    # Alone it cannot exceed what every time leaves room for.
    terms = model.terms(nbytes)[model.index(name)]
    most: float = float((seconds[0][terms > 0] / terms[terms > 0]).max())

    def excess(log_value_of_it: float) -> float:
        _parameters, costs = solve_many(model, nbytes, seconds, fixed={name: math.exp(log_value_of_it)})
        return float(costs[0]) - allowed

    low, high = math.log(best_P[model.index(name)]), math.log(most)
    if low >= high or excess(high) <= 0:
        return most
    return math.exp(float(optimize.brentq(excess, low, high, xtol=1e-3)))


def _starts(model: Model, log_terms_TN: FloatArray, targets_KN: FloatArray, uses_KN: Truths) -> FloatArray:
    """Return logarithms of parameters to start from, shape (S, K, P): first as large as every time leaves room for."""
    is_told_KTN = uses_KN[:, None] & np.isfinite(log_terms_TN)
    room_KT = np.where(is_told_KTN, targets_KN[:, None] - log_terms_TN, np.inf).min(axis=2)
    room_KT = np.where(np.isfinite(room_KT), room_KT, 0.0)  # a term that no time has: any value will do
    if model.exponent:
        return np.stack([np.column_stack([room_KT, np.full(len(room_KT), math.log(q))]) for q in _EXPONENT_STARTS])
    is_last_T = np.arange(len(log_terms_TN)) == len(log_terms_TN) - 1
    return np.stack([room_KT + math.log(scale) * is_last_T for scale in _SCALES])


def _descend(
    model: Model,
    log_terms_TN: FloatArray,
    targets_KN: FloatArray,
    uses_KN: Truths,
    logs_KP: FloatArray,
    free_P: Truths,
) -> tuple[FloatArray, FloatArray]:
    """Return where steps downhill end, in logarithms of parameters, and the costs there."""
    lowest_KP = logs_KP + math.log(_NOTHING)
    highest_KP = np.full_like(logs_KP, np.inf)
    if model.exponent:
        lowest_KP[:, -1], highest_KP[:, -1] = np.log(EXPONENTS)
    damping_K = np.full(len(logs_KP), 1e-3)
    values, slopes = _evaluated(model, logs_KP, log_terms_TN)
    residuals = np.where(uses_KN, values - targets_KN, 0.0)
    costs_K = losses(residuals).sum(axis=1)
    moving_K = np.ones(len(logs_KP), dtype=bool)
    for _step in range(_MOST_STEPS):
        k = np.flatnonzero(moving_K)
        if not k.size or not free_P.any():
            break
        tried = np.clip(
            logs_KP[k] + _steps(residuals[k], slopes[k], uses_KN[k], damping_K[k], free_P), lowest_KP[k], highest_KP[k]
        )
        values, tried_slopes = _evaluated(model, tried, log_terms_TN)
        tried_residuals = np.where(uses_KN[k], values - targets_KN[k], 0.0)
        tried_costs = losses(tried_residuals).sum(axis=1)
        better = tried_costs <= costs_K[k]
        gained = costs_K[k] - tried_costs
        taken = k[better]
        moving_K[k] = ~(better & (gained <= _STILL * costs_K[k])) & (damping_K[k] < _DAMPING[1])
        logs_KP[taken], costs_K[taken] = tried[better], tried_costs[better]
        residuals[taken], slopes[taken] = tried_residuals[better], tried_slopes[better]
        damping_K[k] = np.maximum(damping_K[k] * np.where(better, 0.2, 10.0), _DAMPING[0])
    return logs_KP, costs_K


def _evaluated(model: Model, logs_KP: FloatArray, log_terms_TN: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ln T and its slopes over the logarithms of the parameters, shapes (K, N) and (K, P, N)."""
    logs_KN, shares_KTN = log_value(model, logs_KP, log_terms_TN)
    if not model.exponent:
        return logs_KN, shares_KTN
    parts_KTN = logs_KP[:, : len(log_terms_TN), None] + log_terms_TN
    weighed = np.where(shares_KTN > 0, shares_KTN * np.where(np.isfinite(parts_KTN), parts_KTN, 0.0), 0.0).sum(axis=1)
    return logs_KN, np.concatenate([shares_KTN, (weighed - logs_KN)[:, None]], axis=1)


def _steps(
    residuals_KN: FloatArray,
    slopes_KPN: FloatArray,
    uses_KN: Truths,
    damping_K: FloatArray,
    free_P: Truths,
) -> FloatArray:
    """Return a damped step of Newton's for each set, shape (K, P)."""
    slopes_KFN = slopes_KPN[:, free_P] * uses_KN[:, None]
    softened_KN = 1 / np.sqrt(1 + (residuals_KN / SOFT) ** 2)
    downhill_KF = np.einsum("kfn,kn->kf", slopes_KFN, softened_KN * residuals_KN)
    # The second derivative of soft-L1 is the cube of what the first is weighed with.
    curved_KFF = np.einsum("kfn,kgn,kn->kfg", slopes_KFN, slopes_KFN, softened_KN**3)
    steep_KF = np.einsum("kfn,kn->kf", slopes_KFN**2, softened_KN)
    # A parameter that makes up next to nothing and runs to zero has no say in where the others go: its own step is far
    # longer than what is taken of it, and theirs would be those beside a step that is not made.
    is_gone_KF = (slopes_KFN.max(axis=2) < _GONE) & (downhill_KF > 0)
    apart_KFF = is_gone_KF[:, :, None] | is_gone_KF[:, None]
    curved_KFF[apart_KFF] = 0.0
    curved_KFF[:, *np.diag_indices(steep_KF.shape[1])] += damping_K[:, None] * steep_KF + 1e-300
    steps_KP = np.zeros(slopes_KPN.shape[:2])
    steps_KP[:, free_P] = -np.linalg.solve(curved_KFF, downhill_KF[..., None])[..., 0]
    return np.clip(steps_KP, -_LONGEST_STEP, _LONGEST_STEP)
