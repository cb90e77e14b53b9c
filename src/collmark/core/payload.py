"""What every rank sends and what must arrive, element by element: the law behind all correctness checks.

Legend: N elements of a segment. Values are whole numbers below the dtype's modulus or limit, so that sums,
products and averages are exact in any order and a check compares bits.

Copied values of source s, destination d, element i, epoch e are ``s + 101 e + hash(d, i)`` modulo a prime M:
linear in s and e, so that exchanged rank blocks (up to M ranks) and data of an earlier epoch differ at every
element; hashed in i, so that no shift maps a block onto itself.

Reduced values follow :mod:`collmark.core.reduction` with step f = 1 + (shuffle(i) + 101 e) mod F. The shuffle is
made of random orders of 0 ... F - 1, one after the other: elements of one order differ, so that small blocks can be
told apart, and no two blocks of several elements agree, as they would under a law that is linear in i.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import NDArray

from collmark.core.dtype import Bits, Dtype, encoded_integers
from collmark.core.reduction import REDUCTIONS, Contribution

EPOCH_STRIDE = 101  # prime to every modulus and span in use
TILE = 1 << 16  # elements of the hash pattern


class Content(StrEnum):
    """What a segment of a buffer holds."""

    COPIED = "copied"
    CONTRIBUTED = "contributed"
    REDUCED = "reduced"


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """A run of elements of one buffer.

    Attributes
    ----------
    content : Content
        Copied from a source, one rank's contribution to a reduction, or the reduced values.
    count : int
        Elements.
    source : int
        Rank the values come from (copied, contributed).
    destination : int
        Rank the values are meant for; -1 for all (copied).
    start : int
        Index of the first element in the whole vector (contributed, reduced).
    """

    content: Content
    count: int
    source: int = 0
    destination: int = -1
    start: int = 0


@lru_cache(maxsize=8)
def _pattern(modulus: int) -> NDArray[np.int32]:
    """Fixed random numbers in [0, modulus), shape (2 TILE,): the second half repeats the first, for slices."""
    # Raw bits: unlike numpy's distributions they are the same in all its versions, and so on all ranks.
    numbers = (np.random.Philox(key=modulus).random_raw(TILE) % modulus).astype(np.int32)
    return np.concatenate([numbers, numbers])


@lru_cache(maxsize=64)
def _twice(dtype_name: str, first: int, slope: int, count: int) -> Bits:
    """Encoded first + slope x (0 ... count - 1), written twice: an index in [0, 2 count) needs no modulo."""
    highest = max(first, first + slope * (count - 1))
    row = encoded_integers(dtype_name, highest + 1)[first + slope * np.arange(count)]
    return np.concatenate([row, row])


def fold(numbers: NDArray[np.int64], base: int) -> NDArray[np.int64]:
    """Return the digit sums of `numbers` in `base`, modulo `base`; zeros for base 1."""
    total = np.zeros_like(numbers)
    if base == 1:
        return total
    rest = numbers
    while rest.size and rest[-1] > 0:
        total += rest % base
        rest = rest // base
    return total % base


@lru_cache(maxsize=16)
def _shuffle(span: int) -> NDArray[np.int64]:
    """Fixed random orders of 0 ... span - 1, one after the other, about TILE elements in all."""
    orders = max(1, TILE // span)
    words = np.random.Philox(key=span).random_raw(orders * span)
    return np.argsort(words.reshape(orders, span), axis=1).ravel()


def _steps(start: int, stop: int, span: int, epoch: int) -> NDArray[np.int64]:
    """Return (shuffle(i) + 101 epoch) mod span, up to one multiple of span, for i = start ... stop - 1."""
    shuffle = _shuffle(span)
    first, last = start // shuffle.size, (stop - 1) // shuffle.size
    shift = (fold(np.arange(first, last + 1), span) + EPOCH_STRIDE * epoch) % span
    begin, end = start - first * shuffle.size, stop - first * shuffle.size
    if first == last:
        return shuffle[begin:end] + int(shift[0])
    return (shuffle + shift[:, None]).ravel()[begin:end]


def contribution_of(reduction: str, ranks: int, dtype: Dtype) -> Contribution:
    """Return the exact contributions for `ranks` ranks; its span is 0 where the dtype cannot carry them."""
    law = REDUCTIONS[reduction].contribution(ranks, dtype.limit)
    if law.span > 1 and law.span % EPOCH_STRIDE == 0:
        # Or the steps of successive epochs would be the same, and stale data right.
        law = msgspec.structs.replace(law, span=law.span - 1)
    return law


def write_copied(out: Bits, dtype: Dtype, segment: Segment, offset: int, epoch: int) -> None:
    """Write the values of a copied segment from its element `offset` on into `out`, shape (N,)."""
    modulus = dtype.modulus
    table, pattern = _twice(dtype.name, 0, 1, modulus), _pattern(modulus)
    # The hash of the destination, and of ranks beyond the modulus, is a rotation of the pattern.
    turn = (40503 * (segment.destination + 1) + 30011 * (segment.source // modulus)) % TILE
    base = segment.source + EPOCH_STRIDE * epoch
    position = 0
    while position < out.size:
        tile, inside = divmod(offset + position, TILE)
        count = min(out.size - position, TILE - inside)
        constant = (base + int(fold(np.array([tile]), modulus)[0])) % modulus
        begin = (turn + inside) % TILE
        np.take(table, pattern[begin : begin + count] + constant, out=out[position : position + count])
        position += count


def write_contributed(
    out: Bits, dtype: Dtype, segment: Segment, offset: int, epoch: int, *, reduction: str, ranks: int
) -> None:
    """Write one rank's contribution from element `offset` of the segment on into `out`, shape (N,)."""
    law = contribution_of(reduction, ranks, dtype)
    start = segment.start + offset
    out[...] = encoded_integers(dtype.name, law.idle + 1)[law.idle]
    first = (segment.source - epoch - start) % ranks
    if first >= out.size:
        return
    table = _twice(dtype.name, law.carrier[0] + law.carrier[1], law.carrier[1], law.span)
    out[first::ranks] = table[_steps(start, start + out.size, law.span, epoch)[first::ranks]]


def write_reduced(
    out: Bits, dtype: Dtype, segment: Segment, offset: int, epoch: int, *, reduction: str, ranks: int
) -> None:
    """Write the reduced values from element `offset` of the segment on into `out`, shape (N,)."""
    law = contribution_of(reduction, ranks, dtype)
    start = segment.start + offset
    table = _twice(dtype.name, law.result[0] + law.result[1], law.result[1], law.span)
    np.take(table, _steps(start, start + out.size, law.span, epoch), out=out)
