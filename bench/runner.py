"""One launch: a block of cases in an order of its own, each finished and on disk before the next."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import msgspec

from collmark.bench.measurement import Measurement, Progress, Terms
from collmark.bench.rotation import eviction_nbytes, pool_nbytes
from collmark.bench.stops import Stops
from collmark.bench.team import Team
from collmark.core.case import Case, companies
from collmark.core.errors import InterruptedRunError
from collmark.core.plan import Plan
from collmark.core.plan_field import LEAST_CASE
from collmark.core.record import Record, Sentinel
from collmark.core.store import Writer

T = TypeVar("T")

SENTINEL_SHARE = 0.25  # of a case's budget


class Finished(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A record is on disk."""

    record: Record


class BudgetSpent(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The time for the run ended before these cases."""

    cases: int


RunnerEvent = Progress | Finished | BudgetSpent


def shuffled(companies: Sequence[T], seed: int, launch: int) -> list[T]:
    """Return what is measured in the order of a launch: a fresh shuffle, the same for everybody who knows the seed."""
    order = list(companies)
    random.Random(f"{seed}/{launch}").shuffle(order)  # noqa: S311 - an order, not a secret
    return order


def sentinel_of(cases: Sequence[Case]) -> Case:
    """Return the case whose repeats show the drift: the middle size of the plan's first operation."""
    alike = sorted((case for case in cases if case.operation == cases[0].operation), key=lambda case: case.nbytes)
    return alike[len(alike) // 2]


def allowance(case_budget: float, remaining: float, cases: int) -> float:
    """Return the seconds that the next of `cases` cases may take.

    About twice its fair share of what remains, so that cases which converge early lend their time to others; the
    product of (1 - 2 / (k + 1)) over k = cases ... 1 is zero, so that the sum never exceeds `remaining`.
    """
    return min(case_budget, 2 * remaining / (cases + 1))


def run_launch(
    team: Team,
    cases: Sequence[Case],
    plan: Plan,
    terms: Terms,
    writer: Writer,
    *,
    budget: float,
    stops: Stops,
    report: Callable[[Progress], None],
) -> Iterator[Finished | BudgetSpent]:
    """Measure every case once; yield each record when it is on disk.

    Parameters
    ----------
    team, cases, plan, terms, writer
        The ranks, what to measure, and where to put it; what is there from earlier processes of the launch is left out,
        and all else keeps its order.
    budget : float
        Seconds for the whole launch.
    stops : Stops
        Whether somebody asked to stop.
    report : callable
        Receives progress inside a case.

    Raises
    ------
    InterruptedRunError
        If a stop was asked for: everything yielded is on disk.
    MeasurementError
        If a rank is lost or the disk is full.
    """
    measurement = Measurement(team, terms, stops.now, report)
    ends = team.now() + budget
    wanted, repeated = {case.key for case in cases}, sentinel_of(cases)
    whole = _schedule(shuffled(companies(cases), plan.seed, terms.launch), repeated.company)

    def is_missing(case: Case, sentinel: Sentinel | None) -> bool:
        # A launch that is resumed may want one group of several; the sentinel is one case.
        keys = wanted if sentinel is None else {repeated.key}
        return case.key in keys and not writer.has(case, sentinel)

    schedule = [(company, mark) for company, mark in whole if any(is_missing(case, mark) for case in company)]
    team.reserve(
        max(pool_nbytes(case, terms.cache) for case in cases),
        max(eviction_nbytes(case, terms.cache) for case in cases),
    )
    for position, (company, sentinel) in enumerate(schedule):
        if stops.after_case():
            raise InterruptedRunError("ended after a case, as was asked for")
        seconds = allowance(plan.case_budget, ends - team.now(), len(schedule) - position)
        if seconds < LEAST_CASE:
            left = [company for company, mark in schedule[position:] if mark is None]
            yield BudgetSpent(cases=sum(case.key in wanted for company in left for case in company))
            return
        if sentinel is not None:
            seconds *= SENTINEL_SHARE
        for measured in measurement.measure(company, seconds, sentinel):
            if is_missing(measured.record.case, sentinel):
                yield Finished(record=writer.append(measured.record, measured.layers_SRI))


def _schedule(
    order: list[tuple[Case, ...]], repeated: tuple[Case, ...]
) -> list[tuple[tuple[Case, ...], Sentinel | None]]:
    """Return what is measured at once in a launch, with the sentinel's repeats at start, middle and end."""
    rows: list[tuple[tuple[Case, ...], Sentinel | None]] = [(company, None) for company in order]
    middle = len(rows) // 2
    return [
        (repeated, Sentinel.START),
        *rows[:middle],
        (repeated, Sentinel.MIDDLE),
        *rows[middle:],
        (repeated, Sentinel.END),
    ]
