"""The operation table against an independent statement of its laws (conventions.md section 3)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from collmark.core.errors import UsageError
from collmark.core.operation import Estimand, Exchange, Operation, check_ranks
from collmark.core.operation_table import OPERATIONS
from collmark.core.payload import Content
from collmark.core.traffic import counts_of

Law = Callable[[int, int, int, int], Fraction]
"""(S in bytes, ranks n, rank r, root) to bytes."""


def whole(s: int, _n: int, _r: int, _root: int) -> Fraction:
    return Fraction(s)


def share(s: int, n: int, _r: int, _root: int) -> Fraction:
    return Fraction(s, n)


def none(_s: int, _n: int, _r: int, _root: int) -> Fraction:
    return Fraction(0)


def root_only(law: Law) -> Law:
    return lambda s, n, r, root: law(s, n, r, root) if r == root else Fraction(0)


def ranks_only(*ranks: int) -> Law:
    return lambda s, _n, r, _root: Fraction(s if r in ranks else 0)


# Bytes that each rank sends and receives (its own share included), and the bus factor.
LAWS: dict[str, tuple[Law, Law, Callable[[int], Fraction]]] = {
    "all_reduce": (whole, whole, lambda n: Fraction(2 * (n - 1), n)),
    "all_gather": (share, whole, lambda n: Fraction(n - 1, n)),
    "reduce_scatter": (whole, share, lambda n: Fraction(n - 1, n)),
    "all_to_all": (whole, whole, lambda n: Fraction(n - 1, n)),
    "all_to_all_v": (whole, whole, lambda n: Fraction(n - 1, n)),
    "broadcast": (root_only(whole), whole, lambda _n: Fraction(1)),
    "reduce": (whole, root_only(whole), lambda _n: Fraction(1)),
    "gather": (share, root_only(whole), lambda n: Fraction(n - 1, n)),
    "scatter": (root_only(whole), share, lambda n: Fraction(n - 1, n)),
    "barrier": (none, none, lambda _n: Fraction(0)),
    "send_recv": (whole, whole, lambda _n: Fraction(1)),
    "ping_pong": (ranks_only(0, 1), ranks_only(0, 1), lambda _n: Fraction(1)),
    "stream": (ranks_only(0), ranks_only(1), lambda _n: Fraction(1)),
    "bidirectional_stream": (ranks_only(0, 1), ranks_only(0, 1), lambda _n: Fraction(1)),
}
DIVIDED = {"all_gather", "reduce_scatter", "all_to_all", "all_to_all_v", "gather", "scatter"}
PAIRS = {"ping_pong", "stream", "bidirectional_stream"}
COPYING = [name for name, row in OPERATIONS.items() if row.sized and not row.reduces]

# Bytes over links: (root sends, root receives, each other sends, each other receives), as multiples of S.
WIRE: dict[str, Callable[[int], tuple[Fraction | int, ...]]] = {
    "all_reduce": lambda n: (Fraction(2 * (n - 1), n),) * 4,
    "all_gather": lambda n: (Fraction(n - 1, n),) * 4,
    "reduce_scatter": lambda n: (Fraction(n - 1, n),) * 4,
    "all_to_all": lambda n: (Fraction(n - 1, n),) * 4,
    "all_to_all_v": lambda n: (Fraction(n - 1, n),) * 4,
    "broadcast": lambda n: (1, 0, Fraction(n - 2, n - 1), 1),
    "reduce": lambda n: (0, 1, 1, Fraction(n - 2, n - 1)),
    "gather": lambda n: (0, Fraction(n - 1, n), Fraction(1, n), 0),
    "scatter": lambda n: (Fraction(n - 1, n), 0, 0, Fraction(1, n)),
    "barrier": lambda _n: (0, 0, 0, 0),
    "send_recv": lambda _n: (1, 1, 1, 1),
    "ping_pong": lambda _n: (1, 1, 1, 1),
    "stream": lambda _n: (1, 0, 0, 1),
    "bidirectional_stream": lambda _n: (1, 1, 1, 1),
}
TOTAL: dict[str, Callable[[int], Fraction | int]] = {
    "all_reduce": lambda n: 2 * (n - 1),
    "gather": lambda n: Fraction(n - 1, n),
    "scatter": lambda n: Fraction(n - 1, n),
    "ping_pong": lambda _n: 2,
    "bidirectional_stream": lambda _n: 2,
    "stream": lambda _n: 1,
    "barrier": lambda _n: 0,
    "send_recv": lambda n: n,
}
TOTAL |= {name: lambda n: n - 1 for name in LAWS if name not in TOTAL}

names = st.sampled_from(sorted(LAWS))
itemsizes = st.sampled_from([1, 2, 4, 8])


def exchange_of(operation: Operation, nbytes: int, ranks: int, itemsize: int, root: int = 0) -> Exchange:
    block = operation.block_of(nbytes, ranks=ranks, itemsize=itemsize)
    counts = None
    if operation.ragged:
        counts = counts_of("uniform", nbytes=nbytes, ranks=ranks, itemsize=itemsize)
    return Exchange(ranks=ranks, block=block, itemsize=itemsize, root=root, counts=counts)


def bytes_of(operation: Operation, x: Exchange, rank: int) -> tuple[int, int]:
    sent, received = operation.sends(x, rank), operation.expects(x, rank)
    return sum(s.count for s in sent) * x.itemsize, sum(s.count for s in received) * x.itemsize


@st.composite
def exchanges(draw: st.DrawFn) -> tuple[Operation, int, Exchange]:
    operation = OPERATIONS[draw(names)]
    ranks = draw(st.integers(operation.minimum_ranks, 17))
    nbytes = draw(st.integers(0, 4096) | st.integers(0, 1 << 44))
    root = draw(st.integers(0, ranks - 1)) if operation.rooted else 0
    return operation, nbytes, exchange_of(operation, nbytes, ranks, draw(itemsizes), root)


@st.composite
def matrices(draw: st.DrawFn) -> Exchange:
    ranks = draw(st.integers(1, 6))
    counts = st.integers(0, 3) | st.integers(0, 1 << 40)
    rows = draw(st.lists(st.lists(counts, min_size=ranks, max_size=ranks), min_size=ranks, max_size=ranks))
    return Exchange(ranks=ranks, block=0, itemsize=draw(itemsizes), counts=tuple(map(tuple, rows)))


def test_every_operation_has_a_law_here() -> None:
    assert set(OPERATIONS) == set(LAWS) == set(WIRE) == set(TOTAL)
    assert all(name == row.name for name, row in OPERATIONS.items())


@given(exchanges())
def test_bytes_per_rank_and_size(drawn: tuple[Operation, int, Exchange]) -> None:
    operation, nbytes, x = drawn
    sends, receives, _factor = LAWS[operation.name]
    elements = nbytes // x.itemsize
    if operation.name in DIVIDED:
        elements -= elements % x.ranks
    effective = elements * x.itemsize if operation.name != "barrier" else 0
    assert operation.nbytes_of(x) == effective
    for rank in range(x.ranks):
        sent, received = bytes_of(operation, x, rank)
        assert sent == sends(effective, x.ranks, rank, x.root)
        assert received == receives(effective, x.ranks, rank, x.root)


@given(exchanges())
def test_the_size_is_the_largest_buffer_and_rounds_down_by_less_than_one_element_per_rank(
    drawn: tuple[Operation, int, Exchange],
) -> None:
    operation, nbytes, x = drawn
    assert operation.nbytes_of(x) == max(max(bytes_of(operation, x, rank)) for rank in range(x.ranks))
    if operation.sized:
        step = x.itemsize * (x.ranks if operation.name in DIVIDED else 1)
        assert operation.nbytes_of(x) <= nbytes < operation.nbytes_of(x) + step
        assert operation.nbytes_of(x) % step == 0


@given(exchanges())
def test_rounding_is_idempotent(drawn: tuple[Operation, int, Exchange]) -> None:
    operation, _nbytes, x = drawn
    assert exchange_of(operation, operation.nbytes_of(x), x.ranks, x.itemsize, x.root) == x


@given(names, st.integers(1, 1 << 20))
def test_bus_factors(name: str, ranks: int) -> None:
    assert OPERATIONS[name].bus_factor(ranks) == pytest.approx(float(LAWS[name][2](ranks)), rel=1e-15)


@pytest.mark.parametrize("name", sorted(LAWS))
def test_one_rank_moves_nothing(name: str) -> None:
    operation = OPERATIONS[name]
    if name in PAIRS:
        assert operation.minimum_ranks == 2
        with pytest.raises(UsageError, match=f"{name} needs at least 2 ranks, not 1: add --ranks 2"):
            check_ranks(operation, 1)
        return
    check_ranks(operation, 1)
    wire = operation.minimal(exchange_of(operation, 4096, 1, 4))
    assert (wire.root_sent, wire.root_received, wire.other_sent, wire.other_received, wire.total) == (0,) * 5
    if name not in {"broadcast", "reduce", "send_recv"}:  # nccl-tests has factor 1 there, whatever the ranks
        assert operation.bus_factor(1) == 0


@given(exchanges())
def test_minimal_bytes(drawn: tuple[Operation, int, Exchange]) -> None:
    operation, _nbytes, x = drawn
    assume(x.ranks > 1)
    size = operation.nbytes_of(x)
    wire = operation.minimal(x)
    expected = [float(multiple * size) for multiple in WIRE[operation.name](x.ranks)]
    found = [wire.root_sent, wire.root_received, wire.other_sent, wire.other_received]
    assert found == pytest.approx(expected, rel=1e-14)
    assert wire.total == pytest.approx(float(TOTAL[operation.name](x.ranks) * size), rel=1e-14)


@given(exchanges() | matrices().map(lambda x: (OPERATIONS["all_to_all_v"], 0, x)))
def test_what_is_sent_is_received(drawn: tuple[Operation, int, Exchange]) -> None:
    operation, _nbytes, x = drawn
    wire = operation.minimal(x)
    others = 1 if operation.pair else x.ranks - 1
    assert wire.total == pytest.approx(wire.root_sent + others * wire.other_sent, rel=1e-14)
    assert wire.total == pytest.approx(wire.root_received + others * wire.other_received, rel=1e-14)


def crossing(operation: Operation, x: Exchange, rank: int) -> tuple[int, int]:
    """Return the bytes that leave and enter a rank, by the labels of its segments."""
    leaving = 0
    for segment in operation.sends(x, rank):
        takers = x.ranks if segment.destination == -1 else 1
        mine = segment.destination in (-1, rank)
        leaving += segment.count * (takers - mine)
    entering = sum(segment.count for segment in operation.expects(x, rank) if segment.source != rank)
    return leaving * x.itemsize, entering * x.itemsize


@pytest.mark.parametrize("name", COPYING)
@given(st.data())
def test_minimal_bytes_of_copies_follow_from_the_segments(name: str, data: st.DataObject) -> None:
    operation = OPERATIONS[name]
    if operation.ragged:
        x = data.draw(matrices())
    else:
        ranks = data.draw(st.integers(operation.minimum_ranks, 9))
        root = data.draw(st.integers(0, ranks - 1)) if operation.rooted else 0
        x = exchange_of(operation, data.draw(st.integers(0, 4096)), ranks, data.draw(itemsizes), root)
    wire = operation.minimal(x)
    leaving, entering = zip(*(crossing(operation, x, rank) for rank in range(x.ranks)), strict=True)
    others = 1 if operation.pair else max(1, x.ranks - 1)
    assert wire.total == sum(leaving) == sum(entering)
    assert wire.root_received == entering[x.root]
    assert wire.other_received == pytest.approx((sum(entering) - entering[x.root]) / others)
    if name != "broadcast":  # there others pass on what the root sent once
        assert wire.root_sent == leaving[x.root]
        assert wire.other_sent == pytest.approx((sum(leaving) - leaving[x.root]) / others)


@given(matrices())
def test_ragged_size_counts_the_own_share_and_the_wire_does_not(x: Exchange) -> None:
    operation = OPERATIONS["all_to_all_v"]
    assert x.counts is not None
    rows, columns = x.counts, list(zip(*x.counts, strict=True))
    assert operation.nbytes_of(x) == max(map(sum, [*rows, *columns])) * x.itemsize
    own = sum(x.counts[r][r] for r in range(x.ranks))
    assert operation.minimal(x).total == (sum(map(sum, rows)) - own) * x.itemsize
    busiest = max(sum(line) - line[r] for lines in (rows, columns) for r, line in enumerate(lines))
    assert operation.model_nbytes(x) == busiest * x.itemsize


@given(matrices())
def test_a_zero_diagonal_has_factor_one_on_wire_bytes(x: Exchange) -> None:
    assert x.counts is not None
    rows = tuple(tuple(0 if d == r else n for d, n in enumerate(row)) for r, row in enumerate(x.counts))
    bare = Exchange(ranks=x.ranks, block=0, itemsize=x.itemsize, counts=rows)
    operation = OPERATIONS["all_to_all_v"]
    assert operation.minimal(bare).total == sum(map(sum, rows)) * x.itemsize
    assert operation.model_nbytes(bare) == operation.nbytes_of(bare)


@given(exchanges())
def test_bytes_of_the_model_are_bus_bytes(drawn: tuple[Operation, int, Exchange]) -> None:
    operation, _nbytes, x = drawn
    expected = float(LAWS[operation.name][2](x.ranks) * operation.nbytes_of(x))
    assert operation.model_nbytes(x) == pytest.approx(expected, rel=1e-14)


ESTIMANDS = {
    Estimand.LAST_IN_LAST_OUT: {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "all_to_all_v", "barrier",
                                "send_recv"},
    Estimand.FIRST_IN_LAST_OUT: {"broadcast", "reduce", "gather", "scatter"},
    Estimand.HALF_ROUND_TRIP: {"ping_pong"},
    Estimand.PER_MESSAGE: {"stream", "bidirectional_stream"},
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(LAWS))
@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_estimands(name: str, ranks: int) -> None:
    operation = OPERATIONS[name]
    expected = next(estimand for estimand, members in ESTIMANDS.items() if name in members)
    assert operation.estimand_of(exchange_of(operation, 4096, ranks, 4)) is expected


@given(matrices())
def test_a_rank_that_exchanges_nothing_with_another_may_leave_early(x: Exchange) -> None:
    assert x.counts is not None
    idle = any(not x.counts[r][d] for r in range(x.ranks) for d in range(x.ranks) if r != d)
    expected = Estimand.FIRST_IN_LAST_OUT if idle else Estimand.LAST_IN_LAST_OUT
    assert OPERATIONS["all_to_all_v"].estimand_of(x) is expected


def test_flags() -> None:
    def flagged(flag: str) -> set[str]:
        return {name for name, row in OPERATIONS.items() if getattr(row, flag)}

    assert flagged("divides") == DIVIDED
    assert flagged("reduces") == {"all_reduce", "reduce_scatter", "reduce"}
    assert flagged("rooted") == {"broadcast", "reduce", "gather", "scatter"}
    assert flagged("ragged") == {"all_to_all_v"}
    assert flagged("pair") == PAIRS
    assert flagged("streams") == {"stream", "bidirectional_stream"}
    assert flagged("in_place") == {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"}
    assert set(OPERATIONS) - flagged("sized") == {"barrier"}


@pytest.mark.parametrize("name", sorted(LAWS))
def test_a_link_carries_both_directions_where_a_ring_of_two_folds(name: str) -> None:
    always = {"bidirectional_stream": 2}
    for ranks in (2, 3, 8):
        expected = 2 if (name, ranks) == ("send_recv", 2) else always.get(name, 1)
        assert OPERATIONS[name].both_ways(ranks) == expected


@given(exchanges())
def test_contents_fit_the_operation(drawn: tuple[Operation, int, Exchange]) -> None:
    operation, _nbytes, x = drawn
    sent = {s.content for r in range(x.ranks) for s in operation.sends(x, r)}
    received = {s.content for r in range(x.ranks) for s in operation.expects(x, r)}
    assert sent <= {Content.CONTRIBUTED if operation.reduces else Content.COPIED}
    assert received <= {Content.REDUCED if operation.reduces else Content.COPIED}


@pytest.mark.parametrize("name", sorted(LAWS))
def test_every_row_says_where_it_comes_from(name: str) -> None:
    row = OPERATIONS[name]
    assert row.source
    assert row.time_means
    assert row.size_means
