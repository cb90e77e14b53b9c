"""A picture on a page: text as text, both themes from one drawing, nothing that points out of it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from tests.analysis.figures.tables import HOSTILE, ODD, drawn_of, ordinary, table_for
from tests.analysis.made import curve, noisy, results_of

from collmark.analysis.figures.index import FIGURES
from collmark.analysis.figures.palette import NAMED
from collmark.analysis.figures.place import panels
from collmark.analysis.figures.svg import to_svg
from collmark.core.errors import one_line

MOST_BYTES = 80 * 1024


@pytest.fixture(scope="module", params=FIGURES)
def svg(request: pytest.FixtureRequest) -> str:
    row = FIGURES[request.param]
    return to_svg(row.draw(table_for(request.param, ordinary())), f"{request.param}-7", 'says "this" & <that>')


def test_it_is_an_image_with_a_name(svg: str) -> None:
    root = ET.fromstring(svg)
    assert root.tag == "svg"
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"] == 'says "this" & <that>'


def test_text_is_text(svg: str) -> None:
    assert any((element.text or "").strip() for element in ET.fromstring(svg).iter("text"))
    assert "glyph" not in svg.lower()


def test_a_strict_page_takes_it(svg: str) -> None:
    assert "style=" not in svg
    assert "<style" not in svg
    assert "http" not in svg
    assert "xlink" not in svg
    assert "<script" not in svg


def test_every_colour_is_one_of_both_themes(svg: str) -> None:
    assert not re.search(r"#[0-9a-fA-F]{6}\b", svg)
    used = set(re.findall(r"var\(--([a-z0-9-]+)\)", svg))
    assert used
    assert used <= set(NAMED)


def test_identifiers_are_its_own(svg: str) -> None:
    found = re.findall(r' id="([^"]+)"', svg)
    assert len(found) == len(set(found))
    assert all(re.fullmatch(r"[a-z-]+-7-\d+", name) for name in found)
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg)) == set(found)


@pytest.mark.manner(30)
@pytest.mark.parametrize("name", ["bandwidth", "times", "launches"])
@pytest.mark.parametrize("odd", ["hostile label", "two labels"])
def test_hostile_labels_stay_text(name: str, odd: str) -> None:
    table = table_for(name, results_of(ODD[odd]()))
    for panel, own in panels(table):
        svg = to_svg(FIGURES[name].draw(own), name, panel)
        assert {element.tag for element in ET.fromstring(svg).iter()} <= {
            "svg", "g", "defs", "clipPath", "rect", "path", "use", "text",
        }  # fmt: skip
        assert "<img" not in svg
        assert "\x1b" not in svg
    if odd == "two labels" and name == "bandwidth":
        words = " ".join(ET.fromstring(to_svg(FIGURES[name].draw(table), name, "")).itertext())
        assert one_line(HOSTILE)[:20] in words


@pytest.mark.manner(30)
def test_a_long_sweep_keeps_to_its_size() -> None:
    sizes = [1 << power for power in range(6, 30)]
    records = [*noisy(curve("all_reduce", sizes=sizes, levels=(1.0,) * 5)), *noisy(curve("all_gather", sizes=sizes))]
    table = drawn_of(results_of(records))
    for name in ("bandwidth", "times", "residuals"):
        assert len(to_svg(FIGURES[name].draw(table), name, "")) < MOST_BYTES


@pytest.mark.manner(30)
def test_many_launches_keep_to_their_size() -> None:
    sizes = [1 << power for power in range(6, 30)]
    table = drawn_of(results_of(noisy(curve(sizes=sizes, levels=(1.0,) * 200))), most_curves=1)
    assert len(to_svg(FIGURES["launches"].draw(table), "launches", "")) < MOST_BYTES
