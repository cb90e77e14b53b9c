"""From the records of runs to times of pairs: one sweep, and launches that measured suspects again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np

from collmark.analysis.pairs.find import EFFECT, Finding, Sweep, confirmed, sweep
from collmark.analysis.pairs.meetings import Layout, Meetings
from collmark.analysis.results import Results
from collmark.core.errors import UsageError
from collmark.core.grouping import BACK, PAIRS, pairs_of
from collmark.core.pairing import Round
from collmark.core.placement import Placement
from collmark.core.record import Record, Status

TIMED = (Status.CONVERGED, Status.BUDGET, Status.UNSTABLE)
Key = tuple[str, str, int]
"""Backend, operation and nbytes."""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What is slow among the pairs of one operation and size.

    Attributes
    ----------
    backend, operation : str
        What was measured.
    nbytes : int
        B.
    marker : str
        What the figures are, where they are no measurements of ours.
    sweep : Sweep
        Of all pairs, with the suspects.
    rounds : tuple of Round
        Those that it was made of.
    repeats : int
        Launches that measured suspects again.
    findings : tuple of Finding
        What is slow, the largest excess first.
    hosts : dict of int to str
        Name of the host of each rank, where it is known.
    """

    backend: str
    operation: str
    nbytes: int
    marker: str
    sweep: Sweep
    rounds: tuple[Round, ...]
    repeats: int
    findings: tuple[Finding, ...]
    hosts: dict[int, str]


def judge(results: Sequence[Results], *, effect: float = EFFECT, nics: int = 0) -> list[Judged]:
    """Return what is slow, for each operation and size that pairs of these runs were measured with.

    Parameters
    ----------
    results : sequence of Results
        Of the same ranks: one or more that measured rounds, and those that measured suspects again.
    effect : float
        Smallest relative excess of T that is of interest.
    nics : int
        NICs of each node; 0 where unknown.

    Raises
    ------
    UsageError
        If none of them measured rounds of pairs, or they are of different ranks.
    """
    records = [record for one in results for record in _paired(one.records)]
    worlds = {(record.case.world.nodes, record.case.world.ranks_per_node): record.case.world for record in records}
    if len(worlds) > 1:
        raise UsageError(f"{_names(results)}: pairs of different numbers of ranks; name a sweep and its repeats")
    swept = [one for one in results if is_sweep(one)]
    if len(swept) > 1:
        raise UsageError(f"{_names(swept)}: several sweeps over pairs; name one and its repeats")
    if not swept:
        raise UsageError(f"{_names(results)}: no rounds of pairs were measured; collmark pairs measures them")
    (layout,) = (Layout(placement=world, nics=nics) for world in worlds.values())
    repeats = [one for one in results if one is not swept[0]]
    keys = dict.fromkeys(_key(record) for record in _paired(swept[0].records))
    hosts = _hosts(results)
    return [_judged(key, swept[0], repeats, layout, effect, hosts) for key in keys]


def is_sweep(results: Results) -> bool:
    """Whether rounds of pairs were measured, and no pairs that were chosen one by one, as suspects are."""
    names = {_arrangement(record).removeprefix(PAIRS) for record in _paired(results.records)}
    return bool(names) and not any("-" in name for name in names)


def without_pairs(results: Results) -> Results:
    """Return a run without the records of its pairs."""
    groups = [record.case.group for record in results.records]
    if not any(group is not None and group.is_pair for group in groups):
        return results
    kept = [record for record, group in zip(results.records, groups, strict=True) if group is None or not group.is_pair]
    return msgspec.structs.replace(results, records=kept)


def _judged(
    key: Key, swept: Results, others: Sequence[Results], layout: Layout, effect: float, hosts: dict[int, str]
) -> Judged:
    first, *_more = _launches(swept, key)
    found = sweep(_meetings(first), layout, effect)
    repeats = [_meetings(own) for one in others for own in _launches(one, key)]
    names = dict.fromkeys(_arrangement(record).removesuffix(BACK) for record in first)
    return Judged(
        backend=key[0],
        operation=key[1],
        nbytes=key[2],
        marker=first[0].marker or "",
        sweep=found,
        rounds=tuple(_round(name, first[0].case.world) for name in names),
        repeats=len(repeats),
        findings=tuple(sorted(confirmed(found, repeats), key=lambda one: -one.excess)),
        hosts=hosts,
    )


def _launches(results: Results, key: Key) -> list[list[Record]]:
    """Return the pairs that each launch of a run measured with one operation and size."""
    found: dict[int, list[Record]] = {}
    for record in _paired(results.records):
        if _key(record) == key:
            found.setdefault(record.launch, []).append(record)
    return list(found.values())


def _hosts(results: Sequence[Results]) -> dict[int, str]:
    hosts = [host for one in results for launch in one.run.launches for host in launch.hosts]
    return {rank: host.name for host in hosts for rank in host.ranks}


def _paired(records: Iterable[Record]) -> Iterator[Record]:
    for record in records:
        group = record.case.group
        is_of_pair = group is not None and group.is_pair and record.sentinel is None
        if is_of_pair and record.status in TIMED and record.timing is not None and record.timing.median > 0:
            yield record


def _key(record: Record) -> Key:
    return record.case.backend, record.case.operation, record.case.nbytes


def _arrangement(record: Record) -> str:
    assert record.case.group is not None, "pairs are groups"
    return record.case.group.arrangement


def _round(arrangement: str, world: Placement) -> Round:
    pairs = pairs_of(arrangement, world)
    each = world.ranks_per_node
    is_between = pairs[0][0] // each != pairs[0][1] // each
    return Round(pairs=pairs, is_between=is_between, number=int(arrangement.removeprefix(PAIRS)))


def _meetings(records: Iterable[Record]) -> Meetings:
    """Return the pairs of one launch whose both directions are known."""
    seconds: dict[tuple[int, int], float] = {}
    for record in records:
        assert record.timing is not None, "only those with a time"
        one, two = record.case.members
        seconds[one, two] = record.timing.median
        if not is_one_way(record.case.operation):
            seconds.setdefault((two, one), record.timing.median)
    pairs = [(one, two) for one, two in seconds if one < two and (two, one) in seconds]
    places = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Meetings(
        one_M=places[:, 0],
        two_M=places[:, 1],
        there_M=np.array([seconds[pair] for pair in pairs]),
        back_M=np.array([seconds[two, one] for one, two in pairs]),
    )


def is_one_way(operation: str) -> bool:
    """Whether data goes from the first of a pair to the second alone, so that the other way is measured by itself."""
    return operation == "stream"


def _names(results: Sequence[Results]) -> str:
    return ", ".join(one.name for one in results)
