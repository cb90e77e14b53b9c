"""nvbandwidth: the matrices that it prints, and its --json.

The layout (output.cpp, inline_common.h): "Running NAME.", a description, the columns 0, 1, ... in fields of ten
characters, one line a row with its label and cells in such fields, an empty line, "SUM NAME[_PART] figure". Sizes are
never printed; a command line above may tell them.
"""

from __future__ import annotations

import re

from collmark.analysis.importers.line import Line
from collmark.analysis.importers.nvbandwidth_case import Case, case_of, split_key
from collmark.analysis.importers.nvbandwidth_json import read_report
from collmark.analysis.importers.nvbandwidth_rows import Cell, Source, give_rows
from collmark.analysis.importers.section import Importer, Log, Section

FIELD = 10
_CENT = 0.005 + 1e-9
_RUNNING = re.compile(r"Running ([a-z][a-z0-9]*(?:_[a-z0-9]+)+)\.")
_SUM = re.compile(r"SUM ([a-z][a-z0-9]*(?:_[a-z0-9]+)+) (\d+\.\d\d)", re.ASCII)
_DESCRIPTION = re.compile(
    r"(?:memcpy (?:CE|SM|local)|multicast SM|memory latency SM|Device to Device Latency SM|Bisect benchmarking)\b"
)
_WHOLE = re.compile(r"memcpy (?:CE|SM) [CG]PU\(row\) (->|<-|<->) GPU\(column\) bandwidth \(GB/s\)")
_PART = re.compile(r"(Read|Write)([12]) bandwidth|(Total) bandwidth")
_ROW = re.compile(r"(\s*)((?:0|[1-9]\d{0,3})(?:-> *\d{1,4})?)((?: +(?:-?\d[\d.]*|N/A|-?nan|-?inf))+)", re.ASCII)
_CELL = re.compile(r" +(?:(\d+\.\d\d)|N/A)", re.ASCII)
_VERSION = re.compile(r"nvbandwidth Version: (v\d+\.\d+(?:\.\d+)?)", re.ASCII)
_PREAMBLE = re.compile(r"nvbandwidth Version:|Built from Git version:|CUDA (?:Runtime|Driver) Version:")
_OTHER = re.compile(r"(?:MIN|MAX|AVG) [a-z]|\tSample|\s+Sample \d|Waived|Device \d+: ")
_OPENS = re.compile(
    r"nvbandwidth Version: |Running (?:host|device|all|one|multinode)_\w+\.$"
    r"|memcpy (?:CE|SM) [CG]PU\(row\) |SUM (?:host|device|all|one|multinode)_\w+ \d"
)
_SIZE_OPTION = re.compile(r"\bnvbandwidth\b.*?\s(?:-b\s*|--bufferSize[ =])(\d{1,7})(\s+\S)?", re.ASCII)


def buffer_nbytes(command: str) -> int | None:
    """Return the size that a command line asks for, in bytes; None where there is none, or it may have been cut."""
    match = _SIZE_OPTION.search(command)
    if match is None:
        return None
    mebibytes = int(match[1])
    whole = match[2] is not None or (mebibytes >= 16 and mebibytes & (mebibytes - 1) == 0)
    return mebibytes * 2**20 if whole and mebibytes else None


class Matrix:
    """A matrix as far as it was read."""

    def __init__(self, description: str) -> None:
        self.description = description
        self.columns = 0
        self.cut = False
        self.total: float | None = None
        self.rows: list[tuple[str, list[str | None], Line]] = []

    @property
    def part(self) -> str:
        """The digit of Read1, Write2, ..., or total."""
        match = _PART.search(self.description)
        return "" if match is None else match[2] or "total"

    @property
    def arrow(self) -> str:
        """The arrow of a whole description that names no part, otherwise empty."""
        match = _WHOLE.fullmatch(self.description)
        return "" if match is None else match[1]

    def has_shape(self, *, square: bool) -> bool:
        """Return whether the cells that no copy can fill are empty, or zero: those of a GPU with itself."""
        if not square:
            return all(None not in texts for _, texts, _ in self.rows)
        return all(
            _number(label) < self.columns and texts[_number(label)] in (None, "0.00") for label, texts, _ in self.rows
        )

    @property
    def adds_up(self) -> bool | None:
        """Whether the figures are those of the sum below; None where there is none, or lines may be missing."""
        if len(self.rows) not in (1, self.columns) or [_number(label) for label, _, _ in self.rows] != list(
            range(len(self.rows))
        ):
            return None
        if len(self.rows) == 1 and any(text is None for text in self.rows[0][1]):
            return None
        found = sum(float(text) for _, texts, _ in self.rows for text in texts if text is not None)
        return None if self.total is None else abs(found - self.total) <= _CENT * (self.columns**2 + 1)

    def cells(self) -> list[Cell]:
        """Return the figures."""
        return [
            Cell(row=label, column=str(column), text=text, line=line.number)
            for label, texts, line in self.rows
            for column, text in enumerate(texts)
            if text is not None
        ]


class NvbandwidthSection(Section):
    """One run of the tool, with all its test cases."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        asked = {buffer_nbytes(command) for command in log.take_commands(lambda one: "nvbandwidth" in one)}
        self._nbytes = asked.pop() if len(asked) == 1 else None
        self._version = ""
        self._seen: set[str] = set()
        self._done: set[tuple[str, str]] = set()
        self._name = ""
        self._matrix: Matrix | None = None
        self._measured = False

    def take(self, line: Line) -> bool:
        """Read a line of the run; return False for what is not the tool's, or begins another run."""
        text = line.text
        if _columns(text):
            return self._column_labels(text)
        if self._matrix is not None and (match := _ROW.fullmatch(text)) is not None:
            self._row(self._matrix, line, match[2], match[3])
            return True
        if (match := _SUM.fullmatch(text)) is not None:
            self._sum(match[1], float(match[2]))
            return True
        return self._titles(text)

    def _titles(self, text: str) -> bool:
        if (match := _RUNNING.fullmatch(text)) is not None:
            return self._running(match[1])
        if _DESCRIPTION.match(text):
            self._close("")
            self._matrix = Matrix(text)
            return True
        if _PREAMBLE.match(text):
            if (match := _VERSION.fullmatch(text)) is not None and not self._measured:
                self._version = match[1]
            return not self._measured
        return _OTHER.match(text) is not None

    def _running(self, name: str) -> bool:
        if name in self._seen:
            return False
        self._close("")
        self._seen.add(name)
        self._name, self._measured = name, True
        return True

    def _column_labels(self, text: str) -> bool:
        if self._matrix is not None and self._matrix.columns:
            self._close("")
        if self._matrix is None:
            self._matrix = Matrix("")
        self._matrix.columns = len(text.split())
        return True

    def _row(self, matrix: Matrix, line: Line, label: str, texts: str) -> None:
        if matrix.rows and _number(label) <= _number(matrix.rows[-1][0]):
            self._close("")
            matrix = self._matrix = Matrix("")
        if not matrix.columns:
            self.log.skip(line, "its columns have no header")
            return
        cells = [_CELL.fullmatch(texts, at, at + FIELD) for at in range(0, len(texts), FIELD)]
        matrix.cut = matrix.cut or len(texts) > FIELD * matrix.columns
        if len(texts) != FIELD * matrix.columns or not all(cells):
            self.log.skip(line, f"not {matrix.columns} figures of two decimals in fields of {FIELD} characters")
        else:
            matrix.rows.append((label, [None if cell is None else cell[1] for cell in cells], line))

    def _sum(self, key: str, total: float) -> None:
        name, part = split_key(key)
        if self._matrix is not None and self._matrix.columns:
            self._matrix.total = total
            self._close(key)
        self._seen.add(name)
        self._measured = True
        if part in ("", "total"):
            self._name = ""

    def _close(self, key: str, *, last: bool = False) -> None:
        """Give the rows of the matrix, now that the line that names it below was seen, or is missing."""
        matrix, self._matrix = self._matrix, None
        if matrix is None or not matrix.columns:
            return
        self._measured = True
        name, part = split_key(key) if key else (self._name, self._part_of(matrix))
        case = case_of(name, part) if name else None
        reason = "no test case has this matrix" if case is None else self._contradiction(matrix, key, case, last=last)
        if reason or case is None:
            for _, _, line in matrix.rows:
                self.log.skip(line, reason)
            return
        source = Source(group=self.group, version=self._version, nbytes=self._nbytes)
        if (name, part) in self._done:  # of another run, whose beginning is missing
            source = Source(group=self.group, version="", nbytes=None)
        self._done.add((name, part))
        give_rows(self.log, case, matrix.cells(), source)

    def _contradiction(self, matrix: Matrix, key: str, case: Case, *, last: bool) -> str:
        """Return why it cannot be told what a matrix is, or nothing."""
        name, part = split_key(key)
        known = matrix.description and (part if part == "total" else part[-1:]) != matrix.part
        checks = {
            "no 'SUM' below names its test case": not key and (case.square or not last),
            "its figures do not add up to the sum below": matrix.adds_up is False,
            "its lines are not all there, and no 'Running' above names its test case": key
            and matrix.adds_up is None
            and not self._name,
            f"'Running {self._name}' above and 'SUM {name}' below contradict each other": key
            and self._name not in ("", name),
            "its description and the line below contradict each other": key and known,
            f"no 'SUM' below, and no description above of {self._name}": not key and matrix.arrow != _arrow(self._name),
            "the line that numbers its columns is cut": matrix.cut,
            "its diagonal is not that of the test case named": not matrix.has_shape(square=case.square),
        }
        return next((reason for reason, holds in checks.items() if holds), "")

    def _part_of(self, matrix: Matrix) -> str:
        if not matrix.part or matrix.part == "total":
            return matrix.part
        return ("read" if "_read_" in self._name else "write") + matrix.part

    def finish(self) -> None:
        """Give what is left: a log may end before the sum."""
        self._close("", last=True)


def _arrow(name: str) -> str:
    """Return the arrow in the description of a test case, for those whose description is the same in all versions."""
    if name.startswith(("host_to_device_memcpy", "device_to_device_memcpy_read")):
        return "->"
    if name.startswith(("device_to_host_memcpy", "device_to_device_memcpy_write")):
        return "<-"
    return "<->" if "bidirectional" in name and not name.endswith("sm") else "none"


def _columns(text: str) -> bool:
    """Return whether a line numbers the columns of a matrix."""
    if not text.endswith(tuple("0123456789")) or text.strip(" 0123456789"):
        return False
    labels = text.split()
    return text[:1] == " " and labels == [str(index) for index in range(len(labels))]


def _number(label: str) -> int:
    return int(label.partition("-")[0])


IMPORTER = Importer(
    name="nvbandwidth",
    says="nvbandwidth",
    opens=_OPENS,
    section=NvbandwidthSection,
    reads=read_report,
)
