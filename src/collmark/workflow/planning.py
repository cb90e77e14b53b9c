"""From a plan file and the options beside it to one plan: an option wins over the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from collmark.bench.backends.index import BACKENDS
from collmark.bench.environment import usable_cores
from collmark.bench.simulation.spec import read_simulation
from collmark.core.case import Case
from collmark.core.errors import PlanError, UnknownNameError, UsageError, short_path
from collmark.core.expansion import expand
from collmark.core.numeral import counted, shown
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Placement
from collmark.core.plan import Plan, check_plan, load_plan, with_matrices
from collmark.core.plan_field import FIELDS, RANKS_FIELD, unknown_names
from collmark.core.plan_file import read_table
from collmark.workflow.bound import most_seconds
from collmark.workflow.prepare import SIMULATED, check_planted, default_ranks
from collmark.workflow.run import grouped
from collmark.workflow.settings import RANKS, Settings, values_of_plan


class Knob(msgspec.Struct, frozen=True, kw_only=True):
    """One option that sets one field of the plan.

    Attributes
    ----------
    option : str
        As it is written on the command line.
    field : str
        Of :class:`collmark.core.plan.Plan`; :mod:`collmark.core.plan_field` reads it, as in a plan file.
    gathers : bool
        The option may be repeated and gathers names; of others the last one counts.
    """

    option: str
    field: str
    gathers: bool = False


KNOBS = (
    Knob(option="--operation", field="operations", gathers=True),
    Knob(option="--sizes", field="sizes"),
    Knob(option="--dtype", field="dtypes", gathers=True),
    Knob(option="--reduction", field="reductions", gathers=True),
    Knob(option="--backend", field="backends", gathers=True),
    Knob(option="--launches", field="launches"),
    Knob(option="--precision", field="precision"),
    Knob(option="--case-budget", field="case_budget"),
    Knob(option="--budget", field="budget"),
    Knob(option="--timeout", field="timeout"),
    Knob(option="--scheduling", field="scheduling"),
    Knob(option="--bind", field="binding"),
    Knob(option="--cadence", field="cadences", gathers=True),
    Knob(option="--buffers", field="buffers", gathers=True),
    Knob(option="--in-place", field="in_place", gathers=True),
    Knob(option="--batch", field="batch"),
    Knob(option="--groups", field="groups", gathers=True),
    Knob(option="--form", field="forms", gathers=True),
    Knob(option="--mpi-library", field="mpi_library"),
    Knob(option="--thread-level", field="thread_level"),
    Knob(option="--messages", field="messages"),
    Knob(option="--traffic", field="traffic", gathers=True),
    Knob(option="--seed", field="seed"),
    Knob(option="--samples", field="samples"),
)
"""Every option that sets a field; --simulate adds to a table, and --ranks is read by :func:`read_ranks`."""

SIMULATE = "--simulate"


def make_plan(file: Path | None, given: Mapping[str, Sequence[str]], settings: Settings | None = None) -> Plan:
    """Return the plan of a file, or the default one, with options laid over it and what is set under it.

    Parameters
    ----------
    file : Path or None
        A plan in TOML.
    given : mapping of str to sequence of str
        The texts of each option that was used, by the option's name.
    settings : mapping or None
        What variables and files set: :func:`collmark.workflow.settings.read_settings`.

    Raises
    ------
    PlanError
        Naming everything that is wrong with the options.
    """
    under = values_of_plan(settings or {})
    plan = Plan(**under) if file is None else load_plan(file, under)
    changes: dict[str, Any] = {}
    problems: list[str] = []
    for knob in KNOBS:
        texts = given.get(knob.option)
        if texts:
            changes[knob.field], faults = FIELDS[knob.field].read(list(texts) if knob.gathers else texts[-1])
            problems += [_said_of(knob.option, fault) for fault in faults]
    planted, faults = _simulation(given.get(SIMULATE, ()))
    problems += [_said_of(SIMULATE, fault) for fault in faults]
    if not problems:
        plan = msgspec.structs.replace(plan, **changes, simulation=plan.simulation | planted)
        try:
            plan = with_matrices(plan, Path())
        except UsageError as error:
            problems.append(_said_of("--traffic", error))
        problems += _problems_with_backends(plan, given, sources(file, given, settings or {}))
    if problems:
        raise PlanError(problems)
    return plan


def sources(file: Path | None, given: Mapping[str, Sequence[str]], settings: Settings) -> dict[str, str]:
    """Return where each key that is not the default comes from: an option, the plan file, a variable or a file."""
    of_file = {} if file is None else dict.fromkeys(read_table(file), f"plan {short_path(file)}")
    of_options = {knob.field: knob.option for knob in KNOBS if given.get(knob.option)}
    return {key: setting.source for key, setting in settings.items()} | of_file | of_options


def _problems_with_backends(plan: Plan, given: Mapping[str, Sequence[str]], source: Mapping[str, str]) -> list[str]:
    """Return what is wrong with those parts of a plan that only backends understand."""
    where = source.get("backends", "")
    where = f"{where}: backends" if where.startswith("plan ") or where.endswith(".toml") else where
    problems = [f"{where}: {fault}" for fault in unknown_names(plan.backends, BACKENDS)]
    try:
        read_simulation(plan.simulation)
    except PlanError as error:
        file = "" if SIMULATE in given else f"{source['simulation']}: "
        problems += [f"{file}{problem}" for problem in error.problems]
    if SIMULATE in given and SIMULATED not in plan.backends:
        problems.append(f"{SIMULATE}: no backend is simulated; add --backend {SIMULATED}")
    return problems


def _said_of(option: str, fault: UsageError) -> str:
    """Return an error with the option that it is of; what is wrong with a value starts with the value."""
    return f"{option}: {fault}" if isinstance(fault, UnknownNameError) else f"{option} {fault}"


def _simulation(texts: Sequence[str]) -> tuple[dict[str, Any], list[UsageError]]:
    table: dict[str, Any] = {}
    faults = []
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip() or not value.strip():
            faults.append(UsageError(f"{shown(text)}: must be KEY=VALUE, as alpha=20e-6"))
            continue
        try:
            table[key.strip()] = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            faults.append(UsageError(f"{shown(text)}: the value is no number, true, false or [list, of, numbers]"))
    return table, faults


def read_ranks(text: str | None) -> int | None:
    """Return the number of local ranks that ``--ranks`` asks for.

    Raises
    ------
    UsageError
        If it is no positive whole number.
    """
    if text is None:
        return None
    ranks, faults = RANKS_FIELD.read(text)
    if faults:
        raise UsageError(f"--ranks {faults[0]}")
    return int(ranks)


def ranks_of(text: str | None, plan: Plan, settings: Settings) -> int | None:
    """Return the number of local ranks that the option asks for, or that is set where the plan places none."""
    if text is None and RANKS in settings and not plan.placements:
        return int(settings[RANKS].value)
    return read_ranks(text)


def placement_words(placement: Placement) -> str:
    """Return a placement as a person says it."""
    words = f"{counted(placement.nodes, 'node')} x {counted(placement.ranks_per_node, 'rank')}"
    return f"{words} ({placement.label})" if placement.label else words


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan would do.

    Attributes
    ----------
    plan : Plan
        With its placements filled in.
    cases : tuple of Case
        In the plan's order.
    notices : tuple of str
        What is left out or rounded, and what would keep the plan from running here.
    records : int
        Records to be made; under ``auto``, those it starts with.
    at_most : float
        Upper bound of the duration in s.
    """

    plan: Plan
    cases: tuple[Case, ...]
    notices: tuple[str, ...]
    records: int
    at_most: float


def preview(plan: Plan, ranks: int | None) -> Preview:
    """Return what a plan would do, wherever it is to run: nothing is started, and no library is needed.

    Raises
    ------
    UsageError
        If the plan is wrong anywhere.
    """
    check_plan(plan)
    if ranks is not None and plan.placements:
        raise UsageError(f"--ranks {ranks}: the plan has placements of its own; leave one of them away")
    placements = plan.placements or (Placement(ranks_per_node=ranks or default_ranks(plan.backends)),)
    plan = msgspec.structs.replace(plan, placements=placements)
    capabilities = {name: BACKENDS[name].capability for name in BACKENDS}
    expansions = [expand(plan, placement, capabilities) for placement in placements]
    cases = tuple(case for expansion in expansions for case in expansion.cases)
    check_planted(plan, cases)
    notices = [notice for expansion in expansions for notice in expansion.notices]
    return Preview(
        plan=plan,
        cases=cases,
        notices=tuple(dict.fromkeys([*notices, *_obstacles(plan)])),
        records=len(cases) * plan.first_launches,
        at_most=upper_bound(plan, cases),
    )


def upper_bound(plan: Plan, cases: Sequence[Case]) -> float:
    """Return the seconds that a plan takes at most, launches started; under ``auto``, its first launches."""
    return most_seconds(plan, plan.first_launches * [group for _key, group in grouped(cases)], usable_cores())


def _obstacles(plan: Plan) -> list[str]:
    """Return what would keep a plan from running on this machine."""
    missing = [(name, BACKENDS[name].missing()) for name in plan.backends]
    found = [f"{name} cannot run here: {reason}" for name, reason in missing if reason]
    if plan.backends == (SIMULATED,):
        return found
    most, cores = max(placement.ranks_per_node for placement in plan.placements), usable_cores()
    if most > cores:
        found.append(
            f"{counted(most, 'rank')} per node on the {counted(cores, 'core')} of this machine would need "
            "--oversubscribe"
        )
    gpus = [len(devices) for name in plan.backends if (devices := BACKENDS[name].devices())]
    if gpus and most > min(gpus):
        found.append(f"{counted(most, 'rank')} per node, and {counted(min(gpus), 'GPU')} on this machine: one a rank")
    if any(placement.nodes > 1 for placement in plan.placements):
        found.append("several nodes need a launcher that reaches them, as srun collmark run PLAN")
    return found


def bytes_on_links(case: Case) -> float:
    """Return the least bytes that one call sends over links, all ranks together."""
    return OPERATIONS[case.operation].minimal(case.exchange).total
