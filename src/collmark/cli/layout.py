"""Columns as lines: two headers, cells aligned, and what does not fit on a second line; never an ellipsis."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from enum import StrEnum

import msgspec

from collmark.cli import figures
from collmark.cli.console import printable

Paint = Callable[[str, str], str]
"""(text, style) to the text in that style."""

CONTINUED = "    "


class Align(StrEnum):
    """Where the cells of a column stand."""

    LEFT = "left"
    RIGHT = "right"
    POINT = "point"


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column as text.

    Attributes
    ----------
    name, unit : str
        The two header lines.
    cells : list of str
        One a row.
    align : Align
        Left, right, or with the points above each other.
    styles : list of str
        Style of each cell; empty for none.
    leads : bool
        A second line, where one is needed, starts here rather than later.
    """

    name: str
    unit: str = ""
    cells: list[str]
    align: Align = Align.LEFT
    styles: list[str] = []
    leads: bool = False

    def shown(self) -> list[str]:
        """Return the cells, points aligned where that is wanted."""
        cells = [printable(cell) for cell in self.cells]
        return figures.aligned(cells) if self.align is Align.POINT else cells


class _Frame(msgspec.Struct, frozen=True, kw_only=True):
    """Where columns stand: their widths, the spaces between, and the columns that each line of a row holds."""

    columns: Sequence[Column]
    widths: Sequence[int]
    gap: int
    parts: Sequence[range]
    width: int

    def lines(self, cells: Sequence[str], styles: Sequence[str], paint: Paint) -> list[str]:
        """Return one row as one line, or more where it does not fit."""
        found: list[str] = []
        for part in self.parts:
            start = CONTINUED if part.start else ""
            if len(start) + self.widths[part.start] > self.width:  # such a column is alone on its line
                style = styles[part.start]
                folded = _fold(cells[part.start], start, self.width)
                found += [paint(line, style) if style else line for line in folded]
                continue
            words = [self._cell(index, cells[index], styles[index], paint, is_last=index == part[-1]) for index in part]
            found.append(start + (" " * self.gap).join(words).rstrip())
        return found

    def _cell(self, index: int, cell: str, style: str, paint: Paint, *, is_last: bool) -> str:
        wide = self.widths[index]
        text = f"{cell:<{wide}}" if self.columns[index].align is Align.LEFT else f"{cell:>{wide}}"
        if is_last:
            text = text.rstrip()
        return paint(text, style) if style else text


def lay_out(columns: Sequence[Column], width: int, paint: Paint) -> list[str]:
    """Return the lines of a table: two headers (one where there are no units), then the rows."""
    shown = [column.shown() for column in columns]
    widths = [max(map(len, (c.name, c.unit, *cells))) for c, cells in zip(columns, shown, strict=True)]
    gap = next((gap for gap in (2, 1) if sum(widths) + gap * (len(widths) - 1) <= width), 2)
    frame = _Frame(columns=columns, widths=widths, gap=gap, parts=_parts(columns, widths, gap, width), width=width)
    bare = [""] * len(columns)
    heads = frame.lines([column.name for column in columns], bare, paint)
    if any(column.unit for column in columns):
        heads += frame.lines([column.unit for column in columns], bare, paint)
    lines = [paint(line, "bold") for line in heads if line.strip()]
    for row in range(len(columns[0].cells) if columns else 0):
        styles = [column.styles[row] if column.styles else "" for column in columns]
        lines += frame.lines([cells[row] for cells in shown], styles, paint)
    return lines


def _fold(cell: str, start: str, width: int) -> list[str]:
    """Return the lines of a cell that is wider than a line; a long name is broken, best behind a dash."""
    return textwrap.wrap(cell.strip(), width, initial_indent=start, subsequent_indent=CONTINUED) or [start]


def _parts(columns: Sequence[Column], widths: Sequence[int], gap: int, width: int) -> list[range]:
    """Return the columns on each line: as many as fit, or up to one that had better start a line."""
    parts: list[range] = []
    start = 0
    while start < len(widths):
        used, stop = len(CONTINUED) if start else 0, start
        while stop < len(widths) and (stop == start or used + widths[stop] <= width):
            used += widths[stop] + gap
            stop += 1
        if stop < len(widths):
            stop = max((index for index in range(start + 1, stop) if columns[index].leads), default=stop)
        parts.append(range(start, stop))
        start = stop
    return parts
