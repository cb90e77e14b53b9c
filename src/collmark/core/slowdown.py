"""What groups of ranks that communicate at once cost each other: each group's time over its own time alone.

A launch that measured both gives one ratio, in which what made the whole launch slow cancels.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable

import msgspec

from collmark.core.case import Case
from collmark.core.estimate import Estimate
from collmark.core.grouping import Company
from collmark.core.metrics import like_medians
from collmark.core.numeral import counted
from collmark.core.record import ENTERS, Record
from collmark.core.statistics import log_t_interval


class Slowdown(msgspec.Struct, frozen=True, kw_only=True):
    """T of a group among others over T of the same group alone.

    Attributes
    ----------
    value : float
        Geometric mean over launches; 1 where the groups do not disturb each other.
    estimate : Estimate or None
        With its interval over launches; None for one launch.
    """

    value: float
    estimate: Estimate | None = None


def slowdowns(records: Iterable[Record]) -> dict[str, Slowdown]:
    """Return the slowdown of every case that was measured among other groups, and alone in the same launches, by key.

    Parameters
    ----------
    records : iterable of Record
        Of one run, as launches are told apart by their ids.
    """
    runs: dict[str, dict[int, Record]] = {}
    for record in records:
        if record.sentinel is None and record.status in ENTERS and record.case.group is not None:
            runs.setdefault(record.case.key, {})[record.launch] = record
    found = {}
    for key, own in runs.items():
        alone = alone_of(next(iter(own.values())).case)
        reference = {} if alone is None else runs.get(alone.key, {})
        launches = sorted(own.keys() & reference.keys())
        slowdown = _slowdown([own[launch] for launch in launches], [reference[launch] for launch in launches])
        if slowdown is not None:
            found[key] = slowdown
    return found


def slowdown_words(records: Iterable[Record]) -> list[str]:
    """Return why cases of groups that communicate at once have no slowdown, in a sentence; none where all have one."""
    kept = [record for record in records if record.sentinel is None]
    found = slowdowns(kept)
    without = {record.case.key for record in kept if alone_of(record.case) is not None} - found.keys()
    if not without:
        return []
    cases = f"{counted(len(without), 'case')} of groups at once"
    return [f"{cases} without a slowdown: no launch has a steady time of the same group both alone and among all"]


def alone_of(case: Case) -> Case | None:
    """Return the case in which the same group communicates alone; None where a case has no company."""
    if case.group is None or case.group.company is Company.ALONE:
        return None
    return msgspec.structs.replace(case, group=msgspec.structs.replace(case.group, company=Company.ALONE))


def _slowdown(together_L: list[Record], alone_L: list[Record]) -> Slowdown | None:
    # In one list, so that T is the same quantity on both sides.
    medians, _estimand = like_medians([*together_L, *alone_L])
    count = len(together_L)
    if not count or len(medians) != 2 * count or min(medians) <= 0:
        return None
    ratios_L = [medians[launch] / medians[count + launch] for launch in range(count)]
    return Slowdown(value=statistics.geometric_mean(ratios_L), estimate=log_t_interval(ratios_L))
