"""Flat rows hold every field once, in SI units, and survive both formats."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from collmark.analysis.parquet import write_parquet
from collmark.core.errors import UnavailableError, UsageError
from collmark.workflow.export import Format, columns, read_format, rows, write_csv


def leaves(thing: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in thing.items():
        found |= leaves(value, f"{prefix}{name}_") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return found


def test_every_value_of_every_record_is_there(simulate: Callable[..., Any]) -> None:
    folder = simulate()
    records = list(folder.records())
    for row, record in zip(rows(folder), records, strict=True):
        assert list(row) == list(columns())
        for name, value in leaves(msgspec.to_builtins(record)).items():
            if value is not None:
                assert row[name] == value, name
        assert row["case_placement_nodes"] == 1
        assert row["bus_bandwidth"] == pytest.approx(row["algorithm_bandwidth"] * 1.5)
        assert row["algorithm_bandwidth"] == pytest.approx(record.case.nbytes / record.timing.median)
        assert (row["launch_placement"], row["launch_launcher"]) == ("1x4", "collmark")
        assert row["run"] == folder.path.name


def test_csv_reads_back(simulate: Callable[..., Any]) -> None:
    folder = simulate()
    text = io.StringIO()
    write_csv(rows(folder), text)
    read = list(csv.DictReader(io.StringIO(text.getvalue())))
    assert "\r" not in text.getvalue()
    for cells, row in zip(read, rows(folder), strict=True):
        for name, kind in columns().items():
            value, cell = row[name], cells[name]
            if value is None:
                assert cell == ""
            elif kind in (int, float):
                assert float(cell) == value
            elif kind is bool:
                assert cell == str(value).lower()
            elif kind is not str:
                assert json.loads(cell) == list(value)
            else:
                assert cell == value


def test_parquet_reads_back(simulate: Callable[..., Any], tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = simulate("wrong_rank=1", launches="1")
    write_parquet(columns(), rows(folder), tmp_path / "run.parquet")
    table = parquet.read_table(tmp_path / "run.parquet")
    assert table.column_names == list(columns())
    assert str(table.schema.field("timing_median").type) == "double"
    assert table.column("case_nbytes").to_pylist() == [row["case_nbytes"] for row in rows(folder)]
    assert table.column("timing_median").null_count == table.num_rows


def test_parquet_without_pyarrow_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(UnavailableError, match=r"pip install .* or --format csv"):
        write_parquet({}, [], tmp_path / "x.parquet")


@pytest.mark.parametrize(
    ("text", "file", "kind"),
    [(None, None, "csv"), (None, "a.parquet", "parquet"), ("csv", "a.parquet", "csv"), ("parquet", None, "parquet")],
)
def test_format_is_said_or_seen(text: str | None, file: str | None, kind: str) -> None:
    assert read_format(text, file) is Format(kind)


def test_an_ending_of_something_else_is_no_format() -> None:
    with pytest.raises(UsageError, match=r"latest\.xlsx: no format has the ending \.xlsx: use \.csv or \.parquet"):
        read_format(None, "latest.xlsx")
    assert read_format("csv", "latest.xlsx") is Format.CSV
    assert read_format(None, "latest.CSV") is Format.CSV


def test_unknown_format_lists_the_known() -> None:
    with pytest.raises(UsageError, match="unknown format 'xlsx'; allowed: csv, parquet"):
        read_format("xlsx", None)
    with pytest.raises(UsageError, match=r"unknown format 'cvs'; did you mean 'csv'\? allowed: csv, parquet"):
        read_format("cvs", None)
