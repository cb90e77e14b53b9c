"""Tables: aligned on the point, as wide as asked, never cut."""

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collmark.cli import figures
from collmark.cli.layout import Align, Column, lay_out
from collmark.cli.table import case_columns, result_columns, result_lines
from collmark.core.case import Case
from collmark.core.estimate import Estimate
from collmark.core.lower_bound import Reached
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Placement
from collmark.core.record import Status
from collmark.workflow.listing import Row


def plain(text: str, _style: str) -> str:
    return text


def row(
    operation: str,
    nbytes: int,
    seconds: float | None,
    *,
    ranks: int = 16384,
    launches: int = 5,
    dtype: str = "bfloat16",
    status: Status = Status.BUDGET,
) -> Row:
    case = Case(
        operation=operation,
        backend="simulated",
        dtype=dtype,
        reduction="prod",
        # A count for each of 16,384 x 16,384 pairs would fill the memory, and the label is as wide as a host's name.
        placement=Placement(nodes=1 if OPERATIONS[operation].ragged else ranks // 8, ranks_per_node=8, label="x" * 40),
        traffic="uniform" if OPERATIONS[operation].ragged else "",
        nbytes=nbytes,
        requested_nbytes=nbytes + 1,
    )
    return Row(
        case=case,
        launches=launches,
        seconds=seconds,
        half_width=None if seconds is None else 0.5,
        algorithm_bandwidth=None if seconds is None else nbytes / seconds,
        bus_bandwidth=None if seconds is None else 2 * nbytes / seconds,
        wrong=0,
        status=status,
        share=(1, launches),
    )


@pytest.mark.manner(6)
@pytest.mark.manner(22)
@pytest.mark.parametrize("width", [60, 80, 100, 200])
@pytest.mark.parametrize("operation", ["all_reduce", "bidirectional_stream"])
def test_no_line_is_wider_than_asked_and_nothing_is_lost(width: int, operation: str) -> None:
    rows = [row(operation, 2**k, 1e-6 * 2**k) for k in range(4, 34, 3)]
    lines = result_lines(rows, marker="SIMULATED", width=width, paint=plain)
    assert max(map(len, lines)) <= width
    words = " ".join(lines).split()
    for column in (*case_columns(rows), *result_columns(rows)):
        for cell in column.cells:
            assert set(cell.split()) <= set(words)


@pytest.mark.parametrize("width", [40, 80, 100, 120])
def test_a_cell_wider_than_the_line_is_folded_whole(width: int) -> None:
    name = "20300101T000000Z-a-label-" + "-".join(["word"] * 40)
    columns = [
        Column(name="run", cells=[name, "x"]),
        Column(name="ranks", cells=["7", "8"], align=Align.RIGHT),
        Column(name="statuses", cells=[", ".join(["12 converged"] * 12), "-"], styles=["bad", "muted"]),
    ]
    lines = lay_out(columns, width, plain)
    assert max(map(len, lines)) <= width
    text = "".join("".join(lines).split())
    for column in columns:
        for cell in column.cells:
            assert "".join(cell.split()) in text


@pytest.mark.manner(22)
@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("operation", sorted(OPERATIONS))
@pytest.mark.parametrize("dtype", ["bfloat16", "int8"])
def test_every_operation_fits(width: int, operation: str, dtype: str) -> None:
    few = [row(operation, 2**k - 1, 1e-6 * 2**k, dtype=dtype, launches=1) for k in range(4, 34, 3)]
    many = [row(operation, 2**k - 1, 1e-9 * 2**k, dtype=dtype, status=Status.UNSTABLE) for k in range(4, 34, 3)]
    rows = [*few, *many, row(operation, 8, None, dtype=dtype, status=Status.FAILED)]
    lines = result_lines(rows, marker="SIMULATED", width=width, paint=plain)
    assert max(map(len, lines)) <= width
    assert not any("..." in line for line in lines)
    assert " ".join(lines).count(operation) == len(rows)


@pytest.mark.parametrize("width", [80, 100, 200])
def test_ragged_cases_show_how_uneven_they_are_and_what_they_reach(width: int) -> None:
    ends = Estimate(value=0.834, lower=0.7, upper=0.9, method="made", count=5, over="launches")
    reached = Reached(value=0.834, estimate=ends, against="uniform all_to_all_v")
    bare = row("all_to_all_v", 4096, 1e-4, ranks=8)
    cases = [msgspec.structs.replace(bare.case, traffic=name) for name in ("uniform", "moe:64:8:0.5:7", "zipf:1")]
    rows = [
        msgspec.structs.replace(bare, case=case, imbalance=imbalance, reached=found)
        for case, imbalance, found in zip(
            cases, (1.0, 2.345, 1.5), (None, reached, Reached(reason="one size only")), strict=True
        )
    ]
    lines = result_lines(rows, marker="", width=width, paint=plain)
    assert max(map(len, lines)) <= width
    text = " ".join(" ".join(lines).split())
    assert "of bound: T of uniform all_to_all_v with as many bytes at the busiest rank, over T" in text
    for shown in ("uniform 4097", "1.00 - - 0", "moe:64:8:0.5:7 4097", "2.35 83 16 0", "1.50 - - 0"):
        assert shown in text, (shown, text)
    even = result_lines(rows[:1], marker="", width=width, paint=plain)
    assert "of bound" not in " ".join(even)


def test_points_stand_above_each_other() -> None:
    column = Column(name="x", cells=["142", "0.0000562", "1.05", "-"], align=Align.POINT)
    lines = lay_out([column], 80, plain)[1:]
    assert [line.find(".") for line in lines] == [-1, 3, 3, -1]


@pytest.mark.manner(16)
@given(st.floats(1e-9, 1e6), st.integers(1, 2**40))
def test_what_is_not_zero_is_not_shown_as_zero(seconds: float, nbytes: int) -> None:
    for text in (figures.microseconds(seconds), figures.gigabytes(nbytes / seconds), figures.percent(seconds)):
        assert re.search(r"[1-9]", text)
    assert figures.microseconds(None) == figures.gigabytes(None) == figures.percent(None) == "-"


@pytest.mark.manner(16)
@given(st.lists(st.floats(1e-6, 1e4), min_size=1, max_size=8))
def test_unit_never_changes(values: list[float]) -> None:
    rows = [row("all_reduce", 1024, value) for value in values]
    shown = next(column for column in result_columns(rows) if column.name == "time")
    assert shown.unit == "(us)"
    assert [float(cell) for cell in shown.cells] == pytest.approx([1e6 * value for value in values], rel=0.006)


def test_number_of_launches_has_a_column_where_it_differs() -> None:
    same = result_lines([row("all_reduce", 8, 1.0), row("all_reduce", 16, 1.0)], marker="", width=100, paint=plain)
    other = result_lines(
        [row("all_reduce", 8, 1.0), row("all_reduce", 16, 1.0, launches=1)], marker="", width=100, paint=plain
    )
    assert "over 5 launches" in " ".join(same)
    assert "over n launches, in brackets: inside one" in " ".join(" ".join(other).split())
    assert "(50)" in " ".join(other)


def test_other_placements_have_tables_of_their_own() -> None:
    rows = [row("all_reduce", 8, 1.0, ranks=8), row("all_reduce", 8, 1.0, ranks=16)]
    lines = result_lines(rows, marker="", width=100, paint=plain)
    assert sum(line.startswith("operation") for line in lines) == 2
