"""What the tables of the OSU micro-benchmarks and of the Intel MPI Benchmarks have in common.

Both print one size after the other below the names of columns, each twice the one before. Where rows are missing, so
may be the head of another table between them: figures alone do not tell whose they are, nor their unit.
"""

from __future__ import annotations

import re

import msgspec

from collmark.analysis.importers.line import Line
from collmark.analysis.importers.section import Log, Section
from collmark.core.operation_table import OPERATIONS

WHOLE = r"(0|[1-9]\d{0,18})"
TWO_DECIMALS = r"((?:0|[1-9]\d{0,14})\.\d\d)"
_NOT_FINITE = r"[-+]?nan|[-+]?inf"


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A line of figures.

    Attributes
    ----------
    line : Line
    figures : dict of str to str
        By column, as printed.
    aligned : bool
        It ends where the names of columns end.
    """

    line: Line
    figures: dict[str, str]
    aligned: bool


class TableSection(Section):
    """A run whose tables follow what is told above them."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._told: dict[str, str] = {}

    def _tell(self, name: str, value: str) -> None:
        # Two lines that contradict each other: one of them is not of this run.
        self._told[name] = value if self._told.get(name, value) == value else ""

    def _doubt_of(self, operation: str) -> str:
        """Return why rows after missing ones may not be of a table, or nothing where the user says its operation."""
        if self.log.facts.operation == operation:
            return ""
        remedy = f": say --operation {operation} if they are of this one" if operation in OPERATIONS else ""
        return f"rows before it are missing, and with them perhaps the head of another table{remedy}"


def looks_like_figures(words: str = "") -> re.Pattern[str]:
    """Return a pattern of a line of figures, whole or not.

    With other words in it than `words`, it is something else, or was garbled.
    """
    words = f"|{words}" if words else ""
    return re.compile(rf" *\d+(?:\.\d*)?(?: +(?:[-+]?\d[\d.]*|{_NOT_FINITE}{words}))*", re.IGNORECASE | re.ASCII)


def is_elided(text: str) -> bool:
    """Return whether a line of dots says that somebody left rows out."""
    return not text.strip(" .[]\u2026")
