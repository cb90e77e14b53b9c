"""The other ratios of two tiers, shown beside the one that decides: "18 times" is only one of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from collmark.analysis.claims.finding import Figure
from collmark.analysis.claims.measured.comparison import ratio_of
from collmark.analysis.claims.measured.curve import Curve, Side, pair_up, sides
from collmark.analysis.claims.measured.reading import Reading, figure, fitted, read
from collmark.analysis.claims.measured.selector import Selector
from collmark.core.units import KIB, MIB, format_nbytes

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
SIZES = (128 * KIB, MIB)


def family_of(curves: Sequence[Curve], a: Selector, b: Selector) -> tuple[Figure, ...]:
    """Return the ratios of two tiers that the records allow, A over B, each with its interval over launches.

    Two-way over one-way and over two-way, bus bandwidth of each collective at equal and at unequal rank count, the same
    at 128 KiB and 1 MiB, and latency. What is weakly known is left out.
    """
    return (*_directions(curves, a, b), *_collectives(curves, a, b), *_latency(curves, a, b))


def _directions(curves: Sequence[Curve], a: Selector, b: Selector) -> Iterator[Figure]:
    both = sides(curves, a, "bidirectional_stream", 2)
    for name, operation, factor in (
        ("two-way over one-way: unlike", "stream", 2.0),
        ("two-way over two-way", "bidirectional_stream", 1.0),
    ):
        others = sides(curves, b, operation, 2)
        for left, right in islice(_alike(both, others), 1):
            over, under = fitted(left, "asymptote"), fitted(right, "asymptote")
            if not over.problem and not under.problem:
                reading = read(name, [over.per_launch], [under.per_launch], factor=factor, by="")
                yield from _figure(f"stream, {name}", reading)


def _alike(over: Sequence[Side], under: Sequence[Side]) -> Iterator[tuple[Side, Side]]:
    """Yield sides that differ in the operation of the stream only, and so in its directions."""
    names = ("operation", "directions")
    for a in over:
        for b in under:
            if all(a.condition[name] == b.condition[name] for name in a.condition if name not in names):
                yield a, b


def _collectives(curves: Sequence[Curve], a: Selector, b: Selector) -> Iterator[Figure]:
    for operation in COLLECTIVES:
        over, under = sides(curves, a, operation), sides(curves, b, operation)
        equal = pair_up(over, under, equal_ranks=True).pairs
        for left, right in (equal or pair_up(over, under, equal_ranks=False).pairs)[:1]:
            where = f"{left.ranks} ranks" if left.ranks == right.ranks else f"{left.ranks} over {right.ranks} ranks"
            reading = ratio_of(left, right, "asymptote", operation)
            if not reading.problem:
                yield from _figure(f"{operation} bus bandwidth, {where}", reading)
            if equal:
                yield from _at_sizes(operation, left, right)


def _at_sizes(operation: str, left: Side, right: Side) -> Iterator[Figure]:
    # At equal size and rank count bus bandwidths stand to each other as times do, the other way round.
    for nbytes in SIZES:
        slow, fast = right.times(nbytes), left.times(nbytes)
        if slow and fast:
            name = f"{operation} bus bandwidth at {format_nbytes(nbytes)}, {left.ranks} ranks"
            yield from _figure(name, read(name, [slow], [fast], by=""))


def _latency(curves: Sequence[Curve], a: Selector, b: Selector) -> Iterator[Figure]:
    pairs = pair_up(sides(curves, a, "ping_pong", 2), sides(curves, b, "ping_pong", 2), equal_ranks=True).pairs
    for left, right in pairs[:1]:
        reading = ratio_of(left, right, "alpha", "latency")
        if not reading.problem:
            yield from _figure("latency (ping_pong alpha)", reading)


def _figure(name: str, reading: Reading) -> Iterator[Figure]:
    found = figure(name, reading)
    if found is not None:
        yield found
