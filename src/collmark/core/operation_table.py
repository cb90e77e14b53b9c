"""The operation table: everything the suite knows about an operation by name, one row each.

Sources: buffer laws and bus factors as in nccl-tests 2.19 (``doc/PERFORMANCE.md``; alltoall(v), sendrecv, gather
and scatter only in ``src/*.cu``). Minimal bytes: Chan, Heimlich, Purkayastha and van de Geijn 2007, "Collective
communication: theory, practice, and experience", section 4; they leave out what a rank keeps for itself, and where
there is no root they are those of a balanced algorithm without reduction in the switch.
"""

from __future__ import annotations

from collections.abc import Callable

from collmark.core.operation import Estimand, Exchange, Operation, Wire
from collmark.core.payload import Content, Segment
from collmark.core.registry import Registry

ALL = -1  # the destination of data that is meant for every rank


def _copied(source: int, destination: int, count: int) -> Segment:
    return Segment(content=Content.COPIED, source=source, destination=destination, count=count)


def _contributed(rank: int, count: int) -> Segment:
    return Segment(content=Content.CONTRIBUTED, source=rank, count=count)


def _reduced(count: int, start: int = 0) -> Segment:
    return Segment(content=Content.REDUCED, count=count, start=start)


def _counts(x: Exchange) -> tuple[tuple[int, ...], ...]:
    return x.counts or tuple((x.block,) * x.ranks for _ in range(x.ranks))


def _full(x: Exchange) -> float:
    return float(x.block * x.itemsize)


def _balanced(factor: Callable[[int], float], blocks: Callable[[int], int]) -> Callable[[Exchange], Wire]:
    """Every rank sends and receives factor(n) x S, with S = blocks(n) x one block."""

    def minimal(x: Exchange) -> Wire:
        each = factor(x.ranks) * blocks(x.ranks) * _full(x)
        return Wire(root_sent=each, root_received=each, other_sent=each, other_received=each, total=each * x.ranks)

    return minimal


def _from_root(x: Exchange) -> Wire:
    others = x.ranks - 1
    size = _full(x) if others else 0.0
    relayed = (others - 1) / others * size if others else 0.0
    return Wire(root_sent=size, root_received=0.0, other_sent=relayed, other_received=size, total=others * size)


def _to_root(x: Exchange) -> Wire:
    mirrored = _from_root(x)
    return Wire(
        root_sent=mirrored.root_received,
        root_received=mirrored.root_sent,
        other_sent=mirrored.other_received,
        other_received=mirrored.other_sent,
        total=mirrored.total,
    )


def _gathered(x: Exchange) -> Wire:
    moved = (x.ranks - 1) * _full(x)
    return Wire(
        root_sent=0.0,
        root_received=moved,
        other_sent=_full(x) if moved else 0.0,
        other_received=0.0,
        total=moved,
    )


def _scattered(x: Exchange) -> Wire:
    moved = (x.ranks - 1) * _full(x)
    return Wire(
        root_sent=moved,
        root_received=0.0,
        other_sent=0.0,
        other_received=_full(x) if moved else 0.0,
        total=moved,
    )


def _ragged(x: Exchange) -> Wire:
    counts, ranks = _counts(x), range(x.ranks)
    sent = [sum(counts[r][d] for d in ranks if d != r) * x.itemsize for r in ranks]
    received = [sum(counts[s][r] for s in ranks if s != r) * x.itemsize for r in ranks]
    others = max(1, x.ranks - 1)
    return Wire(
        root_sent=float(sent[0]),
        root_received=float(received[0]),
        other_sent=sum(sent[1:]) / others,
        other_received=sum(received[1:]) / others,
        total=float(sum(sent)),
    )


def _pair(sent: int, received: int) -> Callable[[Exchange], Wire]:
    """Rank 0 sends and receives so many times S; rank 1 the other way round."""

    def minimal(x: Exchange) -> Wire:
        size = _full(x)
        return Wire(
            root_sent=sent * size,
            root_received=received * size,
            other_sent=received * size,
            other_received=sent * size,
            total=(sent + received) * size,
        )

    return minimal


def _all_reduce_factor(ranks: int) -> float:
    return 2 * (ranks - 1) / ranks


def _others_share(ranks: int) -> float:
    return (ranks - 1) / ranks


def _one(_ranks: int) -> float:
    return 1.0


def _one_unless_alone(ranks: int) -> float:
    return 1.0 if ranks > 1 else 0.0


def _undivided(_ranks: int) -> int:
    return 1


def _divided(ranks: int) -> int:
    return ranks


PERFORMANCE = "nccl-tests doc/PERFORMANCE.md"
SOURCES = "nccl-tests src/*.cu"
BUS_TIME = "alpha + (bus factor x nbytes) x beta"
POINT_TIME = "alpha + nbytes x beta"

_ROWS = (
    Operation(
        name="all_reduce",
        sends=lambda x, r: [_contributed(r, x.block)],
        expects=lambda x, _r: [_reduced(x.block)],
        bus_factor=_all_reduce_factor,
        minimal=_balanced(_all_reduce_factor, _undivided),
        estimand=Estimand.LAST_IN_LAST_OUT,
        time_means=BUS_TIME,
        size_means="the whole vector",
        source=PERFORMANCE,
        reduces=True,
        in_place=True,
    ),
    Operation(
        name="all_gather",
        sends=lambda x, r: [_copied(r, ALL, x.block)],
        expects=lambda x, _r: [_copied(s, ALL, x.block) for s in range(x.ranks)],
        bus_factor=_others_share,
        minimal=_balanced(_others_share, _divided),
        estimand=Estimand.LAST_IN_LAST_OUT,
        time_means=BUS_TIME,
        size_means="what each rank receives in all",
        source=PERFORMANCE,
        divides=True,
        in_place=True,
    ),
    Operation(
        name="reduce_scatter",
        sends=lambda x, r: [_contributed(r, x.ranks * x.block)],
        expects=lambda x, r: [_reduced(x.block, r * x.block)],
        bus_factor=_others_share,
        minimal=_balanced(_others_share, _divided),
        estimand=Estimand.LAST_IN_LAST_OUT,
        time_means=BUS_TIME,
        size_means="what each rank sends in all",
        source=PERFORMANCE,
        divides=True,
        reduces=True,
        in_place=True,
    ),
    Operation(
        name="all_to_all",
        sends=lambda x, r: [_copied(r, d, x.block) for d in range(x.ranks)],
        expects=lambda x, r: [_copied(s, r, x.block) for s in range(x.ranks)],
        bus_factor=_others_share,
        minimal=_balanced(_others_share, _divided),
        estimand=Estimand.LAST_IN_LAST_OUT,
        time_means=BUS_TIME,
        size_means="what each rank sends in all, its own block included",
        source=SOURCES,
        divides=True,
    ),
    Operation(
        name="all_to_all_v",
        sends=lambda x, r: [_copied(r, d, _counts(x)[r][d]) for d in range(x.ranks)],
        expects=lambda x, r: [_copied(s, r, _counts(x)[s][r]) for s in range(x.ranks)],
        bus_factor=_others_share,
        minimal=_ragged,
        estimand=Estimand.LAST_IN_LAST_OUT,
        time_means="alpha + (largest over ranks of max(sent to, received from others)) x beta",
        size_means="the heaviest rank's max(sent, received), its own block included",
        source=SOURCES,
        divides=True,
        ragged=True,
        even="all_to_all",
    ),
    Operation(
        name="broadcast",
        sends=lambda x, r: [_copied(x.root, ALL, x.block)] if r == x.root else [],
        expects=lambda x, _r: [_copied(x.root, ALL, x.block)],
        bus_factor=_one,
        minimal=_from_root,
        estimand=Estimand.FIRST_IN_LAST_OUT,
        time_means=BUS_TIME,
        size_means="the whole vector",
        source=PERFORMANCE,
        rooted=True,
        in_place=True,
    ),
    Operation(
        name="reduce",
        sends=lambda x, r: [_contributed(r, x.block)],
        expects=lambda x, r: [_reduced(x.block)] if r == x.root else [],
        bus_factor=_one,
        minimal=_to_root,
        estimand=Estimand.FIRST_IN_LAST_OUT,
        time_means=BUS_TIME,
        size_means="the whole vector",
        source=PERFORMANCE,
        reduces=True,
        rooted=True,
        in_place=True,
    ),
    Operation(
        name="gather",
        sends=lambda x, r: [_copied(r, x.root, x.block)],
        expects=lambda x, r: [_copied(s, r, x.block) for s in range(x.ranks)] if r == x.root else [],
        bus_factor=_others_share,
        minimal=_gathered,
        estimand=Estimand.FIRST_IN_LAST_OUT,
        time_means=BUS_TIME,
        size_means="what the root receives in all, its own block included",
        source=SOURCES,
        divides=True,
        rooted=True,
    ),
    Operation(
        name="scatter",
        sends=lambda x, r: [_copied(r, d, x.block) for d in range(x.ranks)] if r == x.root else [],
        expects=lambda x, r: [_copied(x.root, r, x.block)],
        bus_factor=_others_share,
        minimal=_scattered,
        estimand=Estimand.FIRST_IN_LAST_OUT,
        time_means=BUS_TIME,
        size_means="what the root sends in all, its own block included",
        source=SOURCES,
        divides=True,
        rooted=True,
    ),
    Operation(
        name="barrier",
        sends=lambda _x, _r: [],
        expects=lambda _x, _r: [],
        bus_factor=lambda _ranks: 0.0,
        minimal=_pair(0, 0),
        estimand=Estimand.LAST_IN_LAST_OUT,
        time_means="constant",
        size_means="none",
        source="moves no payload",
        sized=False,
    ),
    Operation(
        name="send_recv",
        sends=lambda x, r: [_copied(r, (r + 1) % x.ranks, x.block)],
        expects=lambda x, r: [_copied((r - 1) % x.ranks, r, x.block)],
        bus_factor=_one,
        minimal=_balanced(_one_unless_alone, _undivided),
        estimand=Estimand.LAST_IN_LAST_OUT,
        time_means=POINT_TIME,
        size_means="one direction, to the next rank of a ring",
        source=SOURCES,
        # With two ranks the ring's two links are one, used in both directions at once.
        both_ways=lambda ranks: 2 if ranks == 2 else 1,
    ),
    Operation(
        name="ping_pong",
        sends=lambda x, r: [_copied(r, 1 - r, x.block)] if r < 2 else [],
        expects=lambda x, r: [_copied(1 - r, r, x.block)] if r < 2 else [],
        bus_factor=_one,
        minimal=_pair(1, 1),
        estimand=Estimand.HALF_ROUND_TRIP,
        time_means=POINT_TIME,
        size_means="one message",
        source="OSU micro-benchmarks osu_latency: round trip / 2",
        pair=True,
    ),
    Operation(
        name="stream",
        sends=lambda x, r: [_copied(0, 1, x.block)] if r == 0 else [],
        expects=lambda x, r: [_copied(0, 1, x.block)] if r == 1 else [],
        bus_factor=_one,
        minimal=_pair(1, 0),
        estimand=Estimand.PER_MESSAGE,
        time_means="nbytes x beta; the intercept is a gap between messages and not a latency",
        size_means="one message",
        source="OSU micro-benchmarks osu_bw: a window of messages, one acknowledgement",
        pair=True,
        streams=True,
    ),
    Operation(
        name="bidirectional_stream",
        sends=lambda x, r: [_copied(r, 1 - r, x.block)] if r < 2 else [],
        expects=lambda x, r: [_copied(1 - r, r, x.block)] if r < 2 else [],
        bus_factor=_one,
        minimal=_pair(1, 1),
        estimand=Estimand.PER_MESSAGE,
        time_means="nbytes x beta; the intercept is a gap between messages and not a latency",
        size_means="one message of one direction",
        source="OSU micro-benchmarks osu_bibw, with one direction's bytes as size",
        pair=True,
        streams=True,
        both_ways=lambda _ranks: 2,
    ),
)

OPERATIONS = Registry("operation", {row.name: row for row in _ROWS})
