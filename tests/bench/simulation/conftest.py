"""Simulated measurements: of one case without a disk, of a whole run with one."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import msgspec
import pytest

from collmark.bench.backends.index import BACKENDS
from collmark.bench.event import PipedEvent
from collmark.bench.job import Job
from collmark.bench.measurement import Measured, Measurement, Terms
from collmark.bench.simulation.launch import simulate_launch
from collmark.bench.simulation.spec import Simulation
from collmark.bench.simulation.team import CACHE, SimulatedTeam
from collmark.core.case import Case
from collmark.core.expansion import expand
from collmark.core.placement import Placement
from collmark.core.plan import Plan
from collmark.core.record import SCHEMA_VERSION, Record, Run
from collmark.core.store import RunFolder

QUIET: dict[str, Any] = {"launch_sd": 0.0, "within_cv": 0.0, "skew": 0.0}


class Simulated(msgspec.Struct, frozen=True, kw_only=True):
    """A run that was simulated, as it lies on disk."""

    folder: RunFolder
    run: Run
    records: list[Record]
    events: list[PipedEvent]


class MeasureCase(Protocol):
    """Measures one case of a plan."""

    def __call__(self, plan: Plan, ranks: int, *, launch: int = 1, budget: float = 2.0) -> list[Measured]: ...


class SimulateRun(Protocol):
    """Simulates a run."""

    def __call__(
        self,
        plan: Plan,
        ranks: int,
        *,
        budget: float = 1e9,
        emit: Callable[[PipedEvent], None] = ...,
        is_stopping: Callable[[], bool] = ...,
    ) -> Simulated: ...


def plan_of(operations: tuple[str, ...], sizes: str, simulation: dict[str, Any], **fields: Any) -> Plan:  # noqa: ANN401 - the fields of a plan
    return Plan(operations=operations, sizes=sizes, simulation=simulation, backends=("simulated",), **fields)


def cases_of(plan: Plan, ranks: int) -> tuple[Case, ...]:
    placement = Placement(ranks_per_node=ranks)
    return expand(plan, placement, {"simulated": BACKENDS["simulated"].capability}).cases


@pytest.fixture(scope="session")
def quiet() -> dict[str, Any]:
    """Return a simulation without any noise."""
    return QUIET


@pytest.fixture(scope="session")
def make_plan() -> Callable[..., Plan]:
    """Return a function that makes a plan for the simulated backend."""
    return plan_of


@pytest.fixture(scope="session")
def measure_cases() -> MeasureCase:
    """Return a function that measures the cases of a plan in its order, without a disk."""

    def measure(plan: Plan, ranks: int, *, launch: int = 1, budget: float = 2.0) -> list[Measured]:
        simulation = msgspec.convert(plan.simulation, Simulation)
        team = SimulatedTeam(simulation, ranks, launch, plan.timeout)
        terms = Terms(launch=launch, precision=plan.precision, timeout=plan.timeout, tick=simulation.tick, cache=CACHE)
        measurement = Measurement(team, terms, lambda: False, lambda _progress: None)
        return [one for case in cases_of(plan, ranks) for one in measurement.measure([case], budget)]

    return measure


@pytest.fixture
def simulate_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimulateRun:
    """Return a function that simulates a run on disk."""
    # Hundreds of small runs: that each line is flushed is tested elsewhere.
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    number = itertools.count()

    def simulate(
        plan: Plan,
        ranks: int,
        *,
        budget: float = 1e9,
        emit: Callable[[PipedEvent], None] = lambda _event: None,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> Simulated:
        cases = cases_of(plan, ranks)
        run = Run(
            schema_version=SCHEMA_VERSION,
            label="",
            created="2030-01-01T00:00:00Z",
            version="0",
            command=[],
            plan=plan,
            cases=list(cases),
            notices=[],
        )
        folder = RunFolder.create(tmp_path / f"run-{next(number)}", run)
        events: list[PipedEvent] = []

        def keep(event: PipedEvent) -> None:
            events.append(event)
            emit(event)

        for launch in range(1, plan.first_launches + 1):
            job = Job(
                folder=str(folder.path),
                launch=launch,
                backend="simulated",
                placement=Placement(ranks_per_node=ranks),
                cases=cases,
                plan=plan,
                budget=budget,
                samples_left=plan.samples,
                launcher="collmark",
            )
            simulate_launch(job, keep, is_stopping)
        return Simulated(folder=folder, run=folder.read_run(), records=list(folder.records()), events=events)

    return simulate
