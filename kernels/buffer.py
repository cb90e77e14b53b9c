"""Buffers: writing the payload, comparing what arrived, element by element; those in host memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec
import numpy as np

from collmark.core.dtype import Bits, Dtype, encoded_integers
from collmark.core.payload import Content, Segment, write_contributed, write_copied, write_reduced
from collmark.core.reduction import REDUCTIONS

CHUNK = 1 << 18  # elements at a time: temporaries stay in the cache


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Result of comparing a buffer: elements compared, elements wrong, the first wrong one in words."""

    checked: int
    wrong: int
    first: str = ""


class Buffer(Protocol):
    """Memory of one rank that holds segments of one dtype, on the host or on a device."""

    def write(self, segments: Sequence[Segment], epoch: int) -> None:
        """Write the payload of an epoch."""

    def poison(self) -> None:
        """Overwrite everything with a pattern that no payload holds."""

    def write_neutral(self) -> None:
        """Write a value that repeated reductions in place leave alone."""

    def compare(self, segments: Sequence[Segment], epoch: int) -> Comparison:
        """Compare every element with the payload of an epoch."""


class PayloadBuffer(ABC):
    """A :class:`Buffer` that is written and compared chunk by chunk, on the host, wherever its memory lies.

    Parameters
    ----------
    count : int
        Elements.
    dtype : Dtype
        Element type.
    reduction : str
        Operator, empty where nothing is reduced.
    ranks : int
        Number of ranks that contribute.
    """

    def __init__(self, count: int, dtype: Dtype, *, reduction: str, ranks: int) -> None:
        self._count = count
        self._dtype = dtype
        self._reduction = reduction
        self._ranks = ranks

    @abstractmethod
    def _room(self, begin: int, count: int) -> Bits:
        """Return host memory to write the elements from `begin` on to."""

    @abstractmethod
    def _put(self, begin: int, part: Bits) -> None:
        """Bring what was written to that memory to where it belongs, and return when it is there."""

    @abstractmethod
    def _found(self, begin: int, count: int) -> Bits:
        """Return the elements from `begin` on in host memory."""

    def write(self, segments: Sequence[Segment], epoch: int) -> None:
        """Write the payload of an epoch."""
        for begin, segment, offset, count in _chunks(segments):
            part = self._room(begin, count)
            self._payload(part, segment, offset, epoch)
            self._put(begin, part)

    def poison(self) -> None:
        """Overwrite everything with set bits: NaN or -1, and 255 of uint8, which are no payload."""
        bits = self._dtype.unsigned_storage
        self._fill(np.full(1, np.iinfo(bits).max, dtype=bits).view(self._dtype.storage))

    def write_neutral(self) -> None:
        """Write a value that repeated reductions in place leave alone."""
        value = REDUCTIONS[self._reduction].neutral
        self._fill(encoded_integers(self._dtype.name, value + 1)[value:])

    def _fill(self, element: Bits) -> None:
        for begin in range(0, self._count, CHUNK):
            part = self._room(begin, min(CHUNK, self._count - begin))
            part[...] = element
            self._put(begin, part)

    def compare(self, segments: Sequence[Segment], epoch: int) -> Comparison:
        """Compare every element with the payload of an epoch, bit by bit."""
        bits = self._dtype.unsigned_storage
        tolerance = 0
        if self._reduction and not self._dtype.is_integer:
            tolerance = REDUCTIONS[self._reduction].ulps
        checked = wrong = 0
        first = ""
        for begin, segment, offset, count in _chunks(segments):
            expected = np.empty(count, dtype=self._dtype.storage)
            self._payload(expected, segment, offset, epoch)
            found = self._found(begin, count)
            differs = expected.view(bits) != found.view(bits)
            if tolerance and differs.any():
                # Payloads are positive: neighbouring floats are neighbouring integers, which stay unsigned here since
                # numpy would subtract them as floats otherwise.
                one, other = expected.view(bits), found.view(bits)
                differs = np.maximum(one, other) - np.minimum(one, other) > tolerance
            checked += count
            bad = int(np.count_nonzero(differs))
            if bad and not wrong:
                at = int(np.argmax(differs))
                wanted, got = self._dtype.decode(np.array([expected[at], found[at]], dtype=self._dtype.storage))
                first = f"element {begin + at}: expected {wanted:.17g}, found {got:.17g}"
            wrong += bad
        return Comparison(checked=checked, wrong=wrong, first=first)

    def _payload(self, out: Bits, segment: Segment, offset: int, epoch: int) -> None:
        if segment.content is Content.COPIED:
            write_copied(out, self._dtype, segment, offset, epoch)
            return
        write = write_contributed if segment.content is Content.CONTRIBUTED else write_reduced
        write(out, self._dtype, segment, offset, epoch, reduction=self._reduction, ranks=self._ranks)


class HostBuffer(PayloadBuffer):
    """A :class:`Buffer` over a numpy array.

    Parameters
    ----------
    array : array, shape (N,)
        Elements in the dtype's host storage; not copied.
    dtype, reduction, ranks
        As of :class:`PayloadBuffer`.
    """

    def __init__(self, array: Bits, dtype: Dtype, *, reduction: str, ranks: int) -> None:
        super().__init__(array.size, dtype, reduction=reduction, ranks=ranks)
        self.array = array

    def _room(self, begin: int, count: int) -> Bits:
        return self.array[begin : begin + count]

    def _put(self, _begin: int, _part: Bits) -> None:
        return  # it is there already

    def _found(self, begin: int, count: int) -> Bits:
        return self.array[begin : begin + count]


def _chunks(segments: Sequence[Segment]) -> Iterator[tuple[int, Segment, int, int]]:
    """Yield (index in the buffer, segment, offset in the segment, elements) of at most CHUNK elements."""
    begin = 0
    for segment in segments:
        for offset in range(0, segment.count, CHUNK):
            count = min(CHUNK, segment.count - offset)
            yield begin + offset, segment, offset, count
        begin += segment.count
