"""What a shell offers behind an option or for an argument: names of the indexes, and runs; nothing heavy is loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec
import typer

from collmark.core.errors import CollmarkError

Complete = Callable[[str], list[str]]


class _Named(msgspec.Struct):
    """The one field of run.json that is looked at."""

    label: str = ""


def among(names: Callable[[], Iterable[str]]) -> Complete:
    """Return what completes one name, or the last of several with commas between them."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        there = before.split(",")
        return [f"{before}{comma}{name}" for name in names() if name.startswith(last) and name not in there]

    return complete


def operations() -> Iterable[str]:
    """Return the names of all operations."""
    from collmark.core.operation_table import OPERATIONS

    return OPERATIONS


def backends() -> Iterable[str]:
    """Return the names of all backends."""
    from collmark.bench.backends.index import BACKENDS

    return BACKENDS


def dtypes() -> Iterable[str]:
    """Return the names of all element types."""
    from collmark.core.dtype import DTYPES

    return DTYPES


def reductions() -> Iterable[str]:
    """Return the names of all reductions."""
    from collmark.core.reduction import REDUCTIONS

    return REDUCTIONS


def runs(context: typer.Context, incomplete: str) -> list[str]:
    """Return latest, labels and folders of the runs that lie where the command would look for them."""
    from collmark.core.store import LATEST

    output = context.params.get("output")
    try:
        found = [LATEST, *_run_names(Path(output) if output else None)]
    except (CollmarkError, OSError):  # the command itself says what is wrong
        return []
    return [name for name in dict.fromkeys(found) if name.startswith(incomplete)]


def claims_or_runs(context: typer.Context, incomplete: str) -> list[str]:
    """Return ids of claims, and runs."""
    from collmark.analysis.claims.table import load_table

    ids = [claim.id for claim in load_table().claims]
    return [*(name for name in ids if name.startswith(incomplete)), *runs(context, incomplete)]


def _run_names(output: Path | None) -> Iterator[str]:
    from collmark.core.store import RUN_FILE
    from collmark.workflow.places import results_root

    files = sorted(results_root(output).glob(f"*/{RUN_FILE}"), reverse=True)
    for file in files:
        try:
            yield msgspec.json.decode(file.read_bytes(), type=_Named).label or file.parent.name
        except (msgspec.MsgspecError, OSError):
            continue
    yield from (file.parent.name for file in files)
