"""DeepSpeed's communication benchmarks and its communication logger, and what either means by bandwidth."""

from collections.abc import Sequence

import pytest

from collmark.analysis.importers.deepspeed_size import nbytes_of, printed_size
from collmark.analysis.importers.read import Read, read_log
from collmark.analysis.importers.row import Facts, RanksFrom, Row
from collmark.core.case import Cadence

DASHES = "-" * 100
PREFIX = "[2025-02-10 08:00:01,101] [INFO] [logging.py:107:log_dist] [Rank 0] "
SUMMARY = (
    "Comm. Op            Message Size        Count               Total Latency(ms)   Avg Latency(ms)"
    "     tput_avg (Gbps)     busbw_avg (Gbps)    "
)
STRAGGLERS = (
    "Comm. Op            Message Size        Count               Total comm lat(ms)  Total straggler(ms)"
    " Avg comm lat(ms)    Avg straggler(ms)   "
)


def read(*lines: str, facts: Facts | None = None) -> Read:
    return read_log("".join(f"{line}\n" for line in lines).encode(), "log", facts or Facts())


def rows(*lines: str, facts: Facts | None = None) -> Sequence[Row]:
    found = read(*lines, facts=facts)
    assert [one.reason for one in found.skipped] == []
    return found.rows


def title(operation: str, ranks: int) -> str:
    return (
        f"---- Performance of {operation} on {ranks} devices ---------------------------------------------------------"
    )


def columns(unit: str = "Gbps") -> str:
    return f"{'Size (Bytes)':<20} {'Description':<25} {'Duration':<20} Throughput ({unit})    BusBW ({unit})        "


def bench(size: str, count: str, duration: str, throughput: str, bus: str) -> str:
    return f"{size:<20} {count:<25} {duration:<20} {throughput:<20} {bus:<20}"


def call(name: str, time: str, size: str, algorithm: str, bus: str) -> str:
    parts = f"comm op: {name} | time (ms): {time} | msg size: {size} | algbw (Gbps): {algorithm} | busbw (Gbps): {bus}"
    return PREFIX + parts


def cells(*texts: str) -> str:
    return f"{'':<20}" + "".join(f"{text:<20}" for text in texts)


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0B"),
        (1, "1.0 B"),
        (1023, "1023.0 B"),
        (1024, "1.0 KB"),
        (1536, "1.5 KB"),
        (3 << 30, "3.0 GB"),
        (7, "7.0 B"),
    ],
)
def test_sizes_are_read_as_they_are_printed(nbytes: int, text: str) -> None:
    assert printed_size(nbytes) == text
    assert nbytes_of(text) == nbytes


def test_throughput_of_all_reduce_is_twice_the_algorithm_bandwidth() -> None:
    """64 MiB in 1 ms on 8 ranks: 67.1 GB/s, of which the benchmark prints twice, and the bus bandwidth of 117.4."""
    row = bench("64.0 MB", "33554432x2", "1.000 ms", "134.218", "117.441")
    (found,) = rows(title("all_reduce", 8), columns("GBps"), DASHES, row)
    assert found.algorithm_bandwidth == pytest.approx(67.108864e9)
    assert found.bus_bandwidth == pytest.approx(117.441e9)
    assert (found.nbytes, found.ranks, found.cadence) == (1 << 26, 8, Cadence.STREAMING)
    assert found.printed["Throughput"] == "134.218"


def test_all_gather_prints_the_size_of_one_rank() -> None:
    row = bench("8.0 MB", "4194304x2", "1.000 ms", "536.871", "469.762")
    (found,) = rows(title("all_gather", 8), columns("Gbps"), row)
    assert (found.nbytes, found.nbytes_printed) == (1 << 26, 1 << 23)
    assert found.bus_bandwidth == pytest.approx(469.762e9 / 8)


def test_a_run_of_all_operations_is_a_table_each() -> None:
    found = rows(
        title("all_reduce", 8),
        columns(),
        bench("64.0 MB", "33554432x2", "1.000 ms", "1073.742", "939.524"),
        "",
        title("broadcast", 8),
        columns(),
        bench("64.0 MB", "33554432x2", "1.000 ms", "536.871", "536.871"),
        "",
        title("pt2pt", 8),
        columns(),
        bench("64.0 MB", "33554432x2", "2.000 ms", "268.435", "268.435"),
    )
    assert [(one.operation, one.group) for one in found] == [("all_reduce", 1), ("broadcast", 2), ("stream", 3)]


@pytest.mark.parametrize(
    "row",
    [
        bench("64.0 MB", "33554432x2", "1.000 ms", "134.218", "134.218"),
        bench("64.0 MB", "33554432x2", "1.000 ms", "67.109", "58.720"),
        bench("64.0 MB", "33554432x2", "1.000 us", "134.218", "117.441"),
        bench("64.0 MB", "16777216x2", "1.000 ms", "134.218", "117.441"),
        bench("64.00 MB", "33554432x2", "1.000 ms", "134.218", "117.441"),
        bench("67108864", "33554432x2", "1000.000", "134.218", "117.441"),
        bench("64.0 MB", "33554432x2", "1.000 ms", "134.218", ""),
        bench("64.0 MB", "33554432x2", "1.000 ms", "134.218", "117.44"),
        bench("64.0 MB", "33554432x2", "1.000 ms", "134.218", "nan"),
    ],
)
def test_a_row_of_the_benchmark_that_cannot_be_is_named(row: str) -> None:
    found = read(title("all_reduce", 8), columns("GBps"), row)
    assert found.rows == ()
    assert [one.line for one in found.skipped] == [3]


def test_a_table_without_its_title_is_read_where_the_user_says_what_it_is() -> None:
    row = bench("64.0 MB", "33554432x2", "1.000 ms", "536.871", "536.871")
    assert read(columns(), row).rows == ()
    (found,) = rows(columns(), row, facts=Facts(operation="broadcast", ranks=4))
    assert (found.operation, found.ranks, found.ranks_from) == ("broadcast", 4, RanksFrom.OPTION)


def test_columns_under_rows_begin_a_table_that_does_not_take_over_the_title() -> None:
    row = bench("64.0 MB", "33554432x2", "1.000 ms", "536.871", "536.871")
    found = read(title("broadcast", 8), columns(), row, columns(), row)
    assert [one.line for one in found.rows] == [3]
    assert [one.reason for one in found.skipped] == ["no title above says which operation it is of"]


@pytest.mark.parametrize(
    ("name", "size", "algorithm", "bus", "expected"),
    [
        ("all_reduce", "64.0 MB", "357.91", "313.17", (1 << 26, 8)),  # 2 x size over 3 ms
        ("all_gather_into_tensor", "64.0 MB", "1431.66", "1252.70", (1 << 29, 8)),  # one rank's share
        ("reduce_scatter_tensor", "64.0 MB", "178.96", "156.59", (1 << 26, 8)),  # since 2026
        ("reduce_scatter_tensor", "64.0 MB", "1431.66", "1252.70", (1 << 26, 8)),  # until then n times too much
        ("all_to_all_single", "64.0 MB", "178.96", "156.59", (1 << 26, 8)),
        ("broadcast", "64.0 MB", "178.96", "178.96", (1 << 26, None)),
    ],
)
def test_a_call_means_the_same_whatever_its_release_prints(
    name: str, size: str, algorithm: str, bus: str, expected: tuple[int, int | None]
) -> None:
    (found,) = rows(call(name, "3.00", size, algorithm, bus))
    assert (found.nbytes, found.ranks) == expected
    assert found.seconds == pytest.approx(3e-3)
    assert found.algorithm_bandwidth == pytest.approx(expected[0] / 3e-3, rel=2e-3)
    assert set(found.printed.values()) == {"3.00", size, algorithm, bus}


@pytest.mark.parametrize(
    "line",
    [
        call("all_reduce", "3.00", "64.0 MB", "357.91", "313.1"),
        call("all_reduce", "3.00", "64.0 MB", "357.91", "400.00"),
        call("all_reduce", "3.00", "64.0 MB", "700.00", "612.50"),
        call("all_reduce", "0.00", "64.0 MB", "357.91", "313.17"),
        call("all_reduced", "3.00", "64.0 MB", "357.91", "313.17"),
        call("all_reduce", "3.00", "64.00 MB", "357.91", "313.17"),
        call("all_reduce", "3.00", "64.0 MB", "-357.91", "313.17"),
        call("barrier", "3.00", "0B", "357.91", "357.91"),
    ],
)
def test_a_logged_call_that_cannot_be_is_named(line: str) -> None:
    found = read(line)
    assert found.rows == ()
    assert [one.line for one in found.skipped] == [1]


def summary() -> list[str]:
    """Return both tables of two operations: 8 ranks, 10 calls of which 2 count for no mean."""
    return [
        SUMMARY,
        "broadcast",
        cells("64.0 MB", "10", "30.40", "3.02", "178.03", "178.03"),
        "all_reduce | [Caller Func: step]",
        cells("32.0 MB", "10", "15.10", "1.50", "358.20", "313.42"),
        cells("64.0 MB", "1", "3.00", "3.00", "357.91", "313.17"),
        "_______________________________",
        "Breakdown with straggler effect",
        "-------------------------------",
        STRAGGLERS,
        "broadcast",
        cells("64.0 MB", "10", "25.30", "5.10", "2.50", "0.52"),
        "all_reduce | [Caller Func: step]",
        cells("32.0 MB", "10", "12.60", "2.50", "1.25", "0.25"),
        cells("64.0 MB", "1", "2.40", "0.60", "2.40", "0.60"),
    ]


def test_both_tables_of_a_summary_are_rows_of_their_statistic() -> None:
    found = rows(*summary())
    assert [one.operation for one in found] == ["broadcast", "all_reduce", "all_reduce"] * 2
    assert [one.seconds for one in found] == pytest.approx([3.02e-3, 1.5e-3, 3e-3, 2.5e-3, 1.25e-3, 2.4e-3])
    statistics = ["trimmed mean of iterations, rank 0", "trimmed mean of iterations, min of ranks"]
    assert [one.statistic for one in found] == [text for text in statistics for _ in range(3)]
    assert {one.ranks for one in found} == {8}, "that of the operations that tell it is that of all"
    assert [one.settings for one in found] == ["", "called by step", "called by step"] * 2


def test_a_table_of_stragglers_without_its_heading_is_left_out() -> None:
    text = summary()
    found = read(*text[:9], *text[10:])
    assert len(found.rows) == 3
    assert [one.line for one in found.skipped] == [11, 13, 14]


def test_sizes_that_fall_below_a_name_are_of_an_operation_whose_name_is_lost() -> None:
    text = summary()
    found = read(*text[:3], *text[4:6])
    assert [one.line for one in found.rows] == [3]
    assert [one.line for one in found.skipped] == [4, 5]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1.50 ", "1.91 "),  # eight of these are more than the total
        ("10 ", "0  "),
        ("313.42", "358.20"),
        ("313.42", "313.4 "),
        ("358.20", "      "),
    ],
)
def test_a_row_of_a_summary_that_cannot_be_is_named(old: str, new: str) -> None:
    row = cells("32.0 MB", "10", "15.10", "1.50", "358.20", "313.42")
    assert old in row
    found = read(SUMMARY, "all_reduce", row.replace(old, new))
    assert found.rows == ()
    assert [one.line for one in found.skipped] == [3]
