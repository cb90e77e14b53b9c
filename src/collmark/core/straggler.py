"""Ranks that come last: who enters or leaves after all others, how often, by how much, and whether that is chance.

Both ends of a call are judged, and kept apart. A rank that enters last is late itself: its process, its cores, its
clock. One that leaves last is slow to be served by the operation. A rank is named where its place is unlikely by
chance and its delay large enough to matter and above 0 over launches; what is not named was not ruled out.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum

import msgspec

from collmark.core.chance import CHANCE, combined_chance
from collmark.core.estimate import Mean
from collmark.core.metrics import counted_records
from collmark.core.numeral import counted
from collmark.core.operation import Estimand
from collmark.core.record import Clock, Ranks, Record, Run
from collmark.core.statistics import t_interval
from collmark.core.units import format_microseconds

LEAST_DELAY = 0.1
"""Of T, below which a late rank does not matter."""
SMALLEST_SHOWN = 1e-6  # p


class End(StrEnum):
    """The end of a call at which ranks are compared."""

    ENTERED = "entered"
    LEFT = "left"


class Straggler(msgspec.Struct, frozen=True, kw_only=True):
    """A rank that comes last more often than chance explains, and late enough to matter.

    Attributes
    ----------
    end : End
        Whether it enters or leaves last.
    what : str
        Backend and placement, and the group where there are several.
    rank, ranks : int
        Its index among all that are there, and the number of ranks that take part.
    host : str
        Name of its host; empty where unknown.
    share : Mean
        Share of repetitions in which it came last; 1 / ranks by chance.
    seconds : Mean
        Its delay in s, median over cases: `lateness` or `overtime` of the records.
    relative : Mean
        The same over T.
    cases, judged : int
        Cases in which the delay matters, of those looked at; share and delay are over the former.
    chance : float
        p-value of its coming last so often, over all cases looked at, corrected for having looked at all ranks.
    """

    end: End
    what: str
    rank: int
    ranks: int
    host: str
    share: Mean
    seconds: Mean
    relative: Mean
    cases: int
    judged: int
    chance: float


class _Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What one record says of one end."""

    launch: int
    case: str
    batch_seconds: float
    last: list[int]
    delay: list[float]
    chance: float

    def relative(self, rank: int) -> float:
        # Stamps lie around a batch, and so does the delay; T is that of one call.
        return self.delay[rank] / self.batch_seconds


_FIELDS: dict[End, Callable[[Ranks], tuple[list[int], list[float], float | None]]] = {
    End.ENTERED: lambda ranks: (ranks.last_in, ranks.lateness, ranks.chance_in),
    End.LEFT: lambda ranks: (ranks.last_out, ranks.overtime, ranks.chance_out),
}
_JUDGED = {
    End.ENTERED: (Estimand.LAST_IN_LAST_OUT, Estimand.FIRST_IN_LAST_OUT),
    # From a rooted operation some ranks leave last by its nature.
    End.LEFT: (Estimand.LAST_IN_LAST_OUT,),
}


def stragglers(run: Run, records: Iterable[Record], *, include_unstable: bool = False) -> list[Straggler]:
    """Return the ranks that straggle, at most one for each end on each placement of a backend, or each group there.

    The records are those whose times count (:func:`collmark.core.metrics.counted_records`). Where the interval of the
    delay over launches holds 0, nobody is named: launches do not agree on it.

    The p-values of records are combined by Fisher's method. To a rank counts that of every record in which it came
    last most often, divided by the number of ranks, since by chance each is as likely to; 1 elsewhere. The smallest
    is multiplied by the number of ranks.
    """
    hosts = {rank: host.name for launch in run.launches for host in launch.hosts for rank in host.ranks}
    found = []
    for what, own in _groups(records, include_unstable=include_unstable):
        for end in End:
            straggler = _straggler(what, end, list(_seen(own, end)), own[0].case.members, hosts)
            found += [] if straggler is None else [straggler]
    return found


def straggler_words(straggler: Straggler) -> str:
    """Return a straggler in a sentence without its stop."""
    one, launches = straggler, 1 if straggler.share.interval is None else straggler.share.interval.count
    over = "one launch: no interval" if launches == 1 else f"95 % over {counted(launches, 'launch')}"
    chance = f"< {SMALLEST_SHOWN:g}" if one.chance < SMALLEST_SHOWN else f"= {one.chance:.1g}"
    return (
        f"rank {one.rank} ({one.host or 'host unknown'}) {'enters' if one.end is End.ENTERED else 'leaves'} late in "
        f"{one.cases} of {counted(one.judged, 'case')} ({one.what}): last in {_told(_percent, one.share)} % of "
        f"repetitions (chance {100 / one.ranks:.2g} %), by {_told(format_microseconds, one.seconds)} us, "
        f"{_told(_percent, one.relative)} % of T (p {chance}; {over})"
    )


def absence_words(run: Run, records: Sequence[Record], *, include_unstable: bool = False) -> str:
    """Return that nobody straggles, or why nobody was looked for; empty where somebody does or there is one rank."""
    if stragglers(run, records, include_unstable=include_unstable):
        return ""
    groups = _groups(records, include_unstable=include_unstable)
    judged = {seen.case for _what, own in groups for end in End for seen in _seen(own, end)}
    if judged:
        return (
            f"no straggler: in {counted(len(judged), 'case')} no rank enters or leaves last by over "
            f"{100 * LEAST_DELAY:g} % of T more often than chance explains (p > {CHANCE:g}), with a delay above 0 over "
            "launches (95 %)"
        )
    several = [record for record in records if record.ranks is not None and len(record.ranks.local) > 1]
    if not several:
        return ""
    apart = all(record.clock is Clock.LOCAL for record in several)
    why = "the clocks of the ranks cannot be compared" if apart else "no collective has enough repetitions"
    return f"stragglers were not looked for: {why}"


def _groups(records: Iterable[Record], *, include_unstable: bool) -> Iterator[tuple[str, list[Record]]]:
    groups: dict[str, list[Record]] = {}
    for own in counted_records(records, include_unstable=include_unstable).values():
        place = own[0].case.placement if own[0].case.group is None else own[0].case.group
        groups.setdefault(f"{own[0].case.backend} {place}", []).extend(own)
    yield from groups.items()


def _seen(records: Iterable[Record], end: End) -> Iterator[_Seen]:
    """Yield what can be judged: not a pair of ranks, nor where a clock is so coarse that T is 0."""
    for record in records:
        timing, ranks = record.timing, record.ranks
        if timing is None or ranks is None or timing.estimand not in _JUDGED[end] or timing.median == 0:
            continue
        last, delay, chance = _FIELDS[end](ranks)
        is_whole = len(last) == len(delay) == record.case.placement.ranks > 1 and any(last)
        if is_whole and chance:
            yield _Seen(
                launch=record.launch,
                case=record.case.key,
                batch_seconds=timing.median * record.case.batch,
                last=last,
                delay=delay,
                chance=chance,
            )


def _straggler(
    what: str, end: End, seen: Sequence[_Seen], members: Sequence[int], hosts: dict[int, str]
) -> Straggler | None:
    if not seen:
        return None
    ranks = len(seen[0].last)
    evidence: dict[int, list[float]] = {}
    for one in seen:
        if one.chance < 1:
            first = max(range(ranks), key=one.last.__getitem__)
            evidence.setdefault(first, []).append(one.chance / ranks)
    rank = min(evidence, key=lambda rank: math.fsum(map(math.log, evidence[rank])), default=None)
    if rank is None:
        return None
    chance = min(1.0, ranks * combined_chance([*evidence[rank], *[1.0] * (len(seen) - len(evidence[rank]))]))
    cases = _by(seen, lambda one: one.case)
    late = [own for own in cases if statistics.median(one.relative(rank) for one in own) > LEAST_DELAY]
    if chance > CHANCE or not late:
        return None
    over = _by([one for own in late for one in own], lambda one: one.launch)
    seconds = _mean([statistics.median(one.delay[rank] for one in own) for own in over])
    relative = _mean([statistics.median(one.relative(rank) for one in own) for own in over])
    if any(mean.interval is not None and mean.interval.lower <= 0 for mean in (seconds, relative)):
        return None
    return Straggler(
        end=end,
        what=what,
        rank=members[rank],
        ranks=ranks,
        host=hosts.get(members[rank], ""),
        share=_share([sum(one.last[rank] for one in own) / sum(sum(one.last) for one in own) for own in over]),
        seconds=seconds,
        relative=relative,
        cases=len(late),
        judged=len(cases),
        chance=chance,
    )


def _by(seen: Iterable[_Seen], key: Callable[[_Seen], object]) -> list[list[_Seen]]:
    groups: dict[object, list[_Seen]] = {}
    for one in seen:
        groups.setdefault(key(one), []).append(one)
    return list(groups.values())


def _mean(values_L: Sequence[float]) -> Mean:
    return Mean(value=statistics.fmean(values_L), interval=t_interval(values_L))


def _share(values_L: Sequence[float]) -> Mean:
    mean = _mean(values_L)
    if mean.interval is None:
        return mean
    ends = {"lower": max(0.0, mean.interval.lower), "upper": min(1.0, mean.interval.upper)}
    return Mean(value=mean.value, interval=msgspec.structs.replace(mean.interval, **ends))


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"


def _told(write: Callable[[float], str], mean: Mean) -> str:
    if mean.interval is None:
        return write(mean.value)
    return f"{write(mean.value)} [{write(mean.interval.lower)}, {write(mean.interval.upper)}]"
