"""Names of runs and baselines to a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from collmark.analysis.compare.compare import Compared
from collmark.analysis.compare.gate import Gate, Result, pass_gate
from collmark.analysis.compare.side import Side
from collmark.analysis.compare.verdict import Comparison
from collmark.analysis.results import Results, load
from collmark.core.errors import UsageError, short_path
from collmark.core.store import LATEST, RUN_FILE
from collmark.workflow.places import find_run, results_root, run_folders

BASELINES = "baselines"
"""The folder below that of results, where --baseline looks: runs, or folders of runs, copied there by hand."""


def find_side(name: str, output: Path | None = None) -> Side:
    """Return a side of a comparison: a run, or a folder that holds runs of one thing.

    Parameters
    ----------
    name : str
        A path, a label or latest.
    output : Path, optional
        The folder that holds runs.

    Raises
    ------
    UsageError, ParseError, SchemaError
        If there is no such run, or it cannot be read.
    """
    path = Path(name)
    if name.strip() and path.is_dir() and not (path / RUN_FILE).is_file():
        folders = [folder for folder, _run in run_folders(path)]
        if folders:
            return Side(name=path.resolve().name, results=tuple(map(load, folders)))
    one = load(find_run(name, output))
    return Side(name=one.run.label or one.name, results=(one,))


def find_baseline(name: str, output: Path | None = None) -> Side:
    """Return the side that a baseline is: a path, or the name of a folder among the baselines.

    Raises
    ------
    UsageError
        If there is none of that name; those that there are get named.
    """
    root = results_root(output) / BASELINES
    for path in (root / name, Path(name)):
        if name.strip() and path.is_dir():
            return find_side(str(path), output)
    there = sorted(path.name for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
    known = f"there are {', '.join(there)}" if there else "there are none: copy a run's folder there to have one"
    raise UsageError(f"no baseline {name!r} in {short_path(root)}; {known}")


def all_runs(output: Path | None = None) -> list[Results]:
    """Return every run of the results folder, oldest first.

    Raises
    ------
    UsageError
        If there is none.
    """
    root = results_root(output)
    found = [load(folder) for folder, _run in run_folders(root)]
    if not found:
        raise UsageError(f"no runs under {short_path(root)}; collmark demo makes one")
    return found


def find_sides(words: Sequence[str], baseline: str | None, output: Path | None = None) -> list[Side]:
    """Return A and all that is compared with it, names made distinct.

    Raises
    ------
    UsageError
        If there are fewer than two, or one is there twice.
    """
    sides = [find_baseline(baseline, output)] if baseline is not None else []
    sides += [find_side(word, output) for word in words or ([LATEST] if baseline is not None else [])]
    if len(sides) < 2:
        raise UsageError("compare needs two runs or more, as collmark compare A B, or --baseline NAME and a run")
    places = [tuple(str(one.folder.path.resolve()) for one in side.results if one.folder) for side in sides]
    shared = {place for at, own in enumerate(places) for place in own if any(place in p for p in places[:at])}
    if shared:
        raise UsageError(f"{short_path(min(shared))} is on both sides: name two runs")
    for called in (_folder_name, lambda side: str(side.results[0].folder and side.results[0].folder.path)):
        names = [side.name for side in sides]
        sides = [
            msgspec.structs.replace(side, name=called(side)) if names.count(side.name) > 1 else side for side in sides
        ]
    return sides


def _folder_name(side: Side) -> str:
    return side.results[0].name if len(side.results) == 1 else side.name


def gate_runs(compared: Compared, gate: Gate | None) -> list[Result]:
    """Return how each side that is compared with A passes a gate; nothing without one."""
    return [pass_gate(gate, one.comparisons, one.unmatched) for one in compared.others] if gate else []


def as_object(compared: Compared, results: Sequence[Result]) -> dict[str, Any]:
    """Return a comparison as one object for JSON, in SI units."""
    floor = compared.floor
    return {
        "effect": compared.effect,
        "rate": compared.rate,
        "floor": None if floor is None else msgspec.to_builtins(floor),
        "a": _side(compared.base),
        "compared": [
            {
                "b": _side(one.side),
                "differences": msgspec.to_builtins(one.differences),
                "comparisons": [_row(row) for row in one.comparisons],
                "unmatched": msgspec.to_builtins(one.unmatched),
                "summary": msgspec.to_builtins(one.summary),
            }
            for one in compared.others
        ],
        "gates": [
            {"passed": one.passed, "reason": one.reason, "failing": [_row(row) for row in one.failing]}
            for one in results
        ],
    }


def _side(side: Side) -> dict[str, Any]:
    return {"name": side.name, "runs": [one.name for one in side.results], "launches": side.launches}


def _row(one: Comparison) -> dict[str, Any]:
    return {
        **one.pair.a.facts,
        "a_seconds": one.pair.a.seconds_L,
        "b_seconds": one.pair.b.seconds_L,
        "b_is_fitted": one.pair.b.fitted,
        "differs": one.pair.differs,
        "ratio": one.value,
        "estimate": msgspec.to_builtins(one.estimate),
        "p_value": one.p_value,
        "adjusted": one.adjusted,
        "verdict": one.verdict.value,
        "launches_needed": one.needed,
    }
