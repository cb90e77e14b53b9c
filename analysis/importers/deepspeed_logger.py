"""DeepSpeed's communication logger: a line for each call (verbose), and the tables of log_summary.

From deepspeed/utils/comms_logging.py and, for what the size is, deepspeed/comm/utils.py get_msg_size_from_args: the
input tensor, so one rank's share for all_gather. Its algorithm bandwidth is twice size over time for all_reduce; for
reduce_scatter it was too high by the number of ranks until 2026; and before the first release, as its tutorial shows,
it was twice size over time for every operation. So bandwidths come from size and time, except where a single call
shows that the printed ones mean what collmark means; the number of ranks comes from their ratio, and is that of all
ranks also where a smaller group communicates. Everything is measured by rank 0, in the first of two tables; the second
has the least time of any rank for each call.
"""

from __future__ import annotations

import re

from collmark.analysis.importers.deepspeed_call import OPERATIONS, Call, call_draft, summary_draft
from collmark.analysis.importers.deepspeed_size import SIZE
from collmark.analysis.importers.line import Line
from collmark.analysis.importers.section import Draft, Importer, Log, Section
from collmark.analysis.importers.settle import settle

_DEBUG = r"(?: \| \[Caller Func: (?P<caller>[^\]]+)\])?"
_CALL = re.compile(
    rf".*?\bcomm op: (?P<name>\w+){_DEBUG} \| time \(ms\): (?P<time>\d+\.\d\d) \| msg size: (?P<size>{SIZE})"
    r" \| algbw \(Gbps\): (?P<algorithm>\d+\.\d\d) {1,2}\| busbw \(Gbps\): (?P<bus>\d+\.\d\d)"
)
_HEADING = re.compile(r"Comm\. Op +Message Size +Count +(.*)")
_TABLES = {
    "Total Latency(ms) Avg Latency(ms) tput_avg (Gbps) busbw_avg (Gbps)": "summary",
    "Total comm lat(ms) Total straggler(ms) Avg comm lat(ms) Avg straggler(ms)": "straggler",
}
_OPERATION = re.compile(rf"(?P<name>\w+){_DEBUG}")
_ROW = re.compile(rf"\s*(?P<size>{SIZE}) +(?P<count>\d{{1,12}})((?: +\d+\.\d\d){{4}})")
_LOOKS = re.compile(r"\s*(?:0B|\d[\d.]* [KMGTPEZY]?B) +\d+ +\d+\.\d")


class DeepSpeedLoggerSection(Section):
    """Calls, each by itself, and the tables of one summary together."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._table = ""
        self._had = ""
        self._operation = ""
        self._last: int | None = None
        self._drafts: list[Draft] = []
        self._names: set[str] = set()
        self._told = False

    def take(self, line: Line) -> bool:
        """Read a call, a heading, the name of an operation, or a row."""
        text = line.text
        if "comm op: " in text:
            self._call(line)
            return True
        if text.startswith("Comm. Op"):
            return self._heading(text)
        if not self._table and not _LOOKS.match(text):
            return False
        if text[0] == " " or text[0].isdigit():
            return self._row(line)
        return self._name(text)

    def finish(self) -> None:
        """Give the tables to the log; the calls are there already."""
        settle(self.log, self._drafts)

    def _call(self, line: Line) -> None:
        match = _CALL.fullmatch(line.text)
        if match is None:
            self.log.skip(line, "not the parts of a logged call, or cut off")
            return
        call = Call(
            name=match["name"],
            caller=match["caller"] or "",
            size=match["size"],
            time=match["time"],
            algorithm=match["algorithm"],
            bus=match["bus"],
        )
        draft = call_draft(call, self.log, line, self.group)
        if isinstance(draft, str):
            self.log.skip(line, draft)
            return
        settle(self.log, [draft])
        doubtful = draft.algorithm is None and draft.factor is not None and draft.row.operation != "all_reduce"
        if doubtful and not self._told:
            self._told = True
            self.log.doubt(line, "the printed bandwidths may not be size over time and its bus factor: not taken over")

    def _heading(self, text: str) -> bool:
        match = _HEADING.fullmatch(text)
        table = _TABLES.get(" ".join(match[1].split()), "") if match else ""
        if table and self._drafts and (table != "straggler" or self._had != "summary"):
            return False  # another summary, which may be of another run
        self._begin(table or "unknown")
        return True

    def _begin(self, table: str) -> None:
        self._table, self._operation, self._last = table, "", None
        self._names.clear()

    def _name(self, text: str) -> bool:
        """Read the line above rows that says what they are of."""
        match = _OPERATION.fullmatch(text)
        if text.strip("_-") == "" or text.startswith("Breakdown with"):
            self._table = self._table and "unknown"  # what follows is a heading, or has lost it
            return True
        if match is None:
            return False
        if text in self._names:
            self._begin("unknown")  # a table has a name once: the heading of another has been lost
        self._names.add(text)
        self._operation = text if match["name"] in OPERATIONS else ""
        self._last = None
        return bool(self._operation)

    def _row(self, line: Line) -> bool:
        match = _ROW.fullmatch(line.text)
        if match is None:
            if _LOOKS.match(line.text):
                self.log.skip(line, "not the columns of a summary, or cut off")
                return True
            return False
        reason = "" if self._table in {"summary", "straggler"} else "no heading above says what its columns are"
        name = _OPERATION.fullmatch(self._operation)
        if not reason and name is None:
            reason = "no line above says which operation it is of"
        if reason or name is None:
            self.log.skip(line, reason)
            return True
        numbers = match[3].split()
        draft = summary_draft(
            Call(
                name=name["name"],
                caller=name["caller"] or "",
                size=match["size"],
                time=numbers[1] if self._table == "summary" else numbers[2],
                algorithm=numbers[2] if self._table == "summary" else "",
                bus=numbers[3] if self._table == "summary" else "",
                count=match["count"],
                others=(numbers[0],) if self._table == "summary" else (numbers[0], numbers[1], numbers[3]),
            ),
            self.log,
            line,
            self.group,
        )
        nbytes = None if isinstance(draft, str) else draft.row.nbytes_printed
        if isinstance(draft, str):
            self.log.skip(line, draft)
        elif self._last is not None and nbytes is not None and nbytes <= self._last:
            self._operation = ""  # sizes rise below a name: that of another operation has been lost
            self.log.skip(line, "no line above says which operation it is of")
        else:
            self._last, self._had = nbytes, self._table
            self._drafts.append(draft)
        return True


IMPORTER = Importer(
    name="deepspeed-logger",
    says="DeepSpeed's communication logger",
    opens=re.compile(
        r"(?:[\w.-]+: )?(?:\[[^\]]{0,60}\] ){0,6}(?:rank=\d+ \| )?comm op: "
        r"|Comm\. Op +Message Size +Count|\s{8,}(?:0B|\d[\d.]* [KMGTPEZY]?B) +\d+ +\d+\.\d"
    ),
    section=DeepSpeedLoggerSection,
)
