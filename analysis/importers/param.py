"""PARAM's benchmark of collectives (facebookresearch/param, train/comms/pt/comms.py; comms/comms.py until 2020).

Sizes are totals and bandwidths GB/s of 1e9 bytes (comms_utils.py getAlgBW, pytorch_backend_utils.py getBusBW, whose
factor is 1 for the ragged all_gather_v and reduce_scatter_v, where it is not taken over). Each rank times its own mean
over the iterations; p50 and the other columns are over ranks, and so is T the median of ranks. Until 2023 (no dtype in
the first column) both bandwidths are those of rank 0, which lie between what min and max tell; later they are those of
p50, and in comms/comms.py of 2020 with its column op[0] of rank 0, which tells nothing but the number of ranks.

A line says by itself what it is of: the number of decimals tells the columns, with or without a heading.
"""

from __future__ import annotations

import re

import msgspec

from collmark.analysis.importers.line import Line
from collmark.analysis.importers.param_row import EARLY, LAYOUTS, Entry, drafts_of, entry_of
from collmark.analysis.importers.param_world import World
from collmark.analysis.importers.section import Draft, Importer, Log, Section
from collmark.analysis.importers.settle import settle

_RESULT = re.compile(r"\s*COMMS-RES(?=[-\s]|$)(?:-(?P<name>\S+))?\s*(?P<rest>.*)")
_HEADING = re.compile(r"(?:total-)?size\b")
_HEADINGS = (
    ("pt2pt", ("pingLatency(us):p50", "totalBiBW(GB/s)")),
    ("quantised", ("P95 Latency(us): Quant", "Overall")),
    ("pair", ("nElementsPairPerRank", "BusBW(GB/s)")),
    ("plain", ("nElementsPerRank", "BusBW(GB/s)")),
    ("rank0", ("num-elements", "busBW(GB/s)", "op[0]")),
    ("early", ("num-elements", "busBW(GB/s)")),
)
"""Layouts by the first and the last of their columns."""
_COLLECTIVE = re.compile(r"--collectives?[ =](\w+)(?=\s|$)")


class ParamSection(Section):
    """One run of comms.py, of one collective or several, each a table with a group of its own."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._world = World()
        self._columns: tuple[str, ...] | None = None
        self._drafts: list[Draft] = []
        self._last: Entry | None = None
        self._tables = 0
        self._operation = ""

    def take(self, line: Line) -> bool:
        """Read a line of the preamble, a heading or a row."""
        text = line.text
        if "COMMS-RES" in text:
            return self._result(line)
        if not self._world.tells(text):
            return False
        if self._drafts:
            self._close()
        self._world.read(text)
        return True

    def finish(self) -> None:
        """Give the last table to the log."""
        self._close()

    def _result(self, line: Line) -> bool:
        match = _RESULT.fullmatch(line.text)
        if match is None:
            return False
        if _HEADING.match(match["rest"]):
            self._heading(match["rest"])
            return True
        name = match["name"] or ""
        entry = entry_of(name, match["rest"].split(), "" if name else self._early_operation())
        if isinstance(entry, str):
            self.log.skip(line, entry)
        elif self._columns is None and entry.layout in EARLY:
            self.log.skip(line, "no heading above says what its columns are")
        elif self._columns is not None and entry.kinds not in self._columns:
            self.log.skip(line, "its columns are not those of the heading")
        elif self._world.computes or not LAYOUTS[entry.layout].communicates(entry.kinds):
            self.log.skip(line, "its time includes compute kernels")
        else:
            self._add(line, entry)
        return True

    def _early_operation(self) -> str:
        """Return what a table of 2020 is of, whose rows do not name it: only the command line or the user knows."""
        if not self._drafts:
            told = {match[1] for one in self.log.commands if (match := _COLLECTIVE.search(one))}
            said = self.log.facts.operation or ""
            self._operation = told.pop() if len(told) == 1 else {"all_to_all_v": "all_to_allv"}.get(said, said)
        return self._operation

    def _heading(self, text: str) -> None:
        if self._drafts:
            self._close()
        self._columns = None
        for layout, (first, last, *more) in _HEADINGS:
            if first in text and last in text and all(one in text for one in more):
                extra = ("ff" if "CompLatency" in text else "") + ("h" if "TFlops" in text else "")
                self._columns = LAYOUTS[layout].kinds_with(extra)
                return

    def _add(self, line: Line, entry: Entry) -> None:
        last = self._last
        early = entry.layout in EARLY
        if last is not None and (entry.key != last.key or entry.nbytes < last.nbytes):
            self._close()
            self._world.lose()
            if early:
                self.log.skip(line, "the table does not say which collective it is of")
                return
        if early:
            self.log.commands.clear()  # they tell of one run
        if self._tables and not self._drafts:
            self.log.groups += 1
            self.group = self.log.groups
        self._last = entry
        self._drafts += drafts_of(entry, self.log, line, self.group)

    def _close(self) -> None:
        """Settle a table; what stood above it about the run holds for the next one too."""
        if self._drafts:
            assert self._last is not None, "that of the last row"
            world = self._world.settled(grouped=bool(self._last.dtype))
            drafts = [
                msgspec.structs.replace(
                    draft,
                    row=msgspec.structs.replace(
                        draft.row,
                        backend=world.backend,
                        device=world.device,
                        cadence=world.cadence,
                        settings=", ".join(part for part in (world.settings, draft.row.settings) if part),
                    ),
                )
                for draft in self._drafts
            ]
            if self._last.layout == "pt2pt":
                settle(self.log, drafts, nodes=1 if world.nodes == 1 else None)
            else:
                settle(self.log, drafts, ranks=world.ranks, nodes=world.nodes)
            self._tables += 1
        self._operation = ""
        self._world.used()
        self._columns = None
        self._drafts = []
        self._last = None


IMPORTER = Importer(
    name="param",
    says="PARAM comms",
    opens=re.compile(
        r"\s*COMMS-RES[-\s]|\s*(?:MPI|PARAM COMM) environment: \{|\s*backend: \w+ nw-stack: "
        r"|(?:Hello from Rank \d+: |\[')?\[Rank +\d+\] (?:host|allSizes)[: ]"
    ),
    section=ParamSection,
)
