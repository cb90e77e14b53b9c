"""One run of a tool inside a log: what every importer is made of."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from collmark.analysis.importers.document import Document
from collmark.analysis.importers.figure import Figure
from collmark.analysis.importers.line import Line
from collmark.analysis.importers.row import Facts, Row, Skipped, Warned

MOST_SHOWN = 160  # characters of a line that is named
MOST_COMMANDS = 100  # kept of a log that has no tables
T = TypeVar("T", bound=msgspec.Struct)


class Draft(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A row before its number of ranks is known, with the printed figures that say it.

    Attributes
    ----------
    row : Row
        Its `seconds`, bandwidths, `ranks` and `nbytes` are filled in by :mod:`collmark.analysis.importers.settle`.
    seconds : Figure or None
        T; None where only a bandwidth is printed, and the parser has computed ``row.seconds``.
    algorithm, bus : Figure or None
        Bandwidths in B/s, where they are printed and mean what collmark means.
    nbytes : int or None
        What `size_is` says of the row, where it is told and is not what is printed as size; None where it is that.
    is_unclear : bool
        What the printed size means cannot be told.
    factor : Figure or None
        Bus factor that the printed bandwidths show, where the algorithm bandwidth among them means something else: it
        tells the number of ranks.
    """

    row: Row
    seconds: Figure | None = None
    algorithm: Figure | None = None
    bus: Figure | None = None
    nbytes: int | None = None
    is_unclear: bool = False
    factor: Figure | None = None


class Log:
    """A log while it is read: collects rows, lines that could not be read, and warnings.

    Parameters
    ----------
    name : str
        Of the file.
    facts : Facts
        What the user says.
    """

    def __init__(self, name: str, facts: Facts) -> None:
        self.name = name
        self.facts = facts
        self.rows: list[Row] = []
        self.skipped: list[Skipped] = []
        self.warned: list[Warned] = []
        self.commands: deque[str] = deque(maxlen=MOST_COMMANDS)
        """Command lines of known tools since the last table that took them."""
        self.groups = 0

    def take_commands(self, fit: Callable[[str], object]) -> list[str]:
        """Return the command lines that fit a table; all before it are forgotten, for they tell of no later one."""
        found = [one for one in self.commands if fit(one)]
        if found:
            self.commands.clear()
        return found

    def skip(self, line: Line, reason: str) -> None:
        """Name a line that looks like a figure and cannot be read."""
        self.skipped.append(Skipped(file=self.name, line=line.number, text=line.text[:MOST_SHOWN], reason=reason))

    def doubt(self, line: Line | int, text: str) -> None:
        """Name what is odd about figures that were read."""
        number = line if isinstance(line, int) else line.number
        self.warned.append(Warned(file=self.name, line=number, text=text))


def agreed(found: Sequence[T], default: T) -> T:
    """Return what commands that may each have started a table agree on, field by field; else what the default says."""
    first = found[0] if found else default
    differ = {
        name: getattr(default, name)
        for name in first.__struct_fields__
        if any(getattr(one, name) != getattr(first, name) for one in found)
    }
    return msgspec.structs.replace(first, **differ)


class Section(ABC):
    """One run of a tool; takes lines until another begins.

    Parameters
    ----------
    log : Log
        Where what is read goes.
    """

    def __init__(self, log: Log) -> None:
        self.log = log
        log.groups += 1
        self.group = log.groups

    @abstractmethod
    def take(self, line: Line) -> bool:
        """Read a line; return whether it belongs to this tool (what does not may begin another's run)."""

    @abstractmethod
    def finish(self) -> None:
        """Give the rows to the log, now that the whole run was seen."""


class Importer(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the index.

    Attributes
    ----------
    name, says : str
        Of the tool, for programs and for people.
    opens : pattern
        Matched at the start of a cleaned line: it begins a run of this tool, or is part of its preamble or a row that
        tells by itself what it is. Tried only on lines that the present section does not take.
    section : callable
        (log) to a new section, which then takes the line that matched.
    reads : callable or None
        (log, document) to whether a JSON document is this tool's, which it then has read.
    """

    name: str
    says: str
    opens: re.Pattern[str] | None
    section: Callable[[Log], Section] | None
    reads: Callable[[Log, Document], bool] | None = None
