"""Buffers of a device hold, bit for bit, what buffers of the host hold; here torch's own memory is the device."""

from __future__ import annotations

import numpy as np
import pytest

from collmark.core.dtype import DTYPES
from collmark.core.payload import Content, Segment
from collmark.core.reduction import REDUCTIONS
from collmark.kernels.buffer import CHUNK, HostBuffer
from collmark.kernels.device_buffer import DeviceBuffer

torch = pytest.importorskip("torch", reason="torch is not installed (pip install torch)")

COUNTS = (3, 2 * CHUNK + 5, CHUNK)
COUNT = sum(COUNTS)
COPIED = [Segment(content=Content.COPIED, source=source, count=count) for source, count in enumerate(COUNTS)]
REDUCED = [Segment(content=Content.REDUCED, count=COUNT)]
every_dtype = pytest.mark.parametrize("dtype", DTYPES)


class Pair:
    """One buffer of each kind, of as many elements, with other bytes before and behind those of the device."""

    def __init__(self, dtype: str, reduction: str = "") -> None:
        row = DTYPES[dtype]
        self.host = HostBuffer(np.zeros(COUNT, row.storage), row, reduction=reduction, ranks=4)
        self.memory = torch.zeros(COUNT * row.itemsize + 64, dtype=torch.uint8)
        self.raw = self.memory[32:-32]
        self.device = DeviceBuffer(self.raw, row, reduction=reduction, ranks=4)

    def both(self) -> tuple[HostBuffer, DeviceBuffer]:
        return self.host, self.device

    def check_alike(self) -> None:
        assert self.raw.numpy().tobytes() == self.host.array.tobytes()
        assert not self.memory[:32].any()
        assert not self.memory[-32:].any()


@every_dtype
@pytest.mark.parametrize(("segments", "reduction"), [(COPIED, ""), (REDUCED, "max")], ids=["copied", "reduced"])
def test_payloads_are_alike(dtype: str, segments: list[Segment], reduction: str) -> None:
    pair = Pair(dtype, reduction)
    for buffer in pair.both():
        buffer.write(segments, 3)
    pair.check_alike()
    assert pair.device.compare(segments, 3) == pair.host.compare(segments, 3)
    assert pair.device.compare(segments, 3).wrong == 0


@every_dtype
def test_poison_is_alike_and_no_payload(dtype: str) -> None:
    pair = Pair(dtype)
    for buffer in pair.both():
        buffer.poison()
    pair.check_alike()
    assert set(pair.raw.tolist()) == {255}
    assert pair.device.compare(COPIED, 1).wrong == COUNT


@every_dtype
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_neutral_values_are_alike(dtype: str, reduction: str) -> None:
    pair = Pair(dtype, reduction)
    for buffer in pair.both():
        buffer.poison()
        buffer.write_neutral()
    pair.check_alike()


@every_dtype
def test_one_wrong_element_is_found_wherever_it_is(dtype: str) -> None:
    pair, itemsize = Pair(dtype), DTYPES[dtype].itemsize
    pair.device.write(COPIED, 1)
    for index in (0, 2, 3, CHUNK - 1, CHUNK, CHUNK + 3, COUNT - 1):
        byte = pair.raw[index * itemsize]
        byte ^= 1
        found = pair.device.compare(COPIED, 1)
        assert (found.checked, found.wrong) == (COUNT, 1)
        assert found.first.startswith(f"element {index}: expected ")
        byte ^= 1
    assert pair.device.compare(COPIED, 1).wrong == 0


def test_no_element_is_no_fault() -> None:
    buffer = DeviceBuffer(torch.zeros(0, dtype=torch.uint8), DTYPES["float32"], reduction="sum", ranks=2)
    buffer.poison()
    buffer.write_neutral()
    assert buffer.compare([], 1).checked == 0
