"""A constant: what moves no payload, or so little that its size does not show, takes as long at every size."""

from __future__ import annotations

import numpy as np

from collmark.analysis.models.model import FloatArray, Model


def _terms(nbytes: FloatArray) -> FloatArray:
    terms: FloatArray = np.ones((1, nbytes.size))
    return terms


CONSTANT = Model(name="constant", parameters=("alpha",), units=("s",), terms=_terms, slope="", source="T = alpha")
