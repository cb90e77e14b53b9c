"""Which cases an MPI library has the functions for, known before any rank starts.

Large counts (``MPI_Bcast_c``) and persistent collectives (``MPI_Allreduce_init``) came with MPI 4.0; libraries of MPI 3
lack both, and others have one of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from collmark.bench.backends.mpi_calls import LARGEST_COUNT, Call, Handles, is_large, steps_of
from collmark.bench.backends.mpi_library import MpiLibrary, lacking
from collmark.core.case import Case, Form
from collmark.core.errors import UnavailableError
from collmark.core.numeral import counted

NAMED = 3  # functions that a notice names


class Wanted:
    """Stands in for a library: notes which functions are asked for, and calls none."""

    version = ""
    status_nbytes = request_nbytes = 8
    ignore: int | None = 0

    def __init__(self) -> None:
        self.names: dict[str, None] = {}

    def address(self, name: str) -> int:
        """Note a function."""
        self.names[name] = None
        return 0

    def call(self, name: str, *_words: int) -> int:
        """Note a function that would be called at once."""
        return self.address(name)


def functions_of(case: Case) -> tuple[str, ...]:
    """Return the names of the functions that the ranks of a case call."""
    wanted, handles = Wanted(), Handles(comm=0, element=0, byte=0, op=0, info=0, in_place=0)
    for rank in range(min(2, case.placement.ranks)):  # both ends of a message; in a collective all call the same
        steps_of(Call(wanted, handles, case, rank=rank, send=0, receive=0))
    return tuple(wanted.names)


def without_unserved(cases: Sequence[Case], library: MpiLibrary) -> tuple[tuple[Case, ...], tuple[str, ...]]:
    """Return the cases that can be called, those of other backends among them, and in words what is left out.

    Raises
    ------
    UnavailableError
        If none is left.
    """
    wanted = {case.key: functions_of(case) for case in cases if case.backend == "mpi" and _may_lack(case)}
    lacks = lacking(library, sorted({name for names in wanted.values() for name in names}))
    kept: list[Case] = []
    missing: dict[str, list[str]] = {}
    for case in cases:
        name = next((name for name in wanted.get(case.key, ()) if name in lacks), "")
        if name:
            missing.setdefault("_c" if name.endswith("_c") else "_init", []).append(name)
        else:
            kept.append(case)
    words = tuple(_words(kind, names, library) for kind, names in missing.items())
    if not kept:
        raise UnavailableError("; ".join(words))
    return tuple(kept), words


def _may_lack(case: Case) -> bool:
    """Whether a case calls what came with MPI 4; what is older every library has that mpi4py loads."""
    return case.form is Form.PERSISTENT or is_large(case)


def _words(kind: str, missing: Sequence[str], library: MpiLibrary) -> str:
    names = list(dict.fromkeys(missing))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    what, remedy = {
        "_c": (f"counts above {LARGEST_COUNT}", "choose smaller --sizes"),
        "_init": ("persistent form", "leave --form persistent away"),
    }[kind]
    return (
        f"{what}: left out {counted(len(missing), 'case')}, since {library.version} has no "
        f"{', '.join(names[:NAMED])}{more}: {remedy}, or choose a library of MPI 4 with --mpi-library"
    )
