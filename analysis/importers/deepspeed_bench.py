"""The communication benchmarks of DeepSpeed, DeepSpeedExamples and EleutherAI's cookbook (benchmarks/communication).

One table an operation: a title with the operation and the number of devices, the columns with the unit of the
bandwidths, rows (utils.py print_header, get_metric_strings). The size is the first rank's input: the whole vector, for
all_gather one rank's share; the description, elements x bytes of one, tells it exactly. T is the mean of one loop of
back-to-back calls on rank 0. What is called throughput is twice the algorithm bandwidth for all_reduce, and was a
rank's share over time for all_gather in 2022 (utils.py get_bw): neither is taken over, T and size tell better.
"""

from __future__ import annotations

import re

import msgspec

from collmark.analysis.importers.deepspeed_size import SIZE, printed_size
from collmark.analysis.importers.figure import Figure, figure, quotient, ratio
from collmark.analysis.importers.line import Line
from collmark.analysis.importers.row import Row, SizeIs
from collmark.analysis.importers.section import Draft, Importer, Log, Section
from collmark.analysis.importers.settle import SLACK, settle
from collmark.core.case import Cadence, Device

_TITLE = re.compile(r"-{4} Performance of (\w+) on (\d{1,7}) devices(?: -*)?")
_COLUMNS = re.compile(
    r"Size \(Bytes\) +Description +Duration(?P<raw> \(us\))? +Throughput \((?P<unit>G[bB]ps)\) +BusBW \((?P=unit)\)"
    r"(?P<overlap> +.*Overlap.*)?"
)
_ROW = re.compile(
    rf"\s{{0,3}}(?P<size>{SIZE}|\d{{1,18}}) +(?P<count>\d{{1,18}})x(?P<each>\d{{1,2}})"
    r" +(?P<time>\d+\.\d{3})(?P<scale> [um]s)? +(?P<throughput>\d+\.\d{3}) +(?P<bus>\d+\.\d{3})"
    r"(?P<overlap> +-?\d+\.\d%)?"
)
_LOOKS = re.compile(r"\s{0,3}\d[\d.]*(?: ?[KMGTPEZY]?B)? +\d+x\d+(?:\s|$)")
OPERATIONS = {
    "all_reduce": "all_reduce",
    "allreduce": "all_reduce",
    "all_gather": "all_gather",
    "allgather": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "all_to_all": "all_to_all",
    "alltoall": "all_to_all",
    "alltoallv": "all_to_all_v",
    "all_to_all_v": "all_to_all_v",
    "broadcast": "broadcast",
    "pt2pt": "stream",
}
UNITS = {"Gbps": 1e9 / 8, "GBps": 1e9}
SCALES = {" us": 1e-6, " ms": 1e-3}
IN_PLACE = frozenset({"all_reduce", "broadcast"})


class _Table(msgspec.Struct):
    """What stands above the rows."""

    operation: str = ""
    ranks: int | None = None
    unit: float | None = None
    raw: bool = False
    first: bool = False
    overlap: bool = False
    last: int = -1
    drafts: list[Draft] = []


class DeepSpeedBenchSection(Section):
    """One table; another begins with a title, with columns under rows, or where sizes fall."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._table = _Table(operation=log.facts.operation or "")

    def take(self, line: Line) -> bool:
        """Read a title, the columns, or a row."""
        text = line.text
        if text.startswith("---- Performance of"):
            return not self._table.drafts and self._title(text)
        if text.startswith("Size (Bytes)"):
            return self._columns(text)
        if text.startswith("--------"):
            return True
        if "x" in text and _LOOKS.match(text):
            return self._row(line)
        return False

    def finish(self) -> None:
        """Give the rows to the log."""
        settle(self.log, self._table.drafts, ranks=self._table.ranks)

    def _title(self, text: str) -> bool:
        match = _TITLE.fullmatch(text)
        self._table = _Table(operation=self.log.facts.operation or "")
        if match and match[1] in OPERATIONS:
            self._table.operation = OPERATIONS[match[1]]
            self._table.ranks = int(match[2]) or None
            self._table.first = match[1] == "allgather"
        return True

    def _columns(self, text: str) -> bool:
        table, match = self._table, _COLUMNS.fullmatch(text)
        if table.drafts or table.unit is not None:
            return False  # the title between has been lost: another table begins
        if match:
            table.unit, table.raw = UNITS[match["unit"]], match["raw"] is not None
            table.overlap = match["overlap"] is not None
        return True

    def _row(self, line: Line) -> bool:
        table, match = self._table, _ROW.fullmatch(line.text)
        if match is None:
            self.log.skip(line, "not the columns of the benchmark, or cut off")
            return True
        nbytes = int(match["count"]) * int(match["each"])
        if nbytes < table.last and (table.drafts or table.unit is not None):
            return False  # sizes rise within a table
        reason = self._odd(match, nbytes)
        draft = None if reason else self._draft(line, match, nbytes)
        if draft is None:
            self.log.skip(line, reason or "its throughput does not fit its size and time")
            return True
        table.last = nbytes
        table.drafts.append(draft)
        return True

    def _odd(self, match: re.Match[str], nbytes: int) -> str:
        """Return why a row cannot be read; empty where it can."""
        table, size = self._table, match["size"]
        if not table.operation:
            return "no title above says which operation it is of"
        if table.unit is None:
            return "no columns above say the unit of its bandwidths"
        if table.raw != (match["scale"] is None) or (match["overlap"] is not None and not table.overlap):
            return "its columns are not those above"
        if size not in {str(nbytes), printed_size(nbytes)} or (table.raw and size != str(nbytes)):
            return "its size is not that of so many elements"
        if table.overlap:
            return "its time includes compute kernels"
        return ""

    def _draft(self, line: Line, match: re.Match[str], nbytes: int) -> Draft | None:
        """Return a row; None where its figures contradict each other or its title."""
        table = self._table
        assert table.unit is not None, "checked"
        seconds = figure(match["time"], SCALES.get(match["scale"] or "", 1e-6))
        throughput, bus = figure(match["throughput"], table.unit), figure(match["bus"], table.unit)
        if seconds is None or throughput is None or bus is None:
            return None
        gathers = table.operation == "all_gather"
        draft = Draft(
            row=Row(
                tool="deepspeed-bench",
                operation=table.operation,
                reduction="sum" if table.operation in {"all_reduce", "reduce_scatter"} else "",
                nbytes_printed=nbytes,
                size_is=SizeIs.BLOCK if gathers else SizeIs.CANONICAL,
                seconds=None,
                statistic="one loop, rank 0",
                in_place=True if table.operation in IN_PLACE else None,
                group=self.group,
                file=self.log.name,
                line=line.number,
                printed=_printed(match),
                backend="",
                device=Device.CUDA,
                cadence=Cadence.STREAMING,
            ),
            seconds=seconds,
        )
        return _judged(draft, table, throughput, bus)


def _printed(match: re.Match[str]) -> dict[str, str]:
    return {
        "Size (Bytes)": match["size"],
        "Description": f"{match['count']}x{match['each']}",
        "Duration": match["time"],
        "Throughput": match["throughput"],
        "BusBW": match["bus"],
    }


def _judged(draft: Draft, table: _Table, throughput: Figure, bus: Figure) -> Draft | None:
    """Return a row with the bandwidths that mean what collmark means; None where they fit neither convention."""
    operation, nbytes, seconds = draft.row.operation, float(draft.row.nbytes_printed or 0), draft.seconds
    by_time = quotient(nbytes, seconds) if seconds else None
    if not nbytes or by_time is None:
        return draft if throughput.value == bus.value == 0 and not nbytes else None
    if operation == "all_reduce":
        factor = ratio(bus, throughput)
        doubled = None if factor is None else Figure("", 2 * factor.value, 2 * factor.lower, 2 * factor.upper)
        fits = _is(throughput, by_time, 2.0) and _fits_ranks(operation, table.ranks, bus, by_time)
        return msgspec.structs.replace(draft, bus=bus, factor=doubled) if fits else None
    if operation == "all_gather" and not (table.ranks and _is(throughput, by_time, table.ranks)):
        if table.ranks and not (table.first and _is(throughput, by_time, 1.0)):
            return None
        return msgspec.structs.replace(draft, factor=ratio(bus, throughput))
    blocks = table.ranks if operation == "all_gather" and table.ranks else 1
    if not _is(throughput, by_time, blocks) or not _fits_ranks(operation, table.ranks, bus, throughput):
        return None
    return msgspec.structs.replace(draft, algorithm=throughput, bus=bus)


def _is(printed: Figure, by_time: Figure, times: float) -> bool:
    """Return whether a printed bandwidth may be so many times size over time."""
    return by_time.lower * times <= printed.upper * (1 + SLACK) and printed.lower <= by_time.upper * times * (1 + SLACK)


def _fits_ranks(operation: str, ranks: int | None, bus: Figure, algorithm: Figure) -> bool:
    """Return whether bus and algorithm bandwidth may be those of so many ranks."""
    if ranks is None:
        return True
    others = (ranks - 1) / ranks
    factor = {"all_reduce": 2 * others, "broadcast": 1.0, "stream": 1.0}.get(operation, others)
    return _is(bus, algorithm, factor)


IMPORTER = Importer(
    name="deepspeed-bench",
    says="DeepSpeed's and EleutherAI's communication benchmarks",
    opens=re.compile(
        r"---- Performance of \w+ on \d|Size \(Bytes\) +Description +Duration"
        r"|\s{0,3}\d[\d.]*(?: ?[KMGTPEZY]?B)? +\d+x\d+ +\d+\.\d"
    ),
    section=DeepSpeedBenchSection,
)
