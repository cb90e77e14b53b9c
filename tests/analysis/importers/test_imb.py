"""What the context of a table of the Intel MPI Benchmarks tells, and what it must not lend to another."""

import pytest

from collmark.analysis.importers.read import Read, read_log
from collmark.analysis.importers.row import Facts, RanksFrom
from collmark.core.case import Cadence, Device, Form

RANGE = ("#bytes", "#repetitions", "t_min[usec]", "t_max[usec]", "t_avg[usec]")
BANNER = "#    Intel(R) MPI Benchmarks {}, MPI-1 part    "
PREAMBLE = (
    "# Date                  : Mon Mar  4 10:11:12 2024",
    "# MPI_Datatype                   :   MPI_BYTE ",
    "# MPI_Datatype for reductions    :   MPI_FLOAT",
    "# MPI_Op                         :   MPI_SUM  ",
)


def fields(*values: object) -> str:
    return "".join(f"{value!s:>13}" for value in values)


def table(name: str, processes: int, *rows: tuple[object, ...], columns: tuple[str, ...] = RANGE) -> str:
    rule = "#" + "-" * (13 * len(columns) - 1)
    head = (rule, f"# Benchmarking {name} ", f"# #processes = {processes} ", rule, fields(*columns))
    return "\n".join((*head, *(fields(*row) for row in rows)))


def read(*parts: str, facts: Facts | None = None) -> Read:
    return read_log(("\n".join(parts) + "\n").encode(), "log", facts or Facts())


ROWS = ((0, 1000, "0.10", "0.20", "0.15"), (4, 1000, "3.10", "3.50", "3.20"), (8, 1000, "3.20", "3.60", "3.30"))


def test_each_section_has_its_number_of_processes() -> None:
    found = read(
        BANNER.format("2019 Update 6"),
        *PREAMBLE,
        "# List of Benchmarks to run:",
        "",
        "# Allreduce",
        table("Allreduce", 2, *ROWS).replace("= 2 ", "= 2 \n# ( 6 additional processes waiting in MPI_Barrier)"),
        "",
        table("Allreduce", 4, *ROWS).replace("= 4 ", "= 4 \n# ( 4 additional processes waiting in MPI_Barrier)"),
        "",
        table("Allreduce", 8, *ROWS),
        table("Barrier", 2, (1000, "0.10", "0.20", "0.15"), columns=RANGE[1:]),
        table("Barrier", 4, (1000, "0.20", "0.30", "0.25"), columns=RANGE[1:]),
        "# All processes entering MPI_Finalize",
    )
    assert [one.ranks for one in found.rows] == [2, 2, 2, 4, 4, 4, 8, 8, 8, 2, 4]
    assert {one.ranks_from for one in found.rows} == {RanksFrom.TEXT}
    assert {one.group for one in found.rows} == {1}
    assert {one.reduction for one in found.rows[:9]} == {"sum"}
    assert [one.nbytes for one in found.rows[9:]] == [0, 0]
    assert not found.skipped


@pytest.mark.parametrize(("version", "factor"), [("2017 update 2", 1), ("2018", 1), ("2019", 8), ("2021.3", 8)])
def test_what_the_size_of_reduce_scatter_is_depends_on_the_version(version: str, factor: int) -> None:
    found = read(BANNER.format(version), *PREAMBLE, table("Reduce_scatter", 8, *ROWS))
    assert [one.nbytes for one in found.rows] == [0, 4 * factor, 8 * factor]
    assert {one.version for one in found.rows} == {version}


def test_without_a_version_the_size_of_reduce_scatter_is_not_guessed() -> None:
    cut = BANNER.format("2019")[:40]
    alone = (BANNER.format("2019"),)  # without the lines that the tool prints with it, it may be of another run
    contradicting = (BANNER.format("2018"), BANNER.format("2021.3"), *PREAMBLE)
    for head in (PREAMBLE, (cut, *PREAMBLE), alone, contradicting, ()):
        found = read(*head, table("Reduce_scatter", 8, *ROWS), table("Bcast", 8, *ROWS))
        assert {one.operation for one in found.rows} == {"broadcast"}
        assert len(found.skipped) == 3
        assert "version" in found.skipped[0].reason


def test_a_second_run_has_its_own_version() -> None:
    end = "# All processes entering MPI_Finalize"
    first = (BANNER.format("2018"), *PREAMBLE, table("Reduce_scatter", 8, *ROWS), end)
    found = read(*first, BANNER.format("2021.3"), *PREAMBLE, table("Reduce_scatter", 8, *ROWS), end)
    assert [(one.nbytes, one.group) for one in found.rows] == [(0, 1), (4, 1), (8, 1), (0, 2), (32, 2), (64, 2)]
    for without in (first, first[:-1]):  # whether or not the end of the first is there
        found = read(*without, *PREAMBLE, table("Reduce_scatter", 8, *ROWS))
        assert [one.nbytes for one in found.rows] == [0, 4, 8]
    found = read(*first, table("Reduce_scatter", 8, *ROWS))
    assert [one.nbytes for one in found.rows] == [0, 4, 8]


def test_a_table_whose_head_is_missing_takes_nothing_from_the_one_before() -> None:
    one, two = table("Allreduce", 4, *ROWS), table("Bcast", 8, *ROWS)
    lines = two.split("\n")
    for gone in ({1}, {2, 1}, {0, 1}, {1, 2, 3}, {0, 1, 2, 3}, {4}, {3, 4}, {0, 1, 2, 3, 4}):
        rest = [line for index, line in enumerate(lines) if index not in gone]
        found = read(one, *rest)
        assert {(row.operation, row.ranks) for row in found.rows} == {("all_reduce", 4)}, gone
        assert len(found.rows) == 3
        assert len(found.skipped) == 3, gone
    found = read(one, *(line for index, line in enumerate(lines) if index != 2))
    assert [(row.operation, row.ranks) for row in found.rows[3:]] == [("broadcast", None)] * 3


@pytest.mark.parametrize(
    ("name", "processes", "operation", "ranks"),
    [
        ("# Benchmarking Allgatherv ", "# #processes = 16 ", "all_gather_v", 16),
        ("# Benchmarking Allgatherv", "# #processes = 16", "all_gather_v", 16),
        ("# Benchmarking Allgather", "# #processes = 16 ", None, None),
        ("# Benchmarking Allgatherv ", "# #processes = 1", "all_gather_v", None),
        ("# Benchmarking Allgatherv ", "# #processes = ", "all_gather_v", None),
        ("# Benchmarking Allgather", "# #proc", None, None),
        ("# Benchmarking ", "# #processes = 16 ", None, None),
    ],
)
def test_a_name_or_number_that_may_be_cut_is_none(
    name: str, processes: str, operation: str | None, ranks: int | None
) -> None:
    found = read(name, processes, fields(*RANGE), *(fields(*row) for row in ROWS))
    expected = [] if operation is None else [(operation, ranks)] * 3
    assert [(one.operation, one.ranks) for one in found.rows] == expected
    assert len(found.skipped) == 3 - len(expected)


def test_rows_after_missing_ones_may_be_of_another_table_unless_the_user_chose_the_sizes() -> None:
    later = (4096, 1000, "5.10", "5.50", "5.20")
    found = read(table("Bcast", 4, *ROWS, later))
    assert [one.nbytes for one in found.rows] == [0, 4, 8]
    assert [one.line for one in found.skipped] == [9]
    assert len(read(table("Bcast", 4, *ROWS, later), facts=Facts(operation="broadcast")).rows) == 4
    assert len(read(table("Bcast", 4, *ROWS, later), facts=Facts(operation="all_reduce")).rows) == 3
    assert "--operation broadcast" in found.skipped[0].reason
    chosen = "# Message lengths were user defined"
    assert len(read(BANNER.format("2019"), *PREAMBLE, chosen, table("Bcast", 4, *ROWS, later)).rows) == 4
    odd = (5000, 1000, "5.10", "5.50", "5.20")  # such sizes are nobody's but the user's
    assert len(read(table("Bcast", 4, *ROWS, odd)).rows) == 4


def test_a_megabyte_is_what_size_and_time_say() -> None:
    columns = ("#bytes", "#repetitions", "t[usec]", "Mbytes/sec")
    for mega, printed in ((1e6, "10000.00"), (2**20, "9536.74")):
        found = read(table("PingPong", 2, (1048576 // 8, 320, "13.11", printed), columns=columns))
        if mega == 1e6:
            assert [one.algorithm_bandwidth for one in found.rows] == [pytest.approx(1e10)]
        else:
            assert [one.algorithm_bandwidth for one in found.rows] == [pytest.approx(9536.74 * 2**20)]
    found = read(table("PingPong", 2, (131072, 320, "13.11", "5000.00"), columns=columns))
    assert not found.rows
    assert "Mbytes/sec" in found.skipped[0].reason


def test_transfers_are_back_to_back_and_collectives_are_not() -> None:
    columns = (*RANGE, "Mbytes/sec")
    found = read(table("Sendrecv", 4, (4096, 1000, "4.00", "4.10", "4.05", "1998.05"), columns=columns))
    assert [(one.operation, one.cadence, one.device) for one in found.rows] == [
        ("send_recv", Cadence.STREAMING, Device.CPU)
    ]
    assert found.rows[0].percentiles == pytest.approx({"min over ranks": 4e-6, "max over ranks": 4.1e-6})
    assert read(table("Bcast", 4, *ROWS)).rows[0].cadence is Cadence.ISOLATED


def test_ping_pong_with_three_times_is_shown_by_its_bandwidth() -> None:
    """Only -multi 0 prints it so; without its name a table of Sendrecv would be taken for it."""
    columns = (*RANGE, "Mbytes/sec")
    zero = (0, 1000, "4.70", "5.35", "5.00", "0.00")
    one_way, both_ways = ((4096, 1000, "6.28", "7.15", "6.68", f"{times * 4096 / 7.15:.2f}") for times in (1, 2))
    assert len(read(table("PingPong", 2, zero, one_way, columns=columns)).rows) == 2
    for rows in ((zero, both_ways), (zero,)):
        found = read(table("PingPong", 2, *rows, columns=columns))
        assert found.rows == ()
        assert len(found.skipped) == len(rows)
    assert len(read(table("Sendrecv", 2, zero, both_ways, columns=columns)).rows) == 2


def test_overlap_gives_pure_communication() -> None:
    columns = ("#bytes", "#repetitions", "t_ovrl[usec]", "t_pure[usec]", "t_CPU[usec]", "overlap[%]")
    (found,) = read(table("Iallgather", 4, (8, 1000, "9.00", "5.00", "4.90", "10.00"), columns=columns)).rows
    assert (found.operation, found.form, found.nbytes) == ("all_gather", Form.NONBLOCKING, 32)
    assert found.seconds == pytest.approx(5e-6)


def test_both_modes_of_one_sided_communication_are_kept_apart() -> None:
    columns = ("#bytes", "#repetitions", "t[usec]", "Mbytes/sec")
    parts = []
    for mode in ("AGGREGATE", "NON-AGGREGATE"):
        text = table("Unidir_put", 2, (8, 1000, "0.50", "16.00"), columns=columns)
        head, columns_and_rows = text.rsplit("\n", 2)[0], text.rsplit("\n", 2)[1:]
        parts.append("\n".join((head, "#", f"#    MODE: {mode} ", "#", *columns_and_rows)))
    assert [(one.operation, one.settings) for one in read(*parts).rows] == [
        ("unidir_put", "aggregate"),
        ("unidir_put", "non-aggregate"),
    ]


def test_one_pair_is_a_stream_and_without_a_number_of_processes_nothing() -> None:
    columns = ("#bytes", "#repetitions", "Mbytes/sec", "Msg/sec")
    rows = ((0, 1000, "0.00", 2000000), (8, 1000, "16.00", 2000000))
    found = read(table("Biband", 2, *rows, columns=columns))
    assert [(one.operation, one.directions) for one in found.rows] == [("bidirectional_stream", 2)] * 2
    assert [one.seconds for one in found.rows] == pytest.approx([1e-6, 1e-6])
    assert {one.operation for one in read(table("Uniband", 4, *rows, columns=columns)).rows} == {"multi_pair_stream"}
    without = table("Uniband", 2, *rows, columns=columns).replace("# #processes = 2 \n", "")
    assert len(read(without).skipped) == 2
    cut = table("Uniband", 2, (0, 1000, "0.00", 2000000), columns=columns)[:-1]
    assert not read(cut).rows
