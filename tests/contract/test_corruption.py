"""A library that gives wrong results is caught, in real processes: one element on one rank, or nothing done at all."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.contract.conftest import DIGESTS, MATRICES, measure
from tests.gpus import sharing
from tests.mpi_libraries import WHEEL, path_of

from collmark.bench.backends.index import BACKENDS
from collmark.bench.backends.mpi_library import choose
from collmark.bench.event import PipedEvent
from collmark.bench.job import Job
from collmark.bench.launchers.local import LocalLaunch
from collmark.core.case import Case
from collmark.core.expansion import expand
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Placement
from collmark.core.plan import Plan
from collmark.core.record import SCHEMA_VERSION, Record, Run, Status
from collmark.core.store import RunFolder

RANKS = 2
TRAFFIC = ("uniform", "zipf:1.2:3", "moe:8:2:1:3:8B", f"file:{DIGESTS[RANKS]}", f"file:{DIGESTS[RANKS]}:scaled")
every_backend = pytest.mark.parametrize("backend", ["gloo", pytest.param("nccl", marks=pytest.mark.gpu)])

# Stands in for the interpreter that a rank is started with: what torch's calls leave behind is changed on one rank.
INTERPRETER = """\
#!{python}
import runpy
import sys

from collmark.bench.backends.torch_calls import CALLS, QUEUED_CALLS


def corrupting(make):
    def wrapped(call):
        right = make(call)
        rank = {{"gather": 0, "reduce": 0, "ping_pong": 0}}.get(call.case.operation, 1)

        def wrong():
            wrong.calls += 1
            if wrong.calls > {after} and "{fault}" == "idle":
                return
            right()
            if wrong.calls > {after} and call.rank == rank:
                call.receive[7] += 4

        wrong.calls = 0
        return wrong

    return wrapped


for table in (CALLS, QUEUED_CALLS):
    table.update({{name: corrupting(make) for name, make in table.items() if name != "barrier"}})
sys.argv = ["process", *sys.argv[sys.argv.index("collmark.bench.process") + 1 :]]
runpy.run_module("collmark.bench.process", run_name="__main__", alter_sys=True)
"""


# The same for the ranks that mpiexec starts: there an element is changed behind every call that is checked.
MPI_INTERPRETER = """\
#!{python}
import os
import runpy
import sys

if "-c" in sys.argv:  # what starts mpiexec, not a rank
    os.execv("{python}", ["{python}", *sys.argv[1:]])

from collmark.bench.rank import Rank

right = Rank.once


def wrong(self, *arguments):
    stamps = right(self, *arguments)
    if self.rank == 1:
        self._bound(0).receive.array[7] += 4
    return stamps


Rank.once = wrong
sys.argv = ["process", *sys.argv[sys.argv.index("collmark.bench.process") + 1 :]]
runpy.run_module("collmark.bench.process", run_name="__main__", alter_sys=True)
"""


def cases_of(backend: str, operations: tuple[str, ...]) -> tuple[Case, ...]:
    plan = Plan(operations=operations, sizes="400B", messages=4, backends=(backend,), traffic=",".join(TRAFFIC))
    return expand(plan, Placement(ranks_per_node=RANKS), {backend: BACKENDS[backend].capability}).cases


def launch(path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, *, fault: str, after: int) -> list[Record]:
    if missing := BACKENDS[backend].missing():
        pytest.skip(missing)
    for name, value in sharing(RANKS).items() if backend == "nccl" else ():
        monkeypatch.setenv(name, value)
    interpreter = path / "python"
    interpreter.write_text(INTERPRETER.format(python=sys.executable, fault=fault, after=after))
    interpreter.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(interpreter))
    cases = cases_of(backend, tuple(OPERATIONS))
    plan = Plan(backends=(backend,), case_budget=0.1, matrices={DIGESTS[RANKS]: MATRICES[RANKS]})
    placement = Placement(ranks_per_node=RANKS)
    run = Run(
        schema_version=SCHEMA_VERSION, label="", created="", version="", command=[], plan=plan, cases=list(cases),
        notices=[],
    )  # fmt: skip
    folder = RunFolder.create(path / "run", run)
    job = Job(
        folder=str(folder.path), launch=1, backend=backend, placement=placement, cases=cases, plan=plan, budget=1e6,
        samples_left=0, launcher="collmark",
    )  # fmt: skip

    def ignore(_event: PipedEvent) -> None:
        return None

    LocalLaunch(job, folder.path / "logs", keep=()).run(ignore, lambda: False)
    return [record for record in folder.records() if record.sentinel is None]


@every_backend
@pytest.mark.parametrize("after", [0, 3], ids=["at once", "only later"])
def test_one_wrong_element_gives_a_wrong_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, after: int
) -> None:
    records = launch(tmp_path, monkeypatch, backend, fault="element", after=after)
    assert {record.case.operation for record in records} == set(OPERATIONS)
    assert {record.case.traffic for record in records} == {"", *TRAFFIC}
    for record in records:
        operation = record.case.operation
        if operation == "barrier":
            assert record.status is not Status.WRONG
            continue
        rank = {"gather": 0, "reduce": 0, "ping_pong": 0}.get(operation, 1)
        assert record.status is Status.WRONG, operation
        assert record.check.wrong == 1
        assert record.check.first.startswith(f"rank {rank}, element 7: expected ")
        assert record.timing is None


@every_backend
def test_data_of_an_earlier_call_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str) -> None:
    # After the third call nothing is done any more: what the first ones left lies in the buffers.
    for record in launch(tmp_path, monkeypatch, backend, fault="idle", after=3):
        if record.case.operation != "barrier":
            assert record.status is Status.WRONG, record.case
            # All of the second check, but for what a broadcast's root had all along.
            share = 4 if record.case.operation == "broadcast" else 2
            assert record.check.wrong * share == record.check.checked, record.case


def test_one_wrong_element_under_any_traffic_is_found_over_mpi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = path_of(WHEEL)
    choose(place, {})  # before the interpreter is another
    interpreter = tmp_path / "python"
    interpreter.write_text(MPI_INTERPRETER.format(python=sys.executable))
    interpreter.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(interpreter))
    folder = measure("mpi", RANKS, cases_of("mpi", ("all_to_all_v",)), tmp_path / "run", place)
    records = [record for record in folder.records() if record.sentinel is None]
    assert {record.case.traffic for record in records} == set(TRAFFIC)
    for record in records:
        assert record.status is Status.WRONG, record.case
        assert record.check.wrong == 1
        assert record.check.first.startswith("rank 1, element 7: expected ")
