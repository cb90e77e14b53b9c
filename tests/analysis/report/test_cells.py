"""Cells hold the numbers behind their words: exact bytes wherever a size is written."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from scipy import stats
from tests.analysis.figures.tables import in_time_order, streamed
from tests.analysis.made import curve, results_of

from collmark.analysis.report import pictures
from collmark.analysis.report.cells import size_cell
from collmark.analysis.report.content import Cell, Details, Table
from collmark.analysis.report.index import SECTIONS
from collmark.analysis.report.material import Material, gather

SIZES = (1024, 65536)
WRITTEN = re.compile(r"\d+(\.\d+)? (B|KiB|MiB|GiB)")
TABLES = ("cases", "contrasts", "ragged", "launches", "runs", "history", "prior", "fits")


def tables(material: Material) -> list[Table]:
    """Return the tables of all sections that write sizes."""
    sections = [section for name in TABLES if (section := SECTIONS[name].build(material)) is not None]
    blocks = [block for section in sections for block in section.blocks]
    return [one for one in blocks if isinstance(one, Table)] + [
        inner for one in blocks if isinstance(one, Details) for inner in one.blocks if isinstance(inner, Table)
    ]


def test_every_cell_that_is_a_size_holds_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "panels", lambda _table: ())  # they take time and hold no cells
    nccl, zipf = {"backend": "nccl"}, {"traffic": "zipf:1"}
    one = results_of(
        [
            *curve("all_reduce", sizes=SIZES, ranks=8, of_case=nccl),
            *curve("all_to_all_v", sizes=SIZES),
            *curve("all_to_all_v", sizes=SIZES, of_case=zipf),
            *curve("barrier", sizes=(0,)),
        ]
    )
    material = gather(in_time_order([streamed(one)] * 3, (1.0, 1.0, 1.0)), prior="nccl:HOPPER")
    found, told = tables(material), set()
    for table in found:
        for column, heading in enumerate(table.headings):
            cells = [row[column] for row in table.rows]
            sizes = [cell for cell in cells if WRITTEN.fullmatch(cell.text)]
            assert all(len(cell.values) == 1 for cell in sizes), (table.anchor, heading.name)
            if sizes:
                assert heading.si == "B", (table.anchor, heading.name)
                told.add(table.anchor)
            if heading.name == "nbytes":
                assert {cell.values[0] for cell in sizes} <= set(SIZES) | {43008, 672}, table.anchor
                assert all(cell.text == "-" for cell in cells if not cell.values)
    assert {"cases-table", "contrast-cadence-table", "ragged-table", "launch-medians", "runs-table", "history-table",
            "prior-table"} <= told  # fmt: skip


def test_a_size_that_was_not_had_as_asked_holds_what_was_had() -> None:
    assert size_cell(4104, "4 KiB → 4.01 KiB") == Cell(text="4 KiB → 4.01 KiB", values=(4104,))
    assert size_cell(0) == Cell(text="-")


def test_numbers_behind_cases_are_those_of_the_records() -> None:
    records = curve(sizes=SIZES)
    table = next(one for one in tables(gather([results_of(records)], ())) if one.anchor == "cases-table")
    names = [heading.name for heading in table.headings]
    for nbytes, row in zip(SIZES, table.rows, strict=True):
        logs = np.log([one.timing.median for one in records if one.timing and one.case.nbytes == nbytes])
        half = stats.t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / math.sqrt(len(logs))
        ends = [math.exp(logs.mean() - half), math.exp(logs.mean() + half)]
        assert row[names.index("T")].values == pytest.approx([math.exp(logs.mean())], rel=1e-12)
        assert row[names.index("95 %")].values == pytest.approx(ends, rel=1e-12)
