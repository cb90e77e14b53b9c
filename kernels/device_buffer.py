"""Buffers in the memory of a device, written and compared by way of the host: simple, and outside the timed region."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from collmark.core.dtype import Bits, Dtype
from collmark.kernels.buffer import PayloadBuffer

if TYPE_CHECKING:
    from torch import Tensor


class DeviceBuffer(PayloadBuffer):
    """A :class:`~collmark.kernels.buffer.Buffer` over a tensor of torch.

    Parameters
    ----------
    raw : Tensor of uint8, shape (bytes,)
        Memory of whole elements, on any device; not copied.
    dtype, reduction, ranks
        As of :class:`~collmark.kernels.buffer.PayloadBuffer`.
    """

    def __init__(self, raw: Tensor, dtype: Dtype, *, reduction: str, ranks: int) -> None:
        super().__init__(raw.numel() // dtype.itemsize, dtype, reduction=reduction, ranks=ranks)
        self._raw = raw

    def _room(self, _begin: int, count: int) -> Bits:
        return np.empty(count, dtype=self._dtype.storage)

    def _put(self, begin: int, part: Bits) -> None:
        import torch

        # Memory that is not pinned is copied before this returns: nothing is left queued when the clock starts.
        self._bytes(begin, part.size).copy_(torch.from_numpy(part.view(np.uint8)))

    def _found(self, begin: int, count: int) -> Bits:
        found: Bits = self._bytes(begin, count).cpu().numpy().view(self._dtype.storage)
        return found

    def _bytes(self, begin: int, count: int) -> Tensor:
        itemsize = self._dtype.itemsize
        return self._raw[begin * itemsize : (begin + count) * itemsize]
