"""What a cost model is: one row of :mod:`collmark.analysis.models.index`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """T as a function of bytes and of positive parameters.

    Attributes
    ----------
    name : str
        Its name.
    parameters : tuple of str
        Names of the parameters, in order.
    units : tuple of str
        Their SI units.
    terms : callable
        ``terms(nbytes)`` gives what each parameter is multiplied by, shape (parameters, sizes): T is the sum of
        parameter x term.
    guess : callable
        ``guess(nbytes, seconds)`` gives parameters to start from, all positive.
    source : str
        Where the model comes from.
    """

    name: str
    parameters: tuple[str, ...]
    units: tuple[str, ...]
    terms: Callable[[FloatArray], FloatArray]
    guess: Callable[[FloatArray, FloatArray], Sequence[float]]
    source: str

    def predict(self, parameters: Sequence[float], nbytes: FloatArray) -> FloatArray:
        """Return T in s at some sizes in bytes, shape (sizes,)."""
        seconds: FloatArray = np.asarray(parameters, dtype=np.float64) @ self.terms(nbytes)
        return seconds
