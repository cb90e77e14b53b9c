"""The other ratios of two tiers, shown beside the one that decides: "18 times" is only one of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from collmark.analysis.claims.finding import Figure, Missing
from collmark.analysis.claims.measured.comparison import ranks_of, ratio_of, why_absent
from collmark.analysis.claims.measured.curve import Side, sides
from collmark.analysis.claims.measured.material import Material
from collmark.analysis.claims.measured.pairing import pairs_of, unlike
from collmark.analysis.claims.measured.reading import FITTED, ONE_LAUNCH, Reading, figure, fitted, read
from collmark.analysis.claims.measured.selector import Selector
from collmark.core.operation_table import OPERATIONS
from collmark.core.units import KIB, MIB, format_nbytes

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
SIZES = (128 * KIB, MIB)
_WAYS = ("operation", "directions")
_EXCHANGE = ("operation", "directions", "groups", "group", "company")
"""What pair and NIC must have in common: software, memory and statistic are those of the tool that measured each."""
_Pair = tuple[Side, Side]


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """Ratios of two tiers, A over B, each with its interval over launches; and why others are missing."""

    figures: tuple[Figure, ...] = ()
    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()


_Row = Figure | Missing | str


def family_of(material: Material, a: Selector, b: Selector) -> Family:
    """Return the ratios of two tiers that the records allow.

    Two-way over one-way and over two-way, pair over NIC, bus bandwidth of each collective at equal and at unequal rank
    count, the same at 128 KiB and 1 MiB, and latency. What was not measured, is weakly known, or unlike in more than
    its name says, is missing and says why.
    """
    rows = [
        *_directions(material, a, b),
        *_over_nic(material, a, b),
        *(row for operation in COLLECTIVES for row in _collective(material, a, b, operation)),
        *_latency(material, a, b),
    ]
    return Family(
        figures=tuple(row for row in rows if isinstance(row, Figure)),
        missing=tuple(row for row in rows if isinstance(row, Missing)),
        notes=tuple(dict.fromkeys(row for row in rows if isinstance(row, str))),
    )


def _directions(material: Material, a: Selector, b: Selector) -> Iterator[_Row]:
    both = sides(material.curves, a, "bidirectional_stream", 2)
    for name, operation, ways in (
        ("two-way over one-way: unlike", "stream", 1),
        ("two-way over two-way", "bidirectional_stream", 2),
    ):
        others = sides(material.curves, b, operation, 2)
        pair = _nearest(both, others, apart=_WAYS)
        if pair is None:
            absent = [
                why_absent(material.curves, [tier], [wanted], 2, others=False)
                for tier, wanted in ((a, "bidirectional_stream"), (b, operation))
            ]
            yield Missing(name=name, reason="; ".join(filter(None, absent)))
            continue
        differing = unlike(*pair, equal_ranks=True, apart=_WAYS)
        if differing:
            yield Missing(name=name, reason=f"unlike sides: {'; '.join(differing)}")
            continue
        over, under = (fitted(side, "asymptote") for side in pair)
        reading = read(
            name,
            [over.per_launch],
            [under.per_launch],
            factor=2 / ways,
            problem="; ".join(filter(None, (over.problem, under.problem))),
            by="",
        ).with_sides(pair[0].definition(_summed(2)), pair[1].definition(_summed(ways)))
        yield from _row(name, reading)


def _summed(ways: int) -> str:
    return f"{FITTED['asymptote'].words}{f' x {ways} directions' if ways > 1 else ''}"


def _nearest(over: Sequence[Side], under: Sequence[Side], *, apart: Sequence[str]) -> _Pair | None:
    """Return the two sides that differ least, some fields apart."""
    pairs = [(one, two) for one in over for two in under]
    return min(pairs, key=lambda pair: len(unlike(*pair, equal_ranks=True, apart=apart)), default=None)


def _over_nic(material: Material, a: Selector, b: Selector) -> Iterator[_Row]:
    """Yield the pair over each NIC that was measured by other means than the pair, as by perftest."""
    over = sides(material.curves, a, "stream", 2)
    for nic in sides(material.curves, b, "stream", 2):
        fields = [name for name in nic.condition if name not in _EXCHANGE]
        pair = _nearest(over, [nic], apart=fields)
        if pair is None or not all(unlike(one, nic, equal_ranks=True) for one in over):
            continue
        if not unlike(*pair, equal_ranks=True, apart=fields):
            (what, fast), (whose, slow) = (_bandwidth(side) for side in pair)
            reading = read("", [fast], [slow], by="").with_sides(
                pair[0].definition(what, software=True), nic.definition(whose, software=True)
            )
            yield from _row("pair over NIC, measured by other means: unlike", reading)


def _bandwidth(side: Side) -> tuple[str, tuple[float, ...]]:
    """Return the asymptote of a stream or, where no fit tells it, the bandwidth at the largest size, in B/s."""
    found = fitted(side, "asymptote")
    if not found.problem:
        return FITTED["asymptote"].words, found.per_launch
    largest = side.sizes[-1]
    return f"bandwidth at {format_nbytes(largest)}", tuple(largest / seconds for seconds in side.times(largest))


def _collective(material: Material, a: Selector, b: Selector, operation: str) -> Iterator[_Row]:
    equal = pairs_of(material, a, b, operation)
    free = pairs_of(material, a, b, operation, equal_ranks=False)
    yield from (f"{operation}: {note}" for note in equal.notes or free.notes)
    if not free.pairs:
        reason = why_absent(material.curves, [a, b], [operation], None, others=False) or free.reason
        yield Missing(name=f"{operation} bus bandwidth", reason=reason)
        return
    # Of several rank counts the largest: whole nodes.
    alike = [pair for pair in equal.pairs if pair[0].ranks == pair[1].ranks]
    others = [pair for pair in free.pairs if pair[0].ranks != pair[1].ranks]
    if not alike:
        reason = equal.reason or "no number of ranks was measured on both"
        yield Missing(name=f"{operation} bus bandwidth, equal rank count", reason=reason)
    for pairs in (alike, others):
        most = max(((left.ranks, right.ranks) for left, right in pairs), default=None)
        largest = [pair for pair in pairs if (pair[0].ranks, pair[1].ranks) == most]
        for left, right in largest:
            name = f"{operation} bus bandwidth, {ranks_of(left, right)}"
            is_one = len(largest) == 1  # else only the software, or the nodes, tell rows apart
            yield from _row(name, ratio_of(left, right, "asymptote", name, software=not is_one))
            yield from _at_sizes(operation, left, right, software=not is_one)


def _at_sizes(operation: str, left: Side, right: Side, *, software: bool) -> Iterator[_Row]:
    # At equal size bus bandwidths stand to each other as times do, the other way round, and as bus factors.
    factors = [OPERATIONS[operation].bus_factor(side.ranks) for side in (left, right)]
    for nbytes in SIZES:
        slow, fast = right.times(nbytes), left.times(nbytes)
        what = f"bus bandwidth at {format_nbytes(nbytes)}"
        if not (slow and fast):
            without = [side.tier for side, times in ((left, fast), (right, slow)) if not times]
            name = f"{operation} {what}, {ranks_of(left, right)}"
            yield Missing(name=name, reason=f"{' and '.join(without)}: not measured at that size")
        elif all(factors):
            reading = read("", [slow], [fast], factor=factors[0] / factors[1], by="")
            reading = reading.with_sides(*(side.definition(what, software=software) for side in (left, right)))
            yield from _row(f"{operation} {what}, {ranks_of(left, right)}", reading)


def _latency(material: Material, a: Selector, b: Selector) -> Iterator[_Row]:
    pairing = pairs_of(material, a, b, "ping_pong", ranks=2)
    if not pairing.pairs:
        reason = why_absent(material.curves, [a, b], ["ping_pong"], 2, others=False) or pairing.reason
        yield Missing(name="latency", reason=reason)
    for left, right in pairing.pairs:
        yield from _row("latency", ratio_of(left, right, "alpha", "latency", software=len(pairing.pairs) > 1))


def _row(name: str, reading: Reading) -> Iterator[_Row]:
    found = figure(name, reading)
    if reading.problem not in ("", ONE_LAUNCH):
        yield Missing(name=name, reason=reading.problem)
    elif found is not None:
        yield found
