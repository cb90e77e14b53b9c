"""What of MPI 4 a library lacks is known before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.mpi_libraries import DEBIAN, OPEN_MPI_WHEEL, WHEEL, every_library, path_of

from collmark.bench.backends.index import BACKENDS
from collmark.bench.backends.mpi_functions import functions_of, without_unserved
from collmark.bench.backends.mpi_library import MpiLibrary, lacking, probe
from collmark.core.case import Case, Form
from collmark.core.errors import UnavailableError
from collmark.core.expansion import expand
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Placement
from collmark.core.plan import Plan

LARGE = "2GiB"  # of uint8: one more than an int counts
NOTHING = MpiLibrary(path="/nowhere", family="mpich", version="MPI 3", mpiexec="")


def cases_of(
    *operations: str, sizes: str = "64B", forms: tuple[Form, ...] = (Form.BLOCKING,), backend: str = "mpi"
) -> tuple[Case, ...]:
    plan = Plan(operations=operations, sizes=sizes, dtypes=("uint8",), backends=(backend,), forms=forms)
    return expand(plan, Placement(ranks_per_node=2), {backend: BACKENDS[backend].capability}).cases


@pytest.mark.parametrize(
    ("operation", "form", "names"),
    [
        ("broadcast", Form.BLOCKING, {"MPI_Bcast"}),
        ("broadcast", Form.PERSISTENT, {"MPI_Bcast_init", "MPI_Start", "MPI_Wait"}),
        ("barrier", Form.PERSISTENT, {"MPI_Barrier_init", "MPI_Start", "MPI_Wait"}),
        ("ping_pong", Form.BLOCKING, {"MPI_Send", "MPI_Recv"}),
        ("ping_pong", Form.PERSISTENT, {"MPI_Send_init", "MPI_Recv_init", "MPI_Start", "MPI_Wait"}),
        ("stream", Form.BLOCKING, {"MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Send", "MPI_Recv"}),
    ],
)
def test_the_functions_of_both_ends_are_named(operation: str, form: Form, names: set[str]) -> None:
    (case,) = cases_of(operation, forms=(form,))
    assert set(functions_of(case)) == names


def test_large_counts_have_functions_of_their_own() -> None:
    small, large = cases_of("broadcast", sizes=f"1GiB,{LARGE}")
    assert functions_of(small) == ("MPI_Bcast",)
    assert functions_of(large) == ("MPI_Bcast_c",)


# As their documentation has it: large counts came to MPICH with 4.0, and to no release of Open MPI before 6;
# persistent collectives to MPICH with 4.0 and to Open MPI with 5.0.
@every_library
@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("MPI_Allreduce", {WHEEL, OPEN_MPI_WHEEL, DEBIAN}),
        ("MPI_Send_init", {WHEEL, OPEN_MPI_WHEEL, DEBIAN}),
        ("MPI_Allreduce_init", {WHEEL, OPEN_MPI_WHEEL}),
        ("MPI_Bcast_c", {WHEEL}),
        ("MPI_Made_up", set()),
    ],
)
def test_real_libraries_are_asked(library: str, name: str, there: set[str]) -> None:
    found = probe(Path(path_of(library)))
    assert (name in lacking(found, [name])) is (library not in there)


@every_library
def test_what_a_library_lacks_is_left_out_and_said(library: str) -> None:
    found = probe(Path(path_of(library)))
    forms = (Form.BLOCKING, Form.PERSISTENT)
    cases = cases_of(*OPERATIONS, forms=forms) + cases_of("broadcast", sizes=LARGE)
    kept, words = without_unserved(cases, found)
    lost = [case for case in cases if case not in kept]
    assert [case.count for case in lost if case.form is Form.BLOCKING] == ([] if library == WHEEL else [2**31])
    collectives = {case.operation for case in lost if case.form is Form.PERSISTENT}
    of_mpi_4 = {name for name, row in OPERATIONS.items() if not row.pair and name != "send_recv"}
    assert collectives == (of_mpi_4 if library == DEBIAN else set())
    assert len(words) == {WHEEL: 0, OPEN_MPI_WHEEL: 1, DEBIAN: 2}[library]
    assert all(f"since {found.version} has no MPI_" in text for text in words)


def test_a_plan_of_which_nothing_is_left_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collmark.bench.backends.mpi_functions.lacking", lambda _library, names: frozenset(names))
    with pytest.raises(UnavailableError) as caught:
        without_unserved(cases_of("broadcast", "gather", sizes=LARGE), NOTHING)
    assert str(caught.value) == (
        "counts above 2147483647: left out 2 cases, since MPI 3 has no MPI_Bcast_c, MPI_Gather_c: choose smaller "
        "--sizes, or choose a library of MPI 4 with --mpi-library"
    )
    beside = cases_of("broadcast", sizes=LARGE, backend="gloo")
    kept, words = without_unserved(cases_of("broadcast", sizes=LARGE) + beside, NOTHING)
    assert kept == beside
    assert len(words) == 1


def test_no_library_is_loaded_for_what_every_library_has() -> None:
    cases = cases_of(*OPERATIONS, forms=(Form.BLOCKING, Form.NONBLOCKING))
    assert without_unserved(cases, NOTHING) == (cases, ())
