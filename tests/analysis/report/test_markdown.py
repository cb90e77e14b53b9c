"""The summary for a ticket: the same sentences, tables that are tables, and any text as text."""

from __future__ import annotations

import re

import pytest
from tests.analysis.figures.tables import HOSTILE

from collmark.analysis.report.content import Cell, Code, Heading, Items, Mark, Section, Table, Text
from collmark.analysis.report.html import Page
from collmark.analysis.report.markdown import MOST_ROWS, escaped, to_markdown
from collmark.analysis.report.write import Format
from collmark.analysis.results import Results
from collmark.core.errors import one_line
from collmark.workflow.report import make_report

TICKET = 65_536  # letters that a ticket takes
RUNS = ("ordinary", "hostile", "empty", "simulated", "reference")


@pytest.fixture(params=RUNS)
def markdown(request: pytest.FixtureRequest) -> str:
    return make_report([request.getfixturevalue(request.param)], Format.MARKDOWN).text


def cells(line: str) -> list[str]:
    return re.split(r"(?<!\\)\|", line)[1:-1]


def test_tables_are_rectangles(markdown: str) -> None:
    width = 0
    for line in markdown.splitlines():
        if not line.startswith("|"):
            width = 0
            continue
        width = width or len(cells(line))
        assert len(cells(line)) == width, line
    assert len(markdown) < TICKET


def test_no_markup_comes_from_text(markdown: str) -> None:
    outside = re.sub(r"\\.", "", markdown)
    assert "<" not in outside
    assert "`" not in outside.replace("```", "")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e]", markdown)


def test_the_sentences_are_those_of_the_page(ordinary: Results) -> None:
    report = make_report([ordinary], Format.MARKDOWN)
    for words in (report.sentences.found, report.sentences.sure, report.sentences.next):
        assert escaped(words) in report.text
    assert report.text.startswith("# collmark report")
    for section in ("Fits", "Claims", "Warnings"):
        assert f"## {section}" in report.text
    assert "## Cases" not in report.text


def test_claims_that_fail_are_named_where_their_table_is_left_to_the_page(ordinary: Results) -> None:
    text = make_report([ordinary], Format.MARKDOWN).text
    assert re.search(r"in the HTML report\. Marked bad there: .*gap-18x", text)


def test_simulated_stands_on_top(simulated: Results) -> None:
    lines = make_report([simulated], Format.MARKDOWN).text.splitlines()
    assert lines[2].startswith("**SIMULATED")


@pytest.mark.parametrize(
    "text",
    ["a|b", "`x`", "<b>", "two\nlines", "*x*", "_x_", "# no heading", "[a](b)", "@all", "http://a", "www.a", HOSTILE],
)
def test_text_is_escaped(text: str) -> None:
    found = escaped(text)
    assert "\n" not in found
    assert re.sub(r"\\(.)", r"\1", found) == " ".join(one_line(text).split())
    assert not re.search(r"[|`<>*_#\[\]@]|://|www\.", re.sub(r"\\.", "", found))


def test_blocks_become_markdown() -> None:
    table = Table(
        anchor="t", caption="A caption.",
        headings=(Heading(name="name", is_number=False), Heading(name="T", unit="us"), Heading(name="", is_drawn=True)),
        rows=tuple((Cell(text=f"row {n}"), Cell(text="1", mark=Mark.BAD), Cell()) for n in range(MOST_ROWS + 2)),
    )  # fmt: skip
    blocks = (Text(lead="Lead", words="a*b"), Items(items=(Text(words="one"),)), Code(line="run ``` it"), table)
    text = to_markdown([Section(anchor="s", title="S", blocks=blocks)], Page(title="T"))
    assert "**Lead:** a\\*b" in text
    assert "- one" in text
    assert "````\nrun ``` it\n````" in text
    assert "| name | T (us) |\n| --- | ---: |\n| row 0 | **1** |" in text
    assert "2 more rows in the HTML report." in text
