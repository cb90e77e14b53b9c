"""What is computed when records are read and never stored: bandwidths, and medians that may stand beside each other."""

from __future__ import annotations

from collections.abc import Iterable

from collmark.core.case import Case
from collmark.core.operation import Estimand
from collmark.core.operation_table import OPERATIONS
from collmark.core.record import ENTERS, Record, Status


def algorithm_bandwidth(case: Case, seconds: float) -> float | None:
    """Return nbytes / T in B/s; None where the operation moves no payload, or the clock saw no time pass."""
    return case.nbytes / seconds if case.nbytes and seconds > 0 else None


def bus_bandwidth(case: Case, seconds: float) -> float | None:
    """Return bus factor x nbytes / T in B/s, the convention of nccl-tests; None as above.

    For all_to_all_v it is only what nccl-tests prints: the factor does not describe ragged traffic.
    """
    algorithm = algorithm_bandwidth(case, seconds)
    if algorithm is None:
        return None
    return algorithm * OPERATIONS[case.operation].bus_factor(case.placement.ranks)


def counted_records(records: Iterable[Record], *, include_unstable: bool = False) -> dict[str, list[Record]]:
    """Return the records of each case whose times count, by key; sentinels and cases without any are left out.

    Unstable records count only where no other of their case has a time, as in tables and pictures, or where
    `include_unstable` asks for them; none does where a result of the case was wrong.
    """
    of_case: dict[str, list[Record]] = {}
    for record in records:
        if record.sentinel is None:
            of_case.setdefault(record.case.key, []).append(record)
    found = {}
    for key, own in of_case.items():
        timed = [record for record in own if record.seconds is not None]
        steady = [record for record in timed if record.status in ENTERS]
        counted = timed if include_unstable or not steady else steady
        if counted and all(record.status is not Status.WRONG for record in own):
            found[key] = counted
    return found


def like_medians(records: Iterable[Record]) -> tuple[list[float], Estimand | None]:
    """Return T in each record of one case that has a time, in s, and what it is: our medians, or other tools' figures.

    Where clocks could be compared in some launches only, it is D_max in all: L or G is never put beside it. None where
    nothing has a time.
    """
    records = tuple(records)
    reported = [record.imported.seconds for record in records if record.imported is not None]
    if reported:
        return reported, Estimand.REPORTED
    timed = [(record.timing, record.ranks) for record in records if record.timing is not None]
    estimands = {timing.estimand for timing, _ranks in timed}
    if len(estimands) > 1 and all(ranks is not None for _timing, ranks in timed):
        return [ranks.longest for _timing, ranks in timed if ranks is not None], Estimand.LONGEST_LOCAL
    return [timing.median for timing, _ranks in timed], next(iter(estimands), None)
