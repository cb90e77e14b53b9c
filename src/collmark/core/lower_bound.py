"""How uneven a ragged call is, and what it reaches of its lower bound.

No call can be over before its busiest rank has sent and received what it must. How long that takes is not computed from
a link's rate, which nobody knows here, but measured: it is the time of an even exchange, in the same launch and under
the same conditions, in which every rank sends and receives as many bytes as the busiest one
(docs/decisions/0009-ragged-traffic.md). Own shares count on neither side.
"""

from __future__ import annotations

import bisect
import math
import statistics
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence

import msgspec

from collmark.core.case import Case
from collmark.core.estimate import Estimate
from collmark.core.numeral import counted, listed
from collmark.core.operation import Exchange
from collmark.core.operation_table import OPERATIONS
from collmark.core.record import ENTERS, Record, Status
from collmark.core.statistics import log_t_interval
from collmark.core.traffic import DEFAULT_TRAFFIC
from collmark.core.units import format_about_nbytes

Runs = Mapping[int, Record]
"""One case, by launch."""
CONDITION = tuple(
    name for name in Case.__struct_fields__ if name not in {"operation", "traffic", "nbytes", "requested_nbytes"}
)
"""What an even exchange must have in common with a ragged one."""


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    """Lower bound over time, of one case.

    Attributes
    ----------
    value : float or None
        Geometric mean over launches; above 1 where something that all ranks share limits, and not a rank's own link.
    estimate : Estimate or None
        With its interval over launches; None for one launch.
    against : str
        The even exchange that it is measured against.
    reason : str
        Why there is no value; empty where there is one.
    """

    value: float | None = None
    estimate: Estimate | None = None
    against: str = ""
    reason: str = ""


class _Even(msgspec.Struct, frozen=True, kw_only=True):
    """An even case: the bytes of its busiest rank, as of any other, and its records that enter."""

    case: Case
    busiest: float
    runs: Runs


def is_uneven(case: Case) -> bool:
    """Whether a case has a lower bound of its own: it is ragged, and not uniform."""
    return OPERATIONS[case.operation].ragged and case.traffic != DEFAULT_TRAFFIC


def imbalance(exchange: Exchange) -> float | None:
    """Return the busiest rank's max(sent, received) over the mean that a rank sends, own shares apart.

    1 is even. None where nothing is sent to others.
    """
    counts = exchange.counts or ()
    sent = [sum(row) - row[rank] for rank, row in enumerate(counts)]
    received = [sum(row) - row[rank] for rank, row in enumerate(zip(*counts, strict=True))]
    return max(*sent, *received) / statistics.fmean(sent) if any(sent) else None


def of_bound(records: Iterable[Record], *, include_unstable: bool = False) -> dict[str, Reached]:
    """Return what each uneven case of a run reaches, by its key.

    Parameters
    ----------
    records : iterable of Record
        Of one run, as launches are told apart by their ids.
    include_unstable : bool
        Let unstable records enter.
    """
    statuses = {*ENTERS, *([Status.UNSTABLE] if include_unstable else [])}
    of_case: dict[str, list[Record]] = {}
    for record in records:
        if record.sentinel is None:
            of_case.setdefault(record.case.key, []).append(record)
    runs = {key: _entering(own, statuses) for key, own in of_case.items()}
    cases = {key: own[0].case for key, own in of_case.items()}
    # A call is counted once: between many ranks that takes time.
    evens = [_Even(case=c, busiest=_busiest(c), runs=runs[key]) for key, c in cases.items() if _is_even(c)]
    return {key: _reached(case, of_case[key], runs[key], evens) for key, case in cases.items() if is_uneven(case)}


def reason_words(reached: Mapping[str, Reached], records: Iterable[Record]) -> list[str]:
    """Return why some cases have no share, in a sentence for each reason; none where all have one."""
    cases = {record.case.key: record.case for record in records}
    alike: dict[str, list[Case]] = {}
    for key, one in reached.items():
        if one.reason:
            alike.setdefault(one.reason, []).append(cases[key])
    return [
        f"{counted(len(own), 'ragged case')} without a share of the lower bound "
        f"({listed(list(dict.fromkeys(map(str, own))))}): {reason}"
        for reason, own in alike.items()
    ]


def _entering(records: Sequence[Record], statuses: Container[Status]) -> Runs:
    """Return the records of a case whose times enter, by launch; none where a result was wrong."""
    if any(record.status is Status.WRONG for record in records):
        return {}
    timed = [record for record in records if record.timing is not None and record.timing.median > 0]
    return {record.launch: record for record in timed if record.status in statuses}


def _is_even(case: Case) -> bool:
    return case.traffic == DEFAULT_TRAFFIC or case.operation in {row.even for row in OPERATIONS.values()}


def _reached(case: Case, records: Sequence[Record], own: Runs, evens: Sequence[_Even]) -> Reached:
    busiest, operation = _busiest(case), OPERATIONS[case.operation]
    if not busiest:
        return Reached(reason="no rank sends anything to another")
    if not own:
        return Reached(reason=_why_no_time(records))
    alike = [even for even in evens if _condition(even.case) == _condition(case)]
    tried = []
    for name, traffic in ((operation.name, DEFAULT_TRAFFIC), (operation.even, "")):
        found = [even for even in alike if (even.case.operation, even.case.traffic) == (name, traffic)]
        if found:
            tried.append(_against(found, " ".join(filter(None, (traffic, name))), own, busiest))
    if not tried:
        return Reached(reason=f"no {DEFAULT_TRAFFIC} traffic and no {operation.even} beside it: add one of them")
    return next((reached for reached in tried if reached.value is not None), tried[0])


def _against(evens: Sequence[_Even], name: str, own: Runs, busiest: float) -> Reached:
    # Where one side may be left early and the other not, T is the longest local duration on both.
    estimands = {r.timing.estimand for runs in (own, *(e.runs for e in evens)) for r in runs.values() if r.timing}
    seconds = _median if len(estimands) == 1 else _longest
    shares, is_between = [], False
    for launch, record in own.items():
        there = [even for even in evens if launch in even.runs]
        is_between = is_between or _reaches(there, busiest)
        bound = _line(there, {even.busiest: seconds(even.runs[launch]) for even in there}, busiest)
        if bound > 0 and seconds(record) > 0:
            shares.append(bound / seconds(record))
    if shares:
        return Reached(value=statistics.geometric_mean(shares), estimate=log_t_interval(shares), against=name)
    return Reached(against=name, reason=_why_none(evens, name, busiest, is_between=is_between))


def _why_no_time(records: Sequence[Record]) -> str:
    """Return why no record of a case enters."""
    words = Counter("without a time" if record.status in ENTERS else str(record.status) for record in records)
    if words[Status.WRONG]:
        return f"wrong result in {words[Status.WRONG]} of {counted(len(records), 'launch')}"
    return f"no steady time: {', '.join(f'{count} {word}' for word, count in words.items())}"


def _why_none(evens: Sequence[_Even], name: str, busiest: float, *, is_between: bool) -> str:
    """Return why no launch gives a share; `is_between`: in some launch sizes on both sides have a steady time."""
    about, sizes = format_about_nbytes(busiest), sorted(even.busiest for even in evens)
    if is_between:
        return f"T is the longest local duration here, and {name} or the case itself has none above 0"
    if _reaches(evens, busiest):
        return f"{about} at the busiest rank: no launch has a steady time both of it and of {name} around: add launches"
    span = " to ".join(dict.fromkeys(format_about_nbytes(size) for size in (sizes[0], sizes[-1])))
    return f"{about} at the busiest rank, of {name} only {span}: add sizes around it"


def _condition(case: Case) -> tuple[object, ...]:
    return tuple(getattr(case, name) for name in CONDITION)


def _busiest(case: Case) -> float:
    return OPERATIONS[case.operation].model_nbytes(case.exchange)


def _median(record: Record) -> float:
    return record.timing.median if record.timing is not None else math.nan


def _longest(record: Record) -> float:
    return record.ranks.longest if record.ranks is not None else math.nan


def _reaches(evens: Sequence[_Even], nbytes: float) -> bool:
    """Whether the line through some even cases tells a time of so many bytes."""
    sizes = {even.busiest for even in evens}
    most = max((even.case.requested_nbytes for even in evens), default=0)
    return nbytes in sizes or (len(sizes) > 1 and min(sizes) < nbytes <= most)


def _line(evens: Sequence[_Even], seconds: Mapping[float, float], nbytes: float) -> float:
    """Return the time of an even exchange of so many bytes, on the line between its neighbours; NaN where none are.

    Beyond the largest the last line goes on, but never down and never beyond the bytes of a whole call: an even call of
    that size keeps one part for each rank itself, which an uneven one may send.
    """
    if nbytes in seconds:
        return seconds[nbytes]
    if not _reaches(evens, nbytes):
        return math.nan
    sizes = sorted(seconds)
    upper = min(bisect.bisect(sizes, nbytes), len(sizes) - 1)
    low, high = sizes[upper - 1], sizes[upper]
    slope = (seconds[high] - seconds[low]) / (high - low)
    return seconds[high] + (nbytes - high) * (max(slope, 0.0) if nbytes > high else slope)
