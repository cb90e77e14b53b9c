"""gloo's benchmark.

The layout (gloo/benchmark/runner.cc): device, algorithm and options, then one line a size with elements, least, median,
99th percentile and largest time over the calls of rank 0, bandwidth and number of calls. Later versions put the
algorithm in capitals in the middle of a line and print the size too; some builds add the 99.5th percentile and the
mean. "GB/s" is 2^30 bytes of one buffer over the mean time. What an element is, is not printed: a float, with --half a
float16 (main.cc); the bandwidth tells.
"""

from __future__ import annotations

import re

from collmark.analysis.importers.gloo_algorithm import Algorithm, algorithm_of, centred, is_ambiguous
from collmark.analysis.importers.gloo_elements import itemsize_of
from collmark.analysis.importers.gloo_row import Read, draft_of, read_figures
from collmark.analysis.importers.line import Line
from collmark.analysis.importers.section import Importer, Log, Section
from collmark.analysis.importers.settle import settle

_TITLE = re.compile(r" +([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)")
_ALGORITHM = re.compile(r"Algorithm: +([a-z][a-z0-9_]*)")
_DEVICE = re.compile(r"Devices?: +")
_OPTIONS = re.compile(
    r"Options: +processes=(\d{1,6}), inputs=(\d{1,6}), threads=(\d{1,6})(?:, base=\d+)?(?:, gpudirect=(?:yes|no))?"
    r"(?:, verify=(?:true|false))?",
    re.ASCII,
)
_HEADER = re.compile(
    r"( *size \(B\))?( +elements) +min \((us|ns)\) +p50 \(\3\) +p99 \(\3\)( +p995 \(\3\))? +max \(\3\)( +avg \(\3\))?"
    r" +(?:avg|bandwidth) \(GB/s\) +(?:samples|iterations)"
)
_FIGURES = re.compile(r" *\d+(?: +-?(?:\d[\d.]*|nan|inf)){4,}", re.ASCII)
_OPENS = re.compile(
    r"Algorithm: +[a-z]|Options: +processes=\d| *(?:size \(B\) +)?elements +min \([un]s\)"
    r"|Device: +(?:tcp|ibverbs|tls|uv)\b"
    r"| +(?:CUDA_|NEW_)?(?:ALL(?:REDUCE|GATHER|TOALL)|BROADCAST|REDUCE|SCATTER|PAIRWISE|BARRIER|I?SENDI?RECV)[A-Z_]*$"
)


class GlooSection(Section):
    """One algorithm."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._algorithm: Algorithm | None = None
        self._processes: int | None = None
        self._settings = ""
        self._inputs = 1
        self._threads = 1
        self._columns: list[str] = []
        self._unit = ""
        self._edges = (0, 0)
        self._figures: list[Read] = []
        self._begun = False
        self._lost = ""

    def take(self, line: Line) -> bool:
        """Read a line of the run; return False for what is not the tool's, or begins another run."""
        text = line.text
        if self._columns and _FIGURES.fullmatch(text):
            return self._row(line)
        if (match := _HEADER.fullmatch(text)) is not None:
            return self._header(len(text), match)
        return text.startswith("=====") or (not self._begun and self._preamble(text))

    def _preamble(self, text: str) -> bool:
        if (match := _ALGORITHM.fullmatch(text)) is not None:
            return self._named(match[1], whole=not is_ambiguous(match[1], capitals=False))
        if (match := _OPTIONS.fullmatch(text)) is not None:
            return self._options(match)
        if (match := _TITLE.fullmatch(text)) is not None:
            name = match[1].lower()
            return self._named(name, whole=centred(text) or not is_ambiguous(name, capitals=True))
        return _DEVICE.match(text) is not None or text.strip() == "BENCHMARK RESULTS"

    def _named(self, name: str, *, whole: bool) -> bool:
        if self._algorithm is not None or self._columns:
            return False
        self._algorithm = algorithm_of(name) if whole else None
        return self._algorithm is not None or not whole

    def _options(self, match: re.Match[str]) -> bool:
        if self._processes is not None or self._columns:
            return False
        self._processes, self._inputs, self._threads = int(match[1]), int(match[2]), int(match[3])
        self._settings = f"inputs={match[2]}, threads={match[3]}"
        return True

    def _header(self, right: int, match: re.Match[str]) -> bool:
        if self._columns:
            return False
        size, elements, unit, p995, mean = match.groups()
        self._edges = len(size or elements), right
        self._columns = [
            *(["size"] if size else []),
            *("elements", "min", "p50", "p99"),
            *(["p995"] if p995 else []),
            "max",
            *(["avg"] if mean else []),
            *("bandwidth", "samples"),
        ]
        self._unit = unit
        return True

    def _row(self, line: Line) -> bool:
        self._begun = True
        if self._algorithm is None or self._processes is None:
            self.log.skip(line, "no line above says which algorithm this is, among how many processes")
            return True
        found = self._lost or read_figures(line, self._columns, self._edges, 1e-6 if self._unit == "us" else 1e-9)
        if not isinstance(found, str) and self._figures and found.elements <= self._figures[-1].elements:
            found = self._lost = "the sizes begin again without a header"
        if isinstance(found, str):
            self.log.skip(line, found)
        else:
            self._figures.append(found)
        return True

    def finish(self) -> None:
        """Give the rows to the log, once it is known how large an element is."""
        if self._algorithm is None or not self._figures:
            return
        itemsize = itemsize_of(self._algorithm, self._figures, self._threads) if self._algorithm.sized else None
        if itemsize is None and self._algorithm.sized and self._algorithm.itemsize_moved is None:
            self.log.doubt(self._figures[0].line, "neither a size nor a bandwidth tells how large an element is")
        place = (self.log.name, self.group, f"{self._algorithm.name}, {self._settings}")
        drafts = [draft_of(self._algorithm, one, itemsize, self._inputs, place) for one in self._figures]
        settle(self.log, drafts, ranks=self._processes)


IMPORTER = Importer(name="gloo", says="gloo's benchmark", opens=_OPENS, section=GlooSection)
