"""Parameters of a model from times: robust least squares of logarithms. Legend: N sizes, P parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats

from collmark.analysis.models.model import FloatArray, Model

SOFT = 0.05
"""Log residual beyond which soft-L1 counts a point less (method.md B.4: the least bias of those compared)."""
ABSENT = 1e-3
"""Share of T, where a parameter matters most, below which it ran to zero: the times do not tell it."""
ONE_SIDED = 0.95


def solve(model: Model, nbytes_N: npt.ArrayLike, seconds_N: npt.ArrayLike) -> FloatArray:
    """Return the parameters that describe some times best, shape (P,).

    Parameters
    ----------
    model : Model
        What T looks like.
    nbytes_N : array
        Sizes in bytes, shape (N,).
    seconds_N : array
        Times in s, positive, shape (N,).

    Returns
    -------
    ndarray
        All positive. One that ran to zero is tiny: :func:`are_absent` says so.

    Notes
    -----
    Minimises the sum of soft-L1(ln T - ln model) at a scale of 0.05, over the logarithms of the parameters: every
    octave of sizes weighs alike, and odd points weigh little (method.md B.4).
    """
    nbytes, seconds = np.asarray(nbytes_N, dtype=np.float64), np.asarray(seconds_N, dtype=np.float64)
    return _least(model, nbytes, seconds, fixed={})[0]


def are_absent(model: Model, parameters_P: Sequence[float], nbytes_N: npt.ArrayLike) -> list[bool]:
    """Return for each parameter whether it makes up next to nothing of T at every size."""
    parts = np.asarray(parameters_P)[:, None] * model.terms(np.asarray(nbytes_N, dtype=np.float64))
    return [bool(share < ABSENT) for share in (parts / parts.sum(axis=0)).max(axis=1)]


def upper_limit(model: Model, nbytes_N: npt.ArrayLike, seconds_N: npt.ArrayLike, index: int) -> float:
    """Return the value that a parameter stays below, one-sided at 95 %.

    The profile of the cost: the largest value at which the other parameters, fitted anew, leave a cost that the scatter
    of the points about the best fit explains (F test with 1 and N - P degrees of freedom).
    """
    nbytes, seconds = np.asarray(nbytes_N, dtype=np.float64), np.asarray(seconds_N, dtype=np.float64)
    best, least = _least(model, nbytes, seconds, fixed={})
    degrees = max(1, nbytes.size - len(best))
    allowed = least * (1 + float(stats.f.ppf(2 * ONE_SIDED - 1, 1, degrees)) / degrees)
    # Alone it cannot exceed what every time leaves room for.
    terms = model.terms(nbytes)[index]
    most = float((seconds[terms > 0] / terms[terms > 0]).max())

    def excess(log_value: float) -> float:
        return _least(model, nbytes, seconds, fixed={index: log_value})[1] - allowed

    low, high = float(np.log(best[index])), float(np.log(most))
    if low >= high or excess(high) <= 0:
        return most
    return float(np.exp(optimize.brentq(excess, low, high, xtol=1e-3)))


def _least(
    model: Model, nbytes_N: FloatArray, seconds_N: FloatArray, fixed: dict[int, float]
) -> tuple[FloatArray, float]:
    """Return the best parameters and their cost; `fixed` holds logarithms of those that are given."""
    terms_PN, target_N = model.terms(nbytes_N), np.log(seconds_N)
    logs_P = np.log(np.asarray(model.guess(nbytes_N, seconds_N), dtype=np.float64))
    free = [index for index in range(logs_P.size) if index not in fixed]
    for index, value in fixed.items():
        logs_P[index] = value

    def parts(free_logs: FloatArray) -> FloatArray:
        logs_P[free] = free_logs
        shares: FloatArray = np.exp(logs_P)[:, None] * terms_PN
        return shares

    def residuals(free_logs: FloatArray) -> FloatArray:
        found: FloatArray = np.log(parts(free_logs).sum(axis=0)) - target_N
        return found

    def jacobian(free_logs: FloatArray) -> FloatArray:
        found = parts(free_logs)
        slopes: FloatArray = (found[free] / found.sum(axis=0)).T
        return slopes

    if not free:
        cost = SOFT**2 * float((np.sqrt(1 + (residuals(logs_P[free]) / SOFT) ** 2) - 1).sum())
        return np.exp(logs_P), cost
    solved = optimize.least_squares(
        residuals, logs_P[free], jac=jacobian, method="trf", loss="soft_l1", f_scale=SOFT, xtol=1e-10, ftol=1e-12
    )
    logs_P[free] = solved.x
    return np.exp(logs_P), float(solved.cost)
