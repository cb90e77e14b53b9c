"""Every operation back to back on cold buffers, and in place where it can be: right results, and what was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.contract.conftest import measure
from tests.mpi_libraries import WHEEL, path_of

from collmark.bench.backends.index import BACKENDS
from collmark.bench.rotation import LEAST
from collmark.core.case import Buffers, Cadence, Case, Form, InPlace
from collmark.core.expansion import expand
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Placement
from collmark.core.plan import Plan
from collmark.core.record import Status

pytestmark = pytest.mark.timeout(200)
RANKS = 2
GOOD = (Status.CONVERGED, Status.BUDGET, Status.UNSTABLE)
BOTH = (InPlace.NO, InPlace.YES)


def cases_of(backend: str, form: Form = Form.BLOCKING, reduction: str = "sum") -> tuple[Case, ...]:
    plan = Plan(
        operations=tuple(OPERATIONS),
        sizes="400B",
        messages=4,
        batch=3,
        backends=(backend,),
        traffic="zipf:1.2",
        reductions=(reduction,),
        cadences=(Cadence.STREAMING,),
        buffers=(Buffers.ROTATED,),
        in_place=BOTH,
        forms=(form,),
    )
    return expand(plan, Placement(ranks_per_node=RANKS), {backend: BACKENDS[backend].capability}).cases


@pytest.mark.parametrize(("backend", "form"), [
    ("simulated", Form.BLOCKING), ("gloo", Form.BLOCKING), *(("mpi", form) for form in Form),
])  # fmt: skip
def test_back_to_back_on_cold_buffers_and_in_place(backend: str, form: Form, tmp_path: Path) -> None:
    cases = cases_of(backend, form)
    capability = BACKENDS[backend].capability
    places = {(case.operation, case.in_place) for case in cases}
    assert places >= {(name, True) for name in capability.also_in_place} | set(capability.operations.items())
    folder = measure(backend, RANKS, cases, tmp_path / "run", path_of(WHEEL) if backend == "mpi" else "")
    records = [record for record in folder.records() if record.sentinel is None]
    assert len(records) == len(cases)
    for record in records:
        case, row = record.case, OPERATIONS[record.case.operation]
        assert record.status in GOOD, (case.key, record.error, record.check.first)
        assert record.check.wrong == 0
        assert record.check.checked or not row.sized
        assert case.batch == 3
        assert record.slots % case.batch == 0 if row.sized else record.slots == 1
        assert record.slots >= LEAST or not row.sized
        assert record.timing is not None


def test_products_in_place_stay_finite(tmp_path: Path) -> None:
    cases = [case for case in cases_of("mpi", reduction="prod") if case.reduction]
    folder = measure("mpi", RANKS, tuple(cases), tmp_path / "run", path_of(WHEEL))
    for record in folder.records():
        assert record.status in GOOD, (record.case.key, record.check.first)
