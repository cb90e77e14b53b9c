"""perftest: ib_write_bw, ib_read_bw, ib_send_bw, ib_atomic_bw, their _lat, and raw_ethernet_bw and _lat.

The layout (src/perftest_parameters.c, .h; write_bw.c): a line of dashes, the banner, the settings, dashes, one address
a queue pair and end, dashes, the header, one line a size, dashes. With --report-both the two ends follow under "Local
results:" and "Remote results:"; they are parts of the sum above them.
"""

from __future__ import annotations

import re

from collmark.analysis.importers.line import Line
from collmark.analysis.importers.perftest_json import read_report
from collmark.analysis.importers.perftest_row import BANDWIDTH, Place, draft_of
from collmark.analysis.importers.perftest_trial import Kind, Trial, commanded_trial, named_trial
from collmark.analysis.importers.section import Draft, Importer, Log, Section
from collmark.analysis.importers.settle import settle
from collmark.core.case import Device

_SETTINGS = (
    r"(?:Dual-port|Number of qps|Connection type|PCIe relax order|ibv_wr\* API|TX depth|RX depth|CQ Moderation"
    r"|CQE Poll Batch|Post List|Recv Post List|Mtu|Link type|G[Ii][Dd] index2?|Max inline data|Outstand reads"
    r"|rdma_cm QPs|Data ex\. method)\s*:"
)
_ADDRESSES = r"(?:local|remote) address: +LID"
_GPU = (
    r"(?:initializing CUDA|Using CUDA Device|Using ROCm Device|Use ROCm memory : ON|creating CUDA Ctx|Picking GPU"
    r"|making it the current CUDA|cuMemAlloc\(\) of a \d+ bytes? GPU buffer|allocated (?:\d+ bytes of )?GPU buffer)"
)
"""What is printed before a table where the buffers lie in a GPU."""
_ENDS = r"(?:Local|Remote) results:"
_BANDWIDTH_ROW = r"\d+\s+\d+\s+\d+\.\d+\s+\d+\.\d+\s+\d+\.\d{6}(?:\s|$)"
_LATENCY_ROW = r"\d+\s+\d+(?:\s+\d+\.\d\d){7}\s*$"

_OPENS = re.compile(
    rf"\s*(?:(?:Send|RDMA_Write|RDMA_Read|Atomic)\w*\s.*Test$|#bytes\s+(?:#sl\s+)?#iterations\s|{_SETTINGS}|{_ADDRESSES}|{_ENDS}"
    rf"|{_GPU}|{_BANDWIDTH_ROW}|{_LATENCY_ROW})"
)
_PREAMBLE = re.compile(rf"{_SETTINGS}|{_ADDRESSES}|GID:\s")
_DEVICE = re.compile(_GPU)
_QUEUE_PAIRS = re.compile(r"Number of qps\s*:\s*(\d{1,6})\s+Transport type\b", re.ASCII)
_CONNECTION = re.compile(r"Connection type\s*:\s*(\w+)\s+Using SRQ\b", re.ASCII)
_BANDWIDTH_HEADER = re.compile(
    r"#bytes\s+(#sl\s+)?#iterations\s+BW peak\[(MB|MiB|Gb)/sec\]\s+BW average\[\2/sec\]\s+MsgRate\[Mpps\]"
    r"((?:\s+(?:BW Port[12]\[\2/sec\]|MsgRate Port[12]\[Mpps\]|BW min\[\2/sec\]|CPU_Util\[%+\]))*)"
)
_LATENCY_HEADER = re.compile(
    r"#bytes\s+#iterations\s+(?:t_min\[usec\]\s+t_max\[usec\]\s+t_typical\[usec\]"
    r"(\s+t_avg\[usec\]\s+t_stdev\[usec\]\s+99% percentile\[usec\]\s+99\.9% percentile\[usec\])?"
    r"|(t_avg\[usec\])(\s+tps average)?)(\s+CPU_Util\[%+\])?"
)
_NUMBER = re.compile(r"-?(?:\d[\d.]*(?:e[+-]?\d+)?|nan|inf)", re.ASCII | re.IGNORECASE)
_SIZE = re.compile(r"\d{1,19}", re.ASCII)
_END = re.compile(_ENDS)
_NOISE = re.compile(
    r"(?:Completion with error|Failed status|scnt=|Failed to complete|Problems with|deallocating|destroying)"
)
_TELLING = 9
"""So many columns no other tool prints in this form; a bandwidth's line is told by its message rate."""
_ENDLESS = ("0.00", "0.000000")
"""What stands for the peak where it is not measured, as in endless tests, which print the same size again and again."""


class Header:
    """The columns of a table, None where their header is missing or cut.

    Attributes
    ----------
    kind : Kind
    columns : list of str
        Empty for those that are not read.
    unit : str or None
        Of the bandwidths.
    """

    def __init__(self, kind: Kind, columns: list[str], unit: str | None) -> None:
        self.kind, self.columns, self.unit = kind, columns, unit

    def matches(self, other: Header) -> bool:
        """Return whether two headers are the same."""
        return (self.kind, self.columns, self.unit) == (other.kind, other.columns, other.unit)


NO_HEADER = {
    Kind.BANDWIDTH: Header(Kind.BANDWIDTH, list(BANDWIDTH), None),
    Kind.LATENCY: Header(
        Kind.LATENCY,
        ["#bytes", "#iterations", "t_min", "t_max", "t_typical", "t_avg", "t_stdev", "99%", "99.9%"],
        None,
    ),
}
"""How lines are read whose header is missing: only in the layout that no other one can be cut down to."""


def header_of(text: str) -> Header | None:
    """Return the columns that a header names; None where it is none, or not whole."""
    match = _BANDWIDTH_HEADER.fullmatch(text)
    if match is not None:
        level, unit, further = match.groups()
        columns = ["#bytes", *([""] if level else []), *BANDWIDTH[1:], *([""] * further.count("["))]
        return Header(Kind.BANDWIDTH, columns, unit)
    match = _LATENCY_HEADER.fullmatch(text)
    if match is None:
        return None
    full, duration, tps, processor = match.groups()
    columns = ["#bytes", "#iterations"]
    if duration:
        columns += ["t_avg", *([""] if tps else [])]
    else:
        columns += ["t_min", "t_max", "t_typical", *(["t_avg", "t_stdev", "99%", "99.9%"] if full else [])]
    return Header(Kind.LATENCY, [*columns, *([""] if processor else [])], None)


class PerftestSection(Section):
    """One test: banner, settings, one table."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        # They are this test's: another one further down has its own, or none.
        commanded = {commanded_trial(command) for command in log.take_commands(commanded_trial)}
        self._commanded = commanded.pop() if len(commanded) == 1 else None
        self._test: Trial | None = None
        self._connection = ""
        self._queue_pairs = ""
        self._device: Device | None = None
        self._header: Header | None = None
        self._indent = 0
        self._one_end = False
        self._begun = False
        self._closed = False
        self._last = -1
        self._drafts: list[Draft] = []

    def take(self, line: Line) -> bool:
        """Read a line of the test; return False for what is not perftest's, or belongs to the next test."""
        text = line.text.strip()
        if text[:1].isdigit():
            return self._figures(line, text.split())
        if text.startswith("---"):
            self._closed = self._begun or self._header is not None
            return True
        if text.startswith("#bytes"):
            return self._columns(line, text)
        if self._begun:
            return _NOISE.match(text) is not None
        return self._preamble(text)

    def _preamble(self, text: str) -> bool:
        """Read what stands above a table; below one it would be the next test's."""
        if _DEVICE.match(text):
            self._device = Device.CUDA
        elif _PREAMBLE.match(text):
            if (match := _QUEUE_PAIRS.match(text)) is not None:
                self._queue_pairs = match[1]
            elif (match := _CONNECTION.match(text)) is not None:
                self._connection = match[1]
        elif text.endswith("Test") and (test := named_trial(text)) is not None:
            if self._test is not None and self._test != test:
                return False
            self._test = test
        elif _END.fullmatch(text):
            self._one_end = True
        else:
            return False
        return True

    def _columns(self, line: Line, text: str) -> bool:
        found = header_of(text)
        if self._begun or (self._header is not None and (found is None or not found.matches(self._header))):
            return False
        self._header = found
        self._indent = len(line.text) - len(line.text.lstrip())
        return True

    def _figures(self, line: Line, tokens: list[str]) -> bool:
        if len(tokens) < 3 or not all(map(_NUMBER.fullmatch, tokens)):
            return False
        if self._closed or self._starts_anew(tokens):
            return False
        self._begun = True
        draft = self._read(line, tokens)
        if isinstance(draft, str):
            self.log.skip(line, draft)
        else:
            self._last = int(tokens[0])
            self._drafts.append(draft)
        return True

    def _starts_anew(self, tokens: list[str]) -> bool:
        """Return whether the sizes do not go on: a table grows, but for an endless test, which repeats one size."""
        if self._last < 0 or not _SIZE.fullmatch(tokens[0]):
            return False
        columns = self._header.columns if self._header else list(BANDWIDTH)
        repeats = columns[1] == "" or tokens[2] in _ENDLESS  # one line a service level, or no end
        return int(tokens[0]) < self._last or (int(tokens[0]) == self._last and not repeats)

    def _read(self, line: Line, tokens: list[str]) -> Draft | str:
        test = self._known()
        if isinstance(test, str):
            return test
        if self._one_end:
            return "one end of a bidirectional test, whose sum stands above"
        header = self._header or NO_HEADER[test.kind]
        if header.kind is not test.kind:
            return f"the header is not that of a {test.kind} test"
        if len(tokens) != len(header.columns):
            return f"{len(tokens)} columns instead of {len(header.columns)}"
        if (
            header.kind is Kind.LATENCY
            and len(tokens) < _TELLING
            and len(line.text) - len(line.text.lstrip()) != self._indent
        ):
            return "it does not stand below its header, and other tools print such lines too"
        place = Place(self.log.name, self.group, line.number)
        place.device = self._device
        place.set(test.verb, self._connection, self._queue_pairs)
        printed = {column: token for column, token in zip(header.columns, tokens, strict=True) if column}
        return draft_of(test, printed, header.unit, place)

    def _known(self) -> Trial | str:
        """Return which test this is, or what is missing to tell it."""
        if self._test is None:
            return self._commanded or "no banner or command line says which test this is"
        test = self._test
        if test.verb == "send" and not self._connection:
            return "no line says whether the connection is one of raw Ethernet"
        if self._connection == "RawEth":
            return Trial(verb=test.verb, kind=test.kind, directions=test.directions, special="raw_ethernet")
        return test

    def finish(self) -> None:
        """Give the rows to the log."""
        settle(self.log, self._drafts, ranks=2)


IMPORTER = Importer(
    name="perftest",
    says="perftest",
    opens=_OPENS,
    section=PerftestSection,
    reads=read_report,
)
