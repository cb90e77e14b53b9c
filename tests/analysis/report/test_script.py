"""What a reader may do with a report: sort, filter, copy, read points out by pointer and by keys, choose a theme."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from tests.analysis.figures.tables import HOSTILE
from tests.analysis.report.browser import IN_A_BROWSER, Browser

from collmark.analysis.report.html import SCRIPTS
from collmark.analysis.report.write import Format
from collmark.analysis.results import Results
from collmark.core.units import format_nbytes
from collmark.workflow.report import make_report

pytestmark = IN_A_BROWSER
COLUMN = """
((name) => {
  const table = document.getElementById('cases-table'), heads = [...table.tHead.rows[0].cells];
  const at = heads.findIndex(head => head.textContent.trim().startsWith(name));
  return [...table.tBodies[0].rows].filter(row => !row.hidden).map(row => row.cells[at].textContent.trim());
})
"""
PRESS = """
((name) => [...document.querySelectorAll('#cases-table thead .sort')]
  .find(one => one.textContent.trim().startsWith(name)).click())
"""


@pytest.fixture
def opened(browser: Browser, page: Path) -> Browser:
    browser.look(1280, 800)
    assert browser.open(page).console == []
    return browser


def column(browser: Browser, name: str) -> list[str]:
    cells: list[str] = browser.evaluate(f"{COLUMN}({json.dumps(name)})")
    return cells


def test_columns_sort_by_what_they_mean_and_back(opened: Browser) -> None:
    first = column(opened, "nbytes")
    opened.evaluate(f"{PRESS}('nbytes')")
    ascending = column(opened, "nbytes")
    powers = {"B": 1, "KiB": 2**10, "MiB": 2**20}
    sizes = sorted({*first} - {"-"}, key=lambda text: float(text.split()[0]) * powers[text.split()[1]])
    assert list(dict.fromkeys(ascending)) == [*sizes, "-"]  # what has no size comes last, whichever way
    assert ascending != first
    assert opened.evaluate("document.querySelector('#cases-table th[aria-sort]').ariaSort") == "ascending"
    opened.evaluate(f"{PRESS}('nbytes')")
    assert list(dict.fromkeys(column(opened, "nbytes"))) == [*sizes[::-1], "-"]
    opened.evaluate(f"{PRESS}('nbytes')")
    assert column(opened, "nbytes") == first
    assert opened.evaluate("document.querySelector('#cases-table th[aria-sort]')") is None


def test_rows_are_filtered_by_all_words_and_counted(opened: Browser) -> None:
    everything = len(column(opened, "nbytes"))
    opened.evaluate("""(() => {
        const input = document.querySelector('#cases .tools input');
        input.value = 'all_REDUCE MiB'; input.dispatchEvent(new Event('input'));
    })()""")
    some = column(opened, "nbytes")
    assert 0 < len(some) < everything
    assert all("MiB" in size for size in some)
    assert (
        opened.evaluate("document.querySelector('#cases .tools span').textContent")
        == f"{len(some)} of {everything} rows"
    )


def copied(browser: Browser, section: str) -> list[list[str]]:
    """Return what the button of a section's first table copies."""
    text = browser.evaluate(f"""new Promise(done => {{
        Object.defineProperty(navigator, 'clipboard',
            {{value: {{writeText: text => {{ done(text); return Promise.resolve(); }}}}, configurable: true}});
        [...document.querySelectorAll('#{section} .tools button')].find(one => one.textContent === 'copy CSV').click();
    }})""")
    return list(csv.reader(io.StringIO(text)))


def test_copied_tables_hold_si_units_and_all_digits(opened: Browser, simulated: Results) -> None:
    head, *rows = copied(opened, "cases")
    nbytes, seconds = head.index("nbytes (B)"), next(at for at, name in enumerate(head) if name.endswith("(s)"))
    lower = next(at for at, name in enumerate(head) if name.endswith("lower"))
    assert {int(row[nbytes] or 0) for row in rows} == {record.case.nbytes for record in simulated.records}
    assert [format_nbytes(int(row[nbytes])) if row[nbytes] else "-" for row in rows] == column(opened, "nbytes")
    for row in rows:
        assert float(row[lower]) < float(row[seconds]) < float(row[lower + 1])
        assert len(row[seconds]) > 8


def test_every_copied_column_has_a_name_of_its_own_and_the_unit_of_its_numbers(opened: Browser) -> None:
    tables = {section: copied(opened, section) for section in ("fits", "ranks")}
    for head, *_rows in tables.values():
        assert len(set(head)) == len(head), head
    assert "T min 95 % (s) lower" in tables["fits"][0]
    # Behind what is seen as per cent stands a share, and a share is of the unit 1.
    head, *rows = tables["ranks"]
    shares = [float(row[head.index("entered last (1)")]) for row in rows]
    assert shares
    assert all(0 <= share <= 1 for share in shares)


def test_what_a_spreadsheet_would_carry_out_is_copied_as_text(
    browser: Browser, hostile: Results, tmp_path: Path
) -> None:
    path = tmp_path / "hostile.html"
    text = make_report([hostile], Format.HTML).text
    # A name that a formula could be, in the first cell of the table of facts.
    path.write_text(text.replace('<th scope="row">label</th>', '<th scope="row">=1+1</th>'), encoding="utf-8")
    assert browser.open(path).console == []
    assert "'=1+1" in [row[0] for row in copied(browser, "where")]
    assert HOSTILE[:9] == "</script>"
    assert browser.evaluate("document.scripts.length") == 1


READOUT = "(() => { const one = document.querySelector('.readout'); return one.hidden ? '' : one.textContent; })()"


def test_a_point_is_read_out_where_the_pointer_is(opened: Browser) -> None:
    at = opened.evaluate("""(() => {
        const panel = document.querySelector('#curves [data-points]');
        panel.scrollIntoView({block: 'center'});
        const svg = panel.querySelector('svg').getBoundingClientRect();
        const [x, y, words] = JSON.parse(panel.dataset.points)[3];
        const scale = svg.width / panel.querySelector('svg').viewBox.baseVal.width;
        return [svg.left + x * scale + 2, svg.top + y * scale + 2, words];
    })()""")
    opened.call("Input.dispatchMouseEvent", type="mouseMoved", x=at[0], y=at[1])
    assert opened.evaluate(READOUT) == at[2]
    assert ": bus bandwidth (GB/s) " in at[2]
    # The same size is marked in every panel of the picture.
    marked, panels = opened.evaluate("""(() => {
        const figure = document.querySelector('#curves figure');
        return [figure.querySelectorAll('path.cross').length, figure.querySelectorAll('[data-points]').length];
    })()""")
    assert marked == panels > 1
    opened.call("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=1)
    assert opened.evaluate(READOUT) == ""


def test_points_lie_where_they_are_drawn(opened: Browser) -> None:
    apart = opened.evaluate("""(() => {
        const panel = document.querySelector('#curves [data-points]'), svg = panel.querySelector('svg');
        const marks = [...svg.querySelectorAll('use')].map(use => [use.x.baseVal.value, use.y.baseVal.value]);
        const nearest = (x, y) => Math.min(...marks.map(mark => Math.hypot(mark[0] - x, mark[1] - y)));
        return JSON.parse(panel.dataset.points).map(([x, y]) => nearest(x, y));
    })()""")
    assert max(apart) < 0.5


@pytest.mark.manner(27)
def test_keys_read_all_points_and_every_control_is_reached(opened: Browser) -> None:
    opened.evaluate("document.querySelector('#curves [data-points]').focus()")
    words = []
    for key in ("ArrowRight", "ArrowRight", "End", "Home", "Escape"):
        opened.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key)
        words.append(opened.evaluate(READOUT))
    points = opened.evaluate(
        "JSON.parse(document.querySelector('#curves [data-points]').dataset.points).map(p => p[2])"
    )
    assert words == [points[0], points[1], points[-1], points[0], ""]
    assert opened.evaluate("document.querySelector('.spoken').textContent") == points[0]
    controls = opened.evaluate("[...document.querySelectorAll('button, input')].filter(one => one.tabIndex < 0).length")
    assert controls == 0


def test_the_theme_is_the_systems_until_one_is_chosen(browser: Browser, page: Path) -> None:
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    press = "document.querySelector('.theme').click()"
    seen = {}
    for system in ("light", "dark"):
        browser.look(1280, 800, system)
        browser.open(page)
        found = [browser.evaluate(ground)]
        for _press in range(3):
            browser.evaluate(press)
            found.append(browser.evaluate(ground))
        seen[system] = found
    light, dark = seen["light"][0], seen["dark"][0]
    assert light != dark
    assert seen["light"] == [light, light, dark, light]
    assert seen["dark"] == [dark, light, dark, dark]
    browser.look(1280, 800)


def test_a_link_into_a_closed_part_opens_it(opened: Browser) -> None:
    part = opened.evaluate("(document.querySelector('main details') || {}).id")
    assert part
    opened.evaluate(f"location.hash = {json.dumps('#' + part)}")
    assert opened.evaluate(
        f"new Promise(done => setTimeout(() => done(document.getElementById({json.dumps(part)}).open), 100))"
    )


@pytest.mark.manner(30)
def test_the_script_keeps_to_its_budget() -> None:
    templates = Path(__file__).resolve().parents[3] / "analysis" / "report" / "templates"
    parts = list(templates.glob("*.js"))
    assert {part.name for part in parts} == set(SCRIPTS)
    assert sum(part.stat().st_size for part in parts) <= 20_000
    assert not [part.name for part in parts if "KiB" in part.read_text(encoding="utf-8")]  # bytes stand in the cells
