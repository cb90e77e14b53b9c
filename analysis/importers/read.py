"""From the bytes of a log to rows: what stands in a line tells which tool it is of, and never the name of the file."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Sequence

import msgspec

from collmark.analysis.importers.document import Document, read_document
from collmark.analysis.importers.index import IMPORTERS
from collmark.analysis.importers.line import Line, read_lines
from collmark.analysis.importers.row import Facts, Row, Skipped, Warned
from collmark.analysis.importers.section import Importer, Log, Section
from collmark.analysis.importers.settle import doubt_options, doubt_results

MOST_DOCUMENTS_TRIED = 200
"""Beginnings of JSON in one log that turn out to be none, after which none is looked for: each may cost its rest."""
COMMAND = re.compile(
    r"\b(\w+_perf(?:_mpi)?|osu_\w+|IMB-\w+|ib_(?:write|read|send|atomic)_(?:bw|lat)|ucc_perftest|nvbandwidth"
    r"|all_reduce_bench|all_reduce_latency_comp|torch-dist-bench|comms\.py)\b"
)
"""The tools whose command line tells which operation a log is about."""


_BY_GROUP = {f"tool_{index}": importer for index, importer in enumerate(IMPORTERS.values()) if importer.opens}
_OPENS = re.compile("|".join(f"(?P<{group}>{one.opens.pattern})" for group, one in _BY_GROUP.items() if one.opens))


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in logs."""

    rows: Sequence[Row]
    skipped: Sequence[Skipped]
    warned: Sequence[Warned]


def read_log(data: bytes, name: str, facts: Facts) -> Read:
    """Return what a log says.

    Parameters
    ----------
    data : bytes
        The file.
    name : str
        What to call it.
    facts : Facts
        What the user says about it.

    Raises
    ------
    UsageError
        If it is a broken gzip file.
    """
    log = Log(name, facts)
    lines = read_lines(data, name)
    _Reader(log, lines).read()
    doubt_options(log)
    doubt_results(log)
    return Read(rows=tuple(log.rows), skipped=tuple(log.skipped), warned=tuple(log.warned))


class _Reader:
    def __init__(self, log: Log, lines: list[Line]) -> None:
        self._log = log
        self._lines = lines
        self._section: Section | None = None
        self._tried = 0

    def read(self) -> None:
        """Give every line to the run that is open, or to the tool whose run it begins."""
        after = 0  # lines up to this number were part of a document
        for line in self._lines:
            if line.number <= after or not line.text:
                continue
            if self._section is not None and self._section.take(line):
                continue
            if line.text[0] in "{[" and (end := self._document(line)):
                after = end
                continue
            importer = _opened(line.text)
            if importer is not None:
                self._close()
                assert importer.section is not None, "what has a pattern has a section"
                self._section = importer.section(self._log)
                self._section.take(line)
            elif COMMAND.search(line.text) and not line.text.lstrip().startswith("#"):  # a comment starts nothing
                self._log.commands.append(line.text)
        self._close()

    def _close(self) -> None:
        if self._section is not None:
            self._section.finish()
        self._section = None

    def _document(self, line: Line) -> int:
        """Read the JSON that begins on a line, where it is a tool's; return its last line, 0 where it is none."""
        if self._tried >= MOST_DOCUMENTS_TRIED:
            return 0
        found = read_document(line.text, 0)
        if found is not None:
            document = Document(found[0], line.text, line.number)
        else:
            text, starts = self._whole
            found = read_document(text, starts[line.number - 1])
            if found is None:
                self._tried += 1
                return 0
            document = Document(found[0], text, 1, starts)
        for importer in IMPORTERS.values():
            if importer.reads is not None and importer.reads(self._log, document):
                return document.line_at(found[1] - 1)
        return 0

    @functools.cached_property
    def _whole(self) -> tuple[str, list[int]]:
        """The text of all lines, and where each begins."""
        return "\n".join(line.text for line in self._lines), [
            0, *itertools.accumulate(len(line.text) + 1 for line in self._lines)
        ][:-1]  # fmt: skip


def _opened(text: str) -> Importer | None:
    match = _OPENS.match(text)
    return None if match is None or match.lastgroup is None else _BY_GROUP[match.lastgroup]
