"""Sections as Markdown for a ticket or a pull request: text and tables, no pictures."""

from __future__ import annotations

import re
from collections.abc import Sequence

from collmark.analysis.report.content import Block, Cell, Code, Details, Items, Mark, Section, Table, Text
from collmark.analysis.report.html import Page
from collmark.core.errors import one_line

MOST_ROWS = 40
"""Of a table; a ticket is no archive."""
_SPECIAL = re.compile(r"[\\`*{}\[\]<>#!|~@$&]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:(?=//)|(?<=www)\.")
"""What a ticket takes for markup, a mention or a link."""
_INTERVAL = re.compile(r"\\\[([-\d., ]+)\\\](?![(:\[])")
"""An interval is no link, and reads better as it is."""


def to_markdown(sections: Sequence[Section], page: Page) -> str:
    """Return Markdown; equal sections give equal bytes."""
    lines = [f"# {escaped(page.title)}", ""]
    if page.banner:
        lines += [f"**{escaped(page.banner)}**", ""]
    for number, section in enumerate(sections):
        if number:
            lines += [f"## {escaped(section.title)}", ""]
        for block in section.blocks:
            lines += _block(block)
    lines += [f"{escaped(page.made_by)}", ""]
    return "\n".join(lines)


def escaped(text: str) -> str:
    r"""Return text that Markdown shows as it is.

    Examples
    --------
    >>> escaped("a|b <img> `x` *y*"), escaped("two\nlines")
    ('a\\|b \\<img\\> \\`x\\` \\*y\\*', 'two lines')
    """
    return _INTERVAL.sub(r"[\1]", _SPECIAL.sub(r"\\\g<0>", " ".join(one_line(text).split())))


def _block(block: Block) -> list[str]:
    match block:
        case Text():
            return [_words(block), ""]
        case Items():
            return [*(f"- {_words(item)}" for item in block.items), ""]
        case Code():
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", block.line)), default=0))
            return [fence, one_line(block.line), fence, ""]
        case Table():
            return _table(block)
        case Details():
            return []  # the table beside it says the verdict; the rest is in the HTML report
        case _:
            return []


def _words(text: Text) -> str:
    lead = f"**{escaped(text.lead)}:** " if text.lead else ""
    return lead + escaped(text.words)


def _table(table: Table) -> list[str]:
    if table.is_for_page:
        bad = [escaped(row[0].text) for row in table.rows if any(cell.mark is Mark.BAD for cell in row)]
        said = f" Marked bad there: {', '.join(bad[:MOST_ROWS])}." if bad else ""
        return [f"{escaped(table.caption)} {len(table.rows)} rows, in the HTML report.{said}", ""]
    kept = [column for column, heading in enumerate(table.headings) if not heading.is_drawn]
    headings = [table.headings[column] for column in kept]
    names = [
        f"{escaped(h.name)} ({escaped(h.unit)})" if h.unit and not h.is_muted else escaped(h.name) for h in headings
    ]
    lines = [escaped(table.caption), ""]
    lines.append(_row(names))
    lines.append(_row(["---:" if heading.is_number else "---" for heading in headings]))
    lines += [_row([_cell(row[column]) for column in kept]) for row in table.rows[:MOST_ROWS]]
    if len(table.rows) > MOST_ROWS:
        lines += ["", f"{len(table.rows) - MOST_ROWS} more rows in the HTML report."]
    return [*lines, ""]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell) -> str:
    text = escaped(cell.text)
    return f"**{text}**" if cell.mark is Mark.BAD and text else text
