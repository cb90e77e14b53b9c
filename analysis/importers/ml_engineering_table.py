"""The tables of ml-engineering's all_reduce_bench.py (2024 on) and torch-dist-bench.py (network/benchmarks).

Payloads are powers of 1024 and S as nccl-tests means it (torch-dist-bench.py collective_call); GBps are 1e9 bytes. A
bandwidth is the mean of rates over trials and over ranks: the T that goes with it is the payload over it. A latency is
that of the slowest rank of each call, and comes from trials of its own: where a line has both, they are two rows. With
--profile_stability each line is one trial. Where several collectives share a table, it holds busbw and median of each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from collmark.analysis.importers.figure import figure
from collmark.analysis.importers.line import Line
from collmark.analysis.importers.ml_engineering import launched
from collmark.analysis.importers.row import Row
from collmark.analysis.importers.section import Draft, Importer, Log, Section
from collmark.analysis.importers.settle import settle
from collmark.core.case import Cadence, Device

_TITLE = re.compile(
    r"The (?:average bandwidth(?P<latency> and the per-call latency)?"
    r"|(?P<payload>\d{1,6}(?:\.\d{1,9})?)GiB payload bandwidth)"
    r" of (?P<name>\w+)(?P<several> collectives)? over (?P<ranks>\d{1,7}) ranks \((?P<trials>[^()]*)\):"
)
_TRIALS = re.compile(r"(?:at least )?\d+ warmups / (\d{1,9}) trials")
_ROW = re.compile(r"\| +\d")
_CELL = re.compile(r"\d{1,12}(?:\.\d{1,9})?(?:[KMGTPE]?i?B|GBps|us)?|")
_PAYLOAD = re.compile(r"(\d{1,4}(?:\.\d{1,5})?)([KMGTPE]?)i?B")
_BANDWIDTH, _LATENCY, _COUNT = re.compile(r"\d+\.\d\d"), re.compile(r"\d+\.\d"), re.compile(r"\d{1,12}")
_IN_GBPS, _IN_US = re.compile(r"(\d+\.\d\d)GBps"), re.compile(r"(\d+\.\d)us")
_AVERAGES = ("payload", "busbw", "algbw")
_LATENCIES = (*_AVERAGES, "latency median", "p99", "mean", "calls")
_PROFILE = ("busbw", "algbw")
_UNKNOWN, _LOST, _SUMMARY = ("unknown",), ("lost",), ("summary",)
_COMBINED = re.compile(r"(\w+) (busbw|median)")
OPERATIONS = {
    name: name
    for name in (
        *("all_reduce", "all_gather", "reduce_scatter", "all_to_all"),
        *("broadcast", "reduce", "gather", "scatter"),
    )
} | {"batch_isend_irecv": "send_recv"}
REDUCING = frozenset({"all_reduce", "reduce_scatter", "reduce"})
IN_PLACE = frozenset({"all_reduce", "broadcast", "reduce"})
GIGA, MICRO = 1e9, 1e-6
QUEUED = re.compile(r"up to (\d+) queued calls per trial")


class _Title(msgspec.Struct, frozen=True, kw_only=True):
    """What stands above a table."""

    tool: str = "all_reduce_bench"
    operation: str = ""
    ranks: int | None = None
    trials: int | None = None
    payload: int | None = None
    cadence: Cadence = Cadence.ISOLATED
    settings: str = ""


class TableSection(Section):
    """One table; another begins with a title, with columns under rows, or where payloads fall."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._title: _Title | None = None
        self._launched = launched(log)
        self._columns: tuple[str, ...] = ()
        self._last = -1
        self._drafts: list[Draft] = []

    def take(self, line: Line) -> bool:
        """Read a title, the columns, or a row."""
        text = line.text
        if text.startswith("The "):
            return self._read_title(text)
        if not text.startswith("|"):
            return False
        cells = tuple(cell.strip() for cell in text.strip("| ").split("|")) if text.endswith("|") else ()
        if "busbw" in text:
            return self._read_columns(cells)
        if text.startswith(("| --", "| :-")):
            return bool(self._columns)
        return bool(self._columns) and self._row(line, text)

    def finish(self) -> None:
        """Give the rows to the log."""
        title = self._title
        ranks, nodes = self._launched
        if title is None or ranks != title.ranks:
            nodes = None
        settle(self.log, self._drafts, ranks=title.ranks if title else None, nodes=nodes)

    def _read_title(self, text: str) -> bool:
        if self._drafts or self._columns:
            return False
        match = _TITLE.fullmatch(text)
        trials = _TRIALS.match(match["trials"]) if match else None
        self._title = None
        if match is None or trials is None:
            return "ranks (" in text
        queued = QUEUED.search(match["trials"])
        host = "host overhead included" in match["trials"]
        said = [one for one, there in (("host overhead", host), ("symmetric memory", "symmetric" in text)) if there]
        payload = match["payload"]
        new = match["latency"] or match["several"] or "at least" in match["trials"]
        self._title = _Title(
            tool="torch-dist-bench" if new else "all_reduce_bench",
            operation="" if match["several"] else OPERATIONS.get(match["name"], ""),
            ranks=int(match["ranks"]) or None,
            trials=int(trials[1]),
            payload=int(float(payload) * 2**30) if payload else None,
            cadence=Cadence.STREAMING if queued else Cadence.ISOLATED,
            settings=", ".join(said),
        )
        return True

    def _read_columns(self, cells: tuple[str, ...]) -> bool:
        if self._drafts or self._columns:
            return False  # the title between has been lost: another table begins
        known = cells in {_AVERAGES, _LATENCIES, _PROFILE}
        combined = cells[:1] == ("payload",) and all(
            (match := _COMBINED.fullmatch(cell)) and match[1] in OPERATIONS for cell in cells[1:]
        )
        self._columns = cells if known or (combined and len(set(cells)) == len(cells) > 1) else _UNKNOWN
        if self._columns == _UNKNOWN and "collective" in cells:
            self._columns = _SUMMARY
        return True

    def _row(self, line: Line, text: str) -> bool:
        if self._columns == _SUMMARY:
            return True  # it repeats what stood in the table
        cells = [cell.strip() for cell in text[1:-1].split("|")] if text.endswith(" |") else []
        if _ROW.match(text) is None or any(_CELL.fullmatch(cell) is None for cell in cells):
            return False
        title, reason = self._title_of_rows(), ""
        if title is None:
            reason = "no title above says what it is of"
        elif self._columns in {_LOST, _UNKNOWN}:
            reason = "no columns above say what its cells are"
        elif len(cells) != len(self._columns):
            reason = "not the columns of the table, or cut off"
        drafts: list[Draft] | None = []
        if not reason and title is not None:
            drafts = self._read(dict(zip(self._columns, cells, strict=True)), title, line)
        if drafts is None or (not drafts and not reason):
            reason = "a cell is not a number of its column"
        if reason or drafts is None:
            self.log.skip(line, reason)
            return True
        nbytes = drafts[0].row.nbytes_printed or 0
        if "payload" in self._columns and nbytes <= self._last:
            self._restart()  # payloads rise within a table
            return self._row(line, text)
        self._last = nbytes
        self._drafts += drafts
        return True

    def _restart(self) -> None:
        """Begin a table whose title has been lost; columns that do not say all are not its either."""
        self.finish()
        self._title, self._last, self._drafts = None, -1, []
        if self._columns != _AVERAGES:
            self._columns = _LOST
        self.log.groups += 1
        self.group = self.log.groups

    def _title_of_rows(self) -> _Title | None:
        """Return what the rows are of: columns may tell enough where the title is lost."""
        if self._title is not None:
            return self._title
        if self._columns == _AVERAGES:
            return _Title(operation="all_reduce")  # all_reduce_bench.py alone prints these
        return None

    def _read(self, cells: dict[str, str], title: _Title, line: Line) -> list[Draft] | None:
        """Return the rows of a line; None where a cell is not what it should be."""
        nbytes = title.payload if self._columns == _PROFILE else _nbytes(cells["payload"])
        if nbytes is None or (self._columns in {_AVERAGES, _LATENCIES, _PROFILE} and not title.operation):
            return None
        row = self._of(title, nbytes, line)
        if self._columns in {_AVERAGES, _PROFILE}:
            return _bandwidth(row, cells)
        if self._columns == _LATENCIES:
            both = _bandwidth(row, cells) if cells["busbw"] or cells["algbw"] else []
            latency = _latency(row, cells)
            return None if both is None or latency is None else [*_apart(both, "bandwidth trials"), *latency]
        return _all(list(_combined(row, cells)))

    def _of(self, title: _Title, nbytes: int, line: Line) -> Row:
        return Row(
            tool=title.tool,
            operation=title.operation,
            dtype="float32",
            reduction="sum" if title.operation in REDUCING else "",
            nbytes_printed=nbytes,
            seconds=None,
            statistic="mean of rates of iterations, mean of rates of ranks",
            in_place=True if title.operation in IN_PLACE else None,
            group=self.group,
            file=self.log.name,
            line=line.number,
            printed={},
            backend="nccl",
            device=Device.CUDA,
            cadence=title.cadence,
            repetitions=title.trials,
            settings=title.settings,
        )


def _nbytes(cell: str) -> int | None:
    match = _PAYLOAD.fullmatch(cell)
    return round(float(match[1]) * 1024 ** " KMGTPE".index(match[2] or " ")) if match else None


def _bandwidth(row: Row, cells: dict[str, str]) -> list[Draft] | None:
    algorithm, bus = _IN_GBPS.fullmatch(cells["algbw"]), _IN_GBPS.fullmatch(cells["busbw"])
    if algorithm is None or bus is None:
        return None
    row = msgspec.structs.replace(row, printed={"busbw": bus[1], "algbw": algorithm[1]})
    if "payload" in cells:
        row = msgspec.structs.replace(row, printed={"payload": cells["payload"], **row.printed})
    else:
        row = msgspec.structs.replace(row, statistic="one iteration, mean of rates of ranks", repetitions=1)
    return [Draft(row=row, algorithm=figure(algorithm[1], GIGA), bus=figure(bus[1], GIGA))]


def _latency(row: Row, cells: dict[str, str]) -> list[Draft] | None:
    matches = [_IN_US.fullmatch(cells[name]) for name in ("latency median", "p99", "mean")]
    median, p99, mean = (match[1] if match else "" for match in matches)
    if None in matches or not _COUNT.fullmatch(cells["calls"]) or float(median) > float(p99):
        return None
    row = msgspec.structs.replace(
        row,
        statistic="median of iterations, max of ranks",
        printed={
            "payload": cells["payload"],
            "latency median": median,
            "p99": p99,
            "mean": mean,
            "calls": cells["calls"],
        },
        repetitions=int(cells["calls"]),
        percentiles={"p99": float(p99) * MICRO, "mean": float(mean) * MICRO},
    )
    return _apart([Draft(row=row, seconds=figure(median, MICRO))], "latency trials")


def _combined(row: Row, cells: dict[str, str]) -> Iterator[list[Draft] | None]:
    """Yield the rows of a line that holds several collectives; a blank cell was not measured."""
    for name, cell in cells.items():
        match = _COMBINED.fullmatch(name)
        if match is None or not cell:
            continue
        own = msgspec.structs.replace(
            row,
            operation=OPERATIONS[match[1]],
            reduction="sum" if match[1] in REDUCING else "",
            in_place=True if match[1] in IN_PLACE else None,
            printed={"payload": cells["payload"], name: cell},
        )
        if match[2] == "busbw":
            fits = _BANDWIDTH.fullmatch(cell)
            yield _apart([Draft(row=own, bus=figure(cell, GIGA))], "bandwidth trials") if fits else None
        else:
            own = msgspec.structs.replace(own, statistic="median of iterations, max of ranks", repetitions=None)
            fits = _LATENCY.fullmatch(cell)
            yield _apart([Draft(row=own, seconds=figure(cell, MICRO))], "latency trials") if fits else None


def _all(parts: list[list[Draft] | None]) -> list[Draft] | None:
    return None if None in parts else [draft for part in parts if part for draft in part]


def _apart(drafts: list[Draft], trials: str) -> list[Draft]:
    """Return rows with the trials that they are of."""
    return [
        msgspec.structs.replace(
            draft,
            row=msgspec.structs.replace(
                draft.row, settings=", ".join(one for one in (draft.row.settings, trials) if one)
            ),
        )
        for draft in drafts
    ]


IMPORTER = Importer(
    name="torch-dist-bench",
    says="ml-engineering's all_reduce_bench",
    opens=re.compile(
        r"The (?:average bandwidth of all_reduce over \d|average bandwidth and the per-call latency of \w"
        r"|\d+(?:\.\d+)?GiB payload bandwidth of \w)|\| payload |\| +busbw +\| +algbw +\|"
    ),
    section=TableSection,
)
