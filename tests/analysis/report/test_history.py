"""Three runs or more in one report: when did the level of a case change, and by how much."""

from __future__ import annotations

import pytest
from tests.analysis.figures.tables import in_time_order
from tests.analysis.made import curve, noisy, results_of, times

from collmark.analysis.report.content import Drawing, Section, Table
from collmark.analysis.report.index import SECTIONS
from collmark.analysis.report.material import gather
from collmark.analysis.results import Results

SIZES = (256, 65536, 1 << 24)


def run_of(seed: int, factor: float = 1.0, sizes: tuple[int, ...] = SIZES) -> Results:
    """Return a run whose largest size takes so much of its time."""
    records = noisy(curve(sizes=sizes, levels=(0.99, 1.0, 1.01)), sd=0.002, seed=seed)
    return results_of(times(one, factor if one.case.nbytes == SIZES[-1] else 1.0) for one in records)


def section_of(results: list[Results]) -> tuple[Section, Drawing, Table]:
    section = SECTIONS["history"].build(gather(results))
    assert section is not None
    drawing, table = section.blocks
    assert isinstance(drawing, Drawing)
    assert isinstance(table, Table)
    return section, drawing, table


def test_a_change_is_named_with_run_and_size_and_its_case_is_drawn_first() -> None:
    levels = (1.0, 1.0, 1.0, 1.0, 1.3, 1.3, 1.3)
    runs = in_time_order([run_of(seed, level) for seed, level in enumerate(levels)], [1.0] * 7)
    _section, drawing, table = section_of(runs[::-1])  # as they were named: their order is that of time
    assert drawing.title == (
        "1 of 3 cases over 7 runs changed level; most: all_reduce, 16 MiB from run 5 (run-5) on, 30 % slower"
    )
    assert "95 % over 3 launches of that run" in drawing.caption
    assert "false discovery rate of 5 % over all cases" in drawing.caption
    first = drawing.panels[0].svg
    assert "all_reduce, 16 MiB" in first
    assert "x 1.3 [1.2" in first or "x 1.3 [1.3" in first
    assert [point.words.split(":")[0] for point in drawing.panels[0].points] == [f"run-{day}" for day in range(1, 8)]
    names = [heading.name for heading in table.headings]
    rows = [row for row in table.rows if row[names.index("change")].text != "-"]
    assert [[cell.text for cell in row[:4]] for row in rows] == [["all_reduce, 16 MiB", "16 MiB", "5", "run-5"]]
    assert rows[0][names.index("change")].values[0] == pytest.approx(1.3, rel=0.01)
    assert len(table.rows) == 3 * 7


def test_where_nothing_changed_that_is_said() -> None:
    runs = in_time_order([run_of(seed) for seed in range(6)], [1.0] * 6)
    _section, drawing, table = section_of(runs)
    assert drawing.title.startswith("No change of level is told in 3 cases over 6 runs; furthest apart: all_reduce, ")
    assert "stroke-dasharray" not in drawing.panels[0].svg
    assert {row[-1].text for row in table.rows} == {"-"}


def test_a_few_runs_are_drawn_and_no_change_is_looked_for() -> None:
    runs = in_time_order([run_of(seed, factor) for seed, factor in enumerate((1.0, 1.0, 1.5))], [1.0] * 3)
    _section, drawing, _table = section_of(runs)
    assert drawing.title.startswith("3 cases over 3 runs: too few to look for changes of level, from 5 runs of a case")
    assert drawing.axis == "run"


def test_two_runs_have_no_history_and_a_case_that_a_run_lacks_keeps_its_place() -> None:
    assert SECTIONS["history"].build(gather(in_time_order([run_of(1), run_of(2)], [1.0] * 2))) is None
    runs = [run_of(seed, sizes=SIZES[:2] if seed == 1 else SIZES) for seed in range(4)]
    _section, drawing, _table = section_of(in_time_order(runs, [1.0] * 4))
    places = {
        panel.svg.partition("all_reduce, ")[2].partition(":")[0]: [int(point.at) for point in panel.points]
        for panel in drawing.panels
    }
    assert places == {"256 B": [1, 2, 3, 4], "64 KiB": [1, 2, 3, 4], "16 MiB": [1, 3, 4]}
