"""From a plan file and the options beside it to one plan: an option wins over the file."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from collmark.bench.backends.index import BACKENDS
from collmark.bench.environment import usable_cores
from collmark.bench.simulation.spec import read_simulation
from collmark.core.case import Binding, Case, Scheduling
from collmark.core.errors import PlanError, UnknownNameError, UsageError
from collmark.core.expansion import expand
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Placement
from collmark.core.plan import AUTO, Plan, check_plan, load_plan
from collmark.core.sweep import parse_sweep
from collmark.core.units import parse_nbytes, parse_seconds
from collmark.workflow.prepare import SIMULATED, default_ranks
from collmark.workflow.run import START_SECONDS, grouped


class Knob(msgspec.Struct, frozen=True, kw_only=True):
    """One option that sets one field of the plan.

    Attributes
    ----------
    option : str
        As it is written on the command line.
    field : str
        Of :class:`collmark.core.plan.Plan`.
    read : callable
        From the text, or all texts of a repeatable option, to the field's value.
    """

    option: str
    field: str
    read: Callable[[Sequence[str]], object]


def _last(read: Callable[[str], object]) -> Callable[[Sequence[str]], object]:
    return lambda texts: read(texts[-1])


def _names(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(name.strip() for text in texts for name in text.split(",") if name.strip())


def _sizes(text: str) -> str:
    return str(parse_sweep(text))


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise UsageError(f"{text}: must be a whole number") from error


def _launches(text: str) -> int | str:
    if text == AUTO:
        return AUTO
    try:
        return int(text)
    except ValueError as error:
        raise UsageError(f'{text}: must be a whole number in 1 to 1000, or "{AUTO}"') from error


def _share(text: str) -> float:
    number = text.strip().removesuffix("%")
    try:
        value = float(number)
    except ValueError as error:
        raise UsageError(f"{text}: must be a share such as 5% or 0.05") from error
    return value / 100 if text.strip().endswith("%") else value


def _bound(text: str) -> float:
    return 0.0 if text.strip() in ("0", "none") else parse_seconds(text)


def _choice(kind: type[Scheduling | Binding], word: str) -> Callable[[str], Scheduling | Binding]:
    def read(text: str) -> Scheduling | Binding:
        allowed = tuple(str(member) for member in kind)
        if text not in allowed:
            raise UnknownNameError(word, text, allowed)
        return kind(text)

    return read


def _simulation(texts: Sequence[str]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise UsageError(f"{text}: must be KEY=VALUE, as alpha=20e-6")
        try:
            table[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{text}: {value!r} is no number, true, false or [list, of, numbers]") from error
    return table


KNOBS = (
    Knob(option="--operation", field="operations", read=_names),
    Knob(option="--sizes", field="sizes", read=_last(_sizes)),
    Knob(option="--dtype", field="dtypes", read=_names),
    Knob(option="--reduction", field="reductions", read=_names),
    Knob(option="--backend", field="backends", read=_names),
    Knob(option="--launches", field="launches", read=_last(_launches)),
    Knob(option="--precision", field="precision", read=_last(_share)),
    Knob(option="--case-budget", field="case_budget", read=_last(parse_seconds)),
    Knob(option="--budget", field="budget", read=_last(_bound)),
    Knob(option="--timeout", field="timeout", read=_last(parse_seconds)),
    Knob(option="--scheduling", field="scheduling", read=_last(_choice(Scheduling, "scheduling"))),
    Knob(option="--bind", field="binding", read=_last(_choice(Binding, "binding"))),
    Knob(option="--messages", field="messages", read=_last(_whole)),
    Knob(option="--traffic", field="traffic", read=_last(str)),
    Knob(option="--seed", field="seed", read=_last(_whole)),
    Knob(option="--samples", field="samples", read=_last(parse_nbytes)),
    Knob(option="--simulate", field="simulation", read=_simulation),
)
"""Every option that changes what is planned; --ranks gives the placement and is read by :func:`read_ranks`."""


def make_plan(file: Path | None, given: Mapping[str, Sequence[str]]) -> Plan:
    """Return the plan of a file, or the default one, with options laid over it.

    Parameters
    ----------
    file : Path or None
        A plan in TOML.
    given : mapping of str to sequence of str
        The texts of each option that was used, by the option's name.

    Raises
    ------
    PlanError
        Naming everything that is wrong with the options.
    """
    plan = Plan() if file is None else load_plan(file)
    changes: dict[str, Any] = {}
    problems: list[str] = []
    for knob in KNOBS:
        texts = given.get(knob.option)
        if not texts:
            continue
        try:
            changes[knob.field] = knob.read(texts)
        except UnknownNameError as error:
            problems.append(str(error))
        except UsageError as error:
            problems.append(f"{knob.option} {error}")
    if "simulation" in changes:
        changes["simulation"] = {**plan.simulation, **changes["simulation"]}
    plan = msgspec.structs.replace(plan, **changes)
    problems += _unknown_backends(plan)
    if "--simulate" in given and SIMULATED not in plan.backends:
        problems.append(f"--simulate: no backend is simulated; add --backend {SIMULATED}")
    if problems:
        raise PlanError(problems)
    return plan


def _unknown_backends(plan: Plan) -> list[str]:
    known = BACKENDS.names()
    return [str(UnknownNameError("backend", name, known)) for name in plan.backends if name not in known]


def read_ranks(text: str | None) -> int | None:
    """Return the number of local ranks that ``--ranks`` asks for.

    Raises
    ------
    UsageError
        If it is no positive whole number.
    """
    if text is None:
        return None
    try:
        ranks = int(text)
    except ValueError as error:
        raise UsageError(f"--ranks {text}: must be a whole number, at least 1") from error
    if ranks < 1:
        raise UsageError(f"--ranks {text}: must be at least 1")
    return ranks


def placement_words(placement: Placement) -> str:
    """Return a placement as a person says it."""
    nodes = f"{placement.nodes} node{'s' if placement.nodes > 1 else ''}"
    words = f"{nodes} x {placement.ranks_per_node} rank{'s' if placement.ranks_per_node > 1 else ''}"
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
    read_simulation(plan.simulation)
    if ranks is not None and plan.placements:
        raise UsageError(f"--ranks {ranks}: the plan has placements of its own; leave one of them away")
    placements = plan.placements or (Placement(ranks_per_node=ranks or default_ranks()),)
    plan = msgspec.structs.replace(plan, placements=placements)
    capabilities = {name: BACKENDS[name].capability for name in BACKENDS}
    expansions = [expand(plan, placement, capabilities) for placement in placements]
    cases = tuple(case for expansion in expansions for case in expansion.cases)
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
    one = sum(START_SECONDS + (len(group) + 1) * plan.case_budget for _key, group in grouped(cases))
    bound = plan.first_launches * one
    return min(bound, plan.budget or bound)


def _obstacles(plan: Plan) -> list[str]:
    """Return what would keep a plan from running on this machine."""
    missing = [(name, BACKENDS[name].missing()) for name in plan.backends]
    found = [f"{name} cannot run here: {reason}" for name, reason in missing if reason]
    if plan.backends == (SIMULATED,):
        return found
    most, cores = max(placement.ranks_per_node for placement in plan.placements), usable_cores()
    if most > cores:
        found.append(f"{most} ranks per node on the {cores} cores of this machine would need --oversubscribe")
    if any(placement.nodes > 1 for placement in plan.placements):
        found.append("several nodes need a launcher that reaches them, as srun collmark run PLAN")
    return found


def bytes_on_links(case: Case) -> float:
    """Return the least bytes that one call sends over links, all ranks together."""
    return OPERATIONS[case.operation].minimal(case.exchange).total
