"""The demonstration: what this machine can do without being asked anything."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from collmark.bench import scheduling
from collmark.bench.backends.index import BACKENDS
from collmark.bench.backends.mpi_library import ENVIRONMENT, VARIABLES, candidates, choose, is_selectable
from collmark.bench.environment import usable_cores
from collmark.core.case import Binding, Scheduling
from collmark.core.errors import UnavailableError, UsageError
from collmark.core.placement import Placement
from collmark.core.plan import FIRST_LAUNCHES, Plan
from collmark.core.units import Seconds

OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "ping_pong", "stream")
SIZES = "16B:16MiB:x2"
"""An octave apart: where MPI changes its protocol, between 1 and 64 KiB, a segment needs four sizes of its own."""
LEAST_RANKS, MOST_RANKS = 2, 4
BUDGET: Seconds = 240.0
MEASURING = 220 / 240  # of the time allowed; the rest is for the start of the program, fits and the report
CASE_BUDGET: Seconds = 4.0


SHARES = {"gloo": 5.0, "mpi": 3.0}
"""Weights of the time: a call of gloo takes a hundred times as long, and its launches start more slowly."""


class Demo(msgspec.Struct, frozen=True, kw_only=True):
    """What the demonstration does here.

    Attributes
    ----------
    plan : Plan
        Its plan.
    oversubscribe : bool
        It needs more ranks than there are cores.
    remarks : tuple of str
        What was decided and why.
    """

    plan: Plan
    oversubscribe: bool
    remarks: tuple[str, ...]


def make_demo(*, launches: int | str = FIRST_LAUNCHES, budget: Seconds = BUDGET) -> Demo:
    """Return the demonstration for this machine."""
    cores, refusal = usable_cores(), scheduling.refusal()
    ranks = min(MOST_RANKS, max(LEAST_RANKS, cores))
    remarks = []
    backends, library = ["gloo"], ""
    if ranks <= cores:
        library, missing = _mpi_library(os.environ)
        backends += [] if missing else ["mpi"]
        remarks += [f"without mpi: {missing}"] if missing else []
    if ranks > cores:
        remarks.append(f"{ranks} ranks share {cores} core: these figures time the scheduler, not the network")
    if refusal:
        remarks.append("without the right to SCHED_FIFO: these figures are a scheduler test")
    plan = Plan(
        operations=OPERATIONS,
        sizes=SIZES,
        backends=tuple(backends),
        mpi_library=library,
        shares={name: SHARES[name] for name in backends} if len(backends) > 1 else {},
        placements=(Placement(ranks_per_node=ranks),),
        launches=launches,
        budget=budget * MEASURING,
        case_budget=CASE_BUDGET,
        scheduling=Scheduling.OTHER if refusal else Scheduling.FIFO,
        binding=Binding.CORES if ranks <= cores else Binding.NONE,
    )
    return Demo(plan=plan, oversubscribe=ranks > cores, remarks=tuple(remarks))


def _mpi_library(environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the MPI library that the demonstration asks for, or why it goes without.

    Of several it takes that of the environment, which was put there for collmark; unless one is asked for.
    """
    missing = BACKENDS["mpi"].missing()
    if missing:
        return "", missing
    is_asked = any(environ.get(name) for name in VARIABLES)
    several = is_selectable() and len(dict(candidates(environ))) > 1
    asked = ENVIRONMENT if several and not is_asked else ""
    try:
        library = choose(asked, environ)
    except (UsageError, UnavailableError) as error:
        return "", str(error)
    return asked, "" if library.mpiexec else f"no mpiexec belongs to {library}"
