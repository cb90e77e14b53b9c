"""MPI in every form, and with the large-count functions of MPI 4: right results of every operation."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest
from tests.contract.conftest import measure
from tests.mpi_libraries import DEBIAN, WHEEL, every_library, path_of

from collmark.bench.backends.index import BACKENDS
from collmark.bench.backends.mpi_functions import without_unserved
from collmark.bench.backends.mpi_library import probe
from collmark.core.case import Case, Form
from collmark.core.expansion import expand
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Placement
from collmark.core.plan import Plan
from collmark.core.record import Record, Status

pytestmark = pytest.mark.timeout(200)
RANKS = 2
GOOD = (Status.CONVERGED, Status.BUDGET, Status.UNSTABLE)

# Stands in for the interpreter that mpiexec starts: counts from here on are too large for an int.
INTERPRETER = """\
#!{python}
import os
import runpy
import sys

if "-c" in sys.argv:  # what starts mpiexec, not a rank
    os.execv("{python}", ["{python}", *sys.argv[1:]])

from collmark.bench.backends import mpi_calls

mpi_calls.LARGEST_COUNT = 3
sys.argv = ["process", *sys.argv[sys.argv.index("collmark.bench.process") + 1 :]]
runpy.run_module("collmark.bench.process", run_name="__main__", alter_sys=True)
"""


def cases_in(forms: tuple[Form, ...], sizes: str = "400B") -> tuple[Case, ...]:
    plan = Plan(
        operations=tuple(OPERATIONS), sizes=sizes, messages=4, backends=("mpi",), forms=forms, traffic="zipf:1.2"
    )
    return expand(plan, Placement(ranks_per_node=RANKS), {"mpi": BACKENDS["mpi"].capability}).cases


def by_operation(records: list[Record]) -> dict[tuple[str, str], Record]:
    return {(r.case.operation, r.case.form): r for r in records if r.sentinel is None}


@every_library
def test_every_operation_in_every_other_form(library: str, tmp_path: Path) -> None:
    forms = (Form.PERSISTENT, Form.NONBLOCKING)
    folder = measure("mpi", RANKS, cases_in(forms), tmp_path / "run", path_of(library))
    records = by_operation(list(folder.records()))
    assert set(records) == {(operation, form) for operation in OPERATIONS for form in forms}
    # What a run leaves out beforehand is what would fail, and nothing else.
    served, _left_out = without_unserved(cases_in(forms), probe(Path(path_of(library))))
    assert {case.key for case in served} == {r.case.key for r in records.values() if r.status is not Status.FAILED}
    for (operation, form), record in records.items():
        # Persistent collectives are of MPI 4.
        lacks = library == DEBIAN and form == Form.PERSISTENT and not OPERATIONS[operation].pair
        if lacks and operation != "send_recv":
            assert record.status is Status.FAILED
            assert "has no MPI_" in record.error
            assert record.error.endswith("_init: use --form blocking, or a library of MPI 4")
        else:
            assert record.status in GOOD, (operation, form, record.error, record.check.first)
            assert record.check.wrong == 0


def test_counts_beyond_an_int_go_through_mpi_4(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interpreter = tmp_path / "python"
    interpreter.write_text(INTERPRETER.format(python=sys.executable))
    interpreter.chmod(0o755)
    place = path_of(WHEEL)
    from collmark.bench.backends.mpi_library import choose

    choose(place, {})  # before the interpreter is another
    monkeypatch.setattr(sys, "executable", str(interpreter))
    folder = measure("mpi", RANKS, cases_in(tuple(Form)), tmp_path / "run", place)
    records = by_operation(list(folder.records()))
    assert len(records) == len(OPERATIONS) * len(Form)
    for key, record in records.items():
        assert record.status in GOOD, (key, record.error, record.check.first)
        assert record.check.wrong == 0


def test_overlap_is_a_share_of_nonblocking_cases_only(tmp_path: Path) -> None:
    cases = [case for case in cases_in(tuple(Form), "64KiB") if case.operation in ("all_reduce", "ping_pong")]
    folder = measure("mpi", RANKS, tuple(cases), tmp_path / "run", path_of(WHEEL))
    for record in folder.records():
        if record.case.form is Form.NONBLOCKING and record.case.operation != "ping_pong":
            assert record.overlap is not None
            assert 0 <= record.overlap <= 1
        else:
            assert record.overlap is None
    assert msgspec.json.encode(record)
