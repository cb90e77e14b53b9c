"""A figure that leaves the report: all of its words are on it and inside it, and the word of what was not measured."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from tests.analysis.figures.tables import HOSTILE, ordinary, table_for
from tests.analysis.made import curve, results_of
from tests.analysis.test_no_measurement import emulated

from collmark.analysis.figures.index import FIGURES
from collmark.analysis.figures.plate import plate
from collmark.core.errors import one_line

LONG = "EMULATED, not measured over real links: " + " ".join(f"WORD{number}" for number in range(40))


@pytest.mark.parametrize("name", FIGURES)
def test_title_and_caption_lie_inside_and_over_nothing(name: str) -> None:
    table = table_for(name, ordinary())
    figure: Figure = FIGURES[name].draw(table)
    panels = [axes.get_window_extent().size for axes in figure.axes]
    plate(figure, name, LONG, LONG)
    figure.draw_without_rendering()  # at its own scale again, and not at that of the PNG
    title, caption = figure.texts[-2:]
    whole, head, foot = (one.get_window_extent() for one in (figure.patch, title, caption))
    for box in (head, foot):
        assert whole.x0 <= box.x0
        assert box.x1 <= whole.x1
        assert whole.y0 <= box.y0
        assert box.y1 <= whole.y1
    for axes, before in zip(figure.axes, panels, strict=True):
        assert axes.get_window_extent().size == pytest.approx(before), "panels keep their size"
        drawn = axes.get_tightbbox()
        assert drawn is not None
        assert foot.y1 <= drawn.y0
        assert drawn.y1 <= head.y0


def test_hostile_words_stay_text() -> None:
    figure = FIGURES["bandwidth"].draw(table_for("bandwidth", ordinary()))
    files = plate(figure, "x", HOSTILE, f"var(--ink) {HOSTILE}")
    root = ET.fromstring(files[".svg"])
    said = [child.text for child in root[:2]]
    assert said == [one_line(HOSTILE), one_line(f"var(--ink) {HOSTILE}")]
    assert {element.tag.rpartition("}")[2] for element in root.iter()} <= {
        "svg", "title", "desc", "g", "defs", "clipPath", "rect", "path", "use", "text",
    }  # fmt: skip


def test_labels_over_lines_have_a_rim_in_both_files() -> None:
    figure = FIGURES["bandwidth"].draw(table_for("bandwidth", ordinary()))
    svg = plate(figure, "x", "title", "caption")[".svg"].decode()
    assert svg.count('paint-order="stroke"') > 0
    labels = [text for text in figure.findobj(Text) if (text.get_gid() or "").startswith("halo")]
    assert labels
    assert all(text.get_path_effects() for text in labels)


@pytest.mark.parametrize("word", ["EMULATED", "SIMULATED"])
def test_what_was_not_measured_is_said_on_the_panel_too(word: str) -> None:
    records = emulated(curve()) if word == "EMULATED" else curve(simulated=True)
    figure = FIGURES["times"].draw(table_for("times", results_of(records)))
    files = plate(figure, "x", f"{word}: something", "caption")
    assert files[".svg"].decode().count(f">{word}") >= 2, "on the panel, and in the title above it"
