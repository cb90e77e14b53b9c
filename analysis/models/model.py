"""What a cost model is: one row of :mod:`collmark.analysis.models.index`. Legend: N sizes, P parameters, T terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import optimize

FloatArray = NDArray[np.float64]
Truths = NDArray[np.bool_]

_OCTAVES, _PLACES = (-10.0, 60.0), 281  # where half the asymptote is looked for: a thousandth of a byte to an EiB


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """T as a function of bytes and of positive parameters: a sum of parameter x term, or a norm of such parts.

    Attributes
    ----------
    name : str
        Its name.
    parameters : tuple of str
        Names of the parameters, in order: one for each term, and the exponent of the norm where there is one.
    units : tuple of str
        Their SI units; empty for a pure number.
    terms : callable
        ``terms(nbytes)`` gives what each parameter is multiplied by, shape (terms, sizes): a function of size, not of
        its unit, that is zero where the parameter has no say.
    latency : str
        Name of the parameter that T comes near for small sizes.
    slope : str
        Name of the parameter that T / bytes comes near for large sizes; empty where there is none.
    exponent : str
        Name of the parameter q of a norm, T = (sum of parts^q)^(1/q); empty for a plain sum.
    breaks : tuple of float
        Bytes at which another segment begins.
    source : str
        Where the model comes from.
    """

    name: str
    parameters: tuple[str, ...]
    units: tuple[str, ...]
    terms: Callable[[FloatArray], FloatArray]
    latency: str = "alpha"
    slope: str = "beta"
    exponent: str = ""
    breaks: tuple[float, ...] = ()
    source: str

    def predict(self, parameters: Sequence[float], nbytes: FloatArray) -> FloatArray:
        """Return T in s at some sizes in bytes, shape (sizes,); a parameter of zero adds nothing."""
        with np.errstate(divide="ignore"):
            logs_1P = np.log(np.asarray(parameters, dtype=np.float64))[None]
            log_terms_TN = np.log(self.terms(nbytes))
        seconds: FloatArray = np.exp(log_value(self, logs_1P, log_terms_TN)[0][0])
        return seconds

    def index(self, name: str) -> int:
        """Return where a parameter stands."""
        return self.parameters.index(name)

    def half_size(self, parameters: Sequence[float]) -> float:
        """Return the bytes, the fewest, at which bytes / T is half of what it comes near for large sizes."""
        twice = 2 * parameters[self.index(self.slope)]

        def excess(octave: float) -> float:
            return float(self.predict(parameters, np.exp2([octave]))[0]) - twice * float(np.exp2(octave))

        octaves = np.linspace(*_OCTAVES, num=_PLACES)
        above = int(np.argmax(self.predict(parameters, np.exp2(octaves)) <= twice * np.exp2(octaves)))
        if above == 0:
            return float(np.exp2(octaves[0]))
        return float(np.exp2(optimize.brentq(excess, octaves[above - 1], octaves[above])))


def log_value(model: Model, logs_KP: FloatArray, log_terms_TN: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ln T, shape (K, N), and the share of T that each term makes up, shape (K, T, N), for K sets at once."""
    count = len(log_terms_TN)
    exponent_K11 = np.exp(logs_KP[:, -1])[:, None, None] if model.exponent else np.ones((len(logs_KP), 1, 1))
    parts_KTN = exponent_K11 * (logs_KP[:, :count, None] + log_terms_TN)
    top_K1N = parts_KTN.max(axis=1, keepdims=True)
    shares_KTN = np.exp(parts_KTN - top_K1N)
    sum_K1N = shares_KTN.sum(axis=1, keepdims=True)
    logs_KN: FloatArray = ((top_K1N + np.log(sum_K1N)) / exponent_K11)[:, 0]
    return logs_KN, shares_KTN / sum_K1N
