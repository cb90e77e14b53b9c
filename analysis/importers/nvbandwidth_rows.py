"""A matrix of nvbandwidth as rows: one for each cell that holds a figure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from collmark.analysis.importers.figure import figure
from collmark.analysis.importers.nvbandwidth_case import Case
from collmark.analysis.importers.row import Row
from collmark.analysis.importers.section import Draft, Log
from collmark.analysis.importers.settle import settle
from collmark.core.case import Device

STATISTIC = "median or mean of loops, one process"
"""The median of --testSamples loops, or with --useMean their mean: no line says which."""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """A figure and its place in the matrix and in the log."""

    row: str
    column: str
    text: str
    line: int
    lines: int = 1


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for all matrices of a run: its number, the tool's version, and the size that an option asked for."""

    group: int
    version: str
    nbytes: int | None


def give_rows(log: Log, case: Case, cells: list[Cell], source: Source) -> None:
    """Give the log the rows of one matrix."""
    if case.total:
        return  # the two matrices above it hold the same
    drafts = [_draft(log, case, cell, source) for cell in cells]
    settle(log, [draft for draft in drafts if draft is not None], ranks=2 if case.square else None)


def _draft(log: Log, case: Case, cell: Cell, source: Source) -> Draft | None:
    column = "latency" if case.latency else "bandwidth"
    found = figure(cell.text, 1e-9 if case.latency else 1e9 / (2 if case.counts_both else 1))
    if found is None or found.value <= 0:
        return None  # 0.00 stands on the diagonal of the first versions
    where: Mapping[str, str] = {"row": cell.row, "column": cell.column}
    row = Row(
        tool="nvbandwidth",
        version=source.version,
        operation=case.operation,
        nbytes_printed=None,
        seconds=None,
        statistic=STATISTIC,
        file=log.name,
        line=cell.line,
        lines=cell.lines,
        printed={column: cell.text},
        backend="cuda",
        dtype="uint8",  # what is copied is bytes
        group=source.group,
        device=Device.CUDA,
        directions=case.directions,
        settings=", ".join(
            filter(None, (case.settings, *(f"{name} {label}" for name, label in where.items() if label)))
        ),
    )
    return Draft(
        row=row,
        seconds=found if case.latency else None,
        algorithm=None if case.latency else found,
        nbytes=source.nbytes if case.sized else None,
    )
