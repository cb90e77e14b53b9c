"""What is worked out of a whole run in a log: the number of ranks, canonical sizes, and whether its figures agree."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

import msgspec

from collmark.analysis.importers.figure import Figure, quotient, ratio
from collmark.analysis.importers.row import Facts, RanksFrom, Row, SizeIs
from collmark.analysis.importers.section import Draft, Log
from collmark.core.numeral import counted
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import MOST_RANKS

RECOVERS = {"all_reduce": 2.0} | dict.fromkeys(
    ("all_gather", "reduce_scatter", "all_to_all", "all_to_all_v", "gather", "scatter"), 1.0
)
"""The limit m of the bus factor m (n - 1) / n, for operations whose factor tells n."""
PAIRS = {name for name, operation in OPERATIONS.items() if operation.pair}
GIGA = 1e9
SLACK = 1e-9  # of a bound: figures are computed in single or double precision before they are printed


def settle(
    log: Log,
    drafts: Sequence[Draft],
    ranks: int | None = None,
    nodes: int | None = None,
    ranks_from: RanksFrom = RanksFrom.TEXT,
    bounds: tuple[float, float] | None = None,
) -> None:
    """Give the log the rows of one run with ranks, canonical sizes and bandwidths, and say what disagrees.

    Parameters
    ----------
    log : Log
        Receives rows and warnings.
    drafts : sequence of Draft
        Of one run: one number of ranks.
    ranks, nodes : int or None
        What the text says.
    ranks_from : RanksFrom
        FACTOR where an importer has worked `ranks` out of bandwidths that mean what collmark's do not.
    bounds : tuple of float or None
        What :func:`recovered` returns for the drafts, where the importer has asked it.
    """
    if not drafts:
        return
    if ranks is not None and not 1 <= ranks <= MOST_RANKS:
        ranks = nodes = None  # a number that was cut off or garbled
    found, origin = _ranks(log, drafts, ranks, bounds)
    if found == ranks and origin is RanksFrom.TEXT:
        origin = ranks_from
    if nodes is None and found is not None:
        nodes = log.facts.nodes
    log.rows += [_finished(log, draft, found, origin, nodes) for draft in drafts]


def _ranks(
    log: Log, drafts: Sequence[Draft], told: int | None, bounds: tuple[float, float] | None
) -> tuple[int | None, RanksFrom | None]:
    """Return the number of ranks and where it comes from; the factor, which the tool computed, outweighs the text."""
    operation = OPERATIONS.get(drafts[0].row.operation)
    if operation is not None and operation.pair:
        return 2, RanksFrom.TEXT  # there is no other number of ranks
    least, most = recovered(drafts) if bounds is None else bounds
    line = drafts[0].row.line
    asked = log.facts.ranks
    if least > most:
        log.doubt(line, "bus over algorithm bandwidth fits no single number of ranks in this run")
    elif told is not None and not least <= told <= most:
        if least == most:
            log.doubt(line, f"the text says {told} ranks, but bus over algorithm bandwidth says {least}: taken")
            return int(least), RanksFrom.FACTOR
        log.doubt(line, f"the text says {told} ranks, but bus over algorithm bandwidth {_between(least, most)}")
    elif asked is not None and told is None and not least <= asked <= most:
        log.doubt(line, f"--ranks says {asked}, but bus over algorithm bandwidth {_between(least, most)}")
        if least == most:
            return int(least), RanksFrom.FACTOR
    if told is not None:
        if asked is not None and asked != told:
            log.doubt(line, f"--ranks says {asked}, but the text {told}: taken")
        return told, RanksFrom.TEXT
    if least == most:
        return int(least), RanksFrom.FACTOR
    return (asked, RanksFrom.OPTION) if asked is not None else (None, None)


def doubt_options(log: Log) -> None:
    """Say once a run which options a log contradicts: they fill gaps and outweigh nothing."""
    said: set[tuple[int, str, object]] = set()
    given = [name for name in Facts.__struct_fields__ if getattr(log.facts, name) is not None]
    for row, name in itertools.product(log.rows, given):
        asked, told = getattr(log.facts, name), getattr(row, name)
        if name == "ranks" and row.operation not in PAIRS:
            continue  # settled with what bandwidths tell
        if name == "operation" and asked not in row.possible:
            told = " or ".join(row.possible)
        if told and told != asked and (row.group, name, told) not in said:
            said.add((row.group, name, told))
            log.doubt(row.line, f"--{name} says {asked}, but the log {told}: taken")


def doubt_results(log: Log) -> None:
    """Name lines whose results the tool found wrong."""
    wrong: Counter[int] = Counter()
    for row in log.rows:
        if row.wrong:
            wrong[row.line] += row.wrong
    for line, count in wrong.items():
        log.doubt(line, f"the tool found {counted(count, 'wrong element')}")


def _between(least: float, most: float) -> str:
    if least == most:
        return f"says {least:.0f}"
    return f"says at least {least:.0f}" if math.isinf(most) else f"says {least:.0f} to {most:.0f}"


def recovered(drafts: Iterable[Draft]) -> tuple[float, float]:
    """Return the least and the largest number of ranks that the printed bandwidths of a run allow.

    From m (n - 1) / n = bus / algorithm (nccl-tests doc/PERFORMANCE.md) with the rounding of both; size over time tells
    the algorithm bandwidth more precisely than its own two decimals. Above the largest that can be told it is inf; the
    least is above the largest where rows contradict each other.
    """
    least, most = 1.0, math.inf
    for draft in drafts:
        limit = _limit_of(draft.row.possible)
        factor = None if limit is None else draft.factor or _factor(draft)
        if limit is None or factor is None:
            continue
        lower = factor.lower / limit * (1 - SLACK)
        upper = factor.upper / limit * (1 + SLACK)
        least = max(least, math.ceil(1 / (1 - lower)) if lower < 1 else math.inf)
        most = min(most, math.floor(1 / (1 - upper)) if upper < 1 else math.inf)
    return (least, most) if least < math.inf else (math.inf, 0.0)


@lru_cache(maxsize=256)
def _limit_of(operations: tuple[str, ...]) -> float | None:
    """Return the limit of the bus factor that all of some operations have."""
    limits = {RECOVERS.get(one) for one in operations}
    return limits.pop() if len(limits) == 1 else None


def _factor(draft: Draft) -> Figure | None:
    algorithm = _algorithm(draft)
    return None if draft.bus is None or algorithm is None else ratio(draft.bus, algorithm)


def _algorithm(draft: Draft) -> Figure | None:
    """Return the algorithm bandwidth with its bounds, by size over time and by what is printed."""
    by_time = None
    nbytes = _size(draft)
    if draft.seconds is not None and nbytes and draft.row.size_is is SizeIs.CANONICAL:
        by_time = quotient(float(nbytes), draft.seconds)
    printed = draft.algorithm
    if by_time is None or printed is None:
        return printed or by_time
    lower, upper = max(printed.lower, by_time.lower), min(printed.upper, by_time.upper)
    return Figure("", by_time.value, lower, upper) if lower <= upper else printed


def _finished(log: Log, draft: Draft, ranks: int | None, origin: RanksFrom | None, nodes: int | None) -> Row:
    """Return a row with S, T and the bandwidths; warn where printed ones disagree with S, T and the factor."""
    row = draft.row
    nbytes = _size(draft)
    if row.size_is is SizeIs.BLOCK and nbytes is not None:
        nbytes = None if ranks is None else nbytes * ranks
    operation, factor = OPERATIONS.get(row.operation), None
    if operation is not None:
        if not operation.sized:
            nbytes = 0  # it moves nothing, and no size is printed
        if ranks is not None:
            factor = operation.bus_factor(ranks)
    time = draft.seconds or _exactly(row.seconds) or _from_bandwidth(draft, nbytes, factor)
    computed = quotient(float(nbytes), time) if nbytes and time else None
    bus = None
    if computed is not None and factor is not None:
        bus = Figure("", computed.value * factor, computed.lower * factor, computed.upper * factor)
    for name, printed, own in (("algorithm", draft.algorithm, computed), ("bus", draft.bus, bus)):
        if printed is not None and own is not None and not _overlap(printed, own):
            words = f"{name} bandwidth is printed as {printed.value / GIGA:.4g} GB/s, but size and time give"
            log.doubt(row.line, f"{words} {own.value / GIGA:.4g} GB/s")
    return msgspec.structs.replace(
        row,
        ranks=ranks,
        ranks_from=origin,
        nodes=nodes,
        nbytes=nbytes,
        dtype=row.dtype or log.facts.dtype or "",
        device=row.device or log.facts.device,
        backend=row.backend or log.facts.backend or "",
        seconds=_value(time),
        algorithm_bandwidth=_value(draft.algorithm or (computed if row.operation else None)),
        bus_bandwidth=_value(draft.bus or bus),
    )


def _size(draft: Draft) -> int | None:
    """Return S, or one block of it; None where it is not told."""
    if draft.is_unclear:
        return None
    return draft.row.nbytes_printed if draft.nbytes is None else draft.nbytes


def _from_bandwidth(draft: Draft, nbytes: int | None, factor: float | None) -> Figure | None:
    """Return T where only a bandwidth is printed."""
    if not nbytes:
        return None
    if draft.algorithm is not None:
        return quotient(float(nbytes), draft.algorithm)
    return quotient(nbytes * factor, draft.bus) if draft.bus is not None and factor else None


def _exactly(seconds: float | None) -> Figure | None:
    return None if seconds is None else Figure("", seconds, seconds, seconds)


def _overlap(one: Figure, other: Figure) -> bool:
    return one.lower <= other.upper * (1 + SLACK) and other.lower <= one.upper * (1 + SLACK)


def _value(found: Figure | None) -> float | None:
    return None if found is None else found.value
