"""rccl-tests' own CSV and JSON (-x FILE, -Z csv or json): one line for each half of a row of the table.

Source: rccl-tests src/common.cu, class Reporter. Numbers of ranks are processes; what is called ranks per node is the
number of processes of the communicator, and the number of nodes follows from it: neither tells of nodes. Until 2025 the
head of the CSV lacks the column of nodes, and the size is what a rank receives, which is one rank's share for
reduce_scatter and scatter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from collmark.analysis.importers.document import Document, Located
from collmark.analysis.importers.figure import Figure, figure, quotient
from collmark.analysis.importers.line import Line
from collmark.analysis.importers.nccl_head import USUAL_RULE
from collmark.analysis.importers.nccl_names import COLLECTIVES, DTYPES, REDUCTIONS, TOOLS
from collmark.analysis.importers.row import Row, SizeIs
from collmark.analysis.importers.section import Draft, Importer, Log, Section
from collmark.analysis.importers.settle import SLACK, settle
from collmark.core.case import Device

TOOL = TOOLS["rccl"]
NAMES = {
    "numcycle": "cycle", "collective": "name", "name": "name", "nodes": "nodes", "ranks": "ranks",
    "ranksPerNode": "perNode", "rankspernode": "perNode",
    "gpusperrank": "gpus", "gpusPerRank": "gpus", "gpus": "gpus", "size": "size", "type": "type", "redop": "redop",
    "inplace": "inPlace", "inPlace": "inPlace", "time": "time", "algbw": "algbw", "algBw": "algbw", "busbw": "busbw",
    "busBw": "busbw", "#wrong": "#wrong", "wrong": "#wrong", "numCycle": "cycle",
}  # fmt: skip
"""Columns of the CSV and keys of the JSON, by one name."""
_NEEDED = frozenset(("name", "size", "type", "inPlace", "time", "algbw", "busbw", "#wrong"))
_WHOLE = re.compile(r"0|[1-9]\d{0,17}", re.ASCII)
_DECIMAL = re.compile(r"(?:0|[1-9]\d{0,14})\.\d{6}", re.ASCII)
_WRONG = re.compile(r"N/A|0|[1-9]\d{0,17}", re.ASCII)
_RATES = ("algbw", "busbw")
_SHARES = frozenset(("reduce_scatter", "scatter"))


class Rows:
    """Collects the rows of a run.

    Parameters
    ----------
    log : Log
    group : int
    """

    def __init__(self, log: Log, group: int) -> None:
        self._log = log
        self._group = group
        self._drafts: dict[tuple[str, int | None], list[Draft]] = {}

    def add(self, fields: Mapping[str, str], line: int, lines: int = 1) -> str:
        """Take a row; return why it is none.

        Parameters
        ----------
        fields : mapping of str to str
            By the names in `NAMES`.
        line, lines : int
            Where it stands.
        """
        operation = COLLECTIVES.get(fields.get("name", "").lower())
        fault = _fault(fields)
        if fault or operation is None:
            return fault or f"{fields.get('name')!r} is no collective of the tool"
        time, algorithm, bus = figure(fields["time"], 1e-6), *(figure(fields[name], 1e9) for name in _RATES)
        if time is None or time.value <= 0:
            return "the time is 0"
        ranks = _ranks(fields)
        size_is = _size_is(int(fields["size"]), time, algorithm, operation, ranks)
        if size_is is None:
            return "size, time and bandwidth do not fit"
        row = self._row(fields, operation, size_is, line, lines)
        scaled = operation == "hypercube"
        draft = Draft(row=row, seconds=time, algorithm=None if scaled else algorithm, bus=bus)
        self._drafts.setdefault((operation, ranks), []).append(draft)
        return ""

    def _row(self, fields: Mapping[str, str], operation: str, size_is: SizeIs, line: int, lines: int) -> Row:
        kept = ("ranks", "perNode", "gpus", "size", "time", "algbw", "busbw", "#wrong")
        wrong = fields["#wrong"]
        return Row(
            tool=TOOL,
            operation=operation,
            dtype=DTYPES[fields["type"]][0],
            reduction=REDUCTIONS.get(fields.get("redop", ""), ""),
            nbytes_printed=int(fields["size"]),
            size_is=size_is,
            seconds=None,
            statistic=f"one loop, {USUAL_RULE}",
            wrong=None if wrong == "N/A" else int(wrong),
            in_place=fields["inPlace"] == "1",
            group=self._group,
            file=self._log.name,
            line=line,
            lines=lines,
            printed={name: fields[name] for name in kept if name in fields},
            backend="rccl",
            device=Device.CUDA,
        )

    def finish(self) -> None:
        """Give the rows to the log."""
        for (_, ranks), drafts in self._drafts.items():
            settle(self._log, drafts, ranks=ranks)


def _fault(fields: Mapping[str, str]) -> str:
    if not fields.keys() >= _NEEDED:
        return "columns are missing"
    if fields["type"] not in DTYPES:
        return f"{fields['type']!r} is no element type of the tool"
    if not _WHOLE.fullmatch(fields["size"]) or int(fields["size"]) % DTYPES[fields["type"]][1]:
        return "the size is no whole number of elements"
    if not all(_DECIMAL.fullmatch(fields[name]) for name in ("time", "algbw", "busbw")):
        return "time or bandwidth is no number that the tool prints"
    if fields["inPlace"] not in {"0", "1"} or not _WRONG.fullmatch(fields["#wrong"]):
        return "the columns are not those of the tool"
    return ""


def _ranks(fields: Mapping[str, str]) -> int | None:
    """Return the number of ranks; None where processes are split into groups, whose number is not told for certain."""
    texts = [fields.get(name, "") for name in ("ranks", "perNode", "gpus")]
    if not all(_WHOLE.fullmatch(text) and len(text) < 8 for text in texts):
        gpus = texts[2]
        alone = not texts[0] and not texts[1] and _WHOLE.fullmatch(gpus) and len(gpus) < 8
        return int(gpus) or None if alone else None
    ranks, own, gpus_each = (int(text) for text in texts)
    return ranks * gpus_each or None if ranks == own else None


def _size_is(size: int, time: Figure, algorithm: Figure | None, operation: str, ranks: int | None) -> SizeIs | None:
    """Return what the size is, by which of them gives the printed bandwidth; None where none does."""
    if size == 0 or operation == "hypercube":
        return SizeIs.CANONICAL
    if _agrees(size, time, algorithm):
        return SizeIs.CANONICAL
    if operation in _SHARES and ranks is not None and _agrees(size * ranks, time, algorithm):
        return SizeIs.BLOCK
    return None


def _agrees(nbytes: int, time: Figure, algorithm: Figure | None) -> bool:
    own = quotient(float(nbytes), time)
    if own is None or algorithm is None:
        return False
    return own.lower <= algorithm.upper * (1 + SLACK) and algorithm.lower <= own.upper * (1 + SLACK)


class Csv(Section):
    """One file of the reporter."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._rows = Rows(log, self.group)
        self._names: list[str] | None = None
        self._some = False

    def take(self, line: Line) -> bool:
        """Read the head or a row."""
        if _HEAD.match(line.text):
            if self._names is not None or self._some:
                return False
            self._names = [NAMES.get(name.strip(), name.strip()) for name in line.text.split(",")]
            return True
        if not _ROW.match(line.text):
            return False
        self._some = True
        if self._names is None:
            self.log.skip(line, "the line with the names of the columns is missing")
            return True
        fault = self._take_row(line, self._names)
        if fault:
            self.log.skip(line, fault)
        return True

    def _take_row(self, line: Line, names: list[str]) -> str:
        tokens = [one.strip() for one in line.text.split(",")]
        if len(tokens) == len(names) + 1 and "ranks" in names and "nodes" not in names:
            names = [*names[: names.index("ranks")], "nodes", *names[names.index("ranks") :]]
        if len(tokens) != len(names):
            return "the number of columns is not that of the line with their names"
        quoted = [names[index] for index, token in enumerate(tokens) if token[:1] == '"' and token[-1:] == '"']
        if quoted != [name for name in names if name in {"name", "type", "redop", "#wrong"}]:
            return "the columns are not those of the tool"
        fields = dict(zip(names, (token.strip('"') for token in tokens), strict=True))
        return self._rows.add(fields, line.number)

    def finish(self) -> None:
        """Give the rows to the log."""
        self._rows.finish()


def reads(log: Log, document: Document) -> bool:
    """Return whether a document is of the reporter, which the log then has."""
    value = document.value
    found = value if isinstance(value, list) else [value]
    if not found or not all(isinstance(one, Located) and one.keys() >= {"inPlace", "algBw", "busBw"} for one in found):
        return False
    if not _continues(log, document.line):
        log.groups += 1
    rows = Rows(log, log.groups)
    for one in found:
        line, lines = document.lines_of(one)
        fields = {NAMES.get(key, key): str(field) for key, field in one.items() if isinstance(field, str)}
        fault = rows.add(fields, line, lines)
        if fault:
            text = document.text[one.start : one.end].partition("\n")[0]
            log.skip(Line(line, text, text, ended=True), fault)
    rows.finish()
    return True


def _continues(log: Log, line: int) -> bool:
    """Return whether the line before was a row of the reporter: an older one writes a document a line."""
    return bool(log.rows) and log.rows[-1].tool == TOOL and log.rows[-1].line == line - 1


_HEAD = re.compile(r"(?:numCycle *, *)?collective *, *(?:nodes|ranks|gpus)\b")
_ROW = re.compile(
    r'(?:\d+ *, *)?"(?:AllReduce|AllGather|AlltoAll[vV]?|Reduce(?:Scatter)?|Broadcast|Gather|Scatter|SendRecv'
    r'|HyperCube)"'
)
IMPORTER = Importer(
    name="rccl-tests",
    says="rccl-tests",
    opens=re.compile(f"{_HEAD.pattern}|{_ROW.pattern}"),
    section=Csv,
    reads=reads,
)
