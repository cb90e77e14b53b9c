"""Which rank, node or pair is slow: the plans that measure it, and what their runs say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from collmark.analysis.pairs.find import EFFECT, again
from collmark.analysis.pairs.of_runs import Judged, is_one_way, judge
from collmark.core.errors import UsageError
from collmark.core.grouping import BACK, PAIRS
from collmark.core.numeral import counted, shown
from collmark.core.pairing import Pair, count_rounds, some_rounds, usual_rounds
from collmark.core.placement import Placement
from collmark.core.plan import Plan
from collmark.workflow.fit import load_runs
from collmark.workflow.planning import make_plan

LAUNCHES = 5
"""That measure suspects again."""
LEAST_RANKS = 3
DEFAULTS: Mapping[str, list[str]] = {
    "--operation": ["stream"], "--sizes": ["4MiB"], "--case-budget": ["200ms"],
}  # fmt: skip


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a user asks for.

    Attributes
    ----------
    effect : float
        Smallest relative excess of T that is of interest.
    nics : int
        NICs of each node; 0 where unknown.
    rounds : int or None
        Rounds between nodes; None for what is usual.
    launches : int or None
        Launches that measure suspects again; None for `LAUNCHES`.
    """

    effect: float = EFFECT
    nics: int = 0
    rounds: int | None = None
    launches: int | None = None


class Pairs(msgspec.Struct, frozen=True, kw_only=True):
    """What runs say of pairs.

    Attributes
    ----------
    plan : Plan
        Of the sweep.
    judged : tuple of Judged
        One for each operation and size.
    """

    plan: Plan
    judged: tuple[Judged, ...]


def sweep_plan(given: Mapping[str, Sequence[str]], placement: Placement, wanted: Wanted) -> Plan:
    """Return the plan that measures every pair of a placement once.

    Parameters
    ----------
    given : mapping
        Options of the plan as the user wrote them.
    placement : Placement
        Of all ranks.
    wanted : Wanted
        What else was asked for.

    Raises
    ------
    UsageError
        If they make no sense, or there are too few ranks to set pairs beside each other.
    """
    plan = msgspec.structs.replace(make_plan(None, {**DEFAULTS, **given}), launches=1)
    if placement.ranks < LEAST_RANKS:
        made = "one pair" if placement.ranks == 2 else "no pair"
        raise UsageError(
            f"{counted(placement.ranks, 'rank')} make {made}: nothing can be set beside it; use {LEAST_RANKS} or more"
        )
    if wanted.rounds is None:
        numbers = usual_rounds(placement, plan.seed)
    else:
        numbers = some_rounds(placement, min(wanted.rounds, count_rounds(placement)), plan.seed)
    names = [f"{PAIRS}{number}" for number in numbers]
    groups = _there_and_back(plan, names, [f"{name}{BACK}" for name in names])
    return msgspec.structs.replace(plan, groups=groups, placements=(placement,))


def read_placement(text: str | None) -> Placement:
    """Return nodes and ranks on each as ``--placement`` names them."""
    found = re.fullmatch(r"([1-9][0-9]{0,6})x([1-9][0-9]{0,6})", text or "", re.ASCII)
    if not found:
        raise UsageError(f"--placement {shown(text or '')}: nodes and the ranks on each, as 16x8")
    return Placement(nodes=int(found[1]), ranks_per_node=int(found[2]))


def judge_runs(names: Sequence[str], output: Path | None, wanted: Wanted) -> Pairs:
    """Return what is slow among the pairs of some runs: a sweep, and those that measured its suspects again."""
    results = load_runs(names, output)
    judged = judge(results, effect=wanted.effect, nics=wanted.nics)
    return Pairs(plan=results[0].run.plan, judged=tuple(judged))


def again_plan(pairs: Pairs, wanted: Wanted) -> Plan | None:
    """Return the plan that measures the suspects of a sweep again; None where there are none."""
    rounds: dict[tuple[Pair, ...], None] = {}
    for one in pairs.judged:
        rounds |= {tuple(met): None for met in again(one.sweep, one.rounds, pairs.plan.seed)}
    if not rounds:
        return None
    # A whole round is called by its number: all pairs of many ranks would be a name of kilobytes in every record.
    known = {own.pairs: f"{PAIRS}{own.number}" for one in pairs.judged for own in one.rounds}
    there = [known.get(met) or _named(met) for met in rounds]
    back = [f"{known[met]}{BACK}" if met in known else _named([(two, one) for one, two in met]) for met in rounds]
    launches = wanted.launches or LAUNCHES
    return msgspec.structs.replace(pairs.plan, groups=_there_and_back(pairs.plan, there, back), launches=launches)


def plan_text(plan: Plan) -> str:
    """Return a plan as a file holds it, JSON of the same keys as TOML."""
    return msgspec.json.format(msgspec.json.encode(plan), indent=1).decode() + "\n"


def _there_and_back(plan: Plan, there: Sequence[str], back: Sequence[str]) -> tuple[str, ...]:
    if not any(is_one_way(name) for name in plan.operations):
        return tuple(there)
    return tuple(name for both in zip(there, back, strict=True) for name in both)


def _named(pairs: Sequence[Pair]) -> str:
    return PAIRS + "+".join(f"{one}-{two}" for one, two in pairs)
