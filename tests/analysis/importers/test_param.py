"""PARAM's tables: what the lines above them tell, and what must be lost with them."""

import pytest

from collmark.analysis.importers.read import Read, read_log
from collmark.analysis.importers.row import Facts, RanksFrom, Row
from collmark.core.case import Cadence, Device

ENVIRONMENT = "\t PARAM COMM environment: {'world_size': 4, 'local_size': 2, 'global_rank': 0, 'local_rank': 0} "
BACKEND = (
    "\t backend: nccl nw-stack: pytorch-dist mode: comms args.data_types: ['float32'] args.b: 8 args.e: 64M"
    " args.f: 2 args.z: 1 args.master_ip: node01 "
)
SIZES = "[Rank   0] allSizes: [1048576] element_size: 4 local_rank: 0, num_pg 1, groupSize 4"
HEADING = (
    "\tCOMMS-RES                                size (B)  nElementsPerRank   Latency(us):p50         p75         p95"
    "         Min         Max    AlgBW(GB/s) BusBW(GB/s)"
)
ROW = (
    "\tCOMMS-RES-all_reduce-float32           1048576            262144              50.0        51.0        52.0"
    "        49.0        53.0         20.972      31.457"
)


def read(*lines: str, facts: Facts | None = None) -> Read:
    return read_log("".join(f"{line}\n" for line in lines).encode(), "log", facts or Facts())


def only(*lines: str, facts: Facts | None = None) -> Row:
    found = read(*lines, facts=facts)
    assert [one.reason for one in found.skipped] == []
    assert len(found.rows) == 1
    return found.rows[0]


def test_a_row_is_told_by_itself_and_by_what_stands_above() -> None:
    row = only(
        ENVIRONMENT, BACKEND, SIZES, "\t collective=all_reduce, src_ranks=None, dst_ranks=None", "", HEADING, ROW
    )
    assert (row.operation, row.dtype, row.reduction, row.ranks, row.nodes) == ("all_reduce", "float32", "sum", 4, 2)
    assert (row.ranks_from, row.backend, row.cadence) == (RanksFrom.TEXT, "nccl", Cadence.ISOLATED)
    assert row.seconds == pytest.approx(50e-6)
    assert row.percentiles == pytest.approx({"p75": 51e-6, "p95": 52e-6, "min": 49e-6, "max": 53e-6})


def test_a_row_alone_recovers_its_ranks_from_its_bandwidths() -> None:
    row = only(ROW)
    assert (row.ranks, row.ranks_from, row.nodes, row.backend) == (4, RanksFrom.FACTOR, None, "")


@pytest.mark.parametrize(
    ("device", "backend", "expected"),
    [("cuda:0", "nccl", Device.CUDA), ("cpu", "gloo", Device.CPU)],
)
def test_device_and_backend_are_those_of_the_run(device: str, backend: str, expected: Device) -> None:
    hello = [
        f"[Rank   {rank}] host node01, device: {device}, local_rank: {rank} world_size: 4, master_ip: node01"
        for rank in range(4)
    ]
    row = only(BACKEND.replace("nccl", backend), *hello, SIZES, HEADING, ROW)
    assert (row.device, row.backend, row.ranks, row.nodes) == (expected, backend, 4, 1)


def test_without_waiting_between_calls_the_cadence_is_streaming() -> None:
    assert only(BACKEND.replace("args.z: 1", "args.z: 0"), HEADING, ROW).cadence is Cadence.STREAMING


@pytest.mark.parametrize("mode", ["compute", "dlrm"])
def test_a_run_of_compute_kernels_has_no_rows(mode: str) -> None:
    found = read(BACKEND.replace("mode: comms ", f"mode: {mode} "), HEADING, ROW)
    assert len(found.rows) == (mode != "compute")


def test_times_with_compute_kernels_in_them_are_refused() -> None:
    with_flops = HEADING + f"{'TFlops':>15}"
    found = read(with_flops, ROW + f"{'141.50321':>15}")
    assert [one.reason for one in found.skipped] == ["its time includes compute kernels"]
    assert found.rows == ()
    whole = HEADING + f"{'TotalLatency(us):p50':>20}{'CompLatency(us):p50':>20}{'TFlops':>15}"
    assert only(whole, ROW + f"{'913.4':>20}{'211.7':>20}{'141.50321':>15}").seconds == pytest.approx(50e-6)


def test_columns_that_were_cut_off_are_missed_under_their_heading() -> None:
    whole = HEADING + f"{'TotalLatency(us):p50':>20}{'CompLatency(us):p50':>20}{'TFlops':>15}"
    found = read(whole, ROW)
    assert [one.reason for one in found.skipped] == ["its columns are not those of the heading"]


def test_a_group_size_is_believed_where_it_agrees_with_all_ranks() -> None:
    assert only(ENVIRONMENT, BACKEND, SIZES.replace("groupSize 4", "groupSize 40"), HEADING, ROW).ranks_from is (
        RanksFrom.FACTOR
    )
    pairs = ROW.replace("31.457", "20.972")
    row = only(ENVIRONMENT, BACKEND, SIZES.replace("num_pg 1, groupSize 4", "num_pg 2, groupSize 2"), HEADING, pairs)
    assert (row.ranks, row.nodes, row.settings) == (2, None, "2 groups at once")


def test_sizes_that_fall_begin_a_table_of_which_nothing_is_known() -> None:
    smaller = ROW.replace("1048576", "  65536").replace("262144", " 16384").replace("20.972", " 1.311")
    found = read(ENVIRONMENT, BACKEND, SIZES, HEADING, ROW, smaller.replace("31.457", " 1.966"))
    assert [(row.backend, row.group) for row in found.rows] == [("nccl", 1), ("", 2)]


@pytest.mark.parametrize("operation", [None, "all_to_all_v"])
def test_tables_of_2020_need_to_be_told_their_collective(operation: str | None) -> None:
    heading = "\tCOMMS-RES\tsize (B)\t num-elements\t Latency(us):p50\tp75\t\tp95\t algBW(GB/s)\t busBW(GB/s)"
    row = (
        "\tCOMMS-RES\t     1048576\t       32768\t        50.0\t        51.0\t        52.0\t      20.972\t      18.350"
    )
    found = read(heading, row, facts=Facts(operation=operation))
    assert [one.operation for one in found.rows] == ([operation] if operation else [])
    assert [one.reason for one in found.skipped] == (
        [] if operation else ["the table does not say which collective it is of: say --operation"]
    )


def test_a_size_of_reduce_scatter_without_a_type_is_refused_where_it_may_be_the_output() -> None:
    row = ROW.replace("all_reduce-float32", "reduce_scatter_base").replace("31.457", "15.729")
    assert read(row).rows == ()
    assert only(row.replace("262144", " 65536")).ranks == 4  # 16 bytes an element of a rank: that of all ranks


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("31.457", "31.45"),
        ("31.457", ""),
        ("262144", "262145"),
        ("-float32", "-floa"),
        ("all_reduce", "all_red"),
        (" 50.0", " -1.0"),
        (" 50.0", "  nan"),
        (" 51.0", " 41.0"),
        ("COMMS-RES-all_reduce-float32", "COMMS-RES-QUANT-all_reduce-float32"),
        ("COMMS-RES-all_reduce-float32", "COMMS-RES"),
    ],
)
def test_a_row_that_cannot_be_is_named_and_left_out(old: str, new: str) -> None:
    assert old in ROW
    found = read(ENVIRONMENT, BACKEND, SIZES, HEADING, ROW.replace(old, new))
    assert found.rows == ()
    assert [one.line for one in found.skipped] == [5]


def test_a_pair_of_ranks_is_two_whatever_the_user_says_of_the_others() -> None:
    row = (
        "\tCOMMS-RES-pt2pt-float32        1048576                50.0      51.0      52.0                    101.0"
        "     102.0     103.0         22.000         40.000            88.000           160.000"
    )
    found = read(row, facts=Facts(ranks=8))
    by_operation = {one.operation: one for one in found.rows}
    assert by_operation["ping_pong"].seconds == pytest.approx(50.5e-6)
    assert by_operation["bidirectional_stream"].seconds == pytest.approx(2 * 1048576 / 40e9)
    assert by_operation["bidirectional_stream"].bus_bandwidth == pytest.approx(20e9)
    assert by_operation["ping_pong"].ranks == 2
