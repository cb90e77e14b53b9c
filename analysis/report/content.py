"""What a section of a report holds. Text stays text here: each writer escapes all of it, in one place.

A section is a function from :class:`collmark.analysis.report.material.Material` to one of these; the writers
(:mod:`collmark.analysis.report.html`, :mod:`collmark.analysis.report.markdown`) know these blocks and no section.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias

import msgspec
from matplotlib.figure import Figure

from collmark.analysis.figures.marks import Readout


class Mark(StrEnum):
    """What a cell or a line means, for its colour; its word says the same."""

    NONE = ""
    GOOD = "good"
    BAD = "bad"
    UNDECIDED = "undecided"
    MUTED = "muted"


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """An interval drawn in a cell, on the one axis of its column.

    Attributes
    ----------
    value, lower, upper : float
        Positive; lower and upper are None for a single launch.
    band : (float, float) or None
        A range shaded behind it; an end may be infinite.
    """

    value: float
    lower: float | None = None
    upper: float | None = None
    band: tuple[float, float] | None = None


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One cell of a table.

    Attributes
    ----------
    text : str
        What stands in it; one line.
    mark : Mark
        What it means.
    anchor : str
        Name of the section, claim or table that it leads to; empty for none.
    span : Span or None
        Drawn in place of the text in HTML.
    values : tuple of float
        The number, or the two ends of the interval, in SI units and all digits; empty where the text is no number.
    """

    text: str = ""
    mark: Mark = Mark.NONE
    anchor: str = ""
    span: Span | None = None
    values: tuple[float, ...] = ()


class Heading(msgspec.Struct, frozen=True, kw_only=True):
    """A column of a table.

    Attributes
    ----------
    name, unit : str
        As shown.
    is_number : bool
        Aligned to the right, in digits of equal width.
    is_muted : bool
        An interval beside its value.
    is_drawn : bool
        Holds spans: HTML only.
    """

    name: str
    unit: str = ""
    is_number: bool = True
    is_muted: bool = False
    is_drawn: bool = False

    @property
    def kind(self) -> str:
        """The classes of its cells, as the style sheet calls them."""
        if self.is_drawn:
            return "d"
        return ("n i" if self.is_muted else "n") if self.is_number or self.is_muted else ""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Rows under headings; the first cell of a row is its name.

    Attributes
    ----------
    anchor : str
        Its name on the page.
    caption : str
        What the numbers are, with their count and level.
    headings : tuple of Heading
        Columns.
    rows : tuple of tuple of Cell
        As many cells as headings each.
    drawn : str
        What is drawn in its cells; said where it is.
    is_for_page : bool
        Too long for a ticket, which says only how many rows there are.
    """

    anchor: str
    caption: str
    headings: tuple[Heading, ...]
    rows: tuple[tuple[Cell, ...], ...]
    drawn: str = ""
    is_for_page: bool = False


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """One panel of a picture.

    Attributes
    ----------
    svg : str
        Made by :func:`collmark.analysis.figures.svg.to_svg`.
    points : tuple of Readout
        What can be read out, from left to right.
    """

    svg: str
    points: tuple[Readout, ...] = ()


class Drawing(msgspec.Struct, frozen=True, kw_only=True):
    """A picture.

    Attributes
    ----------
    anchor : str
        Its name on the page.
    title : str
        What it says.
    caption : str
        What its marks are, with count and level.
    panels : tuple of Panel
        Beside or below each other, as there is room.
    table : str
        Anchor of the table that holds the same numbers.
    whole : callable
        Draws all panels on one sheet, for a file of its own.
    is_large : bool
        The one picture of the first screen.
    """

    anchor: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    table: str
    whole: Callable[[], Figure]
    is_large: bool = False


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """A paragraph.

    Attributes
    ----------
    words : str
        Its text.
    lead : str
        A word or two before it, set apart.
    mark : Mark
        What it means.
    """

    words: str
    lead: str = ""
    mark: Mark = Mark.NONE


class Items(msgspec.Struct, frozen=True, kw_only=True):
    """A list of lines.

    Attributes
    ----------
    items : tuple of Text
        In their order.
    """

    items: tuple[Text, ...]


class Code(msgspec.Struct, frozen=True, kw_only=True):
    """A command to paste.

    Attributes
    ----------
    line : str
        The command.
    """

    line: str


class Details(msgspec.Struct, frozen=True, kw_only=True):
    """Something that opens: closed at first, printed open.

    Attributes
    ----------
    anchor, summary : str
        Its name on the page, and the line that is always there.
    tag : str
        A word or two before that line.
    blocks : tuple
        What is inside.
    mark : Mark
        Of the tag.
    """

    anchor: str
    summary: str
    tag: str = ""
    blocks: tuple[Text | Items | Code | Table, ...]
    mark: Mark = Mark.NONE


Block: TypeAlias = Text | Items | Code | Table | Drawing | Details


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a report.

    Attributes
    ----------
    anchor, title : str
        Its name on the page, and its heading.
    question : str
        What it answers, in the reader's words.
    blocks : tuple of Block
        What it holds.
    """

    anchor: str
    title: str
    question: str = ""
    blocks: tuple[Block, ...]


def anchor_of(*words: str) -> str:
    """Return a name for a place on the page, from letters, digits and dashes alone.

    Examples
    --------
    >>> anchor_of("claim", "gap-18x"), anchor_of("x", "a b</script>")
    ('claim-gap-18x', 'x-a-b--script-')
    """
    return "-".join("".join(char if char.isascii() and char.isalnum() else "-" for char in word) for word in words)
