"""What a run holds, as rows: one per case over its launches, and one per run of a results folder."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from collmark.core.case import Case
from collmark.core.errors import CollmarkError
from collmark.core.lower_bound import Reached, imbalance, is_uneven, of_bound
from collmark.core.marker import markers_of
from collmark.core.metrics import algorithm_bandwidth, bus_bandwidth, counted_records, like_medians
from collmark.core.operation import Estimand
from collmark.core.record import SEVERITY, Record, Run, Status
from collmark.core.slowdown import Slowdown, slowdowns
from collmark.core.statistics import log_t_interval
from collmark.workflow.places import run_folders

if TYPE_CHECKING:
    from collmark.analysis.modes import Modes

OURS = "collmark"  # the launcher of launches that no other program started


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One case over the launches so far.

    Attributes
    ----------
    case : Case
        What was measured.
    launches : int
        Launches with a time.
    seconds : float or None
        Geometric mean of the launches' medians, s; None where not measured, or wrong in any launch.
    half_width : float or None
        Relative half-width of its 95 % interval: over launches from two on, inside the launch for one.
    algorithm_bandwidth, bus_bandwidth : float or None
        In B/s.
    wrong : int or None
        Wrong elements; None where nothing was compared.
    status : Status or None
        The worst of the launches; None where there is no record yet.
    share : (int, int)
        Records of that status, and records.
    overlap : float or None
        Median over launches of the share of a non-blocking call that a computation hides.
    estimand : Estimand or None
        What T is; None where there is no time.
    imbalance : float or None
        Of a ragged case: the busiest rank's bytes over the mean.
    reached : Reached or None
        What an uneven case reaches of its lower bound.
    slowdown : Slowdown or None
        Of a group among others: against the group alone.
    origin : str
        Tool and statistic of an imported figure; empty where it is not imported.
    """

    case: Case
    launches: int
    seconds: float | None
    half_width: float | None
    algorithm_bandwidth: float | None
    bus_bandwidth: float | None
    wrong: int | None
    status: Status | None
    share: tuple[int, int]
    overlap: float | None = None
    estimand: Estimand | None = None
    imbalance: float | None = None
    reached: Reached | None = None
    slowdown: Slowdown | None = None
    origin: str = ""

    @property
    def is_over_launches(self) -> bool:
        """Whether the interval speaks about launches, and not about repetitions of a single one."""
        return self.launches > 1


def summarise(cases: Sequence[Case], records: Sequence[Record]) -> list[Row]:
    """Return a row for each case, in the order of the cases."""
    of_case: dict[str, list[Record]] = {}
    for record in records:
        if record.sentinel is None:
            of_case.setdefault(record.case.key, []).append(record)
    reached = of_bound(records) if any(map(is_uneven, cases)) else {}
    slower, timed = slowdowns(records), counted_records(records)
    return [
        _row(
            case, of_case.get(case.key, []), timed.get(case.key, []),
            reached=reached.get(case.key), slowdown=slower.get(case.key),
        )
        for case in cases
    ]  # fmt: skip


def _row(
    case: Case,
    records: Sequence[Record],
    timed: Sequence[Record],
    *,
    reached: Reached | None,
    slowdown: Slowdown | None,
) -> Row:
    statuses = Counter(record.status for record in records)
    worst = max(statuses, key=SEVERITY.index, default=None)
    medians, estimand = like_medians(timed)
    seconds = half_width = None
    # A clock coarser than the call reads 0: that is no time, and has no logarithm.
    if medians and min(medians) > 0:
        interval = log_t_interval(medians)
        if interval is not None:
            seconds, half_width = interval.value, interval.relative_half_width
        else:
            seconds = math.exp(statistics.fmean(map(math.log, medians)))
            timing = timed[0].timing
            lower, upper = (None, None) if timing is None else (timing.lower, timing.upper)
            if len(medians) == 1 and lower is not None and upper is not None:
                half_width = max(upper - seconds, seconds - lower) / seconds
    compared = [record for record in records if record.check.checked]
    overlaps = [record.overlap for record in records if record.overlap is not None]
    return Row(
        case=case,
        launches=len(medians),
        seconds=seconds,
        half_width=half_width,
        algorithm_bandwidth=None if seconds is None else algorithm_bandwidth(case, seconds),
        bus_bandwidth=None if seconds is None else bus_bandwidth(case, seconds),
        wrong=sum(record.check.wrong for record in compared) if compared else None,
        status=worst,
        share=(statuses[worst] if worst else 0, len(records)),
        overlap=statistics.median(overlaps) if overlaps and seconds is not None else None,
        estimand=None if seconds is None else estimand,
        imbalance=imbalance(case.exchange) if case.traffic else None,
        reached=reached,
        origin=next((record.imported.origin for record in records if record.imported is not None), ""),
        slowdown=slowdown,
    )


def modes_of_run(run: Run, records: Sequence[Record], name: str = "") -> list[Modes]:
    """Return the cases of a run, by name of its folder, that have several modes of T inside a launch."""
    if all(record.timing is None or record.timing.histogram is None for record in records):
        return []
    from collmark.analysis.modes import several_modes  # it loads scipy
    from collmark.analysis.results import Results

    return several_modes([Results(name=name, run=run, records=records)])


def count_statuses(records: Iterable[Record]) -> Mapping[Status, int]:
    """Return how many records have each status, sentinels apart."""
    return Counter(record.status for record in records if record.sentinel is None)


def skewed_share(records: Iterable[Record]) -> float | None:
    """Return the share of all repetitions whose ranks entered more than 10 % of L apart."""
    total = skewed = 0.0
    for record in records:
        if record.sentinel is None and record.timing and record.ranks and record.ranks.skewed is not None:
            steady = record.timing.repetitions - record.timing.cut
            total += steady
            skewed += steady * record.ranks.skewed
    return skewed / total if total else None


def busiest(records: Iterable[Record]) -> tuple[int, int] | None:
    """Return (threads, cores) of the record with most threads for its cores, if any is oversubscribed."""
    over = [
        (record.busy_threads, record.cores)
        for record in records
        if record.oversubscribed and record.busy_threads is not None and record.cores is not None
    ]
    return max(over, key=lambda pair: pair[0] / pair[1], default=None)


def expected_records(run: Run) -> int:
    """Return the records that the plan asks for; under ``auto``, those it starts with.

    Of a run that launchers have joined, each joining asked for one more launch.
    """
    joined = sum(launch.launcher != OURS for launch in run.launches)
    return len(run.cases) * max(run.plan.first_launches, joined)


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """One run in a list of runs.

    Attributes
    ----------
    name, path, label, created : str
        Folder name, path, the user's name, UTC time.
    backends, operations, placements : list of str
        What was planned.
    ranks : list of int
        Number of ranks of each placement.
    records, expected : int
        Records that are there, and that the plan asks for.
    statuses : dict of str to int
        Records of each status.
    simulated : bool
        Whether any figure comes from a simulation.
    marker : str
        Why figures are no measurement, in a word; empty where all are one.
    problem : str
        Why the records cannot be read; empty where they can.
    """

    name: str
    path: str
    label: str
    created: str
    backends: list[str]
    operations: list[str]
    placements: list[str]
    ranks: list[int]
    records: int
    expected: int
    statuses: dict[str, int]
    simulated: bool
    marker: str = ""
    problem: str = ""


def overviews(root: Path) -> list[Overview]:
    """Return what is known of every run below a folder, oldest first."""
    found = []
    for folder, run in run_folders(root):
        problem = ""
        try:
            records = [record for record in folder.records() if record.sentinel is None]
        except CollmarkError as error:
            records, problem = [], str(error)
        found.append(
            Overview(
                name=folder.path.name,
                path=str(folder.path),
                label=run.label,
                created=run.created,
                backends=list(run.plan.backends),
                operations=list(run.plan.operations),
                placements=[str(placement) for placement in run.plan.placements],
                ranks=[placement.ranks for placement in run.plan.placements],
                records=len(records),
                expected=expected_records(run),
                statuses={str(status): count for status, count in count_statuses(records).items()},
                simulated=any(record.simulated for record in records),
                marker=markers_of(records),
                problem=problem,
            )
        )
    return found
