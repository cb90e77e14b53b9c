"""Every figure draws whatever a run can leave behind, the same bytes each time, and says in words what it shows."""

from __future__ import annotations

import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tests.analysis.figures.tables import ODD, drawn_of, ordinary, repetitions_of, streamed, table_for
from tests.analysis.made import curve, noisy, results_of, times

from collmark.analysis.contrasts import contrasts
from collmark.analysis.figures.index import FIGURES
from collmark.analysis.figures.place import panels, placed
from collmark.analysis.figures.rank_shares import RANK
from collmark.analysis.figures.svg import to_png, to_svg

CURVES = ("bandwidth", "times", "residuals")


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    results = ordinary()
    return {name: table_for(name, results) for name in FIGURES}


@pytest.mark.parametrize("name", FIGURES)
def test_declared_columns_are_enough(name: str, tables: dict[str, pd.DataFrame]) -> None:
    row = FIGURES[name]
    table = tables[name][list(row.needs)]
    assert isinstance(row.draw(table), Figure)
    assert row.title(table)
    assert row.caption(table)


@pytest.mark.manner(30)
@pytest.mark.parametrize("name", FIGURES)
def test_equal_tables_give_equal_bytes(name: str, tables: dict[str, pd.DataFrame]) -> None:
    first, second = (FIGURES[name].draw(tables[name].copy()) for _ in range(2))
    assert to_svg(first, "a", "b") == to_svg(second, "a", "b")
    assert to_png(first) == to_png(second)


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_is_left_in_pyplot(name: str, tables: dict[str, pd.DataFrame]) -> None:
    settings = dict(plt.rcParams)
    FIGURES[name].draw(tables[name])
    assert plt.get_fignums() == []
    assert dict(plt.rcParams) == settings


@pytest.mark.parametrize("odd", ODD)
def test_odd_records_are_drawn(odd: str) -> None:
    results = results_of(ODD[odd]())
    for name in ("bandwidth", "times", "residuals", "launches", "last-rank"):
        row, table = FIGURES[name], table_for(name, results)
        assert "<svg" in to_svg(row.draw(table), name, row.title(table))
        assert row.title(table)
        if len(table):
            assert row.caption(table)


@pytest.mark.parametrize("count", [1, 5, 10, 11, 2000])
def test_few_and_many_repetitions_are_drawn(count: int) -> None:
    row, table = FIGURES["tails"], repetitions_of(count=count)
    assert "<svg" in to_svg(row.draw(table), "tails", row.title(table))
    assert row.title(table)
    assert row.caption(table)


def test_tables_without_rows_say_so() -> None:
    for name in ("tails", "last-rank"):
        row = FIGURES[name]
        empty = pd.DataFrame(
            {column: pd.Series(dtype=RANK[column].kind if column in RANK else "bool") for column in row.needs}
        )
        assert "<svg" in to_svg(row.draw(empty), name, row.title(empty))


@pytest.mark.manner(28)
@pytest.mark.parametrize("name", CURVES)
def test_panels_share_limits_shown_or_not(name: str) -> None:
    table = drawn_of(ordinary())
    together = FIGURES[name].draw(table)
    alone = [FIGURES[name].draw(own) for _panel, own in panels(table)]
    assert [len(figure.axes) for figure in alone] == [1, 1]
    found = {(axes.get_xlim(), axes.get_ylim()) for figure in (together, *alone) for axes in figure.axes}
    assert len(found) == 1


@pytest.mark.manner(28)
@pytest.mark.parametrize("name", CURVES)
def test_no_line_joins_measured_points(name: str) -> None:
    # Two sizes have no fit: there are points, and nothing to draw a line from.
    table = drawn_of(results_of(noisy(curve(sizes=(1024, 65536)))))
    if name == "residuals":
        assert not FIGURES[name].draw(table).axes
        return
    (axes,) = FIGURES[name].draw(table).axes
    assert not axes.lines
    assert axes.collections


@pytest.mark.manner(28)
@pytest.mark.parametrize("name", CURVES)
def test_one_is_in_view_on_axes_of_ratios(name: str) -> None:
    for axes in FIGURES["residuals"].draw(drawn_of(ordinary())).axes:
        low, high = axes.get_ylim()
        assert low == pytest.approx(1 / high)
        assert axes.get_yscale() == "log"
    assert name in FIGURES


@pytest.mark.manner(25)
@pytest.mark.parametrize("name", ["bandwidth", "times", "residuals", "tails", "last-rank", "launches"])
def test_axes_say_what_they_are(name: str, tables: dict[str, pd.DataFrame]) -> None:
    units = {"bandwidth": "GB/s", "times": "µs", "residuals": "measured / model", "tails": "T / median"}
    for axes in FIGURES[name].draw(tables[name]).axes:
        words = f"{axes.get_xlabel()} {axes.get_ylabel()} {' '.join(t.get_text() for t in axes.get_yticklabels())}"
        assert units.get(name, "") in words
        assert axes.get_title(loc="left")


@pytest.mark.manner(25)
def test_captions_say_over_what_and_at_which_level() -> None:
    several, single = drawn_of(ordinary()), drawn_of(results_of(curve(levels=(1.0,))))
    for name in CURVES:
        assert "95 % over 3 launches" in FIGURES[name].caption(several)
        assert "one launch: no interval" in FIGURES[name].caption(single)


def test_wrong_results_have_a_cross_and_no_bandwidth() -> None:
    table = drawn_of(results_of(ODD["one wrong"]()))
    assert "cross" in FIGURES["bandwidth"].caption(table)
    wrong = table[table["case_status"] == "wrong"]
    assert wrong["center"].isna().all()
    (axes,) = FIGURES["bandwidth"].draw(table).axes
    assert any(np.shape(found.get_offsets()) == (1, 2) and found.get_clip_on() is False for found in axes.collections)


def test_simulated_figures_say_so_on_the_picture() -> None:
    table = drawn_of(results_of(ODD["simulated"]()))
    for name in CURVES:
        assert "SIMULATED" in to_svg(FIGURES[name].draw(table), name, "")


@pytest.mark.manner(25)
def test_titles_say_what_was_found() -> None:
    table = drawn_of(results_of(curve(alpha=20e-6, beta=1e-10, levels=(1.0, 1.0, 1.0))))
    assert re.match(r"all_reduce comes near 10\.0 \[10\.0, 10\.0\] GB/s", FIGURES["bandwidth"].title(table))
    assert FIGURES["times"].title(table).startswith("all_reduce takes 20.0 [20.0, 20.0] µs at 16 B")
    assert FIGURES["residuals"].title(table) == "Every size lies within 10 % of its model (12 cases)"
    assert FIGURES["launches"].title(table).startswith("No launch stands out")


def test_a_slow_launch_is_named() -> None:
    table = drawn_of(results_of(curve(levels=(1.0, 1.0, 1.0, 1.5))), most_curves=1)
    assert FIGURES["launches"].title(table).startswith("Launch 4 stands out most: all_reduce is 36 % slower")


@pytest.mark.parametrize("factor", [0.0005, 0.3, 0.97, 1.0, 1.02, 300.0])
def test_no_ratio_lies_beyond_its_axis(factor: float) -> None:
    table = placed(contrasts(drawn_of(streamed(ordinary(), factor))), most_curves=1)
    figure = FIGURES["contrast"].draw(table)
    assert figure.axes
    for panel in figure.axes:
        low, high = panel.get_ylim()
        assert low < min(1, table["ratio"].min())
        assert max(1, table["ratio"].max()) < high
        assert sum(low <= place <= high for place in panel.get_yticks()) >= 2


LONG = "all_to_all_v, " + ", ".join(f"word{number}" for number in range(30))


@pytest.mark.parametrize("name", ["bandwidth", "times", "residuals", "last-rank", "launches"])
def test_a_long_title_is_folded_and_takes_no_room_from_the_panel(name: str, tables: dict[str, pd.DataFrame]) -> None:
    table = tables[name]
    panel = table["panel"].iloc[0]
    figures = [FIGURES[name].draw(one[one["panel"] == one["panel"].iloc[0]]) for one in (
        table, table.assign(panel=table["panel"].where(table["panel"] != panel, LONG))
    )]  # fmt: skip
    (short,), (long,) = (figure.axes for figure in figures)
    assert long.get_title(loc="left").split() == LONG.split()
    for figure in figures:
        box = figure.axes[0].get_tightbbox()
        assert box is not None
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= figure.bbox.y1
    heights = [axes.get_window_extent().height for axes in (short, long)]
    assert heights[0] == pytest.approx(heights[1])


@pytest.mark.parametrize("name", ["bandwidth", "times"])
def test_long_labels_are_folded_into_the_panel(name: str) -> None:
    table = drawn_of(ordinary())
    (axes, *_others) = FIGURES[name].draw(table.assign(curve=LONG)).axes
    labels = [text for text in axes.texts if text.get_gid() == "halo-label"]
    assert " ".join(labels[0].get_text().split()).startswith(LONG)
    for label in labels:
        assert label.get_window_extent().x0 >= axes.get_window_extent().x0


def arrows(axes: Axes) -> dict[float, list[float]]:
    """Return the sizes at which arrows stand, by the height of the edge as a share of the panel."""
    found: dict[float, list[float]] = {}
    for one in axes.collections:
        if one.get_offset_transform() == axes.get_xaxis_transform():
            for x, y in np.asarray(one.get_offsets()):
                found.setdefault(float(y), []).append(float(x))
    return found


@pytest.mark.parametrize("name", CURVES)
def test_what_goes_on_beyond_the_edge_has_an_arrow_there(name: str) -> None:
    # Two launches that differ by a factor of 20 at one size: its interval spans 16 decades, those of others nothing.
    records = [
        times(record, 20) if (record.launch, record.case.nbytes) == (2, 1024) else record
        for record in curve(levels=(1.0, 1.0))
    ]
    (axes,) = FIGURES[name].draw(drawn_of(results_of(records))).axes
    assert arrows(axes) == {0.015: [1024.0], 0.985: [1024.0]}
    assert "arrow at an edge: goes on beyond it" in FIGURES[name].caption(drawn_of(results_of(records)))
    (calm,) = FIGURES[name].draw(drawn_of(results_of(curve(levels=(1.0, 1.0))))).axes
    assert arrows(calm) == {}


def test_a_point_beyond_the_edge_of_ratios_has_one_too() -> None:
    table = drawn_of(results_of(curve()))
    far = table.assign(model_seconds=table["model_seconds"].mask(table["nbytes"] == 1024, 1e-9))
    (axes,) = FIGURES["residuals"].draw(far).axes
    assert arrows(axes) == {0.985: [1024.0]}


def test_a_ratio_that_goes_on_beyond_its_axis_has_an_arrow() -> None:
    table = placed(contrasts(drawn_of(streamed(ordinary()))), most_curves=1)
    wide = table.assign(ratio_upper=table["ratio_upper"].mask(table["nbytes"] == 1024, 1e6))
    (axes, *_others) = FIGURES["contrast"].draw(wide).axes
    assert arrows(axes) == {0.985: [1024.0]}
