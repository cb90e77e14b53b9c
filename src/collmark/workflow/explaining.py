"""What a plan comes to, key by key, and what each value comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from collmark.core.plan import Plan
from collmark.core.plan_field import FIELDS
from collmark.workflow.places import results_root
from collmark.workflow.planning import make_plan, ranks_of, sources
from collmark.workflow.prepare import default_ranks
from collmark.workflow.settings import RANKS, RESULTS, read_settings

DEFAULT = "default"


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """One key.

    Attributes
    ----------
    key : str
        As in a plan file.
    value : object
        As the plan keeps it: seconds, bytes, shares; None where nothing is set because nothing needs to be.
    source : str
        The option, the plan file, the variable or the file that it comes from, or that it is the default.
    """

    key: str
    value: Any
    source: str


def explain(file: Path | None, given: Mapping[str, Sequence[str]], ranks: str | None) -> list[Explained]:
    """Return what a plan comes to; UsageError where something in it is wrong.

    Parameters
    ----------
    file : Path or None
        A plan in TOML.
    given : mapping of str to sequence of str
        The texts of each option that was used, by the option's name.
    ranks : str or None
        What ``--ranks`` says.
    """
    settings = read_settings()
    plan, source = make_plan(file, given, settings), sources(file, given, settings)
    count, came = _ranks(plan, ranks_of(ranks, plan, settings), "--ranks" if ranks else source.get(RANKS, DEFAULT))
    return [
        *(Explained(key=key, value=getattr(plan, key), source=source.get(key, DEFAULT)) for key in FIELDS),
        Explained(key=RANKS, value=count, source=came),
        Explained(key=RESULTS, value=str(results_root()), source=source.get(RESULTS, DEFAULT)),
    ]


def _ranks(plan: Plan, asked: int | None, source: str) -> tuple[int | None, str]:
    if plan.placements:
        return None, "placements of the plan"
    return asked or default_ranks(plan.backends), source
