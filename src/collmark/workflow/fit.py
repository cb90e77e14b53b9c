"""Runs to fitted models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from collmark.analysis.columns import Series
from collmark.analysis.expected.share import Share, shares
from collmark.analysis.expected.system import named_systems
from collmark.analysis.frame import frame
from collmark.analysis.models.fit import Fits, fit_frame
from collmark.analysis.results import Results, load
from collmark.analysis.skew import Skew, skews
from collmark.workflow.places import find_run


def load_runs(names: Iterable[str], output: Path | None = None) -> list[Results]:
    """Read the runs of some names (a path, a label or ``latest``), each once, in the order named.

    Of two folders of one name the later is called by its path: their figures must never lie on one curve.

    Raises
    ------
    UsageError, ParseError, SchemaError
        If there is no such run, or it cannot be read.
    """
    folders = {folder.path.resolve(): folder for folder in (find_run(name, output) for name in names)}
    found: list[Results] = []
    for folder in folders.values():
        one = load(folder)
        is_taken = one.name in {other.name for other in found}
        found.append(msgspec.structs.replace(one, name=str(folder.path)) if is_taken else one)
    return found


def fit_runs(results: Sequence[Results], *, include_unstable: bool = False) -> tuple[Fits, dict[Series, Skew]]:
    """Fit a model to every series of some runs; return the skew too of those whose T holds it."""
    table = frame(results)
    return fit_frame(table, include_unstable=include_unstable), skews(table)


def expect_of_runs(
    results: Sequence[Results], fits: Fits, systems: Iterable[str] = (), *, include_unstable: bool = False
) -> tuple[Share, ...]:
    """Return what every series of some runs reaches of what may be expected of it.

    Raises
    ------
    UnknownNameError
        If a system has no such name.
    """
    return shares(frame(results), fits, named_systems(systems), include_unstable=include_unstable)
