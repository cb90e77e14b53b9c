"""From material to a report: the page, its banner, and the format asked for."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from collmark import __version__
from collmark.analysis.report.content import Section
from collmark.analysis.report.html import Page, to_html
from collmark.analysis.report.markdown import to_markdown
from collmark.analysis.report.material import Material
from collmark.core.marker import banner


class Format(StrEnum):
    """What a report can be written as."""

    HTML = "html"
    MARKDOWN = "md"


def write(material: Material, sections: Sequence[Section], kind: Format) -> str:
    """Return some sections as a file; equal results give equal bytes."""
    page = page_of(material)
    return to_markdown(sections, page) if kind is Format.MARKDOWN else to_html(sections, page)


def page_of(material: Material) -> Page:
    """Return what stands around the sections."""
    names = ", ".join(material.names[one.name] for one in material.results)
    records = [record for one in material.results for record in one.records]
    said = banner(record.marker for record in records)
    return Page(title=f"collmark report: {names}", banner=said, made_by=f"collmark {__version__}")
