"""From a line of the Intel MPI Benchmarks to a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from collmark.analysis.importers.figure import Figure, figure, quotient
from collmark.analysis.importers.imb_benchmarks import BENCHMARKS, DEFECTS, GROUP, STREAMS, Benchmark, Layout
from collmark.analysis.importers.mpi_table import Seen
from collmark.analysis.importers.row import Row, SizeIs
from collmark.analysis.importers.section import Draft, Log
from collmark.core.case import Device

MICRO = 1e-6
MEGAS = (1e6, 2.0**20)
WINDOW = 64
"""Messages in flight of Uniband and Biband: ``src_c/IMB_settings.h`` MAX_WIN_SIZE."""
BLOCK_SINCE = 2019
"""From this version on Reduce_scatter's size is what one process receives: ``src_c/IMB_reduce_scatter.c``, IMB2018."""
SLACK = 1e-9
NO_NAME = "no line above it names the benchmark"
UNPROVEN = "nothing in this table shows that it is of the benchmark named above"
_DTYPES = {
    "MPI_BYTE": "uint8", "MPI_CHAR": "int8", "MPI_INT": "int32", "MPI_FLOAT": "float32", "MPI_DOUBLE": "float64"
}  # fmt: skip
_REDUCTIONS = {"MPI_SUM": "sum", "MPI_PROD": "prod", "MPI_MIN": "min", "MPI_MAX": "max"}
_SLOWEST = "mean of iterations, max of ranks"
_MEAN = "mean of iterations, mean of ranks"
_TIMES = {
    Layout.TIME_AND_BANDWIDTH: ("t[usec]", _SLOWEST),
    Layout.RANGE_AND_BANDWIDTH: ("t_avg[usec]", _MEAN),
    Layout.RANGE: ("t_avg[usec]", _MEAN),
    Layout.SYNC: ("t_avg[usec]", _MEAN),
    Layout.OVERLAP: ("t_pure[usec]", "mean of iterations, slowest rank"),
    Layout.SYNC_OVERLAP: ("t_pure[usec]", "mean of iterations, slowest rank"),
    Layout.PASSIVE: ("t_pure[usec]", _SLOWEST),
}


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What is told before the tables; empty where it is not."""

    version: str
    dtype: str
    reduced: str
    reduction: str
    on_gpu: bool

    @property
    def year(self) -> int | None:
        """The first number of the version: a year, or 3 and 4 before there were any."""
        return int(self.version.partition(".")[0].split()[0]) if self.version else None


class Table(msgspec.Struct, kw_only=True):
    """A table while it is read.

    Attributes
    ----------
    name : str
        Of the benchmark; empty if no line tells it.
    multi : bool
        Groups of processes run it at once.
    spaced, cut : bool
        A space follows the name; it is missing where the line below has it.
    told : bool
        A line with the number of processes was seen.
    ranks : int or None
        Of each group.
    mode : str
    rules : int
        Lines of dashes since its name.
    columns : tuple of str, or None
    width : int or None
        Where rows end, unless the spaces between the names are not the tool's.
    layout : Layout or None
    rows : list of Seen
    last : dict of str to int
        The last size of each group.
    refused : int
        Lines since the last row that may have been rows.
    elided : bool
        Rows since the last one are left out, and a line of dots says so.
    broken : str
        Why no further line is a row of it.
    """

    name: str = ""
    multi: bool = False
    spaced: bool = False
    cut: bool = False
    told: bool = False
    ranks: int | None = None
    mode: str = ""
    rules: int = 0
    columns: tuple[str, ...] | None = None
    width: int | None = None
    layout: Layout | None = None
    rows: list[Seen] = []
    last: dict[str, int] = {}
    refused: int = 0
    elided: bool = False
    broken: str = ""

    @property
    def benchmark(self) -> Benchmark | None:
        """What it is, if it is known."""
        return BENCHMARKS.get(self.name)

    @property
    def operation(self) -> str:
        """What it is of; empty if that is not known."""
        benchmark = self.benchmark
        if benchmark is None:
            return ""
        one_pair = self.layout is Layout.RATE and self.ranks == 2
        operation = STREAMS[benchmark.operation] if one_pair else benchmark.operation
        return f"multi_{operation}" if self.multi else operation

    @property
    def why(self) -> str:
        """Why no line of it can be a row, or nothing."""
        if not self.name:
            return NO_NAME
        if self.benchmark is None:
            return f"the benchmark {self.name} is not known"
        if self.cut or not (self.spaced or self.told):
            return "the line above it that names the benchmark may be cut off"
        if self.layout is None or self.layout not in self.benchmark.layouts:
            return f"the names of columns above it are not those of {self.name}"
        if self.columns is not None and GROUP in self.columns and not self.multi:
            return "groups of processes without a line that says so"
        return self.broken

    def follows(self, size: int, group: str, doubt_of: Callable[[str], str], *, chosen: bool) -> str:
        """Return why a row cannot follow those before it, or nothing.

        Parameters
        ----------
        size : int
            In bytes.
        group : str
        doubt_of : callable
            (operation) to why rows after missing ones may not be of this table, or nothing.
        chosen : bool
            The user chose the sizes, and may have left some out.
        """
        last = self.last.get(group, -1)
        if size <= last:
            self.broken = "sizes begin anew: another table, without its name"
            return self.broken
        if self.width is None and not chosen and size & (size - 1):
            return "its size is none that the tool has by itself"
        times = size // last if last > 0 and size % last == 0 else 0
        doubled = times > 0 and times & (times - 1) == 0
        if doubled and times > 2 << self.refused and not self.elided and not chosen:
            self.broken = doubt_of(self.operation)
            if self.broken:
                return self.broken
        self.last[group] = size
        return ""


def drafts_of(log: Log, group: int, facts: Facts, table: Table) -> list[Draft]:
    """Return the rows of a table; a line that can be none is named."""
    benchmark, layout = table.benchmark, table.layout
    assert benchmark is not None, "a table without has no rows"
    assert layout is not None, "a table without has no rows"
    size_is, reason = _size_of(benchmark, facts)
    if layout is Layout.RATE and table.ranks is None:
        reason = "the number of processes is not told"
    told = facts.reduced if benchmark.reduces else facts.dtype
    common: dict[str, Any] = {
        "tool": "imb",
        "version": facts.version,
        "operation": table.operation,
        "dtype": _DTYPES.get(told, ""),
        "reduction": _REDUCTIONS.get(facts.reduction, "") if benchmark.reduces else "",
        "size_is": size_is,
        "backend": "mpi",
        "device": None if facts.on_gpu else Device.CPU,
        "cadence": benchmark.cadence,
        "form": benchmark.form,
        "directions": benchmark.directions,
        "messages": WINDOW if layout is Layout.RATE else 1,
        "group": group,
        "file": log.name,
    }
    unproven = _is_unproven(table, benchmark)
    found = []
    for one in table.rows:
        own = UNPROVEN if unproven and one.figures["#bytes"] == "0" else ""
        made = reason or own or _draft(one, table, benchmark, layout, common)
        if isinstance(made, str):
            log.skip(one.line, made)
        else:
            found.append(made)
    return found


def _size_of(benchmark: Benchmark, facts: Facts) -> tuple[SizeIs, str]:
    """Return what the size means, and why that cannot be told, or nothing."""
    if not benchmark.by_version:
        return benchmark.size_is, ""
    if facts.year is None:
        return SizeIs.CANONICAL, "what the size of Reduce_scatter is depends on the version, which is not told"
    return (SizeIs.BLOCK if facts.year >= BLOCK_SINCE else SizeIs.CANONICAL), ""


def _draft(one: Seen, table: Table, benchmark: Benchmark, layout: Layout, common: dict[str, Any]) -> Draft | str:
    """Return the row of a line, or why it is none."""
    figures = one.figures
    size = int(figures["#bytes"]) if "#bytes" in figures else None
    reason = _impossible(one, benchmark, layout)
    if reason:
        return reason
    settings = [benchmark.settings, table.mode, f"group {figures[GROUP]}" if GROUP in figures else ""]
    name, statistic = _TIMES.get(layout, ("", _SLOWEST))
    row = Row(
        **common,
        nbytes_printed=size,
        seconds=None,
        statistic=statistic,
        line=one.line.number,
        printed={column: text for column, text in figures.items() if column != GROUP},
        repetitions=int(figures["#repetitions"]) or None,
        percentiles={
            f"{which} over ranks": float(figures[f"t_{which}[usec]"]) * MICRO
            for which in ("min", "max")
            if f"t_{which}[usec]" in figures
        },
        wrong=(0 if float(figures[DEFECTS]) == 0 else 1) if DEFECTS in figures else None,
        settings=", ".join(part for part in settings if part),
    )
    if layout is Layout.RATE:
        rate = figure(figures["Msg/sec"])
        assert rate is not None, "digits"
        bandwidth = figure(figures["Mbytes/sec"], MEGAS[0] / benchmark.directions) if size else None
        return Draft(row=row, seconds=quotient(float(benchmark.directions), rate), algorithm=bandwidth)
    time = figure(figures[name], MICRO)
    assert time is not None, "digits"
    one_way = layout is Layout.TIME_AND_BANDWIDTH and benchmark.counts == 1
    return Draft(row=row, seconds=time, algorithm=_bandwidth(figures, size or 0, time) if one_way else None)


def _is_unproven(table: Table, benchmark: Benchmark) -> bool:
    """Return whether rows of size 0 may be those of a table whose name is gone.

    PingPong prints three times in the mode -multi 0 alone, Sendrecv always: Mbytes/sec tells them apart, but not for
    size 0.
    """
    if table.layout is not Layout.RANGE_AND_BANDWIDTH or Layout.TIME_AND_BANDWIDTH not in benchmark.layouts:
        return False
    sized = [one for one in table.rows if one.figures["#bytes"] != "0"]
    return not sized or any(_impossible(one, benchmark, table.layout) for one in sized)


def _impossible(one: Seen, benchmark: Benchmark, layout: Layout) -> str:
    """Return why figures cannot be what they say, or nothing."""
    figures = one.figures
    if layout is Layout.RATE:
        return _rate_is_cut(one)
    time = float(figures[_TIMES[layout][0]])
    if time <= 0:
        return "its time is zero to the last decimal"
    least, most = (figures.get(f"t_{which}[usec]") for which in ("min", "max"))
    if least is not None and most is not None and not float(least) <= time <= float(most):
        return "the mean does not lie between smallest and largest"
    if "Mbytes/sec" in figures and benchmark.counts and int(figures["#bytes"]):
        longest = figure(figures.get("t_max[usec]", figures.get("t[usec]", "")), MICRO)
        if longest is not None and not _units(figures, benchmark.counts * int(figures["#bytes"]), longest):
            return "Mbytes/sec does not follow from size and time"
    return ""


def _rate_is_cut(one: Seen) -> str:
    """Return why bandwidth and messages per second cannot both be, or nothing."""
    size, rate = int(one.figures["#bytes"]), int(one.figures["Msg/sec"])
    if rate == 0:
        return "its message rate is zero"
    if size == 0:
        return "" if one.aligned else "its last number may be cut off"
    bandwidth = float(one.figures["Mbytes/sec"])
    if abs(rate * size / MEGAS[0] - bandwidth) > (0.005 + 0.5 * size / MEGAS[0]) * (1 + 1e-6) + 1e-12 * bandwidth:
        return "Mbytes/sec and Msg/sec contradict each other"
    return ""


def _units(figures: dict[str, str], nbytes: int, time: Figure) -> list[Figure]:
    """Return the bandwidth in each unit that size and time allow."""
    computed = quotient(float(nbytes), time)
    found = []
    for mega in MEGAS:
        printed = figure(figures["Mbytes/sec"], mega)
        if printed is None or computed is None:
            continue
        if printed.lower <= computed.upper * (1 + SLACK) and computed.lower <= printed.upper * (1 + SLACK):
            found.append(printed)
    return found


def _bandwidth(figures: dict[str, str], size: int, time: Figure) -> Figure | None:
    """Return the bandwidth as printed, where its unit can be told."""
    found = _units(figures, size, time) if size else []
    return found[0] if len(found) == 1 else None
