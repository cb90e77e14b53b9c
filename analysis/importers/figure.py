"""A printed number, and between which bounds the true one lies: what was printed was rounded."""

from __future__ import annotations

import math
import re
from functools import lru_cache

import msgspec

_NUMBER = re.compile(r"(\d+)(?:\.(\d*))?(?:e([+-]?\d{1,3}))?", re.ASCII | re.IGNORECASE)
_MOST_DIGITS = 30
_HALF = tuple(0.5 * 10.0**-digits for digits in range(_MOST_DIGITS + 1))
"""Half of the last decimal, by their number."""


class Figure(msgspec.Struct, frozen=True, gc=False):
    """A number in SI units.

    Attributes
    ----------
    text : str
        As printed.
    value, lower, upper : float
        `lower` and `upper` bound what rounds to `text`.
    """

    text: str
    value: float
    lower: float
    upper: float


@lru_cache(maxsize=2**14)  # small bandwidths and round sizes come again and again
def figure(text: str, scale: float = 1.0, *, whole_is_exact: bool = False) -> Figure | None:
    """Return a printed number that is not negative, times `scale`; None where `text` is none.

    Parameters
    ----------
    text : str
        Digits with an optional fraction and exponent.
    scale : float
        One unit of `text` in SI units.
    whole_is_exact : bool
        A number without a fraction is a count, and not a measurement rounded to whole units.
    """
    match = _NUMBER.fullmatch(text)
    if match is None or len(text) > _MOST_DIGITS:
        return None
    value = float(text)
    if not math.isfinite(value * scale):
        return None
    _whole, decimals, exponent = match.groups()
    half = 0.0 if whole_is_exact and decimals is None else _HALF[len(decimals or "")]
    if exponent and half:
        half *= 10.0 ** int(exponent)
    return Figure(text, value * scale, (value - half) * scale if value > half else 0.0, (value + half) * scale)


def quotient(over: float, under: Figure) -> Figure | None:
    """Return a known number over a printed one; None where that may be zero."""
    if under.value <= 0 or under.lower <= 0:
        return None
    return Figure("", over / under.value, over / under.upper, over / under.lower)


def ratio(over: Figure, under: Figure) -> Figure | None:
    """Return a printed number over another; None where the other may be zero."""
    if under.value <= 0 or under.lower <= 0:
        return None
    return Figure("", over.value / under.value, over.lower / under.upper, over.upper / under.lower)
