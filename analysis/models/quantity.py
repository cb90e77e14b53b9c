"""A number of a fit over launches, or the limit that the times put to it."""

from __future__ import annotations

import msgspec
import numpy as np

from collmark.analysis.models.model import FloatArray
from collmark.core.estimate import Estimate
from collmark.core.statistics import log_t_interval


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


def over_launches(values_L: FloatArray) -> Quantity:
    """Return a quantity from its value in each launch, shape (L,), positive."""
    estimate = log_t_interval(values_L)
    return Quantity(
        per_launch=tuple(values_L.tolist()),
        value=float(np.exp(np.log(values_L).mean())) if estimate is None else estimate.value,
        estimate=estimate,
    )


def weakened(quantity: Quantity, words: str) -> Quantity:
    """Return a quantity with one more reason why it is weakly known; with none where the words are empty."""
    return msgspec.structs.replace(quantity, weak="; ".join(filter(None, (quantity.weak, words))))
