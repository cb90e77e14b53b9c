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
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from collmark.core.case import Case
from collmark.core.estimate import Estimate
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
    """An even case: the bytes of its busiest rank, as of any other, and its records."""

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
    kept = [record for record in records if record.sentinel is None]
    wrong = {record.case.key for record in kept if record.status is Status.WRONG}
    runs: dict[str, dict[int, Record]] = {}
    for record in kept:
        timing = record.timing
        if timing is not None and timing.median > 0 and record.status in statuses and record.case.key not in wrong:
            runs.setdefault(record.case.key, {})[record.launch] = record
    uneven = {record.case.key: record.case for record in kept if is_uneven(record.case)}
    # A call is counted once: between many ranks that takes time.
    pairs = [(_case(one), one) for one in runs.values()]
    evens = [_Even(case=case, busiest=_busiest(case), runs=one) for case, one in pairs if _is_even(case)]
    return {key: _reached(case, runs.get(key, {}), evens) for key, case in uneven.items()}


def _is_even(case: Case) -> bool:
    return case.traffic == DEFAULT_TRAFFIC or case.operation in {row.even for row in OPERATIONS.values()}


def _reached(case: Case, own: Runs, evens: Sequence[_Even]) -> Reached:
    busiest, operation = _busiest(case), OPERATIONS[case.operation]
    if not own or not busiest:
        return Reached(reason="no steady time" if busiest else "no rank sends anything to another")
    alike = [even for even in evens if _condition(even.case) == _condition(case)]
    for name, traffic in ((operation.name, DEFAULT_TRAFFIC), (operation.even, "")):
        found = [even for even in alike if (even.case.operation, even.case.traffic) == (name, traffic)]
        if found:
            return _against(found, " ".join(filter(None, (traffic, name))), own, busiest)
    return Reached(reason=f"no {DEFAULT_TRAFFIC} traffic and no {operation.even} beside it: add one of them")


def _against(evens: Sequence[_Even], name: str, own: Runs, busiest: float) -> Reached:
    # Where one side may be left early and the other not, T is the longest local duration on both.
    estimands = {r.timing.estimand for runs in (own, *(e.runs for e in evens)) for r in runs.values() if r.timing}
    seconds = _median if len(estimands) == 1 else _longest
    shares = []
    for launch, record in own.items():
        there = [even for even in evens if launch in even.runs]
        most = max((even.case.requested_nbytes for even in there), default=0)
        bound = _line({even.busiest: seconds(even.runs[launch]) for even in there}, busiest, most)
        if bound > 0 and seconds(record) > 0:
            shares.append(bound / seconds(record))
    if shares:
        return Reached(value=statistics.geometric_mean(shares), estimate=log_t_interval(shares), against=name)
    sizes = sorted(even.busiest for even in evens)
    span = " to ".join(dict.fromkeys(format_about_nbytes(size) for size in (sizes[0], sizes[-1])))
    about = format_about_nbytes(busiest)
    return Reached(against=name, reason=f"{about} at the busiest rank, of {name} only {span}: add sizes around it")


def _case(runs: Runs) -> Case:
    return next(iter(runs.values())).case


def _condition(case: Case) -> tuple[object, ...]:
    return tuple(getattr(case, name) for name in CONDITION)


def _busiest(case: Case) -> float:
    return OPERATIONS[case.operation].model_nbytes(case.exchange)


def _median(record: Record) -> float:
    return record.timing.median if record.timing is not None else math.nan


def _longest(record: Record) -> float:
    return record.ranks.longest if record.ranks is not None else math.nan


def _line(seconds: Mapping[float, float], nbytes: float, most: int) -> float:
    """Return the time of an even exchange of so many bytes, on the line between its neighbours; NaN where none are.

    Beyond the largest the last line goes on, but never down and never beyond the `most` bytes of a whole call: an even
    call of that size keeps one part for each rank itself, which an uneven one may send.
    """
    sizes = sorted(seconds)
    if nbytes in seconds:
        return seconds[nbytes]
    if len(sizes) < 2 or not sizes[0] < nbytes <= most:
        return math.nan
    upper = min(bisect.bisect(sizes, nbytes), len(sizes) - 1)
    low, high = sizes[upper - 1], sizes[upper]
    slope = (seconds[high] - seconds[low]) / (high - low)
    return seconds[high] + (nbytes - high) * (max(slope, 0.0) if nbytes > high else slope)
