"""perftest: which test a log is of, what its figures mean, and what may not be read."""

import pytest

from collmark.analysis.importers.perftest_trial import Kind, Trial, commanded_trial, named_trial
from collmark.analysis.importers.read import Read, read_log
from collmark.analysis.importers.row import Facts, Row
from collmark.core.case import Device

DASHES = "-" * 87
HEADER = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
ROW = " 65536      5000             98.42              98.01\t\t   0.186932"
LATENCIES = (
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]"
    "   99% percentile[usec]   99.9% percentile[usec] "
)
LATENCY = (
    " 2       1000          1.21           6.43         1.28     \t       1.30        \t0.06   \t\t1.52    \t\t4.11   "
)


def banner(title: str, connection: str = "RC", queue_pairs: int = 1) -> list[str]:
    return [
        DASHES,
        f"                    {title} Test",
        " Dual-port       : OFF\t\tDevice         : mlx5_0",
        f" Number of qps   : {queue_pairs}\t\tTransport type : IB",
        f" Connection type : {connection}\t\tUsing SRQ      : OFF",
        " Mtu             : 4096[B]",
        DASHES,
        " local address: LID 0x0b QPN 0x0093 PSN 0xbf9bfe RKey 0x020f00 VAddr 0x0078cecebed000",
        DASHES,
    ]


def read(*lines: str) -> Read:
    return read_log("".join(f"{line}\n" for line in lines).encode(), "log", Facts())


def only(*lines: str) -> Row:
    found = read(*lines)
    assert [one.reason for one in found.skipped] == []
    assert len(found.rows) == 1
    return found.rows[0]


def reason(*lines: str) -> str:
    found = read(*lines)
    assert found.rows == ()
    assert len(found.skipped) == 1
    return found.skipped[0].reason


@pytest.mark.parametrize(
    ("text", "operation", "directions"),
    [
        ("RDMA_Write BW Test", "stream", 1),
        ("RDMA_Write_imm BW Test", "stream", 1),
        ("RDMA_Write Bidirectional Post List BW Test", "bidirectional_stream", 2),
        ("RDMA_Read BW Test", "stream", 1),
        ("RDMA_Write Latency Test", "ping_pong", 1),
        ("Send Latency Test", "ping_pong", 1),
        ("RDMA_Read Latency Test", "remote_read", 1),
        ("Atomic FETCH_AND_ADD BW Test", "remote_atomic_stream", 1),
        ("Atomic CMP_AND_SWAP Latency Test", "remote_atomic", 1),
        ("Send BW Multicast Test", "multicast_stream", 1),
        ("Send BW forwarding Test", "forwarding_stream", 1),
        ("RDMA_Read_Bidirectional_BW_Test", "bidirectional_stream", 2),
    ],
)
def test_a_banner_names_the_test(text: str, operation: str, directions: int) -> None:
    test = named_trial(text)
    assert test is not None
    assert (test.operation, test.directions) == (operation, directions)


@pytest.mark.parametrize("text", ["RDMA_Write BW Tes", "RDMA_Write", "RDMA_Wr BW Test", "Test", "Send  BW Test"])
def test_a_cut_banner_names_none(text: str) -> None:
    assert named_trial(text) is None


WRITE = Trial(verb="write", kind=Kind.BANDWIDTH)
BOTH = Trial(verb="write", kind=Kind.BANDWIDTH, directions=2)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("$ ib_write_bw -d mlx5_0 -a --report_gbits 192.168.7.12", WRITE),
        ("$ ib_write_bw -b -d mlx5_0 192.168.7.12", BOTH),
        ("$ ib_write_bw --bidirectional 192.168.7.12", BOTH),
        ("$ ib_write_bw node02 -aFb", BOTH),
        ("Starting RDMA client 'ib_write_bw' for mlx5_0 (Port 18515)...", WRITE),
        ("$ /opt/perftest/bin/ib_read_lat node02", Trial(verb="read", kind=Kind.LATENCY)),
        ("$ raw_ethernet_bw node02", Trial(verb="send", kind=Kind.BANDWIDTH, special="raw_ethernet")),
        ("$ ib_write_bw -d mlx5_0", None),  # a server, or cut off before the option that tells
        ("$ ib_write_bw", None),
        ("$ ib_write_lat -C 192.168.7.12", None),  # in processor cycles
        ("$ ib_write_bwx 192.168.7.12", None),
    ],
)
def test_a_command_line_names_the_test_where_it_is_whole(command: str, expected: Trial | None) -> None:
    assert commanded_trial(command) == expected


def test_a_stream_takes_its_time_from_the_message_rate_where_that_has_more_digits() -> None:
    row = only(*banner("RDMA_Write BW", queue_pairs=4), HEADER, ROW)
    assert (row.operation, row.nbytes, row.ranks, row.backend) == ("stream", 65536, 2, "verbs")
    assert (row.settings, row.repetitions, row.device) == ("write, RC, 4 queue pairs", 5000, None)
    assert row.seconds == pytest.approx(1 / 0.186932e6)
    assert row.algorithm_bandwidth == pytest.approx(98.01e9 / 8)


def test_a_bidirectional_figure_is_the_sum_of_both_ends() -> None:
    row = only(*banner("RDMA_Write Bidirectional BW"), HEADER, ROW)
    assert (row.operation, row.directions, row.statistic) == (
        "bidirectional_stream",
        2,
        "one loop, mean of both sides",
    )
    assert row.seconds == pytest.approx(2 / 0.186932e6)
    assert row.algorithm_bandwidth == pytest.approx(98.01e9 / 16)


def test_the_ends_of_a_bidirectional_test_are_parts_of_the_sum_above_them() -> None:
    half = ROW.replace("98.01", "49.00").replace("0.186932", "0.093460")
    ends = [line for end in ("Local", "Remote") for line in ("", f" {end} results: ", DASHES, HEADER, half, DASHES)]
    found = read(*banner("RDMA_Write Bidirectional BW"), HEADER, ROW, DASHES, *ends)
    assert len(found.rows) == 1
    assert [one.text.strip() for one in found.skipped] == [half.expandtabs().strip()] * 2


@pytest.mark.parametrize(
    ("title", "operation"), [("RDMA_Write Latency", "ping_pong"), ("RDMA_Read Latency", "remote_read")]
)
def test_a_write_latency_is_one_way_and_a_read_latency_a_whole_round_trip(title: str, operation: str) -> None:
    row = only(*banner(title), LATENCIES, LATENCY)
    assert row.operation == operation
    assert row.seconds == pytest.approx(1.30e-6)  # the tool has halved what it measured, or has not
    assert row.percentiles == pytest.approx(
        {"min": 1.21e-6, "max": 6.43e-6, "median": 1.28e-6, "stdev": 0.06e-6, "p99": 1.52e-6, "p99.9": 4.11e-6}
    )


def test_megabytes_are_two_to_the_twentieth_bytes() -> None:
    row = " 65536      5000             1000.00            1000.00\t\t   0.016000"
    for unit in ("MB", "MiB"):
        found = only(*banner("RDMA_Write BW"), HEADER.replace("Gb", unit), row)
        assert found.algorithm_bandwidth == pytest.approx(1000 * 2**20)


def test_the_message_rate_tells_the_unit_where_no_header_does_and_refuses_another() -> None:
    assert only(*banner("RDMA_Write BW"), ROW).algorithm_bandwidth == pytest.approx(98.01e9 / 8)
    assert "contradict" in reason(*banner("RDMA_Write BW"), HEADER.replace("Gb", "MB"), ROW)


def test_buffers_lie_in_a_gpu_where_that_is_printed_before_the_table() -> None:
    assert only("initializing CUDA", *banner("Send BW"), HEADER, ROW).device is Device.CUDA
    assert only(*banner("Send BW"), HEADER, ROW, DASHES, "initializing CUDA").device is None


def test_raw_ethernet_is_an_operation_of_its_own() -> None:
    assert only(*banner("Send BW", "RawEth"), HEADER, ROW).operation == "raw_ethernet_stream"
    without = [line for line in banner("Send BW") if "Connection" not in line]
    assert "raw Ethernet" in reason(*without, HEADER, ROW)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([HEADER, ROW], "no banner or command line says which test this is"),
        ([*banner("RDMA_Write Latency"), HEADER, ROW], "the header is not that of a latency test"),
        ([*banner("RDMA_Write BW"), HEADER, ROW[:-1]], "the message rate is cut off or no number"),
        ([*banner("RDMA_Write BW"), HEADER, ROW.rpartition(" ")[0]], "4 columns instead of 5"),
        (
            [*banner("RDMA_Write Latency"), LATENCIES, LATENCY.replace("6.43", "1.01")],
            "the times contradict each other",
        ),
        (
            [
                "$ ib_write_bw 192.168.7.12",
                HEADER,
                " 65536      0                0.00               0.00      0.000000",
            ],
            "no iteration was made",
        ),
    ],
)
def test_what_cannot_be_told_is_refused(lines: list[str], expected: str) -> None:
    assert reason(*lines) == expected


def test_sizes_that_begin_again_belong_to_a_run_of_which_nothing_is_known() -> None:
    again = ROW.replace("65536", "32768").replace("98.42", "49.21").replace("98.01", "49.00")
    found = read(*banner("RDMA_Write BW"), HEADER, ROW, again)
    assert len(found.rows) == len(found.skipped) == 1


def test_a_command_is_that_of_the_next_table_only() -> None:
    command = "Starting RDMA client 'ib_write_bw' for mlx5_0 (Port 18515)..."
    found = read(command, HEADER, ROW, DASHES, "...", HEADER, ROW)
    assert [row.line for row in found.rows] == [3]
    assert [one.line for one in found.skipped] == [7]
