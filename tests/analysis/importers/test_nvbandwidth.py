"""nvbandwidth: what its matrices mean, and what tells them apart."""

import json

import pytest

from collmark.analysis.importers.nvbandwidth import buffer_nbytes
from collmark.analysis.importers.nvbandwidth_case import case_of, split_key
from collmark.analysis.importers.read import Read, read_log
from collmark.analysis.importers.row import Facts

READS = "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)"
MATRIX = ["           0         1", " 0       N/A    172.16", " 1    171.99       N/A", ""]
SUM = "SUM device_to_device_memcpy_read_ce 344.15"


def read(*lines: str) -> Read:
    return read_log("".join(f"{line}\n" for line in lines).encode(), "log", Facts())


def test_every_cell_between_two_gpus_is_a_stream() -> None:
    found = read("Running device_to_device_memcpy_read_ce.", READS, *MATRIX, SUM)
    assert [(row.operation, row.settings, row.ranks, row.line) for row in found.rows] == [
        ("stream", "copy engine, read, row 0, column 1", 2, 4),
        ("stream", "copy engine, read, row 1, column 0", 2, 5),
    ]
    assert found.rows[0].algorithm_bandwidth == pytest.approx(172.16e9)
    assert (found.rows[0].nbytes, found.rows[0].seconds) == (None, None)


def test_the_size_that_an_option_asks_for_gives_a_time_to_what_the_copy_engine_copies() -> None:
    command = "$ ./nvbandwidth -b 256 -t device_to_device_memcpy_read_ce"
    row = read(command, "Running device_to_device_memcpy_read_ce.", READS, *MATRIX, SUM).rows[0]
    assert (row.nbytes, row.nbytes_printed) == (256 * 2**20, None)
    assert row.seconds == pytest.approx(256 * 2**20 / 172.16e9)
    kernel = [
        line.replace("read_ce", "read_sm") for line in ("Running device_to_device_memcpy_read_ce.", READS, *MATRIX, SUM)
    ]
    assert read(command, *kernel).rows[0].nbytes is None  # kernels cut the size to what fits the GPU


@pytest.mark.parametrize(
    ("command", "mebibytes"),
    [
        ("./nvbandwidth -b 1024", 1024),
        ("./nvbandwidth --bufferSize=100 -t 1", 100),
        ("./nvbandwidth -t 1 -b 64 -i 5", 64),
        ("./nvbandwidth -b 100", None),  # may be 1000
        ("./nvbandwidth -b 1", None),
        ("./nvbandwidth", None),
    ],
)
def test_a_size_that_may_be_cut_is_none(command: str, mebibytes: int | None) -> None:
    assert buffer_nbytes(command) == (None if mebibytes is None else mebibytes * 2**20)


@pytest.mark.parametrize(
    ("key", "operation", "counts_both", "total"),
    [
        ("device_to_device_bidirectional_memcpy_read_ce", "bidirectional_stream", False, False),
        ("device_to_device_bidirectional_memcpy_write_sm", "bidirectional_stream", True, False),
        ("multinode_device_to_device_bidirectional_memcpy_read_sm", "bidirectional_stream", True, False),
        ("device_to_device_bidirectional_memcpy_write_sm_write2", "bidirectional_stream", False, False),
        ("device_to_device_bidirectional_memcpy_write_sm_total", "bidirectional_stream", False, True),
        ("host_to_device_bidirectional_memcpy_ce", "host_to_device_bidirectional_memcpy", False, False),
        ("all_to_one_write_ce", "all_to_one_write", False, False),
        ("multinode_bisect_write_ce", "bisect_write", False, False),
        ("device_local_copy", "device_local_copy", False, False),
    ],
)
def test_a_name_tells_what_is_counted(key: str, operation: str, counts_both: bool, total: bool) -> None:  # noqa: FBT001
    case = case_of(*split_key(key))
    assert case is not None
    assert (case.operation, case.counts_both, case.total) == (operation, counts_both, total)


def test_a_unidirectional_case_has_no_parts() -> None:
    assert case_of(*split_key("device_to_device_memcpy_read_ce_read1")) is None


@pytest.mark.parametrize(
    "lines",
    [
        ["Running device_to_device_memcpy_write_ce.", READS, *MATRIX, SUM],  # two names
        ["Running device_to_device_memcpy_read_ce.", READS, *MATRIX],  # nothing says that these are all lines
        ["Running device_to_device_memcpy_read_ce.", READS, *MATRIX, SUM.replace("344", "345")],
        [READS, *MATRIX[:2], "", SUM],  # a line is missing, and only the sum names the case
        [*MATRIX[:1], " 0    170.00    172.16", " 1    171.99    170.00", "", SUM],  # no such copy is made
    ],
)
def test_a_matrix_is_refused_as_a_whole_where_its_lines_contradict(lines: list[str]) -> None:
    found = read("nvbandwidth Version: v0.5", *lines)
    assert found.rows == ()
    assert found.skipped


def test_a_line_too_short_is_refused_alone() -> None:
    lines = [*MATRIX[:1], " 0       N/A    172.16", " 1    171.99", ""]
    found = read("Running device_to_device_memcpy_read_ce.", READS, *lines, SUM)
    assert [row.line for row in found.rows] == [4]
    assert [one.line for one in found.skipped] == [5]


def test_a_report_whose_figures_do_not_add_up_is_refused() -> None:
    case = {
        "bandwidth_description": "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s) ",
        "bandwidth_matrix": [["55.1001", "54.9"]],
        "name": "host_to_device_memcpy_ce",
        "status": "Passed",
        "sum": 110.0001,
    }
    whole = read_log(json.dumps({"nvbandwidth": {"testcases": [case], "version": "v0.7"}}).encode(), "log", Facts())
    assert [(row.settings, row.version) for row in whole.rows] == [
        ("copy engine, row 0, column 0", "v0.7"),
        ("copy engine, row 0, column 1", "v0.7"),
    ]
    case["bandwidth_matrix"] = [["55.1001"]]
    cut = read_log(json.dumps({"nvbandwidth": {"testcases": [case]}}).encode(), "log", Facts())
    assert (cut.rows, [one.reason for one in cut.skipped]) == ((), ["its figures do not add up to its sum"])
