"""Hockney's model: a latency and a time per byte."""

from __future__ import annotations

import numpy as np

from collmark.analysis.models.model import FloatArray, Model


def _terms(nbytes: FloatArray) -> FloatArray:
    terms: FloatArray = np.stack([np.ones_like(nbytes), nbytes])
    return terms


def _guess(nbytes: FloatArray, seconds: FloatArray) -> tuple[float, float]:
    first, last = int(np.argmin(nbytes)), int(np.argmax(nbytes))
    return float(seconds[first]), float(seconds[last] / nbytes[last])


HOCKNEY = Model(
    name="alpha-beta",
    parameters=("alpha", "beta"),
    units=("s", "s/B"),
    terms=_terms,
    guess=_guess,
    source="Hockney 1994, Parallel Computing 20(3): T = alpha + beta n",
)
