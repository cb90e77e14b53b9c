"""From a line of an OSU micro-benchmark to a row: which figure is T, in which unit, and what goes with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from collmark.analysis.importers.figure import figure
from collmark.analysis.importers.mpi_table import Seen
from collmark.analysis.importers.osu_command import Command
from collmark.analysis.importers.osu_titles import Benchmark, Kind, Title
from collmark.analysis.importers.row import Row
from collmark.analysis.importers.section import Draft, Log
from collmark.core.case import Device

MICRO = 1e-6
MEGA = 1e6
DEFAULT_WINDOW = 64
"""Messages in flight, where -W does not say otherwise: ``c/util/osu_util.h`` WINDOW_SIZE_LARGE."""
TYPED_SINCE = (7, 1)
"""The version from which the element type is printed and may be chosen: the suite's CHANGES."""
_DTYPES = {"MPI_CHAR": "int8", "MPI_INT": "int32", "MPI_FLOAT": "float32"}
_EXTREMES = {
    "Min Latency(us)": "min over ranks",
    "Max Latency(us)": "max over ranks",
    "Min Comm.(us)": "min over ranks",
    "Max Comm.(us)": "max over ranks",
}
_TOGETHER = (
    (", ", "Window creation", "Synchronization"),
    (" to ", "Number of Sender threads", "Number of Receiver threads"),
)
_WRONG = {"Pass": 0, "Fail": 1}
"""Wrong elements: of a failure at least one, and no more is printed."""
DERIVED = "the bytes of a derived element type are not comparable"
_UNPRINTED = ("Validation", "Transmit Size")
ROUNDING = 0.005
"""Half of the last decimal."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the table that lines stand in.

    Attributes
    ----------
    title : Title
    benchmark : Benchmark
    told : dict of str to str
        By the lines of the preamble; empty where two contradict each other.
    command : Command
    """

    title: Title
    benchmark: Benchmark
    told: dict[str, str]
    command: Command

    @property
    def pairs(self) -> int | None:
        """Pairs of ranks at once, of osu_mbw_mr."""
        return int(self.told.get("pairs") or 0) or None

    @property
    def ranks(self) -> int | None:
        """The number of ranks, where preamble or command line tell it."""
        if self.benchmark.kind is Kind.RATE:
            return None if self.pairs is None else 2 * self.pairs
        return self.command.ranks

    @property
    def buffers(self) -> tuple[str, ...]:
        """Where rank 0's and rank 1's buffers lie, in the suite's letters; empty if not told."""
        told = self.told.get("buffers")
        if told is not None:
            return tuple(told.split())
        return self.command.buffers or ()

    @property
    def device(self) -> Device | None:
        """Where the buffers lie."""
        if self.title.backend != "mpi":
            return Device.CUDA
        if self.title.tool == "omb-py":
            return None  # --buffer chooses it, and is not printed
        if not self.title.accelerator or self.title.accelerator == "CXL":
            return Device.CPU
        if self.benchmark.of_ranks and self.benchmark.kind is Kind.LATENCY:
            return Device.CUDA
        if not self.buffers:
            return None
        return Device.CPU if set(self.buffers) == {"H"} else Device.CUDA

    @property
    def dtype(self) -> str:
        """The element type."""
        told = self.told.get("datatype")
        if told is not None:
            return _DTYPES.get(told, "")
        if self.benchmark.one_sided:
            return ""
        if self.title.tool == "omb-py":
            return "float32" if self.benchmark.reduces else "uint8"
        version = tuple(map(int, self.title.version.split("."))) if self.title.version else TYPED_SINCE
        if self.title.backend == "mpi" and version >= TYPED_SINCE:
            return ""
        return "float32" if self.benchmark.reduces else "int8"

    @property
    def settings(self) -> str:
        """What else tells this run from others of its operation; nothing where a part of it is not told."""
        parts = []
        if self.benchmark.kind is Kind.RATE and self.pairs != 1:
            parts.append(f"{self.pairs} pairs")
        for join, *names in _TOGETHER:
            values = [self.told.get(name, "") for name in names]
            parts += [join.join(values)] if all(values) else []
        if self.title.accelerator and self.device is Device.CUDA:
            mixed = len(set(self.buffers)) > 1 or set(self.buffers) & {"M", "MD", "MH"}
            parts += [self.title.accelerator] if self.title.accelerator != "CUDA" else []
            parts += ["buffers " + " to ".join(self.buffers)] if mixed else []
        return ", ".join(parts)

    @property
    def operation(self) -> str:
        """The operation; osu_mbw_mr with one pair is osu_bw."""
        return "stream" if self.benchmark.kind is Kind.RATE and self.pairs == 1 else self.benchmark.operation

    @property
    def messages(self) -> int:
        """Messages in flight."""
        if not self.benchmark.streams:
            return 1
        return int(self.told.get("window") or 0) or self.command.window or DEFAULT_WINDOW


class Columns(msgspec.Struct, frozen=True, kw_only=True):
    """Which columns of a table are what; empty where there is none.

    Attributes
    ----------
    size, time, rate, per_second, least, most : str
    iterations : bool
    statistics : tuple of (str, str)
        Columns of further statistics of T, and what they are.
    printed : tuple of str
        Those whose figures are kept.
    """

    size: str
    time: str
    rate: str
    per_second: str
    least: str
    most: str
    iterations: bool
    statistics: tuple[tuple[str, str], ...]
    printed: tuple[str, ...]

    @classmethod
    def of(cls, names: Iterable[str], *, aligned: bool) -> Columns:
        """Return what the columns of these names are; whole numbers at the end count only where they are aligned."""
        names = list(names)
        left_out = _UNPRINTED if aligned else (*_UNPRINTED, "Iterations")
        statistics = [(name, _EXTREMES[name]) for name in names if name in _EXTREMES]
        statistics += [(name, name.split()[0].lower()) for name in names if name.endswith("Tail Lat(us)")]
        return cls(
            size=_first(names, "Size", "Size (B)"),
            time=_first(names, "Avg Latency(us)", "Latency (us)", "Latency(us)", "Pure Comm.(us)"),
            rate=_first(names, "Bandwidth (MB/s)", "MB/s"),
            per_second=_first(names, "Messages/s"),
            least=_first(names, "Min Latency(us)", "Min Comm.(us)"),
            most=_first(names, "Max Latency(us)", "Max Comm.(us)"),
            iterations=aligned and "Iterations" in names,
            statistics=tuple(statistics),
            printed=tuple(name for name in names if name not in left_out),
        )


def _first(names: Iterable[str], *wanted: str) -> str:
    return next((name for name in wanted if name in names), "")


def drafts_of(log: Log, group: int, run: Run, seen: Sequence[Seen]) -> list[Draft]:
    """Return the rows of a table; a line that can be none is named."""
    columns = Columns.of(seen[0].figures, aligned=seen[0].aligned)
    reason = _unusable(run) or ("Transmit Size" in seen[0].figures and DERIVED) or ""
    common = _common(log, group, run)
    found = []
    for one in seen:
        why = reason or _impossible(one.figures, columns)
        if why:
            log.skip(one.line, why)
        else:
            found.append(_draft(one, columns, common))
    return found


def _common(log: Log, group: int, run: Run) -> Row:
    """Return what all rows of a table have in common."""
    return Row(
        tool=run.title.tool,
        version=run.title.version,
        operation=run.operation,
        dtype=run.dtype,
        reduction="sum" if run.benchmark.reduces else "",
        size_is=run.benchmark.size_is,
        statistic=f"mean of iterations, {'mean of ranks' if run.benchmark.of_ranks else 'rank 0'}",
        backend=run.title.backend,
        device=run.device,
        cadence=run.title.cadence,
        form=run.title.form,
        in_place=run.command.in_place,
        directions=run.benchmark.directions,
        messages=run.messages,
        settings=run.settings,
        group=group,
        file=log.name,
        line=0,
        printed={},
        nbytes_printed=None,
        seconds=None,
    )


def _unusable(run: Run) -> str:
    """Return why no line of a table can be a row, or nothing."""
    if run.benchmark.kind is Kind.RATE:
        if run.told.get("window") == "varied":
            return "a table of several windows is not read"
        if run.pairs is None:
            return "the number of pairs is not told"
    return ""


def _impossible(figures: dict[str, str], columns: Columns) -> str:
    """Return why figures cannot be what they say, or nothing."""
    figure_of_t = float(figures[columns.time or columns.rate])
    if figure_of_t <= 0:
        return "it is zero to the last decimal: no time can be told"
    if columns.least and columns.most:
        if not float(figures[columns.least]) <= figure_of_t <= float(figures[columns.most]):
            return "the mean does not lie between smallest and largest"
    elif columns.per_second:
        size, per_second = int(figures[columns.size]), float(figures[columns.per_second])
        slack = ROUNDING * (1 + size / MEGA) * (1 + 1e-6) + 1e-12 * figure_of_t
        if abs(per_second * size / MEGA - figure_of_t) > slack:
            return "bandwidth and messages per second contradict each other"
    return ""


def _draft(one: Seen, columns: Columns, common: Row) -> Draft:
    figures = one.figures
    row = msgspec.structs.replace(
        common,
        nbytes_printed=int(figures[columns.size]) if columns.size and common.operation != "barrier" else None,
        line=one.line.number,
        printed={name: figures[name] for name in columns.printed},
        repetitions=int(figures["Iterations"]) or None if columns.iterations else None,
        percentiles={what: float(figures[name]) * MICRO for name, what in columns.statistics},
        wrong=_WRONG.get(figures.get("Validation", "")),
    )
    if columns.time:
        return Draft(row=row, seconds=figure(figures[columns.time], MICRO))
    # Both directions' bytes are counted: T is the time in which one message goes each way.
    return Draft(row=row, algorithm=figure(figures[columns.rate], MEGA / common.directions))
