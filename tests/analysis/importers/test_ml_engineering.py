"""ml-engineering's benchmarks: figures on several lines, of each rank, and in tables."""

from collections.abc import Sequence

import pytest

from collmark.analysis.importers.read import Read, read_log
from collmark.analysis.importers.row import Facts, RanksFrom, Row
from collmark.core.case import Cadence

THREE = (
    "The average bandwidth of all_reduce with a 4.0GB payload (5 trials, 16 ranks):",
    " algbw: 200.000 GBps (1600.0 Gbps)",
    " busbw: 375.000 GBps (3000.0 Gbps)",
)
ONE_CALL = "----------- 1x 4.0GB ----------------"
MANY_CALLS = "----------- 1000x 0.004GB ----------------"
FIGURE = ("node01:0:", " duration: 0.016 sec", " algbw: 2000.000 Gbps", " busbw: 3500.000 Gbps")
COMMAND = "$ python -u -m torch.distributed.run --nproc_per_node=8 all_reduce_latency_comp.py"
TITLE = "The average bandwidth of all_reduce over 8 ranks (5 warmups / 20 trials):"
COLUMNS = ("| payload |    busbw   |    algbw   |", "| ------: | ---------: | ---------: |")


def read(*lines: str, facts: Facts | None = None) -> Read:
    return read_log("".join(f"{line}\n" for line in lines).encode(), "log", facts or Facts())


def rows(*lines: str, facts: Facts | None = None) -> Sequence[Row]:
    found = read(*lines, facts=facts)
    assert [one.reason for one in found.skipped] == []
    return found.rows


def test_three_lines_are_a_row_that_cites_all_of_them() -> None:
    (row,) = rows("5", *THREE)
    assert (row.line, row.lines, row.ranks, row.repetitions) == (2, 3, 16, 5)
    assert row.printed == {"payload": "4.0", "algbw": "200.000", "busbw": "375.000"}
    assert row.seconds == pytest.approx(4e9 / 200e9)


@pytest.mark.parametrize("left_out", [0, 1, 2])
def test_of_three_lines_none_may_be_missing(left_out: int) -> None:
    found = read(*(line for index, line in enumerate(THREE) if index != left_out))
    assert found.rows == ()
    assert found.skipped != ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("375.000", "374.000"),
        ("(3000.0", "(3010.0"),
        ("200.000", "200.00"),
        ("16 ranks", "8 ranks"),
        ("4.0GB", "0.0GB"),
    ],
)
def test_three_lines_that_contradict_each_other_are_no_row(old: str, new: str) -> None:
    assert any(old in line for line in THREE)
    found = read(*(line.replace(old, new) for line in THREE))
    assert found.rows == ()
    assert found.skipped != ()


def test_one_large_call_and_many_small_ones() -> None:
    """4 GB at once, and in a loop of a thousand calls of 4 MB; 8 ranks by the command."""
    small = [line.replace("0.016", "0.032").replace("2000", "1000").replace("3500", "1750") for line in FIGURE]
    one, many = rows(COMMAND, "", ONE_CALL, *FIGURE, "", MANY_CALLS, *small)
    assert (one.nbytes, one.cadence, one.repetitions) == (4_000_000_000, Cadence.ISOLATED, 1)
    assert (many.nbytes, many.cadence, many.repetitions) == (4_000_000, Cadence.STREAMING, 1000)
    assert (one.ranks, many.ranks, one.ranks_from, one.nodes) == (8, 8, RanksFrom.TEXT, 1)
    assert one.seconds == pytest.approx(0.016)
    assert many.seconds == pytest.approx(32e-6)


def test_ranks_of_a_figure_without_a_command_come_from_its_two_bandwidths() -> None:
    (row,) = rows(ONE_CALL, *FIGURE)
    assert (row.ranks, row.ranks_from, row.nodes) == (8, RanksFrom.FACTOR, None)


def test_busbw_alone_needs_the_number_of_ranks() -> None:
    assert read(ONE_CALL, FIGURE[0], FIGURE[3]).rows == ()
    (row,) = rows(ONE_CALL, FIGURE[0], FIGURE[3], facts=Facts(ranks=8))
    assert row.ranks_from is RanksFrom.OPTION
    assert row.seconds == pytest.approx(0.016)


@pytest.mark.parametrize(("old", "new"), [("3500.000", "3400.000"), ("0.016", "0.019"), ("2000.000", "1000.000")])
def test_a_figure_of_a_rank_that_contradicts_itself_is_named(old: str, new: str) -> None:
    found = read(ONE_CALL, *(line.replace(old, new) for line in FIGURE), facts=Facts())
    assert found.rows == ()
    assert [one.line for one in found.skipped] == [5]


def test_what_was_called_throughput_in_2023_is_twice_the_algorithm_bandwidth() -> None:
    figure = ("node01:0:", " duration: 0.2000 sec", " algo throughput: 320.0000 Gbps", " busbw: 240.0000  Gbps")
    (row,) = rows("node01:0 data size: 4.0 GB", "-----------trial-0----------------", *figure)
    assert (row.tool, row.ranks) == ("all_reduce_bench", 4)
    assert row.seconds == pytest.approx(0.2)


def test_a_row_of_a_table_is_the_payload_over_its_mean_rate() -> None:
    (row,) = rows(TITLE, "", *COLUMNS, "|    1GiB | 350.00GBps | 200.00GBps |")
    assert (row.nbytes, row.ranks, row.repetitions, row.dtype) == (1 << 30, 8, 20, "float32")
    assert row.seconds == pytest.approx((1 << 30) / 200e9)
    assert row.printed == {"payload": "1GiB", "busbw": "350.00", "algbw": "200.00"}


def test_calls_that_were_queued_are_streaming() -> None:
    title = TITLE.replace("20 trials", "20 trials, up to 10 queued calls per trial").replace("(5", "(at least 5")
    (row,) = rows(title, *COLUMNS, "|    1GiB | 350.00GBps | 200.00GBps |")
    assert (row.cadence, row.tool) == (Cadence.STREAMING, "torch-dist-bench")


def test_payloads_that_fall_begin_a_table_whose_title_is_lost() -> None:
    found = rows(TITLE, *COLUMNS, "|    1GiB | 350.00GBps | 200.00GBps |", "|  512MiB | 290.62GBps | 150.00GBps |")
    assert [(one.ranks, one.ranks_from, one.repetitions, one.group) for one in found] == [
        (8, RanksFrom.TEXT, 20, 1),
        (32, RanksFrom.FACTOR, None, 2),
    ]


def latencies(*cells: str) -> Read:
    title = "The average bandwidth and the per-call latency of {} over 4 ranks (at least 5 warmups / 20 trials):"
    columns = "| payload |    busbw   |    algbw   | latency median |    p99    |    mean   | calls |"
    return read(title.format("all_gather"), columns, "| " + " | ".join(cells) + " |")


def test_bandwidth_and_latency_of_a_line_are_of_trials_of_their_own() -> None:
    bandwidth, latency = latencies("1MiB", " 30.00GBps", " 40.00GBps", "30.0us", "31.0us", "30.1us", "20").rows
    assert bandwidth.seconds == pytest.approx((1 << 20) / 40e9)
    assert latency.seconds == pytest.approx(30e-6)
    assert (bandwidth.settings, latency.settings) == ("bandwidth trials", "latency trials")
    assert latency.repetitions == 20


def test_a_latency_stands_alone_where_no_bandwidth_was_measured() -> None:
    (latency,) = latencies("8B", "          ", "          ", "15.0us", "16.0us", "15.1us", "1000").rows
    assert latency.statistic == "median of iterations, max of ranks"


@pytest.mark.parametrize(
    "cells",
    [
        ("1MiB", " 30.00GBps", " 40.00GBps", "30.0us", "31.0us", "30.1us"),
        ("1MiB", " 30.00GBps", " 40.00GBps", "30.0us", "31.0us", "", "20"),
        ("1MiB", " 30.00GBps", "          ", "30.0us", "31.0us", "30.1us", "20"),
        ("1MiB", " 30.0GBps", " 40.00GBps", "30.0us", "31.0us", "30.1us", "20"),
        ("1MiB", " 30.00GBps", " 40.00GBps", "32.0us", "31.0us", "30.1us", "20"),
        ("1MB0", " 30.00GBps", " 40.00GBps", "30.0us", "31.0us", "30.1us", "20"),
    ],
)
def test_a_line_of_which_a_cell_is_not_of_its_column_is_no_row(cells: tuple[str, ...]) -> None:
    assert latencies(*cells).rows == ()
