"""ucc_perftest.

The layout (tools/perf/ucc_pt_benchmark.cc of UCC): settings in two columns, then count and size, and in fields of
twelve characters average, least and largest over ranks of each rank's mean time in us, with -F the bus bandwidths that
follow from these in GB/s (10^9). The size is count times element size, and the count that of the source buffer. For
alltoall and scatter that is what goes to one rank where the bandwidths are headed "Bandwidth", and all of it in later
versions, which print "Total time" below the table (ucc_pt_generator_exp.cc). Each call is timed alone, with a barrier
before the next.
"""

from __future__ import annotations

import re

import msgspec

from collmark.analysis.importers.figure import Figure, figure
from collmark.analysis.importers.line import Line
from collmark.analysis.importers.row import RanksFrom, Row, SizeIs
from collmark.analysis.importers.section import Draft, Importer, Log, Section
from collmark.analysis.importers.settle import SLACK, settle
from collmark.core.case import Cadence, Device
from collmark.core.dtype import DTYPES
from collmark.core.reduction import REDUCTIONS

FIELD = 12
_SETTING = re.compile(r"(Collective|Memory type|Datatype|Reduction|Inplace|Warmup|Iterations):\s*(\S*)")
_ITERATIONS = re.compile(r" {0,2}(small|large) +(\d{1,9})", re.ASCII)
_TOP = re.compile(r"( *Count) +Size +Time, us(?: +((?:Bus )?Bandwidth, GB/s))?")
_BOTTOM = re.compile(r" +avg +min +max( +avg +max +min)?")
_FIGURES = re.compile(r" *(?:\d[\d.]*|N/A)(?: +(?:-?\d[\d.]*|N/A|-?nan|-?inf)){2,7}", re.ASCII)
_TOTAL = re.compile(r"Total time: [\d.]+(?:e[+-]?\d+)? ms", re.ASCII)
_WHOLE = re.compile(r"\d{1,19}", re.ASCII)
_TWO = re.compile(r"\d{1,15}\.\d\d", re.ASCII)
_OPENS = re.compile(
    r"Collective:\s+[A-Z]|Memory type:\s+(?:host|cuda|rocm)|Inplace:\s+(?:[01]|N/A)$| *Count +Size +Time, us"
)

OPERATIONS = {
    "allgather": "all_gather",
    "allgatherv": "all_gather_v",
    "allreduce": "all_reduce",
    "alltoall": "all_to_all",
    "alltoallv": "all_to_all_v",
    "barrier": "barrier",
    "bcast": "broadcast",
    "fanin": "fan_in",
    "fanout": "fan_out",
    "gather": "gather",
    "gatherv": "gather_v",
    "reduce": "reduce",
    "reduce_scatter": "reduce_scatter",
    "reduce_scatterv": "reduce_scatter_v",
    "scatter": "scatter",
    "scatterv": "scatter_v",
    "memcpy": "local_copy",
}
_BLOCK = ("all_gather", "gather")
_EITHER = ("all_to_all", "scatter")
_WITH_BANDWIDTH = (
    "all_gather",
    "all_reduce",
    "all_to_all",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
)
_LARGEST_ONLY = ("gather", "scatter")  # bandwidth only of the slowest rank
_SIZELESS = ("barrier", "fan_in", "fan_out")
_FACTOR_ONE = ("broadcast", "reduce")
_DEVICES = {"host": Device.CPU, "cuda": Device.CUDA, "rocm": Device.CUDA}


class Read(msgspec.Struct, frozen=True):
    """A line of figures.

    Attributes
    ----------
    average, least, largest : Figure
        Times in s.
    bandwidth : Figure or None
        In B/s, of the average time, or of the largest for gather and scatter.
    """

    line: Line
    printed: dict[str, str]
    nbytes: int | None
    average: Figure
    least: Figure
    largest: Figure
    bandwidth: Figure | None


class UccSection(Section):
    """One collective."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._told: dict[str, str] = {}
        self._under = ""
        self._iterations: dict[str, int] = {}
        self._right = 0
        self._full: bool | None = None
        self._heading = ""
        self._total = False
        self._figures: list[Read] = []
        self._begun = False
        self._lost = ""

    def take(self, line: Line) -> bool:
        """Read a line of the run; return False for what is not the tool's, or begins another run."""
        text = line.text
        if _FIGURES.fullmatch(text) and (self._right or self._told):
            self._begun = True
            reason = self._lost or self._read(line)
            if reason:
                self.log.skip(line, reason)
            return True
        if _TOTAL.fullmatch(text):
            self._total = self._begun
            self._lost = self._lost or "the run above has ended"
            return True
        return self._settings(text) or (not self._begun and self._header(text))

    def _settings(self, text: str) -> bool:
        if (match := _SETTING.match(text)) is not None:
            return self._setting(match[1], match[2])
        if (match := _ITERATIONS.fullmatch(text)) is not None:
            if self._under == "Iterations":
                self._iterations[match[1]] = int(match[2])
            return True
        return False

    def _header(self, text: str) -> bool:
        if (match := _TOP.fullmatch(text)) is not None:
            self._right, self._heading = len(match[1]), match[2] or ""
        elif (match := _BOTTOM.fullmatch(text)) is not None:
            self._full = match[1] is not None
        return match is not None

    def _setting(self, name: str, value: str) -> bool:
        if self._begun or name in self._told:
            return False
        self._told[name] = value
        self._under = name
        return True

    @property
    def _operation(self) -> str:
        return OPERATIONS.get(self._told.get("Collective", "").lower(), "")

    def _read(self, line: Line) -> str:
        """Take a line of figures; return why it cannot be read, or nothing."""
        tokens = line.text.split()
        reason = self._misplaced(line, tokens)
        if reason:
            return reason
        found = self._checked(line, tokens)
        if isinstance(found, str):
            return found
        last = self._figures[-1].nbytes if self._figures else None
        if last is not None and self._operation != "all_to_all_v" and (found.nbytes is None or found.nbytes <= last):
            self._lost = "the sizes begin again without a header"
            return self._lost
        self._figures.append(found)
        return ""

    def _misplaced(self, line: Line, tokens: list[str]) -> str:
        """Return why figures are not those of the columns above, or nothing."""
        if not self._operation:
            return "no line above says which collective this is"
        if self._full is None or not self._right:
            return "the columns have no header"
        if self._full != bool(self._heading):
            return "the two lines of the header contradict each other"
        width = 8 if self._full else 5
        if len(tokens) != width:
            return f"{len(tokens)} columns instead of {width}"
        if not _stands(line.text, tokens, self._right):
            return "it does not stand below its header, and other tools print such lines too"
        return ""

    def _checked(self, line: Line, tokens: list[str]) -> Read | str:
        count, size, *times = tokens[:5]
        if (size == "N/A") != (self._operation in _SIZELESS):
            return f"the sizes are not those of {self._operation}"
        if (count, size) != ("N/A", "N/A") and not self._sizes_fit(count, size):
            return "count and size contradict each other or the element type"
        found = _times(times)
        if isinstance(found, str):
            return found
        printed = {"Count": count, "Size": size, "avg": times[0], "min": times[1], "max": times[2]}
        bandwidth = self._bandwidth(tokens[5:], printed)
        if isinstance(bandwidth, str):
            return bandwidth
        return Read(line, printed, None if size == "N/A" else int(size), *found, bandwidth)

    def _sizes_fit(self, count: str, size: str) -> bool:
        if not _WHOLE.fullmatch(count) or not _WHOLE.fullmatch(size):
            return False
        number, nbytes = int(count), int(size)
        known = DTYPES.get(self._told.get("Datatype", ""))
        if known is not None:
            return nbytes == number * known.itemsize
        return nbytes == 0 if number == 0 else nbytes % number == 0 and nbytes // number in (1, 2, 4, 8, 16, 32)

    def _bandwidth(self, tokens: list[str], printed: dict[str, str]) -> Figure | str | None:
        if not tokens:
            return None
        if not all(text == "N/A" or _TWO.fullmatch(text) for text in tokens):
            return "bandwidths are cut off or no numbers"
        has = self._operation in _WITH_BANDWIDTH
        used = tokens[2] if self._operation in _LARGEST_ONLY else tokens[0]
        if has == (used == "N/A") and self._operation != "all_to_all_v":
            return f"the bandwidths are not those of {self._operation}"
        printed |= dict(zip(("bandwidth avg", "bandwidth max", "bandwidth min"), tokens, strict=True))
        return figure(used, 1e9) if has else None

    def finish(self) -> None:
        """Give the rows to the log, once it is known what their sizes are."""
        if not self._figures:
            return
        lower, upper = _ratio(self._figures, largest=self._operation in _LARGEST_ONLY)
        if self._operation in _FACTOR_ONE and not lower <= 1 <= upper:
            for one in self._figures:
                self.log.skip(one.line, f"the bandwidths are not those of {self._operation}")
            return
        size_is = self._size_is(lower, upper)
        if size_is is None:
            line = self._figures[0].line
            self.log.doubt(line, "no line tells whether the sizes are what goes to one rank or all of it (-F would)")
        ranks = self._ranks(lower, upper, size_is)
        settle(self.log, [self._draft(one, size_is) for one in self._figures], ranks=ranks, ranks_from=RanksFrom.FACTOR)

    def _size_is(self, lower: float, upper: float) -> SizeIs | None:
        if self._operation in _BLOCK:
            return SizeIs.BLOCK
        unclear = SizeIs.CANONICAL if self._total else None
        if self._operation == "all_to_all_v":
            return unclear
        if self._operation not in _EITHER or upper < 1:
            return SizeIs.CANONICAL
        return SizeIs.BLOCK if lower > 1 or self._heading.startswith("Bandwidth") else unclear

    def _ranks(self, lower: float, upper: float, size_is: SizeIs | None) -> int | None:
        """Return the ranks that bandwidth x time / size tells where the framework's own rule does not fit."""
        least, most = 1, -1
        if size_is is SizeIs.BLOCK:  # n - 1
            least, most = _up(lower) + 1, _down(upper) + 1
        elif size_is is SizeIs.CANONICAL and self._operation in _LARGEST_ONLY:  # (n - 1) / n
            least, most = _up(1 / (1 - lower)), _down(1 / (1 - upper)) if upper < 1 else -1
        return least if least == most else None

    def _draft(self, one: Read, size_is: SizeIs | None) -> Draft:
        told = self._told
        dtype, reduction = told.get("Datatype", ""), told.get("Reduction", "")
        small, large = self._iterations.get("small"), self._iterations.get("large")
        inplace = told.get("Inplace", "")
        row = Row(
            tool="ucc_perftest",
            operation=self._operation,
            nbytes_printed=one.nbytes,
            size_is=size_is or SizeIs.CANONICAL,
            seconds=None,
            statistic="mean of iterations, mean of ranks",
            file=self.log.name,
            line=one.line.number,
            printed=one.printed,
            backend="ucc",
            dtype=dtype if dtype in DTYPES else "",
            reduction=reduction if reduction in REDUCTIONS else "",
            in_place=inplace == "1" if inplace in ("0", "1") else None,
            group=self.group,
            device=_DEVICES.get(told.get("Memory type", "").partition("-")[0]),
            cadence=Cadence.ISOLATED,
            repetitions=small if small == large else None,
            percentiles={"min": one.least.value, "max": one.largest.value},
        )
        bus = one.bandwidth if size_is is SizeIs.CANONICAL and self._operation not in _LARGEST_ONLY else None
        return Draft(row=row, seconds=one.average, bus=bus, is_unclear=size_is is None)


def _times(texts: list[str]) -> tuple[Figure, Figure, Figure] | str:
    """Return average, least and largest time in s, or why they are none."""
    if not all(map(_TWO.fullmatch, texts)):
        return "times are cut off or no numbers"
    average, least, largest = (figure(text, 1e-6) for text in texts)
    if average is None or least is None or largest is None or average.value <= 0:
        return "nothing was measured"
    if not least.value <= average.value <= largest.value:
        return "the times contradict each other"
    return average, least, largest


def _stands(text: str, tokens: list[str], right: int) -> bool:
    """Return whether each token ends where its column does, as long as none is wider than its field."""
    if any(len(token) >= FIELD for token in tokens):
        return True
    return all(text[: right + FIELD * index].endswith(token) for index, token in enumerate(tokens))


def _ratio(figures: list[Read], *, largest: bool) -> tuple[float, float]:
    """Return bounds of bandwidth x average, or largest, time / size: a number of ranks gives the same in all rows."""
    lower, upper = 0.0, float("inf")
    for one in figures:
        if one.bandwidth is None or not one.nbytes:
            continue
        time = one.largest if largest else one.average
        lower = max(lower, one.bandwidth.lower * time.lower / one.nbytes * (1 - _SINGLE))
        upper = min(upper, one.bandwidth.upper * time.upper / one.nbytes * (1 + _SINGLE))
    return lower, upper


_SINGLE = 1e-6 + SLACK
"""The tool computes bandwidths in single precision."""


def _up(value: float) -> int:
    return -int(-value // 1)


def _down(value: float) -> int:
    return int(value // 1) if value != float("inf") else -1


IMPORTER = Importer(name="ucc_perftest", says="ucc_perftest", opens=_OPENS, section=UccSection)
