"""nvbandwidth's --json: one document with the matrices of all test cases.

Keys and formats from json_output.cpp: cells are strings of six significant digits, and the matrices of a bidirectional
test case stand below each other in one, read1, read2 and total. The sum of the last, or only one tells whether it is
whole.
"""

from __future__ import annotations

import math
import re

from collmark.analysis.importers.document import Document, Located, Number
from collmark.analysis.importers.nvbandwidth_case import case_of
from collmark.analysis.importers.nvbandwidth_rows import Cell, Source, give_rows
from collmark.analysis.importers.row import Skipped
from collmark.analysis.importers.section import Log

_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")
_CELL = re.compile(r"(?:\d{1,12}(?:\.\d{1,12})?|\d(?:\.\d{1,12})?e\+\d\d)|N/A", re.ASCII)
_SIGNIFICANT = 6
_PASSED = "Passed"


def read_report(log: Log, document: Document) -> bool:
    """Read a report; return whether the document is one."""
    value = document.value
    told = value.get("nvbandwidth") if isinstance(value, Located) else None
    if not isinstance(told, Located) or not isinstance(told.get("testcases"), list):
        return False
    log.groups += 1
    version = told.get("version")
    source = Source(group=log.groups, version=version if isinstance(version, str) else "", nbytes=None)
    for one in told["testcases"]:
        if not isinstance(one, Located) or one.get("status") != _PASSED:
            continue
        reason = _read(log, document, one, source)
        if reason:
            line, _ = document.lines_of(one)
            log.skipped.append(Skipped(file=log.name, line=line, text=str(one.get("name", ""))[:160], reason=reason))
    return True


def _read(log: Log, document: Document, found: Located, source: Source) -> str:
    name, matrix, total = found.get("name"), _matrix(found.get("bandwidth_matrix")), found.get("sum")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return "it has no name"
    if matrix is None or not isinstance(total, Number):
        return "its matrix is not whole"
    parts = _parts(name, matrix, found.get("bandwidth_description"))
    if not parts:
        return "its description and its matrix contradict each other"
    case = case_of(name, parts[-1])
    if case is None or not _adds_up(matrix[-len(matrix) // len(parts) :], float(total)):
        return "its figures do not add up to its sum"
    line, lines = document.lines_of(found)
    height = len(matrix) // len(parts)
    for index, part in enumerate(parts):
        case = case_of(name, part)
        assert case is not None, "of the same name"
        cells = [
            Cell(row=str(row), column=str(column), text=text, line=line, lines=lines)
            for row, texts in enumerate(matrix[index * height : (index + 1) * height])
            for column, text in enumerate(texts)
            if text != "N/A"
        ]
        give_rows(log, case, cells, source)
    return ""


def _matrix(value: object) -> list[list[str]] | None:
    """Return a matrix of figures; None where one is missing or none."""
    if not isinstance(value, list) or not value:
        return None
    width = len(value[0]) if isinstance(value[0], list) else 0
    for texts in value:
        if not isinstance(texts, list) or len(texts) != width or not width:
            return None
        if not all(isinstance(text, str) and _CELL.fullmatch(text) for text in texts):
            return None
    return value


def _parts(name: str, matrix: list[list[str]], description: object) -> tuple[str, ...]:
    """Return which matrices stand below each other; none where the description, that of the last, says another."""
    side = "write" if "_write_" in name else "read"
    several = case_of(name, "total") is not None and len(matrix) == 3 * len(matrix[0])
    if not isinstance(description, str) or several != (" Total " in description):
        return ()
    if "device_to_device_bidirectional" in name and name.endswith("_ce") and "<->" not in description:
        return ()
    return (f"{side}1", f"{side}2", "total") if several else ("",)


def _adds_up(matrix: list[list[str]], total: float) -> bool:
    values = [float(text) for texts in matrix for text in texts if text != "N/A"]
    slack = sum(0.5 * 10.0 ** (math.floor(math.log10(value)) + 1 - _SIGNIFICANT) for value in values if value > 0)
    return abs(sum(values) - total) <= slack + 1e-9 * abs(total)
