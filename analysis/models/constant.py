"""A constant: what moves no payload takes as long at every size."""

from __future__ import annotations

import numpy as np

from collmark.analysis.models.model import FloatArray, Model


def _terms(nbytes: FloatArray) -> FloatArray:
    terms: FloatArray = np.ones((1, nbytes.size))
    return terms


def _guess(nbytes: FloatArray, seconds: FloatArray) -> tuple[float]:
    del nbytes
    return (float(np.median(seconds)),)


CONSTANT = Model(
    name="constant", parameters=("alpha",), units=("s",), terms=_terms, guess=_guess, source="T = alpha, for barrier"
)
