"""The report in a real browser: nothing on its console, nothing asked for; in both themes, narrow and on paper."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.analysis.made import curve, noisy, results_of
from tests.analysis.report.browser import IN_A_BROWSER, Browser, find_browser

from collmark.analysis.report.write import Format
from collmark.analysis.results import Results
from collmark.core.case import Buffers, Cadence, Form
from collmark.workflow.report import make_report

pytestmark = IN_A_BROWSER
SEEN = """
(() => {
  const shown = e => { const b = e.getBoundingClientRect(); return b.width > 0 && b.height > 0; };
  const all = name => [...document.querySelectorAll(name)];
  return {
    figures: all('figure svg').filter(shown).length, pictures: all('figure svg').length,
    tables: all('table').filter(shown).length, all_tables: all('table').length,
    ground: getComputedStyle(document.documentElement).backgroundColor,
    ink: getComputedStyle(document.querySelector('svg text')).fill,
    wide: document.documentElement.scrollWidth,
  };
})()
"""


@pytest.fixture(scope="module")
def variants() -> Results:
    """Return operations whose curves are told apart by many words."""
    ragged = {"traffic": "zipf:1.2:7"}
    return results_of(
        record
        for operation in ("all_reduce", "all_to_all_v")
        for dtype in ("float32", "bfloat16")
        for cadence in (Cadence.ISOLATED, Cadence.STREAMING)
        for form in (Form.BLOCKING, Form.NONBLOCKING)
        for of_case in ({"dtype": dtype, "cadence": cadence, "form": form, "buffers": Buffers.ROTATED},)
        for record in [
            *noisy(curve(operation, of_case=of_case)),
            *noisy(curve(operation, of_case=of_case | {"in_place": True} | (ragged if operation[-1] == "v" else {}))),
        ]
    )


@pytest.fixture(scope="module")
def pages(
    simulated: Results, hostile: Results, variants: Results, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    paths = {}
    for name, results in (("simulated", simulated), ("hostile", hostile), ("variants", variants)):
        paths[name] = folder / f"{name}.html"
        paths[name].write_text(make_report([results], Format.HTML).text, encoding="utf-8")
    return paths


def with_planted(page: Path, html: str, folder: Path) -> Path:
    """Return a copy of a page with something more in it."""
    path = folder / "planted.html"
    path.write_text(page.read_text(encoding="utf-8").replace("<main>", f"<main>{html}"), encoding="utf-8")
    return path


@pytest.mark.manner(23)
@pytest.mark.parametrize("name", ["simulated", "hostile"])
def test_no_word_on_the_console_and_no_request(browser: Browser, pages: dict[str, Path], name: str) -> None:
    browser.look(1280, 800)
    visit = browser.open(pages[name])
    assert visit.console == []
    assert visit.requests == []
    assert browser.evaluate("document.title").startswith("collmark report")


@pytest.mark.manner(23)
@pytest.mark.parametrize(
    ("planted", "where"),
    [
        ("<script>console.error('planted')</script>", "console"),
        ("<script>throw new Error('planted')</script>", "console"),
        ("<p style='color:red'>planted</p>", "console"),
        ("<img src='https://planted.example/x.png'>", "console"),
        ("<link rel='stylesheet' href='planted.css'>", "console"),
    ],
)
def test_a_planted_fault_is_found_under_the_policy(
    browser: Browser, pages: dict[str, Path], tmp_path: Path, planted: str, where: str
) -> None:
    path = tmp_path / "planted.html"
    path.write_text(
        pages["simulated"].read_text(encoding="utf-8").replace("<main>", f"<main>{planted}"), encoding="utf-8"
    )
    assert getattr(browser.open(path), where)


@pytest.mark.manner(23)
@pytest.mark.parametrize(
    ("planted", "asked"),
    [
        ("<img src='https://planted.example/x.png'>", "planted.example"),
        ("<img src='planted.png'>", "planted.png"),
        ("<script>fetch('https://planted.example/y')</script>", "planted.example/y"),
    ],
)
def test_a_planted_request_is_found_without_the_policy(
    browser: Browser, pages: dict[str, Path], tmp_path: Path, planted: str, asked: str
) -> None:
    path = with_planted(pages["simulated"], planted, tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace("Content-Security-Policy", "x-none"), encoding="utf-8")
    assert any(asked in url for url in browser.open(path).requests)


def test_both_themes_show_everything_without_a_script(browser: Browser, pages: dict[str, Path]) -> None:
    grounds = set()
    browser.run_scripts(allowed=False)
    try:
        for theme in ("light", "dark"):
            browser.look(1280, 800, theme)
            browser.open(pages["simulated"])
            seen = browser.evaluate(SEEN)
            assert seen["figures"] == seen["pictures"] > 5
            assert seen["tables"] == seen["all_tables"] > 5
            grounds.add((seen["ground"], seen["ink"]))
    finally:
        browser.run_scripts(allowed=True)
    assert ("rgb(255, 255, 255)", "rgb(87, 96, 106)") in grounds
    assert ("rgb(20, 23, 28)", "rgb(163, 171, 181)") in grounds


@pytest.mark.manner(29)
@pytest.mark.parametrize("name", ["simulated", "hostile"])
@pytest.mark.parametrize("width", [360, 400])
def test_a_narrow_page_does_not_scroll_sideways(
    browser: Browser, pages: dict[str, Path], name: str, width: int
) -> None:
    browser.look(width, 800)
    browser.open(pages[name])
    assert browser.evaluate(SEEN)["wide"] == width


OUTSIDE = """
[...document.querySelectorAll('figure svg')].flatMap(svg => {
  const box = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter(text => {
    const b = text.getBoundingClientRect();
    return b.left < box.left - 1 || b.right > box.right + 1 || b.top < box.top - 1 || b.bottom > box.bottom + 1;
  }).map(text => text.textContent);
})
"""
NAMES = """
[...document.querySelectorAll('tbody th')].map(e => [e.textContent, e.getBoundingClientRect().width, e.scrollWidth])
"""


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("name", ["simulated", "variants"])
def test_names_are_whole_in_pictures_and_leave_tables_room(
    browser: Browser, pages: dict[str, Path], name: str, width: int
) -> None:
    browser.look(width, 800)
    browser.open(pages[name])
    assert browser.evaluate(SEEN)["wide"] <= width
    assert browser.evaluate(OUTSIDE) == []
    cells = browser.evaluate(NAMES)
    assert [text for text, shown, needed in cells if needed > shown + 1] == []
    assert max(shown for _text, shown, _needed in cells) < 0.45 * width


def test_a_table_that_goes_on_beyond_the_screen_has_a_shade_at_its_edge(
    browser: Browser, pages: dict[str, Path]
) -> None:
    shades = """
    (() => {
      const box = document.getElementById('fits-table').closest('.scroll');
      return [box.scrollWidth > box.clientWidth, getComputedStyle(box).backgroundImage.split('gradient').length - 1];
    })()
    """
    browser.look(360, 800)
    browser.open(pages["variants"])
    is_cut, gradients = browser.evaluate(shades)
    assert is_cut
    assert gradients == 4


@pytest.mark.parametrize("name", ["simulated", "variants"])
def test_nothing_of_the_first_table_is_cut_on_a_narrow_screen(
    browser: Browser, pages: dict[str, Path], name: str
) -> None:
    browser.look(400, 800)
    browser.open(pages[name])
    widths = "(box => [box.scrollWidth, box.clientWidth])(document.querySelector('.said .scroll'))"
    needed, shown = browser.evaluate(widths)
    assert needed <= shown


def test_the_first_screen_holds_sentences_picture_and_table(browser: Browser, pages: dict[str, Path]) -> None:
    browser.look(1280, 800)
    browser.open(pages["simulated"])
    bottoms = browser.evaluate(
        "[...document.querySelectorAll('.said>p, #carrier svg, #verdicts')].map(e => e.getBoundingClientRect().bottom)"
    )
    assert len(bottoms) == 5
    assert max(bottoms) < 800


@pytest.mark.manner(29)
def test_paper_is_light_and_has_closed_parts_open(browser: Browser, pages: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "details.html"
    closed = "<details><summary>closed</summary><p id='inside'>inside</p></details>"
    path.write_text(
        pages["simulated"].read_text(encoding="utf-8").replace("<main>", f"<main>{closed}"), encoding="utf-8"
    )
    seen = "document.getElementById('inside').checkVisibility()"
    browser.look(1280, 800, "dark")
    browser.open(path)
    assert browser.evaluate(seen) is False
    browser.look(794, 1123, "dark", media="print")
    assert browser.evaluate(seen) is True
    assert browser.evaluate(SEEN)["ground"] == "rgb(255, 255, 255)"
    assert browser.evaluate("getComputedStyle(document.querySelector('thead')).display") == "table-header-group"
    browser.print_pdf(tmp_path / "paper.pdf", "dark")
    assert (tmp_path / "paper.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.manner(29)
def test_no_table_is_cut_on_paper(browser: Browser, pages: dict[str, Path]) -> None:
    # A4 less its margins, at 96 px an inch.
    browser.look(703, 1017, media="print")
    browser.open(pages["simulated"])
    wide = browser.evaluate("[...document.querySelectorAll('table')].map(e => [e.id, e.getBoundingClientRect().right])")
    assert [name for name, right in wide if right > 703] == []


@pytest.mark.manner(27)
def test_tables_that_scroll_are_reached_by_keyboard(browser: Browser, pages: dict[str, Path]) -> None:
    browser.look(360, 800)
    browser.open(pages["simulated"])
    assert browser.evaluate("[...document.querySelectorAll('.scroll')].every(e => e.tabIndex === 0)")


def alive(group: int) -> list[str]:
    """Return the processes of a group that have not ended."""
    stats = [path.read_text(encoding="utf-8").rpartition(")")[2].split() for path in Path("/proc").glob("[0-9]*/stat")]
    return [state for state, _parent, found, *_rest in stats if int(found) == group and state != "Z"]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc to look for processes in")
def test_nothing_is_left_running() -> None:
    program = find_browser()
    assert program is not None
    with Browser(program) as opened:
        assert alive(opened.group)
    assert alive(opened.group) == []
