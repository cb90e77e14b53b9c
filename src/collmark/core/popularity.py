"""Seeded popularity: the same whole numbers on every machine and with every version of numpy.

Every rank works out the counts by itself, and two that disagree in one element wait for each other for ever. So no
weight hangs on a floating-point library, and no order on a distribution of numpy's, which may change between versions.
"""

from __future__ import annotations

import decimal
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

SCALE = 2**32
"""Weight of the most popular; with a few thousand others their sum is far below the 64 bits that chance is drawn in."""
MOST_EXPONENT = 10

_ARITHMETIC = decimal.Context(prec=28)


@lru_cache(maxsize=64)
def zipf_weights(count: int, exponent: float) -> tuple[int, ...]:
    """Return SCALE x k^-exponent for k = 1 ... `count`, rounded down to whole numbers, none below 1.

    Examples
    --------
    >>> [weight / SCALE for weight in zipf_weights(4, 2.0)]
    [1.0, 0.25, 0.11111111100763083, 0.0625]
    """
    power = decimal.Decimal(-exponent)
    return tuple(max(1, int(_ARITHMETIC.multiply(SCALE, _ARITHMETIC.power(k, power)))) for k in range(1, count + 1))


def random_words(seed: int, count: int) -> NDArray[np.uint64]:
    """Return random 64-bit words, shape (count,).

    Notes
    -----
    numpy guarantees the integer stream of Philox for a key, and not what its distributions make of it
    (numpy reference, "Philox", compatibility guarantee).
    """
    return np.random.Philox(key=seed).random_raw(count)
