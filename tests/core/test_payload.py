"""The payload law: what is right passes, what an operation may do wrong shows.

Every operation x dtype x reduction, over several numbers of ranks and block sizes, one element included. What each
rank must receive is computed here by numpy from what all ranks send, not by the law.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from collmark.core.dtype import DTYPES, Bits, Dtype
from collmark.core.operation import Exchange, Operation
from collmark.core.operation_table import OPERATIONS
from collmark.core.payload import (
    TILE,
    Content,
    Segment,
    contribution_of,
    fold,
    write_contributed,
    write_copied,
    write_reduced,
)
from collmark.core.reduction import REDUCTIONS

Numbers = npt.NDArray[np.float64]
RANKS = (1, 2, 3, 5, 8)
BLOCKS = (1, 2, 3, 7, 16)

COMBINATIONS = [
    (operation, reduction, dtype)
    for operation, row in OPERATIONS.items()
    if row.sized
    for reduction in (tuple(REDUCTIONS) if row.reduces else ("",))
    for dtype in DTYPES
]
every_combination = pytest.mark.parametrize(("operation", "reduction", "dtype"), COMBINATIONS)

REDUCE: dict[str, Callable[[Numbers], Numbers]] = {
    "sum": lambda rows: rows.sum(axis=0),
    "prod": lambda rows: rows.prod(axis=0),
    "min": lambda rows: rows.min(axis=0),
    "max": lambda rows: rows.max(axis=0),
    "avg": lambda rows: rows.sum(axis=0) / len(rows),
}


def written(segment: Segment, dtype: Dtype, epoch: int, reduction: str, ranks: int, offset: int = 0) -> Bits:
    out = np.zeros(segment.count - offset, dtype.storage)
    if segment.content is Content.COPIED:
        write_copied(out, dtype, segment, offset, epoch)
    else:
        write = write_contributed if segment.content is Content.CONTRIBUTED else write_reduced
        write(out, dtype, segment, offset, epoch, reduction=reduction, ranks=ranks)
    return out


def buffer_of(
    segments: Sequence[Segment], dtype: Dtype, reduction: str, ranks: int, *, epoch: int = 3
) -> npt.NDArray[np.unsignedinteger]:
    parts = [written(segment, dtype, epoch, reduction, ranks) for segment in segments if segment.count]
    whole = np.concatenate(parts) if parts else np.zeros(0, dtype.storage)
    return whole.view(dtype.unsigned_storage)


def cases(operation: Operation, itemsize: int) -> list[Exchange]:
    found = []
    for ranks in RANKS:
        if ranks < operation.minimum_ranks:
            continue
        for block in BLOCKS:
            # Ragged: what rank r sends to rank d depends on both, and some pairs exchange nothing.
            counts = tuple(tuple((block * (r + 2 * d)) % (3 * block) for d in range(ranks)) for r in range(ranks))
            for root in {0, ranks // 2} if operation.rooted else {0}:
                counts_or_none = counts if operation.ragged else None
                found.append(Exchange(ranks=ranks, block=block, itemsize=itemsize, root=root, counts=counts_or_none))
    return found


def reference(name: str, sends: list[Numbers], x: Exchange, reduction: str) -> list[Numbers]:
    """Return what every rank must receive, from what all send."""
    ranks, block, root = range(x.ranks), x.block, x.root
    empty = np.zeros(0)
    counts = x.counts or ((block,) * x.ranks,) * x.ranks
    match name:
        case "all_reduce" | "reduce" | "reduce_scatter":
            whole = REDUCE[reduction](np.stack(sends))
            wanted = [whole if name != "reduce" or r == root else empty for r in ranks]
            if name == "reduce_scatter":
                wanted = np.split(whole, x.ranks)
        case "all_gather" | "gather":
            whole = np.concatenate(sends)
            wanted = [whole if name == "all_gather" or r == root else empty for r in ranks]
        case "all_to_all" | "all_to_all_v":
            begins = [np.concatenate([[0], np.cumsum(row)]).astype(int) for row in counts]
            wanted = [np.concatenate([sends[s][begins[s][r] : begins[s][r + 1]] for s in ranks]) for r in ranks]
        case "broadcast":
            wanted = [sends[root] for _ in ranks]
        case "scatter":
            wanted = [sends[root][r * block : (r + 1) * block] for r in ranks]
        case "send_recv":
            wanted = [sends[(r - 1) % x.ranks] for r in ranks]
        case "stream":
            wanted = [sends[0] if r == 1 else empty for r in ranks]
        case _:
            assert name in ("ping_pong", "bidirectional_stream")
            wanted = [sends[1], sends[0], *[empty] * (x.ranks - 2)]
    return wanted


def numbers_of(bits: npt.NDArray[np.unsignedinteger], dtype: Dtype) -> Numbers:
    return dtype.decode(bits.view(dtype.storage))


@every_combination
def test_right_results_pass(operation: str, reduction: str, dtype: str) -> None:
    row, kind = OPERATIONS[operation], DTYPES[dtype]
    for x in cases(row, kind.itemsize):
        sends = [numbers_of(buffer_of(row.sends(x, r), kind, reduction, x.ranks), kind) for r in range(x.ranks)]
        for rank, numbers in enumerate(reference(operation, sends, x, reduction)):
            expected = numbers_of(buffer_of(row.expects(x, rank), kind, reduction, x.ranks), kind)
            assert expected.tolist() == numbers.tolist(), (x, rank)


class Tally:
    """Counts what is caught by kind of fault."""

    def __init__(self) -> None:
        self.planted: Counter[str] = Counter()
        self.caught: Counter[str] = Counter()

    def add(self, kind: str, caught: npt.ArrayLike) -> None:
        self.planted[kind] += int(np.size(caught))
        self.caught[kind] += int(np.count_nonzero(caught))

    @property
    def missed(self) -> dict[str, int]:
        return {kind: self.planted[kind] - self.caught[kind] for kind in self.planted}


@every_combination
def test_misplaced_and_stale_data_show(operation: str, reduction: str, dtype: str) -> None:
    row, kind = OPERATIONS[operation], DTYPES[dtype]
    tally = Tally()
    for x in cases(row, kind.itemsize):
        segments = [row.expects(x, rank) for rank in range(x.ranks)]
        right = [buffer_of(own, kind, reduction, x.ranks) for own in segments]
        for rank, found in enumerate(right):
            if not found.size:
                continue
            stale = buffer_of(segments[rank], kind, reduction, x.ranks, epoch=2)
            # Every single element of an earlier epoch differs, so first and last do.
            tally.add("stale", found != stale)
            blocks = np.split(found, np.cumsum([s.count for s in segments[rank]])[:-1])
            for one, other in combinations(blocks, 2):
                if one.size == other.size > 0:
                    tally.add("exchanged blocks", one != other)
            tally.add("exchanged ranks", shows_what_is_meant_for_others(rank, right, segments))
            # One element alone has no place to be shifted to.
            if found.size > 1:
                turned = np.lib.stride_tricks.sliding_window_view(np.concatenate([found, found]), found.size)
                tally.add("shifted", (turned[1 : found.size] != found).any(axis=1))
    assert not any(tally.missed.values()), tally.missed
    assert tally.planted["stale"] > 0


def shows_what_is_meant_for_others(
    rank: int, right: Sequence[npt.NDArray[np.unsignedinteger]], segments: Sequence[Sequence[Segment]]
) -> npt.NDArray[np.bool_]:
    """Return for each other rank whether it shows that this one got what was meant for that."""
    return np.array(
        [
            bool((right[rank] != right[other]).any())
            for other in range(len(right))
            if right[other].size == right[rank].size and segments[other] != segments[rank]
        ],
        dtype=bool,
    )


def altered(sends: list[Numbers], reduction: str, rank: int, *, times: int) -> Numbers:
    """Reduce with one rank's contribution left out (0 times) or taken twice."""
    rows = [row for r, row in enumerate(sends) for _ in range(times if r == rank else 1)]
    whole = REDUCE[reduction](np.stack(rows))
    return whole * len(rows) / len(sends) if reduction == "avg" else whole


@pytest.mark.parametrize("times", [0, 2], ids=["missing", "doubled"])
@every_combination
def test_a_contribution_missing_or_doubled_shows(operation: str, reduction: str, dtype: str, times: int) -> None:
    if not reduction:
        return  # nothing is contributed
    row, kind = OPERATIONS[operation], DTYPES[dtype]
    tally = Tally()
    for x in cases(row, kind.itemsize):
        if x.ranks == 1:
            continue
        sends = [numbers_of(buffer_of(row.sends(x, r), kind, reduction, x.ranks), kind) for r in range(x.ranks)]
        right = REDUCE[reduction](np.stack(sends))
        enough = "enough elements" if right.size >= x.ranks else "few elements"
        for rank in range(x.ranks):
            tally.add(enough, bool((altered(sends, reduction, rank, times=times) != right).any()))
    if times == 2 and reduction in ("min", "max"):
        # In principle: the same value once more changes neither.
        assert not any(tally.caught.values())
    elif reduction == "sum":
        # All contribute to every element.
        assert not any(tally.missed.values()), tally.missed
    else:
        # Once there are as many elements as ranks, each carries one; with fewer, only the carriers can show.
        assert tally.missed["enough elements"] == 0, tally.missed
        assert tally.caught["few elements"] > 0 or not tally.planted["few elements"]


copied_segments = st.builds(
    lambda source, destination, count: Segment(
        content=Content.COPIED, source=source, destination=destination, count=count
    ),
    st.integers(0, 5000),
    st.integers(-1, 5000),
    st.integers(1, 200) | st.integers(TILE - 5, 3 * TILE),
)
shapes = {"content": st.sampled_from([Content.CONTRIBUTED, Content.REDUCED]), "source": st.integers(0, 7)}
reduced_segments = st.builds(
    lambda content, source, start, count: Segment(content=content, source=source, start=start, count=count),
    shapes["content"],
    shapes["source"],
    st.integers(0, 100) | st.integers(TILE - 5, 1 << 40),
    st.integers(1, 200) | st.integers(TILE - 5, 3 * TILE),
)


@given(copied_segments | reduced_segments, st.sampled_from(sorted(DTYPES)), st.floats(0, 1), st.integers(1, 1000))
def test_a_segment_may_be_written_in_pieces(segment: Segment, dtype: str, place: float, epoch: int) -> None:
    kind = DTYPES[dtype]
    whole = written(segment, kind, epoch, "sum", 8)
    offset = int(place * (segment.count - 1))
    assert np.array_equal(whole[offset:], written(segment, kind, epoch, "sum", 8, offset))


@given(copied_segments, st.sampled_from(sorted(DTYPES)), st.integers(1, 1000))
def test_copied_values_are_linear_in_source_and_epoch(segment: Segment, dtype: str, epoch: int) -> None:
    kind = DTYPES[dtype]

    def values(source: int, epoch: int) -> npt.NDArray[np.int64]:
        moved = Segment(content=Content.COPIED, source=source, destination=segment.destination, count=segment.count)
        bits = written(moved, kind, epoch, "", 1)
        numbers = kind.decode(bits).astype(np.int64)
        return numbers % 256 if dtype == "int8" else numbers

    modulus = kind.modulus
    source = segment.source - segment.source % modulus  # the first of the ranks that share a hash
    step = segment.source % modulus
    base = values(source, epoch)
    assert ((values(source + step, epoch) - base) % modulus == step).all()
    assert ((values(source, epoch + 1) - base) % modulus == 101).all()
    assert base.min() >= 0
    assert base.max() < modulus


@pytest.mark.parametrize("dtype", sorted(DTYPES))
def test_ranks_that_are_equal_modulo_the_prime_have_another_hash(dtype: str) -> None:
    kind = DTYPES[dtype]
    one, other = (
        written(Segment(content=Content.COPIED, source=source, destination=2, count=64), kind, 1, "", 1)
        for source in (3, 3 + kind.modulus)
    )
    assert np.mean(one != other) > 0.8


def reduced(dtype: str, reduction: str, ranks: int, start: int, count: int) -> Bits:
    segment = Segment(content=Content.REDUCED, start=start, count=count)
    return written(segment, DTYPES[dtype], 1, reduction, ranks)


@given(
    st.sampled_from(sorted(DTYPES)),
    st.sampled_from(sorted(REDUCTIONS)),
    st.integers(2, 300),
    st.integers(1, 400),
    st.integers(0, 299),
    st.integers(0, 299),
)
def test_exchanged_blocks_of_a_scattered_reduction_show(
    dtype: str, reduction: str, ranks: int, block: int, one: int, other: int
) -> None:
    span = contribution_of(reduction, ranks, DTYPES[dtype]).span
    assume(span > 7)
    assume(one % ranks != other % ranks)
    # Below that two short blocks may be equal by chance: there are only so many values.
    assume(ranks * block <= span or block >= 16)
    blocks = [reduced(dtype, reduction, ranks, rank % ranks * block, block) for rank in (one, other)]
    assert (blocks[0] != blocks[1]).any()


@pytest.mark.parametrize("dtype", sorted(DTYPES))
@pytest.mark.parametrize("content", [Content.COPIED, Content.REDUCED])
def test_no_shift_within_a_large_buffer_is_a_period(dtype: str, content: Content) -> None:
    segment = Segment(content=content, source=1, destination=2, count=5 * TILE + 3)
    values = written(segment, DTYPES[dtype], 1, "sum", 2)
    span = contribution_of("sum", 2, DTYPES[dtype]).span
    near = {1, 2, span - 1, span, span + 1, DTYPES[dtype].modulus, TILE - 1, TILE, TILE + 1, 2 * TILE}
    for shift in near | {TILE // span * span}:
        differing = np.mean(values[shift:] != values[:-shift])
        assert differing > 0.9, shift


@given(st.integers(2, 1000), st.integers(0, 1 << 50))
def test_fold_is_the_digit_sum(base: int, number: int) -> None:
    digits, rest = 0, number
    while rest:
        rest, digit = divmod(rest, base)
        digits += digit
    assert fold(np.array([number]), base).tolist() == [digits % base]


def test_fold_in_base_one_is_zero() -> None:
    assert fold(np.arange(5), 1).tolist() == [0] * 5


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_the_carrier_changes_from_element_to_element_and_from_epoch_to_epoch(reduction: str) -> None:
    kind, ranks = DTYPES["float32"], 4
    idle = contribution_of(reduction, ranks, kind).idle

    def carried(rank: int, epoch: int) -> list[int]:
        segment = Segment(content=Content.CONTRIBUTED, source=rank, count=40)
        return np.flatnonzero(kind.decode(written(segment, kind, epoch, reduction, ranks)) != idle).tolist()

    for epoch in (1, 2):
        carriers = [set(carried(rank, epoch)) for rank in range(ranks)]
        assert not any(one & other for one, other in combinations(carriers, 2))
        assert set().union(*carriers) == set(range(40))
    assert set(carried(0, 1)) != set(carried(0, 2))


def test_the_law_is_the_same_everywhere() -> None:
    # Ranks on different machines must agree, whatever their numpy: a change here is a change of the law.
    kind = DTYPES["int32"]
    copied = Segment(content=Content.COPIED, source=2, destination=1, count=TILE + 2)
    summed = Segment(content=Content.REDUCED, count=5)
    assert written(copied, kind, 1, "", 1)[[0, 1, 2, TILE, TILE + 1]].tolist() == [25172, 59679, 9154, 25173, 59680]
    assert written(summed, kind, 1, "sum", 2).tolist() == [41790, 52119, 27480, 53386, 57362]
