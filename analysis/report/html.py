"""Sections as one HTML file that needs nothing else: no request, both themes, paper; whole without its script too."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import jinja2
import markupsafe
import msgspec

from collmark.analysis.figures.palette import variables
from collmark.analysis.report.content import Block, Section, Span, Table
from collmark.analysis.report.sections.first import ANCHOR as FIRST
from collmark.core.errors import one_line

LOG_ROOM = 0.08
"""Share of a column's axis that stays free at its ends."""
SPAN_WIDTH = 90.0
SCRIPTS = ("report.js", "figures.js")
"""Joined in this order."""
SI_UNITS = {"µs": "s", "GB/s": "B/s", "%": "1"}
"""What the numbers behind a cell are in, by the unit in which they are shown; of all others it is the same."""


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """What stands around the sections.

    Attributes
    ----------
    title : str
        Of the page.
    banner : str
        Said above everything; empty for none.
    made_by : str
        Program and version.
    """

    title: str
    banner: str = ""
    made_by: str = ""


def to_html(sections: Sequence[Section], page: Page) -> str:
    """Return a page; equal sections give equal bytes."""
    template = _environment().get_template("report.html.j2")
    style, script = _style(), _script()
    sources = f"style-src 'sha256-{_digest(style)}'; script-src 'sha256-{_digest(script)}'; img-src data:"
    return template.render(
        page=page,
        first=[section for section in sections if section.anchor == FIRST],
        rest=[section for section in sections if section.anchor != FIRST],
        style=markupsafe.Markup(style),  # noqa: S704 - our own file
        script=markupsafe.Markup(script),  # noqa: S704 - our own file
        policy=f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'",
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _style() -> str:
    css = files("collmark.analysis.report").joinpath("templates/report.css").read_text(encoding="utf-8")
    light, dark = variables("light"), variables("dark")
    by_system = (
        f"@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}"
    )
    chosen = f"@media screen{{:root[data-theme=dark]{{color-scheme:dark;{dark}}}}}"
    return f"\n:root{{color-scheme:light;{light}}}{by_system}{chosen}\n{css}"


@cache
def _script() -> str:
    templates = files("collmark.analysis.report").joinpath("templates")
    parts = [templates.joinpath(name).read_text(encoding="utf-8") for name in SCRIPTS]
    return "\n".join(['"use strict";{', *parts, "}"])  # a block: what they declare is theirs alone


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("collmark.analysis.report", "templates"),
        autoescape=True,
        finalize=_shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["drawn"] = _drawn
    environment.filters["axes"] = _axes
    environment.filters["numbers"] = _numbers
    environment.filters["json"] = _json
    environment.globals["places"] = span_places
    environment.globals["si"] = SI_UNITS
    environment.tests["block"] = _is_block
    return environment


def _shown(value: object) -> object:
    """Return what is written, before it is escaped: of text from a file, what is hidden shows as an escape."""
    return one_line(value) if isinstance(value, str) and not isinstance(value, markupsafe.Markup) else value


def _is_block(block: Block, kind: str) -> bool:
    return type(block).__name__ == kind


def _drawn(svg: str) -> markupsafe.Markup:
    """Let a picture through as it is: its text was escaped when it was written as XML."""
    return markupsafe.Markup(svg)  # noqa: S704


def _numbers(values: Sequence[float]) -> str:
    """Return numbers in full digits, for a script to read."""
    return " ".join(f"{value!r}" for value in values)


def _json(values: Sequence[msgspec.Struct]) -> markupsafe.Markup:
    """Return values for an attribute in single quotes: half as long as one whose double quotes are escaped."""
    text = msgspec.json.encode([msgspec.structs.astuple(value) for value in values]).decode()
    escaped = text.replace("&", "&amp;").replace("'", "&#39;").replace("<", "&lt;")
    return markupsafe.Markup(escaped)  # noqa: S704


Axis = tuple[float, float]


def _axes(table: Table) -> list[Axis | None]:
    """Return the ends of the axis of each column: logarithms that hold all of its spans."""
    return [_axis([row[column].span for row in table.rows]) for column in range(len(table.headings))]


def _axis(spans: Sequence[Span | None]) -> Axis | None:
    held = [span for span in spans if span is not None]
    ends = [end for span in held for end in (span.value, span.lower, span.upper) if end is not None and end > 0]
    if not ends:
        return None
    low, high = math.log(min(ends)), math.log(max(ends))
    room = max(LOG_ROOM * (high - low), 0.02)
    return low - room, high + room


def span_places(span: Span, axis: Axis) -> dict[str, float]:
    """Return where the parts of a span lie in its cell, in units of its picture."""

    def place(value: float) -> float:
        if value <= 0:
            return 0.0
        share = (math.log(value) - axis[0]) / (axis[1] - axis[0]) if math.isfinite(value) else 1.0
        return round(min(max(share, 0.0), 1.0) * SPAN_WIDTH, 1)

    places = {"value": place(span.value)}
    if span.lower is not None and span.upper is not None:
        places |= {"lower": place(span.lower), "upper": place(span.upper)}
    if span.band is not None:
        places |= {"from": place(span.band[0]), "to": place(span.band[1])}
    return places
