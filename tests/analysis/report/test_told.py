"""Every kind of figure in a report: what it says of itself, and that the table behind it holds the same numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tests.analysis.figures.tables import in_time_order
from tests.analysis.made import curve, noisy, results_of, times
from tests.analysis.made_pairs import sweep_run

from collmark.analysis.figures.index import FIGURES
from collmark.analysis.report.content import Drawing, Section, Table
from collmark.analysis.report.index import sections_of
from collmark.analysis.results import Results
from collmark.workflow.report import material_of

RATIOS = ("residuals", "contrast", "change")
CURVES = ("bandwidth", "times", "algorithm-bandwidth", "prior")
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")


class Told(msgspec.Struct, frozen=True):
    """A figure of a report, and the table that it names."""

    kind: str
    drawing: Drawing
    table: Table


def told(sections: list[Section]) -> Iterator[Told]:
    tables = {block.anchor: block for section in sections for block in section.blocks if isinstance(block, Table)}
    tables |= {
        section.anchor: next(block for block in section.blocks if isinstance(block, Table))
        for section in sections
        if any(isinstance(block, Table) for block in section.blocks)
    }
    kinds: dict[Callable[..., Figure], str] = {row.draw: name for name, row in FIGURES.items()}
    for section in sections:
        for block in section.blocks:
            if isinstance(block, Drawing):
                assert isinstance(block.whole, partial)
                assert block.table in tables, f"{block.anchor} leads to {block.table}, where no table is"
                yield Told(kinds[block.whole.func], block, tables[block.table])


@pytest.fixture(scope="module")
def figures(simulated: Results) -> list[Told]:
    """Return the figures of several reports, which are of every kind."""
    slower = [record if record.timing is None else times(record, 1.2) for record in simulated.records]
    other = msgspec.structs.replace(simulated, name="other", records=slower)
    nccl = results_of(noisy(curve(of_case={"backend": "nccl"})), name="nccl")
    nights = in_time_order(
        [results_of(noisy(curve(), seed=night)) for night in range(6)], (1.0, 1.0, 1.0, 1.3, 1.3, 1.3)
    )
    materials = [
        material_of([simulated, other]), material_of([nccl], prior="nccl:HOPPER"), material_of(nights),
        material_of([sweep_run()]),
    ]  # fmt: skip
    return [one for material in materials for one in told(sections_of(material))]


@pytest.fixture(scope="module")
def whole(figures: list[Told]) -> dict[str, Figure]:
    """Return one figure of each kind, drawn."""
    return {one.kind: one.drawing.whole() for one in reversed(figures)}


@pytest.mark.manner(25)
def test_every_kind_is_there(figures: list[Told]) -> None:
    assert {one.kind for one in figures} == set(FIGURES)


@pytest.mark.manner(25)
def test_each_says_finding_count_level_and_where_its_numbers_stand(figures: list[Told]) -> None:
    for one in figures:
        drawing = one.drawing
        assert len(drawing.title.split()) >= 4, drawing.title
        assert re.search(r"\d+ (to \d+ )?launches|one launch", drawing.caption, re.IGNORECASE), drawing.caption
        assert re.search(r"\d+ % over|no interval", drawing.caption), drawing.caption
        assert drawing.panels
        for panel in drawing.panels:
            head = panel.svg.partition(">")[0]
            assert 'role="img"' in head
            assert f"in table {drawing.table}." in head
            assert re.search(r'aria-label="[^"]{20,}"', head)


@pytest.mark.manner(25)
@pytest.mark.parametrize("kind", FIGURES)
def test_axes_have_names_and_units(kind: str, whole: dict[str, Figure]) -> None:
    units = {
        "bandwidth": "bus bandwidth (GB/s)", "times": "T (µs)", "prior": "T (µs)", "residuals": "measured / model",
        "contrast": "T", "change": "T", "tails": "T / median", "last-rank": "share of repetitions",
        "launches": "nbytes", "pairs": "rank that sends", "history": "T",
        "algorithm-bandwidth": "algorithm bandwidth (GB/s)",
    }  # fmt: skip
    for axes in whole[kind].axes:
        if not axes.get_title(loc="left"):
            continue  # the key of the colours
        words = f"{axes.get_xlabel()} | {axes.get_ylabel()}"
        ticks = [tick.get_text() for axis in (axes.xaxis, axes.yaxis) for tick in axis.get_ticklabels()]
        assert axes.get_xlabel() or axes.get_ylabel()
        assert units[kind] in words, words
        assert any(ticks)


def numbers(text: str) -> list[float]:
    return [float(found.replace(",", "")) for found in NUMBER.findall(text)]


def close(one: float, other: float) -> bool:
    return abs(one - other) <= 0.011 * max(abs(one), abs(other))  # both are rounded, to three digits or to a hundredth


@pytest.mark.manner(25)
def test_points_stand_in_the_table_that_a_figure_names(figures: list[Told]) -> None:
    """Of figures whose points are read out: size and value are in one row."""
    seen = set()
    for one in figures:
        for panel in one.drawing.panels:
            for point in panel.points:
                size, _, rest = point.words.partition(": ")
                value = numbers(rest.partition(") ")[2] or rest.partition(" / ")[2] or rest)[0]
                rows = [[cell.text for cell in row] for row in one.table.rows if size in [cell.text for cell in row]]
                assert rows, (one.kind, size)
                assert any(close(value, number) for row in rows for cell in row for number in numbers(cell)), (
                    one.kind,
                    point.words,
                    rows,
                )
                seen.add(one.kind)
    assert seen >= {"bandwidth", "times", "residuals"}


def columns(table: Table, name: str) -> list[list[float]]:
    """Return the numbers of the columns of some name, row by row; of a dash none."""
    at = [place for place, heading in enumerate(table.headings) if heading.name.startswith(name)]
    return [[numbers(row[place].text)[0] for place in at if numbers(row[place].text)] for row in table.rows]


@pytest.mark.manner(25)
def test_tiles_of_launches_are_those_of_its_table(figures: list[Told], whole: dict[str, Figure]) -> None:
    one = next(each for each in figures if each.kind == "launches")
    drawn: list[float] = []  # logarithms
    for axes in whole["launches"].axes:
        for mesh in axes.collections:
            if axes.get_title(loc="left") and mesh.get_array() is not None:
                drawn += np.ma.masked_invalid(np.asarray(mesh.get_array())).compressed().tolist()
    rows = [np.array(row) for row in columns(one.table, "launch ") if len(row) > 1]
    listed = [float(value) for row in rows for value in row / np.exp(np.log(row).mean())]
    assert len(drawn) == len(listed)
    assert sorted(np.exp(drawn)) == pytest.approx(sorted(listed), rel=0.006)


@pytest.mark.manner(25)
def test_shares_of_ranks_are_those_of_its_table(figures: list[Told], whole: dict[str, Figure]) -> None:
    one = next(each for each in figures if each.kind == "last-rank")
    drawn = [float(x) for axes in whole["last-rank"].axes for x, _y in _dots(axes)]
    listed = [
        value / 100 for name in ("entered last", "left last") for row in columns(one.table, name) for value in row
    ]
    assert sorted(drawn) == pytest.approx(sorted(listed), abs=0.006)


@pytest.mark.manner(25)
def test_panels_of_tails_are_cases_of_its_table(figures: list[Told]) -> None:
    one = next(each for each in figures if each.kind == "tails")
    named = {row[0].text for row in one.table.rows}
    labels = [re.findall(r'aria-label="([^"]*)"', panel.svg)[0] for panel in one.drawing.panels]
    assert all(any(label.startswith(f"{name}:") for name in named) for label in labels)
    assert len(labels) == len(named)


def _dots(axes: Axes) -> list[Any]:
    """Return the points of the marks on a panel that stand for values."""
    found = [mark for mark in axes.collections if len(np.shape(mark.get_offsets())) == 2]
    in_data = [mark for mark in found if mark.get_offset_transform() == axes.transData]
    return [point for mark in in_data for point in np.asarray(mark.get_offsets())]


@pytest.mark.manner(28)
@pytest.mark.parametrize("kind", [kind for kind in FIGURES if kind not in {"launches", "pairs", "tails"}])
def test_no_line_goes_from_point_to_point(kind: str, whole: dict[str, Figure]) -> None:
    """Three figures draw no points: tiles, and distributions, whose steps are all there is."""
    for axes in whole[kind].axes:
        points = {(round(float(x), 12), round(float(y), 12)) for x, y in _dots(axes)}
        for line in axes.lines:
            if line.get_transform() == axes.transData:
                through = {
                    (round(float(x), 12), round(float(y), 12)) for x, y in np.asarray(line.get_xydata())
                } & points
                assert len(through) < 2, (kind, line)


@pytest.mark.manner(28)
@pytest.mark.parametrize("kind", RATIOS)
def test_ratios_lie_on_a_logarithmic_axis_with_1_in_view(kind: str, whole: dict[str, Figure]) -> None:
    for axes in whole[kind].axes:
        low, high = axes.get_ylim()
        assert axes.get_yscale() == "log"
        assert low < 1 < high


@pytest.mark.manner(28)
@pytest.mark.parametrize("kind", FIGURES)
def test_there_are_no_bars_and_panels_share_their_limits(kind: str, whole: dict[str, Figure]) -> None:
    named = [axes for axes in whole[kind].axes if axes.get_title(loc="left")]
    assert not [axes.containers for axes in named if axes.containers], "a bar would have to start at 0"
    if kind in (*CURVES, *RATIOS, "tails"):
        assert len({axes.get_ylim() for axes in named}) == 1


@pytest.mark.manner(26)
def test_what_a_colour_means_a_word_or_a_shape_says_too(figures: list[Told]) -> None:
    """Verdicts of cells are words, statuses of points are shapes, tiers are named at their curves."""
    for one in figures:
        for row in one.table.rows:
            assert all(cell.text or cell.span for cell in row if cell.mark), row
    change = next(one for one in figures if one.kind == "change").drawing.caption
    assert all(word in change for word in ("Triangle down: slower", "up: faster", "hollow: cannot tell"))
    bandwidth = next(one for one in figures if one.kind == "bandwidth").drawing
    assert "simulated" in bandwidth.panels[0].svg.lower(), "the tier stands at the curve"
