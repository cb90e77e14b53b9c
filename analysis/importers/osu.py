"""Tables of the OSU micro-benchmarks, in C (versions 3 to 7) and in Python (OMB-Py).

Sources: ``c/util/osu_util.c`` and ``c/util/osu_util_mpi.c`` (print_header, print_only_header, print_preamble,
print_stats, print_stats_nbc, print_header_one_sided, omb_calculate_tail_lat), ``c/mpi/pt2pt/*/osu_mbw_mr.c`` and
``python/mpi/util/osu_util_mpi.py``. Sizes are left-aligned in 10 characters, figures right-aligned with two decimals,
in 18 to version 6 and in 18 or 20 since. MB/s is 10^6 bytes per second; a bi-directional bandwidth counts both ways;
osu_latency prints half a round trip. A percentile is over iterations, of the mean over ranks. The number of ranks is
not printed. Since 7.1 the element type is; before, it was MPI_FLOAT for reductions and MPI_CHAR otherwise, and for NCCL
it still is. Up to 7.4 ``-CUDA`` in a title of two ranks says how the suite was built, and a line of its own where the
buffers lie; of collectives it says that they lie on the device.
"""

from __future__ import annotations

import re
from functools import lru_cache

from collmark.analysis.importers.line import Line
from collmark.analysis.importers.mpi_table import (
    TWO_DECIMALS,
    WHOLE,
    Seen,
    TableSection,
    is_elided,
    looks_like_figures,
)
from collmark.analysis.importers.osu_command import NOTHING, Command, read_commands
from collmark.analysis.importers.osu_row import Run, drafts_of
from collmark.analysis.importers.osu_titles import OPENS, Kind, Title, read_title
from collmark.analysis.importers.section import Importer, Log
from collmark.analysis.importers.settle import settle
from collmark.core.case import Form

_NAME = (
    r"Size(?: \(B\))?|(?:Avg |Min |Max )?Latency ?\(us\)|Bandwidth \([MG]B/s\)|MB/s|Messages/s|Iterations|Validation"
    r"|Transmit Size|Overall\(us\)|Compute\(us\)|Coll\. Init\(us\)|MPI_Test\(us\)|MPI_Wait\(us\)|Pure Comm\.\(us\)"
    r"|Min Comm\.\(us\)|Max Comm\.\(us\)|Overlap\(%\)|Wait avg\(us\)|Init avg\(us\)"
    r"|P\d{1,3} Tail (?:Lat\(us\)|BW\(MB/s\))"
)
_COLUMNS = re.compile(rf"(?:{_NAME})(?: +(?:{_NAME}))*")
_COLUMN = re.compile(_NAME)
_HEADER_BEGINS = re.compile(r"Size(?: |$)|Overall\(us\)|(?:Avg )?Latency ?\(us\)")
_LOOKS = looks_like_figures("P(?:a|as|ass)?|F(?:a|ai|ail)?")
_STRICT = re.compile(r" *\d+ +\d+\.\d\d(?: .*)?", re.ASCII)
_ALONE = r"(?=\d)(?=.{10}(?:(?:.{18}){1,8}|(?:.{20}){1,8})$)\d+(?: +\d+\.\d\d)+(?: +(?:Pass|Fail))?$"
_DATATYPE = re.compile(r"Datatype: (?:(MPI_CHAR|MPI_INT|MPI_FLOAT)\.)?")
_BUFFERS = re.compile(r"Send Buffer on \w+ \((\w+)\) and Receive Buffer on \w+ \((\w+)\)")
_MEMORY = re.compile(r"Rank 0 Memory on \w+ \((\w+)\) and Rank 1 Memory on \w+ \((\w+)\)")
_PAIRS = re.compile(r"\[ pairs: (\d{1,6}) \] \[ window size: (\d{1,6}|varied) \]")
_SAYS = re.compile(
    r"Window creation: MPI_Win_(?:create|allocate|create_dynamic)"
    r"|Synchronization: MPI_Win_(?:lock/unlock|post/start/complete/wait|fence|flush|flush_local|lock_all/unlock_all)"
    r"|Number of (?:Sender|Receiver) threads: \d{1,4}"
)
_SAYS_BEGINS = re.compile(r"(Window creation|Synchronization|Number of (?:Sender|Receiver) threads):")
_IGNORED = ("Overall = ", "Uni-directional Bandwidth", "Message Rate Profile")

WIDTHS = (18, 20)
"""Of a column, in characters: FIELD_WIDTH of ``c/util/osu_util.h``."""
NO_TITLE = "no title above it tells which benchmark it is of"


@lru_cache(maxsize=256)
def _columns_of(body: str) -> tuple[str, ...] | None:
    """Return the names of columns, or None where the line holds anything else."""
    return tuple(_COLUMN.findall(body)) if _COLUMNS.fullmatch(body) else None


@lru_cache(maxsize=256)
def _pattern_of(columns: tuple[str, ...]) -> re.Pattern[str]:
    kinds = dict.fromkeys(("Size", "Size (B)", "Iterations", "Transmit Size"), WHOLE) | {"Validation": "(Pass|Fail)"}
    return re.compile(" *" + " +".join(kinds.get(name, TWO_DECIMALS) for name in columns), re.ASCII)


def _width_of(text: str, columns: tuple[str, ...]) -> int | None:
    """Return where rows end below a line of names, or None where its spaces are not the tool's."""
    first, rest = columns[0], columns[1:]
    if not first.startswith("Size") and "#" not in text:
        return None  # osu_ibarrier before 7.2: the first name ends elsewhere than what stands below it
    for width in WIDTHS:
        shown = f"# {first}".ljust(10) + "".join(name.rjust(12 if name == "Iterations" else width) for name in rest)
        if text.endswith(shown) or (text.startswith("  ") and text.endswith(f"  {shown[2:]}")):
            return len(text)
    return None


def _may_be_two(text: str, size: int) -> bool:
    """Return whether a row may be one cut short, followed by the beginning of the next."""
    after = str(2 * size or 1)
    return any(text.endswith(after[:count]) for count in range(1, len(after) + 1))


def _is_power_of_two(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


class OsuSection(TableSection):
    """One table: a title, what stands between, the names of columns, figures."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._title: Title | None = None
        self._command: Command = NOTHING
        self._columns: tuple[str, ...] | None = None
        self._width: int | None = None
        self._why = NO_TITLE
        self._seen: list[Seen] = []
        self._last = -1
        self._rows = False
        self._others = 0
        self._refused = 0
        self._elided = False

    def take(self, line: Line) -> bool:
        """Read a line of this table; a second title, or second names of columns, are another's."""
        text = line.text.lstrip()
        first = text[0]
        if first.isdigit():
            return self._figures(line)
        if first in "#OS":
            return self._comment(line, text.lstrip("#").strip())
        self._others += 1
        self._elided = self._elided or is_elided(text)
        return False

    def _comment(self, line: Line, body: str) -> bool:
        if body.startswith(("OSU ", "OMB")):
            title = read_title(line.text.strip())
            return title is not None and self._begin(title)
        if _HEADER_BEGINS.match(body):
            return self._header(line, body)
        told = self._tells(body)
        if told is None:
            self._others += 1
            return body.startswith(_IGNORED)
        if self._rows:
            return False
        for name, value in told.items():
            self._tell(name, value)
        return True

    def _begin(self, title: Title) -> bool:
        if self._columns is not None or self._rows or (self._title is None and self._told):
            return False
        if self._title is not None and self._title != title:
            if self._others:
                return False  # something went wrong between: the run before printed no figure
            self._why = "two titles stand above it"
            return True
        if self._title is None:
            self._title = title
            self._why = "" if title.benchmark is not None else "the benchmark of the title above is not known"
            self._command = read_commands(self.log.commands, title)
            self.log.commands.clear()  # they started this run and no later one
        return True

    def _tells(self, body: str) -> dict[str, str] | None:
        """Return what a line of the preamble says, or None."""
        if body.startswith("Datatype"):
            found = _DATATYPE.fullmatch(body)
            return {"datatype": found[1] or "" if found else ""}
        if body.startswith("[ pairs"):
            pairs = _PAIRS.fullmatch(body)
            return {"pairs": pairs[1], "window": pairs[2]} if pairs else {"pairs": "", "window": ""}
        for pattern in (_BUFFERS, _MEMORY):
            buffers = pattern.fullmatch(body)
            if buffers:
                return {"buffers": f"{buffers[1]} {buffers[2]}"}
        begins = _SAYS_BEGINS.match(body)
        if begins is None:
            return None
        says = _SAYS.fullmatch(body)
        return {begins[1]: body[begins.end() :].strip() if says else ""}

    def _header(self, line: Line, body: str) -> bool:
        if self._columns is not None or self._rows:
            return False
        self.log.commands.clear()
        self._columns = _columns_of(body) or ()
        self._width = _width_of(line.text, self._columns) if self._columns else None
        if not self._columns:
            self._why = self._why or "the names of columns above it are cut off or not known"
        elif not self._why:
            self._why = self._mismatch(self._columns)
        return True

    def _mismatch(self, columns: tuple[str, ...]) -> str:
        """Return why these cannot be the columns of the title, or nothing."""
        title = self._title
        if title is None or title.benchmark is None:
            return NO_TITLE
        kind = title.benchmark.kind
        expected = {
            Kind.LATENCY: ("Avg Latency(us)", "Latency (us)", "Latency(us)"),
            Kind.BANDWIDTH: ("Bandwidth (MB/s)",),
            Kind.RATE: ("MB/s",),
        }[kind]
        if title.form is Form.NONBLOCKING:
            expected = ("Overall(us)",)
        sized = columns[0] in ("Size", "Size (B)")
        main = columns[1] if sized and len(columns) > 1 else columns[0]
        if main not in expected or (title.form is Form.NONBLOCKING and "Pure Comm.(us)" not in columns):
            return "the names of columns above it are those of another benchmark"
        if not sized and title.benchmark.operation != "barrier":
            return "the names of columns above it have no size"
        if len(set(columns)) < len(columns):
            return "a name of columns stands twice above it"
        return ""

    def _figures(self, line: Line) -> bool:
        if not _LOOKS.fullmatch(line.text):
            self._refused += 1  # it may have been a row before something else was written into it
            return False
        if self._columns is None:
            if not _STRICT.fullmatch(line.text):
                return False
            reason = self._why or "no names of columns stand above it"
        else:
            reason = self._why or self._read(line, self._columns)
        self._rows = True
        self.log.commands.clear()
        if reason:
            self._refused += 1
            self.log.skip(line, reason)
        return True

    def _read(self, line: Line, columns: tuple[str, ...]) -> str:
        """Keep the figures of a line, or return why it is no row."""
        found = _pattern_of(columns).fullmatch(line.text)
        if found is None:
            return "its columns are not those named above, or a figure is cut off"
        figures = dict(zip(columns, found.groups(), strict=True))
        text = figures.get("Size") or figures.get("Size (B)")
        if self._width is not None and len(line.text) != self._width + max(0, len(text or "") - 10):
            return "it does not end below the names of columns"
        if not line.ended and text is not None and _may_be_two(line.text, int(text)):
            return "the log ends in it, and its last digits may be those of the next size"
        reason = "" if text is None and not self._seen else self._follows(int(text or 0))
        if not reason:
            # A whole number at the end of a line may be cut off unseen, but not where it ends below its name.
            self._seen.append(Seen(line=line, figures=figures, aligned=self._width is not None))
        return reason

    def _follows(self, size: int) -> str:
        """Return why a row cannot follow those before it in one table, or nothing."""
        last, refused, elided = self._last, self._refused, self._elided
        if last < 0:
            if self._width is None and size and not _is_power_of_two(size):
                return "its size is none that the suite has by itself"
        elif size <= last:
            # The suite doubles the size from row to row: this is another table, whose title is not there.
            self._why = "sizes begin anew: another table, without its title"
            return self._why
        else:
            times = size // last if last else 2 * size
            if (last and size % last) or not _is_power_of_two(times):
                return f"its size does not follow {last}: the suite doubles it"
            if times > 2 << refused and not elided and self._run is not None:
                self._doubt_before_a_gap(last)
                self._why = self._doubt_of(self._run.operation)
                if self._why:
                    return self._why
        self._last, self._refused, self._elided = size, 0, False
        return ""

    def _doubt_before_a_gap(self, size: int) -> None:
        """Refuse the last row, of this size, where a row that is missing after it may have gone on in its line."""
        if self._seen and _may_be_two(self._seen[-1].line.text, size):
            self.log.skip(
                self._seen.pop().line, "no row of the next size follows, and its last digits may be those of that size"
            )

    @property
    def _run(self) -> Run | None:
        """What is known of the table, if its benchmark is."""
        title = self._title
        if title is None or title.benchmark is None:
            return None
        return Run(title=title, benchmark=title.benchmark, told=self._told, command=self._command)

    def finish(self) -> None:
        """Give the rows to the log, now that the whole run was seen."""
        run = self._run
        if not self._seen or run is None:
            return
        if run.benchmark.streams and run.command.window == 0:
            self.log.doubt(
                self._seen[0].line, f"commands above ask for several windows: {run.messages} messages are taken"
            )
        drafts = drafts_of(self.log, self.group, run, self._seen)
        settle(self.log, drafts, ranks=run.ranks, nodes=self._command.nodes)


IMPORTER = Importer(
    name="osu",
    says="OSU micro-benchmarks and OMB-Py",
    opens=re.compile(
        rf"\s*{OPENS}|\s*#? ?(?:Size(?: \(B\))? {{3,}}|Overall\(us\) |(?:Avg )?Latency ?\(us\)|Datatype: MPI_)|{_ALONE}"
    ),
    section=OsuSection,
)
