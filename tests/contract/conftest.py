"""Every backend on every operation, element type and reduction that it declares: measured once, looked up often."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.gpus import sharing
from tests.mpi_libraries import path_of

from collmark.bench.backends.index import BACKENDS
from collmark.bench.event import PipedEvent
from collmark.bench.job import Job
from collmark.bench.launchers.start import launch_of
from collmark.bench.simulation.launch import simulate_launch
from collmark.core.case import Case, Device
from collmark.core.dtype import DTYPES
from collmark.core.expansion import expand
from collmark.core.matrix import Matrix, learn, pack
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Placement
from collmark.core.plan import Plan
from collmark.core.record import SCHEMA_VERSION, Record, Run
from collmark.core.reduction import REDUCTIONS
from collmark.core.store import RunFolder

SIZES = "32B,500B"  # about one element per rank of the widest type; a size that divides nowhere
CASE_BUDGET = 0.02


def matrix_of(ranks: int) -> Matrix:
    """Return bytes, whole elements of any type and none like another, of which rank 0 sends none, to itself neither."""
    rows = [[40 * ranks * source + 24 * destination for destination in range(ranks)] for source in range(ranks)]
    rows[0] = [0] * ranks
    rows[-1][0] = 0 if ranks > 2 else rows[-1][0]
    return pack("made.csv", tuple(map(tuple, rows)))


MATRICES = {ranks: matrix_of(ranks) for ranks in (2, 3, 4)}
DIGESTS = {ranks: learn(matrix) for ranks, matrix in MATRICES.items()}


def ragged_traffic(ranks: int) -> tuple[str, ...]:
    """Return every traffic but uniform, with pairs that exchange nothing at the sizes here."""
    files = (f"file:{DIGESTS[ranks]}", f"file:{DIGESTS[ranks]}:scaled") if ranks in DIGESTS else ()
    return ("zipf:9:3", "moe:24:1:10:3:8B", *files)


Launched = Callable[[str, int, str], dict[tuple[str, str, str], list[Record]]]


def combinations() -> list[tuple[str, str, str]]:
    """Return every (operation, dtype, reduction) there is; a barrier has no type."""
    return [
        (operation, dtype, reduction)
        for operation, row in OPERATIONS.items()
        for dtype in (DTYPES if row.sized else ("float32",))
        for reduction in (REDUCTIONS if row.reduces else ("",))
    ]


def refusal(backend: str, ranks: int, operation: str, dtype: str, reduction: str) -> str:
    """Return why a backend does not offer a combination, empty where it does."""
    if ranks < OPERATIONS[operation].minimum_ranks:
        return f"{operation} needs two ranks"
    return BACKENDS[backend].capability.refusal(OPERATIONS[operation], DTYPES[dtype], reduction)


def cases_of(backend: str, ranks: int) -> tuple[Case, ...]:
    """Return the cases of everything a backend declares."""
    placement, capabilities = Placement(ranks_per_node=ranks), {backend: BACKENDS[backend].capability}
    cases: list[Case] = []
    for operation, dtype, reduction in combinations():
        if refusal(backend, ranks, operation, dtype, reduction):
            continue
        for traffic in ("uniform", *(ragged_traffic(ranks) if OPERATIONS[operation].ragged else ())):
            plan = Plan(
                operations=(operation,),
                dtypes=(dtype,),
                reductions=(reduction or "sum",),
                backends=(backend,),
                sizes=SIZES if traffic == "uniform" else "500B",
                traffic=traffic,
                messages=4,
            )
            cases += expand(plan, placement, capabilities).cases
    last = [case for case in cases if OPERATIONS[case.operation].rooted and case.dtype == "float32" and ranks > 1]
    return (*cases, *(msgspec.structs.replace(case, root=ranks - 1) for case in last))


def carry_out(backend: str, ranks: int, path: Path, mpi_library: str = "") -> RunFolder:
    """Measure everything a backend declares in one launch."""
    return measure(backend, ranks, cases_of(backend, ranks), path, mpi_library)


def measure(backend: str, ranks: int, cases: tuple[Case, ...], path: Path, mpi_library: str = "") -> RunFolder:
    """Measure cases in one launch."""
    plan = Plan(
        backends=(backend,),
        case_budget=CASE_BUDGET,
        simulation={"alpha": 1e-3},
        mpi_library=mpi_library,
        matrices={DIGESTS[ranks]: MATRICES[ranks]} if ranks in DIGESTS else {},
    )
    run = Run(
        schema_version=SCHEMA_VERSION, label="", created="", version="", command=[], plan=plan, cases=list(cases),
        notices=[],
    )  # fmt: skip
    folder = RunFolder.create(path, run)
    job = Job(
        folder=str(path),
        launch=1,
        backend=backend,
        placement=Placement(ranks_per_node=ranks),
        cases=cases,
        plan=plan,
        budget=1e6,
        samples_left=0,
        launcher="collmark",
    )

    def ignore(_event: PipedEvent) -> None:
        return None

    if backend == "simulated":
        simulate_launch(job, ignore, lambda: False)
    else:
        launch_of(job, path / "logs", keep=()).run(ignore, lambda: False)
    return folder


@pytest.fixture(scope="session")
def launched(tmp_path_factory: pytest.TempPathFactory) -> Launched:
    """Return a function that gives a backend's records by operation, dtype and reduction; processes start once."""

    broken: dict[tuple[str, int, str], str] = {}

    def launch(backend: str, ranks: int, library: str) -> dict[tuple[str, str, str], list[Record]]:
        place = path_of(library) if library else ""
        if (backend, ranks, library) in broken:
            pytest.fail(f"the launch of {backend} on {ranks} ranks failed before: {broken[backend, ranks, library]}")
        try:
            return once(backend, ranks, place)
        except Exception as error:
            broken[backend, ranks, library] = str(error)  # every one of many tests would start it again
            raise

    @functools.cache
    def once(backend: str, ranks: int, place: str) -> dict[tuple[str, str, str], list[Record]]:
        with pytest.MonkeyPatch.context() as patch:
            if BACKENDS[backend].capability.device is Device.CUDA:
                for name, value in sharing(ranks).items():
                    patch.setenv(name, value)
            if backend == "simulated":
                patch.setattr(os, "fsync", lambda _descriptor: None)
            folder = carry_out(backend, ranks, tmp_path_factory.mktemp(backend) / f"run-{ranks}", place)
        found: dict[tuple[str, str, str], list[Record]] = {}
        for record in folder.records():
            if record.sentinel is None:
                case = record.case
                # A barrier is measured with whichever type comes first.
                found.setdefault((case.operation, case.dtype, case.reduction), []).append(record)
        return found

    return launch
