"""Results as analysis takes them: a run's name, what was asked for, and its records."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from collmark.core.record import Record, Run
from collmark.core.store import RunFolder


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """One run, read.

    Attributes
    ----------
    name : str
        Name of its folder.
    run : Run
        Plan, launches, hosts.
    records : sequence of Record
        In the order of writing.
    folder : RunFolder or None
        Where raw samples lie; None for results that are only in memory.
    """

    name: str
    run: Run
    records: Sequence[Record]
    folder: RunFolder | None = None


def load(folder: RunFolder) -> Results:
    """Read a run.

    Raises
    ------
    UsageError, ParseError, SchemaError
        If the folder is no run, or one that cannot be read.
    """
    return Results(
        name=folder.path.resolve().name, run=folder.read_run(), records=tuple(folder.records()), folder=folder
    )
