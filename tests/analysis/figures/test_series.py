"""Marks are of their series: each of a curve's is found again by its name's id, whatever the name."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from msgspec.structs import replace
from tests.analysis.figures.tables import HOSTILE, drawn_of, table_for
from tests.analysis.figures.tables import ordinary as ordinary_results
from tests.analysis.made import curve, noisy, results_of

from collmark.analysis.figures.index import FIGURES
from collmark.analysis.figures.marks import readouts
from collmark.analysis.figures.series import series_of, short_id
from collmark.analysis.figures.svg import to_svg
from collmark.core.metrics import algorithm_bandwidth
from collmark.core.units import GIGA

CURVES = ("bandwidth", "algorithm-bandwidth", "times", "residuals")


@pytest.fixture(scope="module")
def pair() -> pd.DataFrame:
    """Return two runs in one panel each, of two operations."""
    one = ordinary_results()
    return drawn_of(replace(one, name="a"), replace(one, name="b"))


def owners(svg: str, colour: str) -> set[str | None]:
    """Return which series the marks of a colour are of; None for a mark of none."""
    found: set[str | None] = set()

    def walk(element: ET.Element, series: str | None) -> None:
        series = element.get("data-s", series)
        if any(colour in value for key, value in element.attrib.items() if key in {"fill", "stroke"}):
            found.add(series)
        for child in element:
            walk(child, series)

    walk(ET.fromstring(svg), None)
    return found


@pytest.mark.parametrize("name", CURVES)
def test_every_mark_of_a_curve_is_of_its_series(pair: pd.DataFrame, name: str) -> None:
    figure = FIGURES[name].draw(pair)
    svg = to_svg(figure, "x", "y")
    assert [one.name for one in series_of(figure)] == ["a, loopback", "b, loopback"]
    for run, one in zip("ab", series_of(figure), strict=True):
        assert one.colour == f"var(--run-{run})"
        assert owners(svg, one.colour) == {one.id}
    assert len(figure.axes) == 2  # the same curve in both panels is the same series
    points = readouts(figure)
    assert {point.series for point in points} == {one.id for one in series_of(figure)}
    for one in series_of(figure):
        assert {point.series for point in points if point.words.endswith(one.name)} == {one.id}


@pytest.mark.parametrize("name", ["contrast", "change"])
def test_every_ratio_is_of_its_series(name: str) -> None:
    figure = FIGURES[name].draw(table_for(name, ordinary_results()))
    (one,) = series_of(figure)
    assert owners(to_svg(figure, "x", "y"), one.colour) == {one.id}


def test_hostile_names_have_ids_of_letters_and_digits() -> None:
    table = drawn_of(ordinary_results()).assign(curve=HOSTILE)
    figure = FIGURES["bandwidth"].draw(table)
    (one,) = series_of(figure)
    assert one.id.isalnum()
    assert one.id == short_id(HOSTILE)
    assert "\x1b" not in one.name
    assert owners(to_svg(figure, "x", "y"), "loopback") == {one.id}


def test_algorithm_bandwidth_is_that_of_the_records() -> None:
    records = [
        *noisy(curve("all_reduce", ranks=4, levels=(1.0,))),
        *noisy(curve("all_to_all_v", ranks=4, levels=(1.0,), of_case={"traffic": "zipf:1"})),
    ]
    table = drawn_of(results_of(records))
    figure = FIGURES["algorithm-bandwidth"].draw(table)
    expected = {
        (one.case.operation, one.case.nbytes): (algorithm_bandwidth(one.case, one.timing.median) or 0.0) / GIGA
        for one in records
        if one.timing is not None
    }
    found = {
        (panel.get_title(loc="left").partition(",")[0], int(nbytes)): value
        for panel in figure.axes
        for nbytes, value in points_of(panel)
    }
    assert {panel.get_ylabel() for panel in figure.axes} == {"algorithm bandwidth (GB/s)"}
    assert found == pytest.approx(expected)
    assert len(found) == 24
    # Of 4 ranks it is another than bus bandwidth.
    bus = points_of(FIGURES["bandwidth"].draw(table).axes[0])
    assert [value for _nbytes, value in bus] == pytest.approx([1.5 * found["all_reduce", int(x)] for x, _y in bus])


def points_of(panel: Axes) -> list[tuple[float, float]]:
    """Return size and value of the points of a panel's first curve."""
    drawn = next(one for one in panel.collections if isinstance(one, PathCollection))
    return [(float(x), float(y)) for x, y in np.asarray(drawn.get_offsets())]


def test_its_limit_is_that_of_the_bus_by_the_factor() -> None:
    table = drawn_of(results_of(curve("all_reduce", ranks=4, beta=1e-10, levels=(1.0, 1.0, 1.0))))
    # 10 GB/s of the bus are 10 / (2 x 3 / 4) of the algorithm.
    title = FIGURES["algorithm-bandwidth"].title(table)
    assert title.startswith("all_reduce comes near 6.67 [6.67, 6.67] GB/s of algorithm bandwidth at large sizes")
    assert "its limit: 1/β x nbytes / bus bytes" in FIGURES["algorithm-bandwidth"].caption(table)
    (panel,) = FIGURES["algorithm-bandwidth"].draw(table).axes
    assert "loopback: its limit 6.67 [6.67, 6.67] GB/s" in [" ".join(text.get_text().split()) for text in panel.texts]
