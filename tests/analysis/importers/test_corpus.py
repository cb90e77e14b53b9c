"""Every log of the corpus gives exactly its truth."""

from typing import Any

import pytest
from tests.analysis.importers import corpus

from collmark.analysis.importers.line import read_lines
from collmark.analysis.importers.row import Row

LOGS = {str(path.relative_to(corpus.ROOT)): path for path in corpus.logs()}


def _order(row: dict[str, Any]) -> tuple[Any, ...]:
    rest = (row["nbytes_printed"], row["in_place"], row["operation"], row["statistic"], row["seconds"])
    return (row["line"], *(repr(one) for one in rest))


def _fields(row: Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in corpus.FIELDS}


@pytest.mark.parametrize("log", LOGS)
def test_every_row_is_the_truth(log: str) -> None:
    truth = corpus.truth_of(LOGS[log], "rows")
    assert truth is not None, "a log has its truth beside it"
    found = sorted((_fields(row) for row in corpus.read(LOGS[log].read_bytes()).rows), key=_order)
    truth = sorted(truth, key=_order)
    assert [(row["line"], row["in_place"]) for row in found] == [(row["line"], row["in_place"]) for row in truth]
    for row, true in zip(found, truth, strict=True):
        for name in corpus.FIELDS:
            is_measured = name in corpus.MEASURED and true[name] is not None
            expected = pytest.approx(true[name], rel=1e-9, abs=0) if is_measured else true[name]
            assert row[name] == expected, f"{name} on line {row['line']}: {row[name]!r}, in truth {true[name]!r}"


@pytest.mark.parametrize("log", LOGS)
def test_every_line_is_refused_that_must_be(log: str) -> None:
    truth = corpus.truth_of(LOGS[log], "skipped") or []
    found = corpus.read(LOGS[log].read_bytes())
    assert {one.line for one in found.skipped} == {one["line"] for one in truth}
    assert all(one.reason for one in found.skipped)


@pytest.mark.parametrize("log", LOGS)
def test_every_printed_figure_stands_on_its_line(log: str) -> None:
    data = LOGS[log].read_bytes()
    text = {line.number: line.text for line in read_lines(data, log)}
    for row in corpus.read(data).rows:
        where = "\n".join(text.get(row.line + index, "") for index in range(row.lines))
        assert row.printed, f"line {row.line}: no figure is kept as it stands"
        for name, token in row.printed.items():
            assert token in where, f"{name} {token!r} is not on line {row.line}: {where!r}"


@pytest.mark.parametrize(
    ("folder", "least"),
    [
        ("nccl", 25),
        ("osu", 20),
        *((folder, 8) for folder in ("imb", "param", "perftest", "nvbandwidth", "ucc", "gloo")),
    ],
)
def test_each_main_tool_has_its_logs(folder: str, least: int) -> None:
    assert sum(name.startswith(f"{folder}/") for name in LOGS) >= least


def test_there_are_logs_of_everything_that_is_read() -> None:
    assert len(LOGS) >= 120
    tools = {row.tool for path in LOGS.values() for row in corpus.read(path.read_bytes()).rows}
    assert len(tools) >= 10
