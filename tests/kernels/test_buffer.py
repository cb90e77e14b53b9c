"""Host buffers: every element is written, poisoned and compared, across chunks and tiles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from collmark.core.dtype import DTYPES
from collmark.core.payload import TILE, Content, Segment
from collmark.core.reduction import REDUCTIONS
from collmark.kernels.buffer import CHUNK, HostBuffer

every_dtype = pytest.mark.parametrize("dtype", DTYPES)
FLOATS = [name for name, row in DTYPES.items() if not row.is_integer]
INTEGERS = [name for name, row in DTYPES.items() if row.is_integer]

# One segment within a chunk, one over several, one that ends on a chunk's border.
COUNTS = (TILE - 1, 2 * CHUNK + 5, CHUNK, 1)


def copied(counts: Sequence[int]) -> list[Segment]:
    return [
        Segment(content=Content.COPIED, source=source, destination=1, count=count)
        for source, count in enumerate(counts)
    ]


def reduced(count: int) -> list[Segment]:
    return [Segment(content=Content.REDUCED, count=count)]


def buffer_of(dtype: str, count: int, reduction: str = "", ranks: int = 4) -> HostBuffer:
    kind = DTYPES[dtype]
    return HostBuffer(np.zeros(count, kind.storage), kind, reduction=reduction, ranks=ranks)


def bits_of(buffer: HostBuffer, dtype: str) -> npt.NDArray[np.unsignedinteger]:
    return buffer.array.view(DTYPES[dtype].unsigned_storage)


@every_dtype
def test_what_was_written_compares_equal(dtype: str) -> None:
    segments = copied(COUNTS)
    buffer = buffer_of(dtype, sum(COUNTS))
    buffer.write(segments, 5)
    found = buffer.compare(segments, 5)
    assert (found.checked, found.wrong, found.first) == (sum(COUNTS), 0, "")


@every_dtype
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_reduced_values_compare_equal(dtype: str, reduction: str) -> None:
    segments = reduced(CHUNK + TILE + 1)
    buffer = buffer_of(dtype, CHUNK + TILE + 1, reduction)
    buffer.write(segments, 5)
    found = buffer.compare(segments, 5)
    assert (found.checked, found.wrong) == (CHUNK + TILE + 1, 0)
    # Every element changes with the epoch.
    assert buffer.compare(segments, 6).wrong == CHUNK + TILE + 1


@every_dtype
@pytest.mark.parametrize("segments", [copied(COUNTS), reduced(2 * CHUNK + 5)], ids=["copied", "reduced"])
def test_one_wrong_element_is_found_wherever_it_is(dtype: str, segments: list[Segment]) -> None:
    count = sum(segment.count for segment in segments)
    buffer = buffer_of(dtype, count, "max" if segments[0].content is Content.REDUCED else "")
    buffer.write(segments, 1)
    bits = bits_of(buffer, dtype)
    for index in (0, TILE - 2, TILE - 1, TILE, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, count - 2, count - 1):
        bits[index] ^= 1
        found = buffer.compare(segments, 1)
        assert (found.checked, found.wrong) == (count, 1)
        assert found.first.startswith(f"element {index}: expected ")
        bits[index] ^= 1
    assert buffer.compare(segments, 1).wrong == 0


@every_dtype
def test_the_first_of_several_is_named_with_both_values(dtype: str) -> None:
    segments = copied((40,))
    buffer = buffer_of(dtype, 40)
    buffer.write(segments, 1)
    kind = DTYPES[dtype]
    right = kind.decode(buffer.array.copy())
    buffer.array[[17, 30]] = kind.encode(np.array([0, 0])) if right[17] else kind.encode(np.array([1, 1]))
    found = buffer.compare(segments, 1)
    wrong = kind.decode(buffer.array)[17]
    assert found.wrong == 2
    assert found.first == f"element 17: expected {right[17]:g}, found {wrong:g}"


@every_dtype
def test_the_previous_epoch_is_wrong_everywhere(dtype: str) -> None:
    segments = copied(COUNTS)
    buffer = buffer_of(dtype, sum(COUNTS))
    buffer.write(segments, 1)
    assert buffer.compare(segments, 2).wrong == sum(COUNTS)


@every_dtype
@pytest.mark.parametrize("reduction", ["", *REDUCTIONS])
def test_what_nobody_wrote_is_wrong_everywhere(dtype: str, reduction: str) -> None:
    count = CHUNK + 3
    segments = reduced(count) if reduction else copied((count,))
    buffer = buffer_of(dtype, count, reduction)
    buffer.poison()
    assert set(np.unique(buffer.array.view(np.uint8))) == {255}
    found = buffer.compare(segments, 1)
    assert found.wrong == count


@every_dtype
def test_two_large_blocks_exchanged_are_wrong_everywhere(dtype: str) -> None:
    segments = copied((CHUNK, CHUNK))
    buffer = buffer_of(dtype, 2 * CHUNK)
    buffer.write(segments, 1)
    buffer.array[:] = np.concatenate([buffer.array[CHUNK:], buffer.array[:CHUNK]])
    assert buffer.compare(segments, 1).wrong == 2 * CHUNK


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("ulps", "is_right"), [(-2, False), (-1, True), (1, True), (2, False), (3, False)])
def test_an_average_may_be_off_by_one_unit_in_the_last_place(dtype: str, ulps: int, *, is_right: bool) -> None:
    segments = reduced(100)
    buffer = buffer_of(dtype, 100, "avg")
    buffer.write(segments, 1)
    bits = bits_of(buffer, dtype)
    bits[...] = (bits.astype(np.int64) + ulps).astype(bits.dtype)
    assert buffer.compare(segments, 1).wrong == (0 if is_right else 100)


@pytest.mark.parametrize("dtype", FLOATS)
def test_an_average_of_the_wrong_sign_is_wrong(dtype: str) -> None:
    segments = reduced(100)
    buffer = buffer_of(dtype, 100, "avg")
    buffer.write(segments, 1)
    bits = bits_of(buffer, dtype)
    bits |= bits.dtype.type(1 << (8 * bits.itemsize - 1))
    assert buffer.compare(segments, 1).wrong == 100


@pytest.mark.parametrize(
    ("dtype", "reduction"),
    [(dtype, name) for dtype in DTYPES for name in REDUCTIONS if (name == "avg") == (dtype in INTEGERS)],
)
def test_all_else_is_compared_bit_by_bit(dtype: str, reduction: str) -> None:
    segments = reduced(100)
    buffer = buffer_of(dtype, 100, reduction)
    buffer.write(segments, 1)
    bits_of(buffer, dtype)[7] += 1
    assert buffer.compare(segments, 1).wrong == 1


@every_dtype
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_neutral_values_fill_the_buffer(dtype: str, reduction: str) -> None:
    buffer = buffer_of(dtype, 9, reduction)
    buffer.poison()
    buffer.write_neutral()
    assert DTYPES[dtype].decode(buffer.array).tolist() == [1.0 if reduction == "prod" else 0.0] * 9


def test_the_array_is_not_copied() -> None:
    array = np.zeros(4, "f4")
    HostBuffer(array, DTYPES["float32"], reduction="", ranks=2).write(copied((4,)), 1)
    assert array.any()


def test_empty_segments_take_no_room() -> None:
    segments = copied((3, 0, 2))
    buffer = buffer_of("int32", 5)
    buffer.write(segments, 1)
    assert buffer.compare(segments, 1).checked == 5
    assert buffer.compare(copied((3,)) + segments[2:], 1).wrong == 0
    assert buffer_of("int32", 0).compare(copied((0,)), 1).checked == 0
