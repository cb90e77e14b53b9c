"""A small run on disk, for the tests of the store."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from collmark.core.case import Case
from collmark.core.placement import Placement, Tier
from collmark.core.plan import Plan
from collmark.core.record import SCHEMA_VERSION, Check, Clock, Evidence, Launch, Outcome, Record, Run, Status, Timer
from collmark.core.store import RECORDS_FILE, RunFolder

CASE = Case(operation="barrier", backend="gloo", dtype="float32", placement=Placement(), nbytes=0, requested_nbytes=0)
RUN = Run(
    schema_version=SCHEMA_VERSION,
    label="née 1",
    created="2030-01-01T00:00:00Z",
    version="0",
    command=["collmark", "run"],
    plan=Plan(),
    cases=[CASE],
    notices=["a notice\nof two lines"],
)
TIMER = Timer(name="x", tick=1e-9, cost=1e-8, cost_p99=1e-7, call_overhead=1e-8, loop="python")
STAMPS = np.arange(2 * 3 * 5, dtype=np.int64).reshape(2, 3, 5)


def record_of(launch: int = 1, error: str = "") -> Record:
    return Record(
        schema_version=SCHEMA_VERSION,
        launch=launch,
        case=CASE,
        status=Status.FAILED,
        simulated=False,
        started="2030-01-01T00:00:00Z",
        wall=0.25,
        clock=Clock.SHARED,
        check=Check(checked=0, wrong=0),
        evidence=Evidence(tier=Tier.LOOPBACK),
        error=error,
    )


def launch_of(number: int, outcome: Outcome | None = None) -> Launch:
    return Launch(
        id=number,
        backend="gloo",
        placement="1x1",
        started="2030-01-01T00:00:00Z",
        launcher="collmark",
        hosts=[],
        libraries={},
        environment={},
        timer=TIMER,
        scheduling="other",
        start_seconds=0.5,
        outcome=outcome,
    )


def errors_in(folder: RunFolder) -> list[str]:
    return [record.error for record in folder.records()]


def lines_of(folder: RunFolder) -> Path:
    return folder.path / RECORDS_FILE
