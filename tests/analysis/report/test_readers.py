"""Readers without a script, with a keyboard alone, and on paper: all of a report is theirs too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.analysis.report.browser import IN_A_BROWSER, Browser

pytestmark = IN_A_BROWSER


SHOWN = """
(() => {
  const is = e => e.checkVisibility({opacityProperty: true, visibilityProperty: true}) && e.getClientRects().length > 0;
  const names = {figures: 'figure svg', tables: 'table', rows: 'tbody tr', findings: '.said > p', titles: 'figure h3'};
  return Object.fromEntries(Object.entries(names).map(([name, which]) => {
    const all = [...document.querySelectorAll(which)].filter(e => !e.closest('details:not([open])'));
    return [name, [all.filter(is).length, all.length]];
  }).concat([['closed', [...document.querySelectorAll('details')].filter(e => !e.firstElementChild.checkVisibility())
    .length], ['script', document.querySelectorAll('.tools, .theme, .sort').length]]));
})()
"""


@pytest.fixture
def without_script(browser: Browser) -> Iterator[Browser]:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    yield browser
    browser.call("Emulation.setScriptExecutionDisabled", value=False)


@pytest.mark.manner(24)
def test_without_a_script_all_is_there(without_script: Browser, page: Path) -> None:
    without_script.look(1280, 800)
    assert without_script.open(page).console == []
    seen = without_script.evaluate(SHOWN)
    assert seen.pop("script") == 0, "the script did run"
    assert seen.pop("closed") == 0, "what opens can be opened"
    assert all(shown == there > 0 for shown, there in seen.values()), seen


@pytest.mark.manner(24)
@pytest.mark.manner(29)
def test_without_a_script_paper_has_closed_parts_open(without_script: Browser, page: Path, tmp_path: Path) -> None:
    without_script.look(794, 1123, "dark", media="print")
    without_script.open(page)
    parts, open_ones = without_script.evaluate("""
        (parts => [parts.length, parts.filter(one => one.lastElementChild.checkVisibility()).length])
        ([...document.querySelectorAll('main details')])
    """)
    assert parts == open_ones > 5
    without_script.print_pdf(tmp_path / "paper.pdf", "dark")
    assert len(re.findall(rb"/Type\s*/Page\b", (tmp_path / "paper.pdf").read_bytes())) > 3


CLIPPED = """
[...document.querySelectorAll('main *')].filter(e => {
  const style = getComputedStyle(e);
  return e.checkVisibility() && style.overflowX !== 'visible' && e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 1;
}).map(e => [e.tagName, e.className, e.scrollWidth, e.clientWidth])
"""


@pytest.mark.manner(29)
def test_nothing_is_clipped_on_paper_and_every_header_repeats(browser: Browser, page: Path) -> None:
    browser.look(703, 1017, media="print")
    browser.open(page)
    assert browser.evaluate(CLIPPED) == []
    heads = browser.evaluate("[...document.querySelectorAll('thead')].map(e => getComputedStyle(e).display)")
    assert set(heads) == {"table-header-group"}


FOCUSABLE = "a[href], button, input, select, summary, [tabindex='0']"
PLACE = """
(() => { const e = document.activeElement, style = getComputedStyle(e);
  return [[...document.querySelectorAll('*')].indexOf(e), e.tagName,
    style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0]; })()
"""


@pytest.mark.manner(27)
def test_the_tab_key_goes_through_and_the_focus_shows(browser: Browser, page: Path) -> None:
    browser.look(1280, 800)
    browser.open(page)
    places = []
    for _press in range(60):
        for kind in ("rawKeyDown", "keyUp"):
            browser.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        places.append(tuple(browser.evaluate(PLACE)))
    assert len({place for place, _tag, _shows in places}) == len(places), "it was kept somewhere"
    assert [one for one in places if not one[2]] == []
    assert {tag for _place, tag, _shows in places} > {"A", "DIV"}


@pytest.mark.manner(27)
def test_all_that_can_be_done_takes_the_focus_and_nothing_moves(browser: Browser, page: Path) -> None:
    browser.look(1280, 800)
    browser.open(page)
    unreached = browser.evaluate(f"""
        [...document.querySelectorAll("{FOCUSABLE}, [data-points], .scroll")]
        .filter(e => e.checkVisibility() && e.tabIndex !== 0).map(e => e.outerHTML.slice(0, 80))
    """)
    assert unreached == []
    assert browser.evaluate("document.getAnimations().length") == 0
    moving = browser.evaluate("""
        [...document.querySelectorAll('*')].filter(e => { const style = getComputedStyle(e);
          return style.animationName !== 'none' || parseFloat(style.transitionDuration) > 0; }).length
    """)
    assert moving == 0
    spoken = "(e => [e.getAttribute('aria-live'), e.getAttribute('role')])(document.querySelector('.spoken'))"
    assert set(browser.evaluate(spoken)) & {"polite", "status"}
