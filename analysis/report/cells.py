"""Cells of tables: one unit a column, intervals in a column of their own, a dash for what is not there."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from collmark.analysis.figures.words import ABSENT, about_nbytes, nbytes_interval
from collmark.analysis.models.quantity import Quantity
from collmark.analysis.report.content import Cell, Heading, Mark, Span
from collmark.core.record import Status
from collmark.core.units import format_nbytes

MARKS = {
    Status.CONVERGED: Mark.GOOD,
    Status.BUDGET: Mark.UNDECIDED,
    Status.UNSTABLE: Mark.UNDECIDED,
    Status.WRONG: Mark.BAD,
    Status.FAILED: Mark.BAD,
}


def texts(*words: str) -> tuple[Cell, ...]:
    """Return cells of plain text."""
    return tuple(Cell(text=word) for word in words)


def name_heading(name: str) -> Heading:
    """Return a column of words."""
    return Heading(name=name, is_number=False)


def size_heading(name: str = "nbytes") -> Heading:
    """Return a column of sizes: its cells say their units, the numbers behind them are bytes."""
    return Heading(name=name, si="B")


def size_cell(nbytes: int, text: str = "") -> Cell:
    """Return a size, exact behind its words; a dash where there is none."""
    return Cell(text=text or format_nbytes(nbytes), values=(nbytes,)) if nbytes else Cell(text=ABSENT)


def with_interval(name: str, unit: str, si: str = "") -> tuple[Heading, Heading]:
    """Return the two columns of a number: its value, and its interval."""
    return Heading(name=name, unit=unit, si=si), Heading(name="95 %", unit=unit, si=si, is_muted=True)


def nbytes_cells(quantity: Quantity | None) -> tuple[Cell, Cell]:
    """Return a fitted size and its interval."""
    value, interval = quantity_cells(about_nbytes, quantity)
    if quantity is not None and quantity.estimate is not None:
        ends = (quantity.estimate.lower, quantity.estimate.upper)
        interval = Cell(text=nbytes_interval(*ends), mark=Mark.MUTED, values=ends)
    return value, interval


def value_cells(write: Callable[[float], str], value: float, lower: float, upper: float) -> tuple[Cell, Cell]:
    """Return a value and its interval; NaN for what is not there."""
    if not math.isfinite(value):
        return Cell(text=ABSENT), Cell(text=ABSENT, mark=Mark.MUTED)
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return Cell(text=write(value), values=(value,)), Cell(text=ABSENT, mark=Mark.MUTED)
    interval = Cell(text=f"[{write(lower)}, {write(upper)}]", mark=Mark.MUTED, values=(lower, upper))
    return Cell(text=write(value), values=(value,)), interval


def quantity_cells(write: Callable[[float], str], quantity: Quantity | None) -> tuple[Cell, Cell]:
    """Return a fitted quantity and its interval; an upper limit where the times do not tell it."""
    if quantity is None:
        return value_cells(write, math.nan, math.nan, math.nan)
    if quantity.value is None:
        limit = ABSENT if quantity.below is None else f"< {write(quantity.below)}"
        return Cell(text=limit), Cell(text=ABSENT, mark=Mark.MUTED)
    ends = quantity.estimate
    lower, upper = (ends.lower, ends.upper) if ends else (math.nan, math.nan)
    return value_cells(write, quantity.value, lower, upper)


def span_cell(value: float, lower: float, upper: float) -> Cell:
    """Return a drawn interval; an empty cell where there is no value."""
    if not (math.isfinite(value) and value > 0):
        return Cell()
    if math.isfinite(lower) and math.isfinite(upper):
        return Cell(span=Span(value=value, lower=lower, upper=upper))
    return Cell(span=Span(value=value))


def quantity_span(quantity: Quantity | None) -> Cell:
    """Return a drawn quantity."""
    if quantity is None or quantity.value is None:
        return Cell()
    ends = quantity.estimate
    return span_cell(quantity.value, ends.lower if ends else math.nan, ends.upper if ends else math.nan)


def status_cell(status: str, share: float) -> Cell:
    """Return the worst status of a case, and how many of its records have it where not all do."""
    some = "" if share >= 1 else f" in {share:.0%}".replace("%", " %")
    return Cell(text=status + some, mark=MARKS.get(Status(status), Mark.NONE))


def rows_of(*columns: Iterable[tuple[Cell, ...] | Cell]) -> tuple[tuple[Cell, ...], ...]:
    """Return rows from columns of cells, or of pairs of cells."""
    return tuple(
        tuple(cell for part in row for cell in (part if isinstance(part, tuple) else (part,)))
        for row in zip(*columns, strict=True)
    )
