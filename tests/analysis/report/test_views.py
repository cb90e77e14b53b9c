"""What a reader may do with pictures: mark a size everywhere, hide series, choose a metric, pass on what is seen."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from tests.analysis.figures.tables import in_time_order
from tests.analysis.made import curve, noisy, results_of
from tests.analysis.report.browser import IN_A_BROWSER, Browser

from collmark.analysis.report.write import Format
from collmark.workflow.report import make_report

pytestmark = IN_A_BROWSER
RIGHT = 39
"""The key to the right, as Windows counts keys."""
READOUT = "(one => one.hidden ? '' : one.textContent)(document.querySelector('.readout'))"
MARKED = """
[...document.querySelectorAll('figure')].filter(one => one.querySelector('path.cross')).map(one => one.id)
"""
SEEN_FIGURES = """
[...document.querySelectorAll('#curves figure')].filter(one => one.checkVisibility()).map(one => one.id)
"""
SEEN_MARKS = """
((figure, colour) => [...document.querySelectorAll(
    `#${figure} .panels [stroke*="${colour}"], #${figure} .panels [fill*="${colour}"]`)]
  .filter(one => one.getClientRects().length).length)
"""
VIEW = """
(() => ({
  sorted: (document.querySelector('#cases-table [aria-sort]') || {}).cellIndex,
  rows: [...document.querySelectorAll('#cases-table tbody tr')].filter(row => !row.hidden).map(row => row.id),
  figures: [...document.querySelectorAll('#curves figure')].filter(one => one.checkVisibility()).map(one => one.id),
  off: [...document.querySelectorAll('.series[aria-pressed=false]')].map(one => one.textContent),
  target: (document.querySelector('.target') || {}).id,
  hidden: [...document.querySelectorAll('.tools span')].map(one => one.textContent).filter(one => /hidden/.test(one)),
}))()
"""
FILTER = """
((words) => {
  const input = document.querySelector('#cases .tools input');
  input.value = words; input.dispatchEvent(new Event('input'));
})
"""
FIGURES = ["figure-bandwidth", "figure-times", "figure-algorithm-bandwidth"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the page of two runs, whose curves lie in one panel, and that of six, the last three of them slower."""
    records = [*noisy(curve()), *noisy(curve("ping_pong", alpha=5e-6), seed=6)]
    pair = in_time_order([results_of(records), results_of(noisy(records, seed=9))], (1.0, 1.3))
    few = results_of([one for one in noisy(curve()) if one.case.nbytes in (256, 65536)])
    six = in_time_order([few] * 6, (1.0, 1.01, 0.99, 1.3, 1.31, 1.29))
    folder = tmp_path_factory.mktemp("views")
    found = {}
    for name, results in (("pair", pair), ("six", six)):
        found[name] = folder / f"{name}.html"
        found[name].write_text(make_report(results, Format.HTML).text, encoding="utf-8")
    return found


@pytest.fixture
def opened(browser: Browser, pages: dict[str, Path]) -> Browser:
    browser.look(1280, 800)
    visit = browser.open(pages["pair"], fragment="#")  # not where a test before has left it
    assert visit.console == []
    assert visit.requests == []
    return browser


def seen_marks(browser: Browser, figure: str, colour: str) -> int:
    return int(browser.evaluate(f"{SEEN_MARKS}({json.dumps(figure)}, {json.dumps(colour)})"))


def test_a_size_is_marked_in_every_picture_that_has_it_and_nowhere_else(opened: Browser) -> None:
    opened.evaluate("document.querySelector('#curves [data-points]').focus()")
    opened.press("ArrowRight", RIGHT)
    size = opened.evaluate("JSON.parse(document.querySelector('#curves [data-points]').dataset.points)[0][3]")
    with_it = opened.evaluate(
        "[...document.querySelectorAll('figure')].filter(figure => figure.dataset.axis === 'nbytes' && "
        "[...figure.querySelectorAll('[data-points]')].some(panel => "
        f"JSON.parse(panel.dataset.points).some(point => point[3] === {size}))).map(one => one.id)"
    )
    assert opened.evaluate(MARKED) == with_it
    assert {"carrier", *FIGURES, "figure-residuals", "figure-change"} <= set(with_it)
    # In the other pictures the mark stands where the size is, and one point alone is encircled.
    places = opened.evaluate(
        "[...document.querySelectorAll('#figure-residuals [data-points]')].map(panel => ["
        f"JSON.parse(panel.dataset.points).find(point => point[3] === {size})[0], "
        "panel.querySelector('path.cross').getAttribute('d')])"
    )
    assert places
    assert all(drawn.startswith(f"M{x:g} 0V") for x, drawn in places)
    assert opened.evaluate("document.querySelectorAll('circle.cross').length") == 1
    opened.press("Escape")
    assert opened.evaluate(MARKED) == []


def test_a_run_is_marked_in_histories_alone(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["six"])
    browser.evaluate("document.querySelector('#history [data-points]').focus()")
    browser.press("ArrowRight", RIGHT)
    assert browser.evaluate(READOUT).startswith("run-1: T / T of the first run 1 [")
    assert browser.evaluate(MARKED) == ["figure-history"]
    panels = browser.evaluate("document.querySelectorAll('#history [data-points]').length")
    assert browser.evaluate("document.querySelectorAll('#history path.cross').length") == panels > 1


def test_a_hidden_series_leaves_no_mark_and_no_readout_and_is_counted(opened: Browser) -> None:
    press = "[...document.querySelectorAll('#curves .series')].find(one => one.textContent.startsWith('run-2')).click()"
    panel = "document.querySelector('#figure-bandwidth [data-points]')"
    everything = opened.evaluate(f"{panel}.points.length")
    before = [[seen_marks(opened, figure, colour) for colour in ("run-a", "run-b")] for figure in FIGURES[:1]]
    assert opened.evaluate("[...document.querySelectorAll('#curves .series')].map(one => one.ariaPressed)") == [
        "true",
        "true",
    ]
    opened.evaluate(press)
    # Points, whiskers, pale dots, the model's line and its limits all have the colour of their run.
    after = [[seen_marks(opened, figure, colour) for colour in ("run-a", "run-b")] for figure in FIGURES[:1]]
    assert [one[1] for one in after] == [0]
    assert [one[0] for one in after] == [one[0] for one in before]
    assert min(map(min, before)) > 4
    shown = opened.evaluate(
        "[...document.querySelectorAll('#figure-bandwidth .panels text')].filter(one => one.getClientRects().length)"
        ".map(one => one.textContent)"
    )
    assert [words for words in shown if words.startswith("run-1")]
    assert not [words for words in shown if words.startswith("run-2")]
    assert opened.evaluate("document.querySelector('#curves .tools').textContent").endswith("1 of 2 series hidden")
    assert opened.evaluate("document.querySelector('.spoken').textContent") == "1 of 2 series hidden"
    assert opened.evaluate(f"{panel}.points.length") == everything / 2
    opened.evaluate(f"{panel}.focus()")
    opened.press("End", 35)
    assert "run-1" in opened.evaluate(READOUT)
    # The other views of the same curves hide it too, other pictures do not, and paper shows all.
    opened.evaluate("document.querySelector('[value=time]').click()")
    assert seen_marks(opened, "figure-times", "run-b") == 0
    assert seen_marks(opened, "figure-residuals", "run-b") > 0
    opened.look(794, 1123, media="print")
    assert [seen_marks(opened, FIGURES[0], colour) for colour in ("run-a", "run-b")] == before[0]
    opened.look(1280, 800)
    opened.evaluate(press)
    assert seen_marks(opened, "figure-times", "run-b") > 0
    assert "hidden" not in opened.evaluate("document.querySelector('#curves .tools').textContent")


def test_one_metric_is_seen_at_a_time_and_keys_choose_it(opened: Browser) -> None:
    assert opened.evaluate(SEEN_FIGURES) == FIGURES[:1]
    assert opened.evaluate("document.querySelector('#curves [role=radiogroup]').textContent.trim()") == (
        "busbw time algbw"
    )
    opened.evaluate("document.querySelector('#curves [type=radio]:checked').focus()")
    seen = []
    for _press in range(3):
        opened.press("ArrowRight", RIGHT)
        seen += opened.evaluate(SEEN_FIGURES)
    assert seen == [*FIGURES[1:], FIGURES[0]]
    said = opened.evaluate("document.querySelector('.spoken').textContent")
    assert "bus bandwidth" in said
    opened.look(794, 1123, media="print")
    assert opened.evaluate(SEEN_FIGURES) == FIGURES
    opened.look(1280, 800)
    # A link to a view that is not seen shows it.
    opened.evaluate("location.hash = '#figure-times'")
    opened.evaluate("new Promise(done => setTimeout(done, 50))")
    assert opened.evaluate(SEEN_FIGURES) == ["figure-times"]


def test_without_a_script_every_view_and_series_is_there(browser: Browser, pages: dict[str, Path]) -> None:
    browser.run_scripts(allowed=False)
    try:
        browser.open(pages["pair"])
        assert browser.evaluate("document.querySelectorAll('.tools').length") == 0
        assert browser.evaluate(SEEN_FIGURES) == FIGURES
        assert all(seen_marks(browser, name, colour) > 4 for name in FIGURES for colour in ("run-a", "run-b"))
    finally:
        browser.run_scripts(allowed=True)


def test_the_address_keeps_what_is_seen(opened: Browser, pages: dict[str, Path]) -> None:
    first = opened.evaluate(VIEW)
    assert opened.evaluate("location.hash") == ""
    opened.evaluate("document.querySelectorAll('#cases-table .sort')[3].click()")
    acts = {
        "cases-table.sort=-4": "document.querySelectorAll('#cases-table .sort')[3].click()",
        "cases-table.filter=ping_pong+KiB": f"{FILTER}('ping_pong KiB')",
        "curves.metric=algbw": "document.querySelector('[value=algbw]').click()",
        "curves.off=": "document.querySelector('#curves .series').click()",
    }
    for written, act in acts.items():  # each at once, and not with the next
        opened.evaluate(act)
        assert written in opened.evaluate("location.hash")
    opened.evaluate("document.querySelector('.theme').click()")
    opened.evaluate("location.hash = '#cases'")
    opened.evaluate("new Promise(done => setTimeout(done, 50))")
    seen, fragment = opened.evaluate(VIEW), opened.evaluate("location.hash")
    anchor, _, query = fragment.partition("?")
    told = parse_qs(query)
    assert anchor == "#cases"
    assert set(told) == {"cases-table.sort", "cases-table.filter", "curves.metric", "curves.off"}
    assert told["curves.metric"] == ["algbw"]
    assert told["cases-table.filter"] == ["ping_pong KiB"]
    assert opened.evaluate("document.querySelector('#cases-table [aria-sort]').ariaSort") == "descending"
    assert seen != first
    assert seen["figures"] == FIGURES[2:]
    assert 0 < len(seen["rows"]) < len(first["rows"])
    assert opened.open(pages["pair"], fragment=fragment).console == []
    assert opened.evaluate(VIEW) == seen
    assert opened.evaluate("document.documentElement.dataset.theme") is None
    assert opened.evaluate("document.getElementById('cases').getBoundingClientRect().top") < 100
    # Back at first all is as it was, and the address says nothing.
    opened.evaluate("location.hash = '#cases?'")
    opened.evaluate("new Promise(done => setTimeout(done, 50))")
    assert opened.evaluate(VIEW) == first | {"target": "cases"}
    assert opened.evaluate("location.hash") == "#cases"


def test_the_link_is_copied_with_what_is_seen(opened: Browser) -> None:
    opened.evaluate("document.querySelector('[value=time]').click()")
    copied = opened.evaluate("""new Promise(done => {
        Object.defineProperty(navigator, 'clipboard',
            {value: {writeText: text => { done(text); return Promise.resolve(); }}, configurable: true});
        document.querySelector('header button').click();
    })""")
    assert copied.startswith("file:///")
    assert copied.endswith("#?curves.metric=time")


@pytest.mark.parametrize(
    "fragment",
    [
        "#%",
        "#%E0%A4%A",
        "#__proto__?__proto__=1&constructor=2",
        "#gone?gone.metric=time&cases-table.sort=99&curves.metric=watts&curves.off=0123456789.constructor",
        "#cases?cases-table.sort=-0.5&cases-table.sort=1&curves.metric=__proto__&curves.off=__proto__",
        "#?&&=&;#?",
        "#cases?curves.off=" + "a." * 20_000,
        "#cases?%E0%A4%A=%E0%A4%A&cases-table.sort=NaN",
    ],
)
def test_hostile_and_stale_fragments_change_nothing(browser: Browser, pages: dict[str, Path], fragment: str) -> None:
    visit = browser.open(pages["pair"], settle=0.05, fragment=fragment)
    assert visit.console == []
    assert visit.requests == []
    view = browser.evaluate(VIEW)
    assert (view["off"], view["hidden"], view["figures"], view.get("sorted")) == ([], [], FIGURES[:1], None)
    assert browser.evaluate("location.hash") in ("", "#cases")


def test_words_of_a_fragment_stay_text(browser: Browser, pages: dict[str, Path]) -> None:
    words = "<img src=x onerror=alert(1)></script>"
    fragment = "#cases?cases-table.filter=%3Cimg%20src=x%20onerror=alert(1)%3E%3C/script%3E"
    visit = browser.open(pages["pair"], fragment=fragment)
    assert visit.console == []
    assert browser.evaluate("document.querySelector('#cases .tools input').value") == words
    assert browser.evaluate("document.images.length") == 0
    assert browser.evaluate("document.scripts.length") == 1


def test_a_link_to_a_case_leads_to_its_row(browser: Browser, pages: dict[str, Path]) -> None:
    names = re.findall(r'<tr id="(case-[0-9a-f]{10})">', pages["pair"].read_text(encoding="utf-8"))
    assert len(names) == len(set(names)) == 48
    browser.open(pages["pair"], fragment=f"#{names[30]}")
    row = browser.evaluate("""(() => {
        const row = document.querySelector('.target'), box = row.getBoundingClientRect();
        const link = row.querySelector('th a').hash, seen = box.top >= 0 && box.bottom <= innerHeight;
        return [row.id, link, seen, getComputedStyle(row).backgroundColor];
    })()""")
    assert row[:3] == [names[30], f"#{names[30]}", True]
    assert row[3] != "rgba(0, 0, 0, 0)"


@pytest.mark.parametrize("name", ["pair", "six"])
def test_controls_are_reached_by_keys_and_fit_a_narrow_screen(
    browser: Browser, pages: dict[str, Path], name: str
) -> None:
    browser.look(360, 800)
    browser.open(pages[name])
    assert browser.evaluate("document.documentElement.scrollWidth") == 360
    controls = "[...document.querySelectorAll('main button, main input')].filter(one => one.checkVisibility())"
    assert browser.evaluate(f"{controls}.length") > 10
    assert browser.evaluate(f"{controls}.filter(one => one.tabIndex < 0 || !(one.textContent + one.ariaLabel + "
                            "(one.closest('label') || one).textContent).trim()).length") == 0  # fmt: skip
    browser.look(1280, 800)
