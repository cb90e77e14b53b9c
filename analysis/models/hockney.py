"""Hockney's model, a latency and a time per byte, and two that bend more softly or more sharply between them."""

from __future__ import annotations

import numpy as np

from collmark.analysis.models.model import FloatArray, Model


def _line(nbytes: FloatArray) -> FloatArray:
    terms: FloatArray = np.stack([np.ones_like(nbytes), nbytes])
    return terms


def _line_and_root(nbytes: FloatArray) -> FloatArray:
    terms: FloatArray = np.stack([np.ones_like(nbytes), nbytes, np.sqrt(nbytes)])
    return terms


HOCKNEY = Model(
    name="alpha-beta",
    parameters=("alpha", "beta"),
    units=("s", "s/B"),
    terms=_line,
    source="Hockney 1994, Parallel Computing 20(3): T = alpha + beta n",
)

P_NORM = Model(
    name="p-norm",
    parameters=("alpha", "beta", "q"),
    units=("s", "s/B", ""),
    terms=_line,
    exponent="q",
    source="T = (alpha^q + (beta n)^q)^(1/q): q = 1 is Hockney's line, larger q a sharper bend (method.md B.4)",
)

SQUARE_ROOT = Model(
    name="square root",
    parameters=("alpha", "beta", "c"),
    units=("s", "s/B", "s/B^0.5"),
    terms=_line_and_root,
    source="T = alpha + beta n + c sqrt(n): a pipeline cut into the best number of pieces fills in a time that grows "
    "with the root (method.md B.4)",
)
