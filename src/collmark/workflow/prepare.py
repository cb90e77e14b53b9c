"""What is checked and decided before anything starts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import msgspec

from collmark.bench import environment, scheduling
from collmark.bench.backends.gpu_seat import SHARED, check_local_ranks, is_asked
from collmark.bench.backends.index import BACKENDS
from collmark.bench.backends.mpi_functions import without_unserved
from collmark.bench.backends.mpi_library import check_launcher, choose
from collmark.bench.backends.slurm_pmi import offered
from collmark.bench.launchers.joined import Joined, launcher_program
from collmark.bench.memory import check_memory
from collmark.bench.simulation.spec import check_place_of, read_simulation
from collmark.core.case import Case, Scheduling
from collmark.core.errors import PlanError, UnavailableError, UsageError
from collmark.core.expansion import expand
from collmark.core.numeral import counted
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Placement
from collmark.core.plan import Plan, check_plan

MOST_DEFAULT_RANKS = 8
MOST_LOCAL_RANKS = 1024  # more processes than any host has cores: a slip of the pen
MOST_SIMULATED_RANKS = 65536
SIMULATED = "simulated"


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A plan that can be carried out here.

    Attributes
    ----------
    plan : Plan
        With its placements filled in.
    cases : tuple of Case
        In the plan's order.
    notices : tuple of str
        What was left out or rounded; kept in run.json.
    warnings : tuple of str
        What the user should know before believing the figures; kept in run.json as well.
    """

    plan: Plan
    cases: tuple[Case, ...]
    notices: tuple[str, ...]
    warnings: tuple[str, ...]


def prepare(plan: Plan, *, ranks: int | None, oversubscribe: bool, joined: Joined | None) -> Prepared:
    """Check a plan against this machine.

    Parameters
    ----------
    plan : Plan
        What is wanted.
    ranks : int or None
        Local ranks, where the plan has no placements of its own.
    oversubscribe : bool
        Allow more ranks than cores.
    joined : Joined or None
        The launcher that started this process, if any: it decides the placement.

    Raises
    ------
    UsageError
        If the plan is wrong, or wants more than there is without being told that it may.
    UnavailableError
        If a backend or a right is missing.
    """
    check_plan(plan)
    for name in plan.backends:
        missing = BACKENDS[name].missing()
        if missing:
            msg = f"{name}: {missing}"
            raise UnavailableError(msg)
    read_simulation(plan.simulation)
    plan = msgspec.structs.replace(plan, placements=_placements(plan, ranks, joined))
    warnings: list[str] = []
    if any(BACKENDS[name].needs_mpiexec for name in plan.backends):
        plan, words = with_mpi_library(plan, joined, os.environ)
        warnings.append(words)
    if not _measures(plan) and any(placement.ranks > MOST_SIMULATED_RANKS for placement in plan.placements):
        raise UsageError(f"at most {MOST_SIMULATED_RANKS} ranks are simulated")
    if _measures(plan):
        _check_cores(plan, oversubscribe=oversubscribe, joined=joined)
        warnings += _scheduling_warnings(plan)
        warnings += _gpu_warnings(plan, joined)
    capabilities = {name: BACKENDS[name].capability for name in BACKENDS}
    expansions = [expand(plan, placement, capabilities) for placement in plan.placements]
    cases = tuple(case for expansion in expansions for case in expansion.cases)
    notices = [notice for expansion in expansions for notice in expansion.notices]
    if any(BACKENDS[name].needs_mpiexec for name in plan.backends):
        cases, unserved = without_unserved(cases, choose(plan.mpi_library, os.environ))
        notices += unserved
    check_planted(plan, cases)
    check_memory([case for case in cases if case.backend != SIMULATED])
    return Prepared(
        plan=plan,
        cases=cases,
        notices=tuple(dict.fromkeys(notices)),
        warnings=tuple(warnings),
    )


def with_mpi_library(plan: Plan, joined: Joined | None, environ: Mapping[str, str]) -> tuple[Plan, str]:
    """Return the plan with the MPI library that it uses here, and what the user should see of it.

    Raises
    ------
    UsageError
        If there are several and none was chosen.
    UnavailableError
        If there is none, or the ranks were started by the launcher of another.
    """
    library = choose(plan.mpi_library, environ)
    words = f"MPI is {library}"
    if joined is not None:
        check_launcher(library, joined.launcher, environ, launcher_program())
        words += f", started by srun --mpi={offered(environ)}" if offered(environ) else ""
    else:
        if not library.mpiexec:
            raise UnavailableError(
                f"no mpiexec belongs to {library}: install it (Debian: openmpi-bin), choose another library with "
                "--mpi-library, or start the ranks yourself: mpiexec -n N collmark run ... --into RUN"
            )
        words += f", started by {library.mpiexec}"
    return msgspec.structs.replace(plan, mpi_library=library.path), words


def check_planted(plan: Plan, cases: Sequence[Case]) -> None:
    """Raise UsageError where something is planted that is wrong, or could never show.

    Parameters
    ----------
    plan : Plan
        With its placements filled in.
    cases : sequence of Case
        All of its cases.
    """
    simulation = read_simulation(plan.simulation)
    if not plan.simulation:
        return
    if SIMULATED not in plan.backends:
        raise UsageError(f"the plan's [simulation] needs the simulated backend: --backend {SIMULATED}")
    for placement in plan.placements:
        check_place_of(simulation, placement)
    if simulation.wrong_rank >= 0:
        for case in cases:
            _check_wrong_element(simulation.wrong_rank, simulation.wrong_element, case)


def _check_wrong_element(rank: int, element: int, case: Case) -> None:
    there = sum(segment.count for segment in OPERATIONS[case.operation].expects(case.exchange, rank))
    if case.backend == SIMULATED and 0 < there <= element:
        raise PlanError([f"simulation: wrong_element = {element}: {case} gives rank {rank} elements 0 to {there - 1}"])


def _measures(plan: Plan) -> bool:
    return any(name != SIMULATED for name in plan.backends)


def default_ranks(backends: Sequence[str]) -> int:
    """Return the most ranks that suit all backends: one a device, or one a core and at most 8 where none is needed."""
    cores = min(MOST_DEFAULT_RANKS, environment.usable_cores())
    return min(len(BACKENDS[name].devices()) or cores for name in backends)


def _placements(plan: Plan, ranks: int | None, joined: Joined | None) -> tuple[Placement, ...]:
    if joined is not None:
        if len(plan.backends) > 1:
            msg = f"ranks started by {joined.launcher} measure one backend at a time: name one with --backend"
            raise UsageError(msg)
        if joined.ranks % joined.nodes:
            raise UnavailableError(
                f"{joined.launcher} has started {joined.ranks} ranks on {joined.nodes} nodes, and collmark needs "
                "equally many on each: tell the launcher, as srun --ntasks-per-node=N does"
            )
        there = Placement(nodes=joined.nodes, ranks_per_node=joined.ranks // joined.nodes)
        if ranks not in (None, joined.ranks):
            msg = f"--ranks {ranks}: {joined.launcher} has started {joined.ranks}; leave --ranks away"
            raise UsageError(msg)
        wanted = [p for p in plan.placements if (p.nodes, p.ranks_per_node) == (there.nodes, there.ranks_per_node)]
        if plan.placements and not wanted:
            msg = f"{joined.launcher} has started {there} (nodes x ranks per node), the plan asks for "
            raise UsageError(msg + ", ".join(map(str, plan.placements)))
        return (wanted[0],) if wanted else (there,)
    if ranks is not None:
        if plan.placements:
            msg = f"--ranks {ranks}: the plan has placements of its own; leave one of them away"
            raise UsageError(msg)
        if ranks < 1:
            msg = f"--ranks {ranks}: must be at least 1"
            raise UsageError(msg)
    placements = plan.placements or (Placement(ranks_per_node=ranks or default_ranks(plan.backends)),)
    far = [p for p in placements if p.nodes > 1]
    if far and _measures(plan):
        msg = f"placement {far[0]}: several nodes need a launcher that reaches them, as srun collmark run PLAN"
        raise UsageError(msg)
    return placements


def _check_cores(plan: Plan, *, oversubscribe: bool, joined: Joined | None) -> None:
    if joined is not None:
        return  # whoever started the ranks has decided
    cores = environment.usable_cores()
    most = max(placement.ranks_per_node for placement in plan.placements)
    if most > MOST_LOCAL_RANKS:
        raise UsageError(f"{counted(most, 'rank')} on one host: at most {MOST_LOCAL_RANKS} are started")
    if most > cores and not oversubscribe:
        msg = (
            f"{counted(most, 'rank')} on {counted(cores, 'core')} would time the scheduler and not the network: "
            f"use --ranks {cores}, or --oversubscribe if that is what you want"
        )
        raise UsageError(msg)


def _gpu_warnings(plan: Plan, joined: Joined | None) -> list[str]:
    """Check that every rank has a GPU of its own; those of a launcher are counted when they are there."""
    counts = [len(BACKENDS[name].devices()) for name in plan.backends if BACKENDS[name].devices()]
    if not counts:
        return []
    if is_asked():
        return [SHARED]
    if joined is None:
        check_local_ranks(max(placement.ranks_per_node for placement in plan.placements), min(counts))
    return []


def _scheduling_warnings(plan: Plan) -> list[str]:
    if plan.scheduling is not Scheduling.FIFO:
        return []
    reason = scheduling.refusal()
    if reason:
        msg = f"{reason}; use --scheduling other, or give the right (ulimit -r, CAP_SYS_NICE)"
        raise UnavailableError(msg)
    return []


def same_plan(one: Plan, other: Plan) -> None:
    """Raise PlanError naming the first differences of two plans that should be one."""
    differing = [name for name in Plan.__struct_fields__ if getattr(one, name) != getattr(other, name)]
    if differing:
        raise PlanError([f"the run was made with another plan: {', '.join(differing)} differ; use a run of its own"])
