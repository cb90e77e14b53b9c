"""Element types: their size, how they are stored on the host, and which integers they hold exactly.

Payloads are made of small whole numbers (:mod:`collmark.core.payload`), so that every result can be compared
bit by bit. A row says which whole numbers the type can carry.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import NDArray

from collmark.core.registry import Registry

Bits = NDArray[np.generic]
"""Elements as they lie in memory, in a numpy type of the same width."""


def _cast(values: NDArray[np.int64], storage: str) -> Bits:
    return values.astype(storage)


def _plain(bits: Bits) -> NDArray[np.float64]:
    return bits.astype(np.float64)


def _widen_bfloat16(bits: Bits) -> NDArray[np.float64]:
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)


def _bfloat16(values: NDArray[np.int64], storage: str) -> Bits:
    # bfloat16 is the upper half of a float32; whole numbers up to 256 lose nothing by the cut.
    return (values.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(storage)


class Dtype(msgspec.Struct, frozen=True, kw_only=True):
    """One element type.

    Attributes
    ----------
    name : str
        Name as torch spells it.
    itemsize : int
        Bytes per element.
    storage : str
        numpy type that holds the same bits on the host.
    modulus : int
        Payload values of copying operations lie in ``[0, modulus)``: the largest prime for which all bit
        patterns are distinct.
    limit : int
        Bound for reduced values: it and all smaller whole numbers are exact, and none has all bits set.
    is_integer : bool
        Whether a division truncates.
    """

    name: str
    itemsize: int
    storage: str
    modulus: int
    limit: int
    is_integer: bool
    encode_with: Callable[[NDArray[np.int64], str], Bits] = _cast
    decode_with: Callable[[Bits], NDArray[np.float64]] = _plain

    def encode(self, values: NDArray[np.int64]) -> Bits:
        """Return whole numbers as elements of this type, in `storage`."""
        return self.encode_with(values, self.storage)

    def decode(self, bits: Bits) -> NDArray[np.float64]:
        """Return elements in `storage` as numbers."""
        return self.decode_with(bits)

    @property
    def unsigned_storage(self) -> np.dtype[np.unsignedinteger]:
        """The unsigned integer type of the same width: bits to compare without meaning."""
        return np.dtype(f"u{self.itemsize}")


DTYPES = Registry(
    "dtype",
    {
        row.name: row
        for row in (
            Dtype(name="float32", itemsize=4, storage="f4", modulus=65521, limit=65521, is_integer=False),
            Dtype(name="float64", itemsize=8, storage="f8", modulus=65521, limit=65521, is_integer=False),
            Dtype(
                name="bfloat16",
                itemsize=2,
                storage="u2",
                modulus=251,
                limit=256,
                is_integer=False,
                encode_with=_bfloat16,
                decode_with=_widen_bfloat16,
            ),
            Dtype(name="float16", itemsize=2, storage="f2", modulus=2039, limit=2048, is_integer=False),
            Dtype(name="int32", itemsize=4, storage="i4", modulus=65521, limit=65521, is_integer=True),
            # 251 bit patterns of int8 are negative numbers; a reduction stays below the sign.
            Dtype(name="int8", itemsize=1, storage="i1", modulus=251, limit=127, is_integer=True),
            # 255 is what a buffer is poisoned with, and so no result.
            Dtype(name="uint8", itemsize=1, storage="u1", modulus=251, limit=254, is_integer=True),
        )
    },
)


@lru_cache(maxsize=32)
def encoded_integers(name: str, stop: int) -> Bits:
    """Return 0, 1, ... `stop` - 1 as elements of the dtype `name`, shape (stop,), read-only."""
    table = DTYPES[name].encode(np.arange(stop, dtype=np.int64))
    table.setflags(write=False)
    return table
