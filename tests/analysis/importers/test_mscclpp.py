"""mscclpp-test's lines of JSON."""

import json

import pytest

from collmark.analysis.importers.read import Read, read_log
from collmark.analysis.importers.row import Facts, RanksFrom
from collmark.core.case import Cadence, Device

TIME = 1073741824 / 139.0452e3
LINE: dict[str, object] = {
    "algBw": 139.0452,
    "busBw": 243.3291,
    "kernel": 1,
    "name": "allreduce",
    "ranks": 8,
    "ranksPerNode": 4,
    "size": 1073741824,
    "time": TIME,
}


def read(*lines: str) -> Read:
    return read_log("".join(f"{line}\n" for line in lines).encode(), "log", Facts())


def test_a_line_holds_the_mean_over_ranks_of_a_loop_of_graphs() -> None:
    row = read(json.dumps(LINE)).rows[0]
    assert (row.operation, row.dtype, row.reduction, row.settings) == ("all_reduce", "int32", "sum", "kernel 1")
    assert (row.ranks, row.ranks_from, row.nodes) == (8, RanksFrom.TEXT, 2)
    assert (row.cadence, row.device, row.statistic) == (Cadence.GRAPH, Device.CUDA, "one loop, mean of processes")
    assert row.seconds == pytest.approx(TIME * 1e-6)
    assert row.bus_bandwidth == pytest.approx(243.3291e9)


def test_a_size_is_the_one_that_was_moved_where_it_was_rounded_down() -> None:
    found = read(json.dumps(LINE | {"size": 100_000, "algBw": 20.0, "busBw": 35.0, "time": 99_968 / 20e3}))
    assert (found.rows[0].nbytes_printed, found.rows[0].nbytes, found.warned) == (100_000, 99_968, ())


def test_figures_whose_product_is_infinite_break_nothing() -> None:
    line = json.dumps(LINE | {"algBw": 1e200, "busBw": 1e200, "time": 1e200})
    assert "1e+200" in line
    assert all(row.nbytes in (None, LINE["size"]) for row in read(line).rows)


def test_an_object_over_several_lines_is_none_of_its() -> None:
    found = read(json.dumps(LINE, indent=1))
    assert (found.rows, len(found.skipped)) == ((), 1)


def test_ranks_that_the_bandwidths_contradict_are_those_of_the_bandwidths() -> None:
    found = read(json.dumps(LINE | {"ranks": 16, "busBw": 139.0452 * 1.75}))
    assert (found.rows[0].ranks, found.rows[0].ranks_from) == (8, RanksFrom.FACTOR)
    assert len(found.warned) == 1


@pytest.mark.parametrize(
    "change",
    [{"target": "latency"}, {"name": "allwhat"}, {"time": 0}, {"size": -1}, {"ranks": 8.5}, {"algBw": "fast"}],
)
def test_what_is_no_measurement_is_refused(change: dict[str, object]) -> None:
    found = read(json.dumps(LINE | change))
    assert (found.rows, len(found.skipped)) == ((), 1)
