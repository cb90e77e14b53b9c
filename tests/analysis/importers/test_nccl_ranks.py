"""nccl-tests: numbers of ranks and nodes, where head and rows agree and where they do not."""

import pytest
from tests.analysis.importers.nccl_text import SIZES, head_text, read, row_text

from collmark.analysis.importers.row import RanksFrom


@pytest.mark.parametrize("gone", range(8))
def test_ranks_are_not_counted_where_a_line_is_missing(gone: int) -> None:
    rows = [row_text(size, "none", 0, factor=1.0) for size in SIZES]
    head = head_text(SIZES[0], SIZES[-1], gpus=1)
    assert {(row.ranks, row.nodes) for row in read(*head, *rows).rows} == {(8, 1)}
    del head[3 + gone]
    assert {(row.ranks, row.nodes) for row in read(*head, *rows).rows} == {(None, None)}


def test_nodes_are_those_on_which_ranks_are_even() -> None:
    rows = [row_text(size, "none", 0, factor=1.0) for size in SIZES]
    even = read(*head_text(SIZES[0], SIZES[-1], ranks=24, gpus=1, hosts=3), *rows)
    assert {(row.ranks, row.nodes) for row in even.rows} == {(24, 3)}
    uneven = read(*head_text(SIZES[0], SIZES[-1], ranks=20, gpus=1, hosts=3), *rows)
    assert {(row.ranks, row.nodes) for row in uneven.rows} == {(None, None)}
    told = "$ mpirun -np 32 broadcast_perf -b 1M -e 16M -f 2"
    fewer = read(told, *head_text(SIZES[0], SIZES[-1], ranks=24, gpus=1, hosts=3), *rows)
    assert {row.ranks for row in fewer.rows} == {None}


def test_the_factor_goes_before_the_lines_of_ranks() -> None:
    rows = [row_text(size, ranks=16, factor=1.875) for size in SIZES]
    found = read(*head_text(SIZES[0], SIZES[-1]), *rows)
    assert {(row.ranks, row.nodes) for row in found.rows} == {(16, None)}
    assert "says 8 ranks" in found.warned[0].text


def _with_a_bus_bandwidth(row: str, wrong: str) -> str:
    """Return a row whose figure out of place is another's, as wide as it was."""
    tokens = row.split()
    return row.replace(f"{tokens[7]:>6}  {tokens[8]:>6}  ", f"{wrong:>6}  {tokens[8]:>6}  ", 1)


@pytest.mark.parametrize("wrong", ["1.00", "9999.0"])
@pytest.mark.parametrize("at", range(len(SIZES)))
def test_one_odd_bandwidth_is_named_and_takes_the_head_from_no_row(at: int, wrong: str) -> None:
    rows = [row_text(size, ranks=8) for size in SIZES]
    rows[at] = _with_a_bus_bandwidth(rows[at], wrong)
    found = read(*head_text(SIZES[0], SIZES[-1]), *rows)
    assert {(row.ranks, row.ranks_from, row.nodes) for row in found.rows} == {(8, RanksFrom.TEXT, 1)}
    assert len(found.rows) == 2 * len(SIZES)
    assert [one.line for one in found.warned] == [14 + at]
    assert "bus bandwidth is printed as" in found.warned[0].text


def test_rows_of_another_number_of_ranks_after_the_last_of_the_heads_are_taken_for_themselves() -> None:
    rows = [row_text(size) for size in SIZES[:3]] + [row_text(size, ranks=16, factor=1.875) for size in SIZES[3:]]
    found = read(*head_text(SIZES[0], SIZES[-1]), *rows)
    assert [(row.ranks, row.nodes) for row in found.rows] == [(8, 1)] * 6 + [(16, None)] * 4
    assert [(one.line, "not all of the same" in one.text) for one in found.warned] == [(17, True)]
