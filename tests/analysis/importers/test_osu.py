"""What the context of a table of OSU micro-benchmarks tells, and what it must not lend to another."""

import pytest

from collmark.analysis.importers.read import Read, read_log
from collmark.analysis.importers.row import Facts
from collmark.core.case import Cadence, Device, Form

LATENCY = "# Size       Avg Latency(us)"
BANDWIDTH = "# Size      Bandwidth (MB/s)"


def row(size: int, value: str, width: int = 18) -> str:
    return f"{size:<10d}{value:>{width}}"


def rows(first: int, *values: str) -> str:
    return "\n".join(row(first << step, value) for step, value in enumerate(values))


def read(*parts: str, facts: Facts | None = None) -> Read:
    return read_log(("\n".join(parts) + "\n").encode(), "log", facts or Facts())


def test_ranks_and_nodes_are_those_of_the_command_line_that_started_the_run() -> None:
    found = read(
        "+ srun --nodes=2 --ntasks=16 ./osu_allgather -m 64:128",
        "",
        "# OSU MPI Allgather Latency Test v5.9",
        LATENCY,
        rows(64, "5.10", "5.20"),
        "+ srun -N4 -n32 ./osu_allgather -m 64:128",
        "# OSU MPI Allgather Latency Test v5.9",
        LATENCY,
        rows(64, "6.10", "6.20"),
        "+ srun ./osu_allgather",
        "# OSU MPI Allgather Latency Test v5.9",
        LATENCY,
        rows(64, "7.10"),
    )
    assert [(one.ranks, one.nodes, one.nbytes, one.group) for one in found.rows] == [
        (16, 2, 1024, 1),
        (16, 2, 2048, 1),
        (32, 4, 2048, 2),
        (32, 4, 4096, 2),
        (None, None, None, 3),
    ]


@pytest.mark.parametrize(
    ("command", "ranks"),
    [
        ("[user@node01 ~]$ mpirun -np 8 ./osu_allreduce -f", 8),
        ("$ mpiexec.hydra -n 4 -ppn 2 /opt/omb/osu_allreduce", 4),
        ("$ flux run -N 2 -n 96 osu_allreduce", 96),
        ("mpirun_rsh -np 2 node01 node02 ./osu_allreduce", 2),
        ("$ mpirun -np 8 ./osu_reduce", None),
        ("$ mpirun -np 8 ./osu_iallreduce", None),
        ("$ mpirun -np 8 osu_allreduce_persistent", None),
        ("$ mpirun -np 2 ./osu_latency : -np 4 ./osu_allreduce", None),
        ("$ jsrun -n 2 -a 4 ./osu_allreduce", None),
        ("$ ./osu_allreduce -n 8", None),
        ('{"command": ["mpirun", "-np", "8", "osu_allreduce"]}', None),
        ("$ mpirun -np 0 osu_allreduce", None),
    ],
)
def test_only_a_launcher_that_starts_this_program_tells_the_ranks(command: str, ranks: int | None) -> None:
    found = read(command, "# OSU MPI Allreduce Latency Test v5.9", LATENCY, rows(4, "9.00", "9.10"))
    assert [one.ranks for one in found.rows] == [ranks, ranks]


def test_a_command_serves_one_run() -> None:
    title = "# OSU MPI Allreduce Latency Test v5.9"
    found = read("$ mpirun -np 8 osu_allreduce", title, LATENCY, rows(4, "9.00"), title, LATENCY, rows(4, "8.00"))
    assert [one.ranks for one in found.rows] == [8, None]
    found = read("$ mpirun -np 8 osu_allreduce", LATENCY, rows(4, "9.00"), title, LATENCY, rows(4, "8.00"))
    assert [one.ranks for one in found.rows] == [None]
    assert [one.line for one in found.skipped] == [3]


def test_the_user_says_what_the_text_does_not() -> None:
    text = ("# OSU MPI Alltoall Latency Test v7.5", "# Size       Avg Latency(us)", rows(8, "9.00"))
    assert read(*text).rows[0].nbytes is None
    facts = Facts(ranks=4, nodes=2, dtype="int8", device=Device.CUDA)
    (found,) = read(*text, facts=facts).rows
    assert (found.ranks, found.nodes, found.nbytes, found.dtype) == (4, 2, 32, "int8")
    assert found.ranks_from == "option"
    assert found.device is Device.CPU, "a title without an accelerator says where the buffers lie"


@pytest.mark.parametrize(
    ("head", "device", "settings"),
    [
        (["# OSU MPI Bandwidth Test v5.9"], Device.CPU, ""),
        (["# OSU MPI-CUDA Bandwidth Test v5.9"], None, ""),
        (
            ["# OSU MPI-CUDA Bandwidth Test v5.9", "# Send Buffer on HOST (H) and Receive Buffer on HOST (H)"],
            Device.CPU,
            "",
        ),
        (
            ["# OSU MPI-CUDA Bandwidth Test v5.9", "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)"],
            Device.CUDA,
            "",
        ),
        (
            ["# OSU MPI-CUDA Bandwidth Test v5.9", "# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)"],
            Device.CUDA,
            "buffers D to H",
        ),
        (
            ["# OSU MPI-ROCM Bandwidth Test v7.2", "# Send Buffer on MANAGED (MD) and Receive Buffer on MANAGED (MD)"],
            Device.CUDA,
            "ROCM, buffers MD to MD",
        ),
        (["$ srun -n2 ./osu_bw D D", "# OSU MPI-CUDA Bandwidth Test v7.5"], Device.CUDA, ""),
        (["$ srun -n2 ./osu_bw H H", "# OSU MPI-CUDA Bandwidth Test v7.5"], Device.CPU, ""),
        (["# OSU NCCL-CUDA Bandwidth Test v7.5"], Device.CUDA, ""),
        (["# OMB-Py MPI Bandwidth Test"], None, ""),
    ],
)
def test_where_the_buffers_lie(head: list[str], device: Device | None, settings: str) -> None:
    (found,) = read(*head, BANDWIDTH, rows(1, "10.00")).rows
    assert (found.device, found.settings) == (device, settings)


def test_collectives_of_a_title_with_an_accelerator_lie_on_it() -> None:
    (found,) = read("# OSU MPI-CUDA Allreduce Latency Test v7.5", LATENCY, rows(4, "10.00")).rows
    assert (found.device, found.backend, found.cadence) == (Device.CUDA, "mpi", Cadence.ISOLATED)


def test_window_and_in_place_follow_the_command_line() -> None:
    text = ("# OSU MPI Bandwidth Test v5.9", BANDWIDTH, rows(1, "10.00"))
    assert read(*text).rows[0].messages == 64
    assert read("$ mpirun -np 2 osu_bw -W 16", *text).rows[0].messages == 16
    text = ("# OSU MPI Allreduce Latency Test v7.5", LATENCY, rows(4, "10.00"))
    assert read(*text).rows[0].in_place is None
    assert read("$ mpirun -np 4 osu_allreduce -l", *text).rows[0].in_place is True


def test_one_pair_of_many_is_a_stream_and_several_are_not() -> None:
    head = "# Size                  MB/s        Messages/s"
    line = row(1, "2.00") + f"{'2000000.00':>18}"
    title = "# OSU MPI Multiple Bandwidth / Message Rate Test v5.8"
    (one,) = read(title, "# [ pairs: 1 ] [ window size: 16 ]", head, line).rows
    assert (one.operation, one.ranks, one.messages, one.settings) == ("stream", 2, 16, "")
    (many,) = read(title, "# [ pairs: 8 ] [ window size: 64 ]", head, line).rows
    assert (many.operation, many.ranks, many.settings) == ("multi_pair_stream", 16, "8 pairs")
    found = read(title, head, line)
    assert not found.rows
    assert "pairs" in found.skipped[0].reason


def test_forms() -> None:
    head = "# Size             Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)"
    line = row(4, "9.00") + f"{'4.40':>18}{'4.50':>18}{'1.20':>18}"
    (found,) = read("# OSU MPI Non-blocking Reduce Latency Test v5.9", head, line).rows
    assert (found.form, found.operation) == (Form.NONBLOCKING, "reduce")
    assert found.seconds == pytest.approx(4.5e-6)
    (found,) = read("# OSU MPI Bi-Directional Bandwidth Persistent Test v7.2", BANDWIDTH, rows(8, "10.00")).rows
    assert (found.form, found.directions) == (Form.PERSISTENT, 2)


def test_extremes_percentiles_and_iterations() -> None:
    head = f"{'# Size':<10}{'Avg Latency(us)':>20}{'Min Latency(us)':>20}{'Max Latency(us)':>20}{'Iterations':>12}"
    head += f"{'P99 Tail Lat(us)':>20}"
    line = row(4, "9.00", 20) + f"{'8.00':>20}{'11.00':>20}{'1000':>12}{'10.00':>20}"
    (found,) = read("# OSU MPI Reduce Latency Test v7.5", "# Datatype: MPI_INT.", head, line).rows
    assert found.percentiles == pytest.approx({"min over ranks": 8e-6, "max over ranks": 11e-6, "p99": 10e-6})
    assert (found.repetitions, found.dtype, found.reduction) == (1000, "int32", "sum")


@pytest.mark.parametrize(
    ("title", "dtype"),
    [
        ("# OSU MPI Allreduce Latency Test v5.3.2", "float32"),
        ("# OSU MPI Broadcast Latency Test v7.0", "int8"),
        ("# OSU MPI Allreduce Latency Test v7.1", ""),
        ("# OSU MPI Allreduce Latency Test", ""),
        ("# OSU NCCL-CUDA Allreduce Latency Test v7.5", "float32"),
        ("# OMB Python MPI Allreduce Test", "float32"),
    ],
)
def test_the_element_type_is_told_or_a_fact_of_the_version(title: str, dtype: str) -> None:
    assert read(title, LATENCY, rows(4, "9.00")).rows[0].dtype == dtype


def test_a_title_whose_version_is_cut_tells_no_version() -> None:
    found = read("# OSU MPI Allreduce Latency Test v5.", LATENCY, rows(4, "9.00")).rows[0]
    assert (found.version, found.dtype, found.operation) == ("", "", "all_reduce")
    assert not read("# OSU MPI Allreduce Latency Te", LATENCY, rows(4, "9.00")).rows


def test_a_table_whose_title_is_missing_takes_nothing_from_the_one_before() -> None:
    first = ("# OSU MPI Allreduce Latency Test v5.8", LATENCY, rows(4, "9.00", "9.10"))
    found = read(*first, LATENCY, rows(1, "5.00", "5.10"))
    assert [one.line for one in found.rows] == [3, 4]
    assert [one.line for one in found.skipped] == [6, 7]
    found = read(*first, rows(1, "5.00", "5.10", "5.20", "5.30", "5.40"))
    assert [one.line for one in found.skipped] == [5, 6, 7, 8, 9]
    found = read(*first, "# Datatype: MPI_INT.", LATENCY, rows(4, "5.00"))
    assert [one.line for one in found.skipped] == [7]


def test_rows_after_missing_ones_may_be_of_another_table_unless_dots_say_what_is_left_out() -> None:
    first = ("# OSU MPI Allreduce Latency Test v5.8", LATENCY, rows(4, "9.00", "9.10"))
    found = read(*first, rows(64, "5.00", "5.10"))
    assert [one.line for one in found.rows] == [3, 4]
    assert [one.line for one in found.skipped] == [5, 6]
    assert len(read(*first, "...", rows(64, "5.00", "5.10")).rows) == 4
    # Who says the operation says that the log is of one table; another one does not.
    assert len(read(*first, rows(64, "5.00", "5.10"), facts=Facts(operation="all_reduce")).rows) == 4
    assert len(read(*first, rows(64, "5.00", "5.10"), facts=Facts(operation="broadcast")).rows) == 2
    assert "--operation all_reduce" in found.skipped[0].reason
    # A line that was garbled stands for the row that is missing.
    assert len(read(*first, "16 node01 NCCL INFO hello", rows(32, "5.00", "5.10")).rows) == 4


def test_two_titles_above_one_table() -> None:
    titles = ("# OSU MPI Bandwidth Test v5.8", "# OSU MPI Bi-Directional Bandwidth Test v5.8")
    found = read(*titles, BANDWIDTH, rows(1, "9.00"))
    assert not found.rows
    assert "two titles" in found.skipped[0].reason
    found = read(titles[0], "Fatal error in PMPI_Init: Other MPI error", titles[1], BANDWIDTH, rows(1, "9.00"))
    assert [one.operation for one in found.rows] == ["bidirectional_stream"]
    assert len(read(titles[0], titles[0], BANDWIDTH, rows(1, "9.00")).rows) == 1


def test_lines_that_contradict_each_other_tell_nothing() -> None:
    found = read(
        "# OSU MPI Allreduce Latency Test v7.5",
        "# Datatype: MPI_INT.",
        "# Datatype: MPI_FLOAT.",
        LATENCY,
        rows(4, "9.00"),
    )
    assert [one.dtype for one in found.rows] == [""]


@pytest.mark.parametrize(
    "header",
    [
        BANDWIDTH,
        "# Size       Avg Laten",
        "# Size",
        "# Avg Latency(us)",
        "# Size       Avg Latency(us)   Avg Latency(us)",
    ],
)
def test_names_of_columns_that_are_not_the_titles(header: str) -> None:
    found = read("# OSU MPI Allreduce Latency Test v5.8", header, rows(4, "9.00"))
    assert not found.rows
    assert len(found.skipped) == 1


def test_the_suite_before_version_3_meant_another_megabyte_and_is_not_read() -> None:
    found = read("# OSU MPI Bandwidth Test (Version 2.2)", "# Size\t\tBandwidth (MB/s) ", "1\t\t0.950000")
    assert not found.rows


def test_bidirectional_bandwidth_is_halved() -> None:
    (found,) = read("# OSU MPI Bi-Directional Bandwidth Test v5.9", BANDWIDTH, rows(4096, "20000.00")).rows
    assert found.algorithm_bandwidth == pytest.approx(1e10)
    assert found.seconds == pytest.approx(4096 / 1e10)
    assert found.printed == {"Size": "4096", "Bandwidth (MB/s)": "20000.00"}


def test_the_last_line_of_a_log_that_ends_in_it() -> None:
    title = "# OSU MPI Allreduce Latency Test v5.8"
    text = "\n".join((title, LATENCY, rows(4, "9.00", "9.10")))
    assert [one.nbytes for one in read_log(text.encode(), "log", Facts()).rows] == [4, 8]
    # 9.1 with the 1 of the next line's 16, or 9.11?
    text = "\n".join((title, LATENCY, rows(4, "9.00", "9.11")))
    found = read_log(text.encode(), "log", Facts())
    assert [one.nbytes for one in found.rows] == [4]
    assert [one.line for one in found.skipped] == [4]
    assert [one.nbytes for one in read_log(f"{text}\n".encode(), "log", Facts()).rows] == [4, 8]


def test_a_row_before_a_gap_may_be_two_and_is_refused_where_its_end_is_the_size_that_is_missing() -> None:
    title = "# OMB-Py MPI Bandwidth Test"
    forged = row(16, "4.09")[:-2] + "32" + 19 * " "  # cut in its decimals, and the next row after its size
    found = read(title, "# Size (B)  Bandwidth (MB/s)", rows(4, "1.02", "2.01"), forged, rows(64, "16.36", "32.80"))
    assert [one.nbytes for one in found.rows] == [4, 8]
    assert [one.line for one in found.skipped] == [5, 6, 7]
    assert "may be those of that size" in found.skipped[0].reason
    whole = read(title, "# Size (B)  Bandwidth (MB/s)", rows(8, "2.01", "4.32", "8.21"))
    assert [one.nbytes for one in whole.rows] == [8, 16, 32]
    told = read(title, "# Size (B)  Bandwidth (MB/s)", rows(8, "2.01", "4.07"), rows(64, "16.36"))
    assert [one.nbytes for one in told.rows] == [8, 16]
