"""nccl-tests and rccl-tests: the table that both print, also where it was written with commas.

What the head says (operation by command line, ranks by their lines, iterations, graph) holds only for rows that follow
the head's sizes one after the other: where rows are missing and nothing shows it, those after the gap may be another
run's whose head is gone. They are read as rows without a head: operation and ranks from the columns, or unknown.
"""

from __future__ import annotations

import re
from collections import defaultdict

from collmark.analysis.importers.line import Line
from collmark.analysis.importers.nccl_columns import Columns, in_place_of, read_columns
from collmark.analysis.importers.nccl_draft import Context, drafts_of
from collmark.analysis.importers.nccl_half import GIGA
from collmark.analysis.importers.nccl_head import (
    ANY,
    KIND,
    PROGRAM,
    REPEATED,
    ROWS,
    STAGES,
    Command,
    Grid,
    Head,
    read_commands,
    settings_of,
)
from collmark.analysis.importers.nccl_json import reads
from collmark.analysis.importers.nccl_names import DTYPES, operation_of
from collmark.analysis.importers.nccl_operation import refusal
from collmark.analysis.importers.nccl_place import Place
from collmark.analysis.importers.nccl_ranks import Counted, give
from collmark.analysis.importers.nccl_row import STARTS, Parsed, parse
from collmark.analysis.importers.nccl_seen import average_of, operations_of
from collmark.analysis.importers.section import Importer, Log, Section

_NO_HEAD = frozenset("#nrRbsoi(AOUCTEBPS,")
"""First characters of lines of a head, which some logs show without the mark before them."""
_ALGORITHM = re.compile(r"#+ *(?:NCCL_)?(?:ALGO|PROTO)=\w")
_LABEL = re.compile(r"#+ *\w+=[\w,]+(?: +\w+=[\w,]+)*")
"""Of a sweep; one that was cut off may be another's."""
_SIZE = re.compile(r"\bsize=(\d{1,18})\b")
_CUT = re.compile(r'\{"version":\d+,"start_time":"')
"""The beginning of what -J writes; whole, it is read as a document before any pattern is tried."""
TELLS = 0.5 * GIGA
"""An algorithm bandwidth in B/s that no CPU time would fit: a row with more shows that the times are those of calls."""
_INSIDE = re.compile(
    rf"\s\d{{1,18}} +\d{{1,18}} +(?:{'|'.join(DTYPES)})(?: +\w+)?(?: +-?\d+)? +\d+(?:\.\d+)? +\d+\.\d\d? ", re.ASCII
)
GAP = "the size does not follow from the head and the row before: read from here on as a table without a head"
BEHIND = "other text stands before a row"
_ELIDED = re.compile(r"[# ]*(?:\.\.\.|\[\.\.\.\])$")


class Table(Section):
    """One run."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._head = Head()
        self._command = read_commands(log.take_commands(PROGRAM.search))
        self._stage = 0
        self._settings_size: int | None = None
        self._settings = self._title = ""
        self._columns: Columns | None = None
        self._place: Place | None = None
        self._rows: list[tuple[Line, Parsed]] = []
        self._concluded: str | None = None
        self._average: tuple[int, str] | None = None
        self._whole = True
        self._misfits = 0

    def take(self, line: Line) -> bool:
        """Read a line of a head, a row, or a line after the rows."""
        body = line.text.lstrip()
        first = body[0]
        if first == "{":
            return self._take_cut(line, body)
        if first.isdigit():
            return self._take_row(line, body)
        if first in _NO_HEAD:
            match = KIND.match(body)
            if match is not None and match.lastgroup is not None:
                return self._take_head(match.lastgroup, body.lstrip("#, "), line)
            if _ALGORITHM.match(body):
                return self._take_settings(body)
        if first in ".[#" and _ELIDED.match(body):
            self._whole = False
            self._new_place().elide()
        return self._take_inside(line)

    def _take_inside(self, line: Line) -> bool:
        """Refuse a row that stands behind other text; what else a line says is not this tool's."""
        return "  " in line.text and _INSIDE.search(line.text) is not None and self._refuse(line, BEHIND)

    def _take_cut(self, line: Line, body: str) -> bool:
        if self._stage or self._rows or self._settings or not _CUT.match(body):
            return False
        self._stage = max(STAGES.values())
        self.log.skip(line, "the JSON does not end: the run was killed, or the file cut off")
        return True

    def _take_settings(self, body: str) -> bool:
        if self._stage:
            return False
        self._settings = settings_of(body) if _LABEL.fullmatch(body) else ""
        size = _SIZE.search(body)
        self._settings_size = None if size is None else int(size[1])
        return True

    def _take_head(self, kind: str, body: str, line: Line) -> bool:
        stage = STAGES[kind]
        if stage < self._stage or (stage == self._stage and kind not in REPEATED):
            return False
        self._stage = stage
        if kind == "columns":
            self._columns = read_columns(line.text)
        elif kind == "title":
            self._title = body
        elif kind == "concluded":
            self._concluded = operation_of(body) or ""
        elif kind == "average":
            self._average = (line.number, body.partition(":")[2].strip().partition(" ")[0])
        else:
            self._head.read(kind, body)
        return True

    def _take_row(self, line: Line, body: str) -> bool:
        match = STARTS.match(body)
        if match is None or match[3] not in DTYPES:
            return self._take_broken(line, body)
        if self._stage > ROWS:
            return False
        columns = self._columns
        found = parse(line.text, columns.extra if columns else 0, columns.edge if columns else None)
        fault = found if isinstance(found, str) else self._misfit(found)
        if fault or isinstance(found, str):
            return self._refuse(line, fault)
        if found.size and self._rows and line.text == self._rows[-1][0].text:
            self.log.skip(line, "the line before it once more")
            return True
        if not self._follows(line, found):
            return False
        if self._settings_size not in {None, found.size}:
            self._settings = ""
        self._stage = ROWS
        self._rows.append((line, found))
        return True

    def _take_broken(self, line: Line, body: str) -> bool:
        """Refuse a line that begins like the row that would come next."""
        number = re.match(r"\d{1,18}(?= )", body)
        if self._place is None or number is None or not self._place.wants(int(number[0])):
            return self._take_inside(line)
        return self._refuse(line, "the row that would come here has other text in it")

    def _refuse(self, line: Line, reason: str) -> bool:
        self.log.skip(line, reason)
        self._whole = False
        self._new_place().miss()
        return True

    def _new_place(self) -> Place:
        """Return where the table is; at its start, if nothing of it was seen."""
        if self._place is None:
            ragged = (self._head.shape(self._processes())[0] or 0) if self._claimed() == "all_to_all_v" else None
            self._place = Place(self._grid(), ragged)
        return self._place

    def _processes(self) -> int | None:
        """Return how many processes a command line starts that asks for the same sizes."""
        command = self._command
        return command.processes if command.grid is not None and command.grid == self._head.grid else None

    def _grid(self) -> Grid | None:
        return self._head.grid or self._command.grid

    def _follows(self, line: Line, row: Parsed) -> bool:
        """Return whether a row is of this run; what the head says is forgotten where the first row is not its first."""
        if self._new_place().take(row):
            return True
        if not self._rows or row.size > self._rows[-1][1].size:
            self.log.doubt(line, GAP)
        if self._rows:
            return False
        self._head, self._command, self._settings, self._whole = Head(), Command(), "", False
        self._place = Place(None)
        return self._place.take(row)

    def _misfit(self, row: Parsed) -> str:
        """Return what is impossible about a row, or that half of it is missing."""
        fault = row.misfit(ragged=self._claimed() == "all_to_all_v")
        if fault:
            return fault
        if len(row.halves) == 1 and not row.wide and (self._columns is None or self._columns.halves != 1):
            return "half of the row is missing"
        if all(half.fits for half in row.halves):
            return ""
        if self._columns is None:
            self._misfits += 1
            return "no head says what the time is, and it does not fit the bandwidth: perhaps the CPU's (-C 1)"
        if not self._columns.cpu_time:
            return "size, time and algorithm bandwidth do not fit"
        return ""

    def _claimed(self) -> str | None:
        """Return the operation by the head, or by a command line that asks for the same sizes."""
        claimed, command = self._head.claimed, self._command
        if claimed is None and (command.grid is None or self._head.grid in {None, command.grid}):
            # Without sizes of its own a command line is believed only before a head.
            claimed = command.operation if command.grid or self._head.grid else None
        if claimed is not None and self._concluded not in {None, "", claimed}:
            return None
        return claimed

    def finish(self) -> None:
        """Give the rows to the log."""
        head = self._head
        claimed = self._claimed()
        named = claimed is not None and claimed == head.claimed
        possible = operations_of(
            [row for _, row in self._rows],
            claimed=claimed,
            named=named,
            asked=self.log.facts.operation,
            nvidia=head.nvidia and not head.modern and not head.amd,
            columns=self._columns,
        )
        doubtful = self._misfits > 0 and not any(
            half.algorithm.value > TELLS for _, row in self._rows for half in row.halves
        )
        found: dict[tuple[str, ...], list[Counted]] = defaultdict(list)
        context = self._context()
        for (line, row), operations in zip(self._rows, possible, strict=True):
            if doubtful:
                self.log.skip(line, "the times of other rows here do not fit their bandwidths, and no head says why")
            elif not operations:
                self.log.skip(line, refusal(claimed if named else None))
            else:
                drafts = drafts_of(row, operations, line.number, context)
                found[operations].extend(Counted(draft, row.times) for draft in drafts)
        ranks, nodes = head.shape(self._processes()) if self._grid() is not None else (None, None)
        for counted in found.values():
            give(self.log, counted, ranks, nodes)
        self._check_average([one for counted in found.values() for one in counted])

    def _context(self) -> Context:
        head, command, columns = self._head, self._command, self._columns
        wide = any(row.wide for _, row in self._rows)
        # Only rccl-tests prints columns with algorithm and protocol.
        amd = head.amd or command.rccl or any(row.settings for _, row in self._rows)
        return Context(
            file=self.log.name,
            group=self.group,
            backend="rccl" if amd else "nccl",
            version=head.version,
            settings=self._settings or command.settings,
            cadence=head.cadence,
            rule=command.rule,
            repetitions=head.iterations,
            in_place=True if wide else in_place_of(self._title),
            cpu_time=columns is not None and columns.cpu_time,
        )

    def _check_average(self, counted: list[Counted]) -> None:
        """Warn where the printed average is not that of the rows, if they are all there."""
        if self._average is None or not counted or not self._whole or self._grid() is None:
            return
        line, text = self._average
        fault = average_of([one.draft for one in counted], text)
        if fault:
            self.log.doubt(line, fault)


_TYPES = "|".join(DTYPES)
IMPORTER = Importer(
    name="nccl-tests",
    says="nccl-tests",
    opens=re.compile(
        rf" *\d+(?: *, *| +)\d+(?: *, *| +)(?:{_TYPES})\b|{ANY}| *(?:{_ALGORITHM.pattern}|{_CUT.pattern})"
    ),
    section=Table,
    reads=reads,
)
