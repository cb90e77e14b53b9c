"""Tables of the Intel MPI Benchmarks: IMB-MPI1, IMB-NBC, IMB-RMA and IMB-EXT, versions 3 to 2021.

Sources: ``src_c/IMB_output.c`` (IMB_display_times, IMB_print_header, IMB_show_procids, IMB_edit_format) and
``src_c/IMB_g_info.c``. Every field has 13 characters, times two decimals. ``t[usec]`` is the slowest process's, of
PingPong half a round trip; the others are smallest, largest and mean over processes. Mbytes/sec is made of the largest
time and counts one message for PingPong, PingPing and Uniband, two for Sendrecv and Biband, four for Exchange; a Mbyte
was 2^20 bytes up to version 2017 (``MEGA = 1.0/1048576.0``) and is 10^6 since: each row tells which. Up to 2018
Reduce_scatter divides its size among the processes, since 2019 it is what one receives.
"""

from __future__ import annotations

import re

from collmark.analysis.importers.imb_benchmarks import DEFECTS, GROUP, LAYOUTS
from collmark.analysis.importers.imb_row import Facts, Table, drafts_of
from collmark.analysis.importers.line import Line
from collmark.analysis.importers.mpi_table import (
    TWO_DECIMALS,
    WHOLE,
    Seen,
    TableSection,
    is_elided,
    looks_like_figures,
)
from collmark.analysis.importers.section import Importer, Log
from collmark.analysis.importers.settle import settle

_BANNER = re.compile(
    r"#\s+Intel ?\(R\) MPI Benchmarks? (?:Suite )?V?"
    r"(\d{4}(?:\.\d{1,3})*(?: [Uu]pdate \d{1,2})?|\d(?:\.\d{1,3}){1,3}), MPI-\w+ part(.*)"
)
_BANNER_BEGINS = re.compile(r"#\s+Intel ?\(R\) MPI Benchmark")
_PREAMBLE = re.compile(
    r"# (?:Date  |Machine  |System  |Release  |Version  |MPI Version  |MPI Thread Environment|Calling sequence was"
    r"|Minimum message length|Maximum message length|Message lengths were|MPI_Datatype|MPI_Op  "
    r"|List of Benchmarks to run)"
)
_TYPE = re.compile(r"# (MPI_Datatype for reductions|MPI_Datatype|MPI_Op) +: +(\w+)")
_CHOSEN = "# Message lengths were user defined"
_END = "# All processes entering MPI_Finalize"
_NAMED = re.compile(r"# Benchmarking (Multi-)?(\w+)( ?)\s*")
_PROCESSES = re.compile(r"# #processes = (\d{1,7})(?:; rank order \(rowwise\): ?| ?)\s*")
_GROUPS = re.compile(r"# \( (\d{1,7}) groups of (\d{1,7}) processes each running simultaneous \)")
_IDLE = re.compile(r"# \( \d{1,7} additional process(?:es)? waiting in MPI_Barrier\)")
_MODE = re.compile(r"#    MODE: (AGGREGATE|NON-AGGREGATE)")
_RULE = re.compile(r"#-{10,}")
_HEADER = re.compile(r" *(?:Group +)?#(?:bytes +#repetitions|repetitions +t_)")
FIELD = 13
"""Characters of a field: ow_format of ``src_c/IMB_output.c``."""
_LOOKS = looks_like_figures()
_GAVE_UP = re.compile(r" *\d+(?: +\d+)? +(time-out|out-of-mem|int-overflow)\.")


def _patterns() -> dict[tuple[str, ...], re.Pattern[str]]:
    whole = dict.fromkeys(("#bytes", "#repetitions", GROUP, "Msg/sec"), WHOLE)
    found = {}
    for names in LAYOUTS:
        for columns in (names, (GROUP, *names), (*names, DEFECTS), (GROUP, *names, DEFECTS)):
            parts = (whole.get(name, TWO_DECIMALS) for name in columns)
            found[columns] = re.compile(" *" + " +".join(parts), re.ASCII)
    return found


_PATTERNS = _patterns()


class ImbSection(TableSection):
    """One run: what is told before its tables, and the tables."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._confirmed = False
        self._tables: list[Table] = []
        self._ended = False

    def take(self, line: Line) -> bool:
        """Read a line of this run; another banner or preamble, or the end, leaves the rest to another."""
        text = line.text
        if self._ended:
            return False
        if text[0] == "#" and not text.startswith(("#bytes", "#repetitions")):
            return self._comment(line)
        if text.lstrip()[0].isdigit():
            return self._figures(line)
        if _HEADER.match(text):
            self._header(line)
            return True
        if self._table is not None and is_elided(text):
            self._table.elided = True
        return False

    @property
    def _table(self) -> Table | None:
        return self._tables[-1] if self._tables else None

    def _comment(self, line: Line) -> bool:
        text = line.text
        if text.startswith("#-"):
            return self._rule(text)
        if text.startswith("# Benchmarking "):
            self._tables.append(self._named(line))
        elif text.startswith("# #processes"):
            self._processes(line)
        elif text.startswith("# ( "):
            return self._groups(line)
        elif text.startswith("#    MODE: "):
            mode, table = _MODE.fullmatch(text), self._table
            if mode and table is not None and table.columns is None:
                table.mode = mode[1].lower()
        else:
            return self._preamble(text)
        return True

    def _preamble(self, text: str) -> bool:
        if text.startswith(_END):
            self._ended = True
            return True
        banner = bool(_BANNER_BEGINS.match(text))
        if not banner and not _PREAMBLE.match(text):
            return text == "#"
        if self._tables:
            return False
        if banner:
            found = _BANNER.fullmatch(text)
            self._tell("version", found[1] if found else "")
            if found and "GPU" in text:
                self._tell("device", "GPU")
            return True
        self._confirmed = True
        if text.startswith(_CHOSEN):
            self._told["lengths"] = "chosen"
        told = _TYPE.fullmatch(text)
        if told:
            self._tell(told[1], told[2])
        return True

    def _rule(self, text: str) -> bool:
        """Read a line of dashes: one stands before a table's head and one after."""
        if not _RULE.fullmatch(text):
            return False
        table = self._table
        if table is None:
            return True
        table.rules += 1
        if table.columns is not None or table.rules > 1:
            self._tables.append(Table())  # whose name must follow
        return True

    @staticmethod
    def _named(line: Line) -> Table:
        # The tool prints a space after the name and after the number: where only one has it, the other is cut off.
        found = _NAMED.fullmatch(_ended_by(line))
        return Table(name=found[2], multi=bool(found[1]), spaced=bool(found[3])) if found else Table()

    def _processes(self, line: Line) -> None:
        raw = _ended_by(line)
        found = _PROCESSES.fullmatch(raw)
        table = self._table
        if table is None or table.columns is not None or table.told:
            table = Table()
            self._tables.append(table)
        table.told = found is not None
        spaced = raw.endswith(" ")
        if found is None or (table.spaced and not spaced):
            return
        table.cut = not table.spaced and spaced
        table.ranks = int(found[1]) or None

    def _groups(self, line: Line) -> bool:
        found = _GROUPS.fullmatch(line.text)
        if found is None:
            return bool(_IDLE.fullmatch(line.text))
        table = self._table
        if table is None or table.columns is not None or table.told:
            table = Table()
            self._tables.append(table)
        table.told = True
        table.cut = not table.spaced and _ended_by(line).endswith(" ")
        table.ranks = int(found[2]) or None
        return True

    def _header(self, line: Line) -> None:
        table = self._table
        if table is None or table.columns is not None:
            table = Table()
            self._tables.append(table)
        table.columns = tuple(line.text.split())
        shown = "".join(name.rjust(FIELD) for name in table.columns)
        table.width = len(line.text) if line.text.endswith(shown) else None
        names = tuple(name for name in table.columns if name not in (GROUP, DEFECTS))
        table.layout = LAYOUTS.get(names) if table.columns in _PATTERNS else None

    def _figures(self, line: Line) -> bool:
        table = self._table
        if table is None:
            return False
        gave_up = _GAVE_UP.match(line.text)
        if gave_up:
            reason = f"the tool gave this size up: {gave_up[1]}"
        elif not _LOOKS.fullmatch(line.text):
            table.refused += 1  # it may have been a row before something else was written into it
            return False
        elif table.columns is None:
            reason = "no names of columns stand above it"
        else:
            reason = table.why or self._read(line, table, table.columns)
        if reason:
            table.refused += 1
            self.log.skip(line, reason)
        return True

    def _read(self, line: Line, table: Table, columns: tuple[str, ...]) -> str:
        """Give a row to its table, or return why it is none."""
        found = _PATTERNS[columns].fullmatch(line.text)
        if found is None:
            return "its columns are not those named above, or a figure is cut off"
        if table.width is not None and len(line.text) != table.width:
            return "it does not end below the names of columns"
        figures = dict(zip(columns, found.groups(), strict=True))
        chosen = self._told.get("lengths") == "chosen"
        reason = table.follows(int(figures.get("#bytes", 0)), figures.get(GROUP, ""), self._doubt_of, chosen=chosen)
        if not reason:
            table.refused, table.elided = 0, False
            table.rows.append(Seen(line=line, figures=figures, aligned=table.width is not None))
        return reason

    def finish(self) -> None:
        """Give the rows to the log, table by table."""
        facts = Facts(
            version=self._told.get("version", "") if self._confirmed else "",
            dtype=self._told.get("MPI_Datatype", ""),
            reduced=self._told.get("MPI_Datatype for reductions", ""),
            reduction=self._told.get("MPI_Op", ""),
            on_gpu=self._told.get("device") == "GPU",
        )
        for table in self._tables:
            if table.rows:
                settle(self.log, drafts_of(self.log, self.group, facts, table), ranks=table.ranks)


def _ended_by(line: Line) -> str:
    """Return a line with the space that it ends with, where it does."""
    return line.text + (" " if line.raw.rstrip("\r\n").endswith(" ") else "")


IMPORTER = Importer(
    name="imb",
    says="Intel MPI Benchmarks",
    opens=re.compile(
        r"#\s+Intel ?\(R\) MPI Benchmark|# Benchmarking \w|# #processes = \d"
        r"| *(?:Group +)?#(?:bytes +#repetitions|repetitions +t_)"
        r"|# (?:Calling sequence was|Minimum message length in bytes|MPI_Datatype|List of Benchmarks to run)"
    ),
    section=ImbSection,
)
