"""What several command lines above one table tell: a job script that shows itself (``cat $0``) does not trace it."""

import pytest

from collmark.analysis.importers.read import Read, read_log
from collmark.analysis.importers.row import Facts, Row

OSU = """# OSU MPI Allgather Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
64                     10.00
128                    10.10
"""
CUDA = "# OSU MPI-CUDA Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n1                       4.18\n"
NCCL = (
    "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 2097152 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 "
    "validation: 1 graph: 0\n"
    + "".join(
        f"{size:12d}  {size // 64:12d}     float    none      -1"
        + 2 * f"{time:9.1f}  {size / time / 1e3:6.2f}  {size / time / 1e3 * 15 / 16:6.2f}    N/A"
        + "\n"
        for size, time in ((2**20, 996.7), (2**21, 988.6))
    )
)
SIZES = "-b 1M -e 2M -f 2 -g 1"
BARE = "\n----------- 1x 4.0GB ----------------\n busbw: 3722.778 Gbps\n"
PERFTEST = """ #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      5000             196.42            196.01              0.373864
"""


def read(*parts: str) -> Read:
    return read_log("".join(part if part.endswith("\n") else f"{part}\n" for part in parts).encode(), "log", Facts())


def firsts(found: Read) -> list[Row]:
    """Return the first row of each table."""
    return list({row.group: row for row in reversed(found.rows)}.values())[::-1]


@pytest.mark.parametrize(
    ("lines", "ranks"),
    [
        (("mpirun -np 16 ./osu_allgather", "mpirun -np 8 ./osu_allgather"), None),
        (("mpirun -np 16 ./osu_allgather", "mpirun -np $N ./osu_allgather"), None),
        (("mpirun -np 16 ./osu_allgather; mpirun -np 8 ./osu_allgather",), None),
        (("mpirun -np 8 ./osu_allgather", "+ mpirun -np 8 ./osu_allgather"), 8),
        (("mpirun -np 16 ./osu_alltoall", "mpirun -np 8 ./osu_allgather", "mpirun -np 4 ./osu_bcast"), 8),
        (("running osu_allgather", "mpirun -np 8 ./osu_allgather"), 8),
        (("# mpirun -np 32 ./osu_allgather",), None),
        (("# mpirun -np 32 ./osu_allgather", "mpirun -np 8 ./osu_allgather"), 8),
        (("mpiexec -n 4 ./osu_allgather : -n 4 ./osu_allgather",), None),
    ],
)
def test_a_table_is_told_what_all_commands_agree_on_that_may_have_started_it(
    lines: tuple[str, ...], ranks: int | None
) -> None:
    found = read(*lines, OSU, OSU)
    assert [row.ranks for row in firsts(found)] == [ranks, None], "a command tells nothing of the table after its own"


def test_commands_that_stand_before_their_tables_are_told_apart() -> None:
    found = read("+ mpirun -np 16 ./osu_allgather", OSU, "+ mpirun -np 8 ./osu_allgather", OSU)
    assert [row.ranks for row in firsts(found)] == [16, 8]


def test_buffers_that_commands_do_not_agree_on_are_unknown() -> None:
    lines = ("mpirun -np 2 ./osu_bw H H", "mpirun -np 2 ./osu_bw D D")
    both, alone = read(*lines, CUDA), read(lines[1], CUDA)
    assert [row.device for row in (*both.rows, *alone.rows)] == [None, "cuda"]


def test_a_window_that_commands_do_not_agree_on_is_said_to_be_the_usual_one() -> None:
    found = read("mpirun -np 2 ./osu_bw -W 1 D D", "mpirun -np 2 ./osu_bw D D", CUDA, CUDA)
    assert {row.messages for row in found.rows} == {64}
    assert ["several windows" in one.text for one in found.warned] == [True]
    assert read("mpirun -np 2 ./osu_bw -W 1 D D", CUDA).rows[0].messages == 1


def test_columns_alone_tell_the_operation_where_commands_differ() -> None:
    lines = [f"mpirun -np 16 ./{test}_perf {SIZES}" for test in ("alltoall", "all_gather")]
    first, _second = firsts(read(*lines, NCCL, NCCL))
    assert (first.operation, set(first.candidates) >= {"all_to_all", "all_gather"}) == ("", True)
    assert {row.operation for row in read(lines[0], NCCL, lines[1], NCCL).rows} == {"all_to_all", "all_gather"}


def test_a_rule_over_processes_that_commands_differ_in_is_not_the_usual_one() -> None:
    lines = [f"mpirun -np 16 ./alltoall_perf {SIZES} -a {rule}" for rule in (1, 3)]
    assert firsts(read(*lines, NCCL))[0].statistic.endswith("one of several rules")
    assert firsts(read(lines[1], NCCL))[0].statistic.endswith("max of processes")


def test_launchers_that_differ_tell_no_ranks_and_servers_no_test() -> None:
    lines = [f"$ torchrun --nproc_per_node={count} all_reduce_latency_comp.py" for count in (8, 4)]
    assert [row.ranks for row in read(lines[0], BARE).rows] == [8]
    assert read(*lines, BARE).rows == ()
    lines = ["ib_write_bw -b --report_gbits 10.0.0.1", "ib_write_bw -s 65536 --report_gbits 10.0.0.1"]
    assert [row.operation for row in read(lines[0], PERFTEST).rows] == ["bidirectional_stream"]
    assert read(*lines, PERFTEST).rows == ()
