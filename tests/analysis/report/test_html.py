"""The page: needs nothing else, leads nowhere wrong, and takes any text for text."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest
from tests.analysis.figures.tables import HOSTILE
from tests.analysis.report.page import Page

from collmark.analysis.report.write import Format
from collmark.analysis.results import Results
from collmark.core.errors import one_line
from collmark.workflow.report import make_report

LAPTOP_BYTES = 1_500_000
FIGURE_BYTES = 80 * 1024
RUNS = ("ordinary", "hostile", "empty", "simulated", "reference")


MADE: dict[tuple[str, ...], str] = {}


def html_of(*results: Results) -> str:
    """Return the page on some runs, made once."""
    names = tuple(one.name for one in results)
    if names not in MADE:
        MADE[names] = make_report(results, Format.HTML).text
    return MADE[names]


@pytest.fixture(params=RUNS)
def html(request: pytest.FixtureRequest) -> str:
    return html_of(request.getfixturevalue(request.param))


def test_every_tag_is_closed(html: str) -> None:
    assert html.startswith("<!doctype html>\n")
    assert Page(html).unclosed == []


@pytest.mark.manner(23)
def test_it_needs_nothing_else(html: str) -> None:
    page = Page(html)
    assert page.tags.count("script") == 1  # our own
    assert not {"img", "iframe", "object", "embed", "video", "audio", "base"} & set(page.tags)
    assert not page.of("src")
    assert all(value.startswith(("#", "data:,")) for value in page.of("href"))
    assert "url(" not in page.style
    assert "@import" not in page.style


@pytest.mark.manner(23)
def test_the_policy_allows_its_own_style_and_nothing_else(html: str) -> None:
    page = Page(html)
    (policy,) = (value for value in page.of("content") if "default-src" in value)
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    style, script = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (page.style, script))
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    assert not page.of("style")
    assert not [name for _tag, name, _value in page.attributes if name.startswith("on")]


def test_every_link_leads_somewhere_and_every_name_is_one(html: str) -> None:
    page = Page(html)
    names = page.of("id")
    assert len(names) == len(set(names))
    targets = {value[1:] for value in page.of("href") if value.startswith("#")}
    targets |= set(re.findall(r"url\(#([^)]+)\)", html))
    assert targets <= set(names)


@pytest.mark.manner(25)
def test_every_picture_has_a_name_a_title_and_a_table(html: str) -> None:
    figures = re.findall(r"<figure.*?</figure>", html, re.DOTALL)
    tables = set(re.findall(r'<(?:table|section)[^>]* id="([^"]+)"', html))
    for figure in figures:
        svgs = re.findall(r"<svg[^>]*>", figure)
        assert svgs
        for svg in svgs:
            assert 'role="img"' in svg
            assert re.search(r'aria-label="[^"]{10,}"', svg)
        assert re.search(r"<h3>[^<]{10,}</h3>", figure)
        assert re.search(r"<figcaption>[^<]{20,}", figure)
        (link,) = re.findall(r'<a href="#([^"]+)">The same numbers as a table', figure)
        assert link in tables


@pytest.mark.manner(30)
def test_sizes_keep_to_their_budget(html: str) -> None:
    assert len(html.encode()) < LAPTOP_BYTES
    assert all(len(svg) < FIGURE_BYTES for svg in re.findall(r"<svg.*?</svg>", html, re.DOTALL))


@pytest.mark.manner(30)
def test_hostile_text_stays_text(hostile: Results) -> None:
    html = html_of(hostile)
    page = Page(html)
    shown = " ".join(one_line(HOSTILE).split())
    # Run, label, host, command, evidence, libraries, environment, notices, errors, checks: at the least.
    assert page.text.count(shown) >= 12
    assert "<img" not in html
    assert html.count("<script") == html.count("</script>") == 1
    assert "\x1b" not in html
    assert "\x00" not in html
    assert "\u202e" not in html


@pytest.mark.manner(30)
def test_equal_results_give_equal_bytes(ordinary: Results) -> None:
    assert make_report([ordinary], Format.HTML).text == html_of(ordinary)


def test_simulated_is_said_above_and_beside(simulated: Results) -> None:
    html = html_of(simulated)
    assert 'class="banner"' in html
    assert "No figure here was measured" in html
    rows = re.findall(r'<tr><th scope="row">([^<]+)', html[html.index('id="cases-table"') :])
    assert rows
    assert all("SIMULATED" in row for row in rows)
    assert all(title.startswith("SIMULATED") for title in re.findall(r"<h3>([^<]+)</h3>", html))


def test_measured_results_carry_no_banner(ordinary: Results) -> None:
    html = html_of(ordinary)
    assert "banner" not in Page(html).of("class")
    assert "SIMULATED" not in html


def test_a_run_without_records_says_so(empty: Results) -> None:
    text = Page(html_of(empty)).text
    assert "Nothing was measured: there is no record." in text
    assert "no record was kept" in text
    assert "<figure" not in html_of(empty)


def test_both_themes_and_paper_have_their_rules(ordinary: Results) -> None:
    style = Page(html_of(ordinary)).style
    assert "@media screen and (prefers-color-scheme:dark)" in style
    assert "@media print" in style
    assert "::details-content" in style
    assert "table-header-group" in style
    for theme in ("light", "dark"):
        assert f"color-scheme:{theme}" in style


def test_runs_stand_side_by_side(ordinary: Results, reference: Results) -> None:
    text = Page(html_of(ordinary, reference)).text
    assert "collmark report: made, reference" in text
