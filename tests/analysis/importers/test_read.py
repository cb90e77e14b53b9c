"""Which tool a line belongs to is told by what stands in it."""

import re
import time

import pytest
from tests.analysis.importers import corpus

from collmark.analysis.importers.index import IMPORTERS
from collmark.analysis.importers.read import COMMAND, read_log
from collmark.analysis.importers.row import Facts
from collmark.core.case import Device

NCCL = (corpus.ROOT / "nccl" / "all_reduce-cycles.log").read_bytes()
JSON = (corpus.ROOT / "nccl" / "all_reduce-json.json").read_bytes()
OSU = b"""# OSU MPI Latency Test v5.9
# Size          Latency (us)
0                       1.10
8                       1.25
"""


def test_nothing_is_read_of_what_is_no_log() -> None:
    for data in (b"", b"\n\n", b"hello\nworld\n", b"1 2 3\n4 5 6\n", bytes(range(256)), b"{}\n[]\n[1, 2]\n"):
        found = corpus.read(data)
        assert (found.rows, found.skipped, found.warned) == ((), (), ())


def test_the_name_of_the_file_says_nothing() -> None:
    assert {row.tool for row in read_log(NCCL, "osu_latency.txt", Facts()).rows} == {"nccl-tests"}


def test_several_tools_in_one_file_are_several_groups() -> None:
    found = corpus.read(OSU + NCCL + OSU + JSON)
    groups = {row.group: row.tool for row in found.rows}
    assert len(groups) == 4
    assert list(groups.values()).count("nccl-tests") == 2
    assert len(found.rows) == 2 * len(corpus.read(OSU).rows) + len([*corpus.read(NCCL).rows, *corpus.read(JSON).rows])


def test_rows_name_file_and_line() -> None:
    found = read_log(b"noise\n" + NCCL, "jobs/run.log", Facts())
    alone = corpus.read(NCCL)
    assert {row.file for row in found.rows} == {"jobs/run.log"}
    assert [row.line - 1 for row in found.rows] == [row.line for row in alone.rows]


def test_options_that_a_log_contradicts_are_named_once_a_run() -> None:
    (row, *_) = corpus.read(NCCL).rows
    assert (row.operation, row.backend, row.device, bool(row.dtype), bool(row.nodes)) == (
        "all_reduce", "nccl", "cuda", True, True,
    )  # fmt: skip
    wrong = Facts(nodes=77, operation="broadcast", dtype="uint8", device=Device.CPU, backend="mpi")
    found = read_log(NCCL, "log", wrong)
    assert [one.text.split(",")[0] for one in found.warned] == [
        "--nodes says 77", "--operation says broadcast", "--dtype says uint8", "--device says cpu",
        "--backend says mpi",
    ]  # fmt: skip
    assert {one.line for one in found.warned} == {row.line}
    assert found.rows == read_log(NCCL, "log", Facts()).rows
    right = Facts(nodes=row.nodes, operation="all_reduce", dtype=row.dtype, device=row.device, backend="nccl")
    assert read_log(NCCL, "log", right).warned == ()
    assert "--ranks says 8, but the log 2" in read_log(OSU, "log", Facts(ranks=8)).warned[0].text


def test_a_document_is_found_between_lines() -> None:
    found = corpus.read(b"$ cat out.json\n" + JSON + b"\n$ echo done\n" + NCCL)
    assert {row.line for row in found.rows if row.group == 1} == {2}
    assert len({row.group for row in found.rows}) == 2


def test_many_broken_documents_take_no_time() -> None:
    data = b'{"a": [1, 2,\n' * 20_000
    start = time.process_time()
    corpus.read(data)
    assert time.process_time() - start < 5.0


@pytest.mark.parametrize("tool", IMPORTERS)
def test_a_pattern_fits_into_the_one_that_is_tried(tool: str) -> None:
    """Groups would shift those by which the tool is told."""
    importer = IMPORTERS[tool]
    assert importer.opens is not None or importer.reads is not None
    if importer.opens is not None:
        assert importer.opens.groups == 0
        assert importer.section is not None
        assert importer.opens.match("") is None, "no line at all opens nothing"
        assert importer.opens.flags & ~re.UNICODE == 0, "flags of one pattern are lost among others"
    assert importer.says


LONG = (" ", "#", "1", "a", ",", "-", ".", "=", "[", "_", "/", "1 ", "# ", "ab ", "1.5 ", "a:", "(", '"', "{", "|", "+")


@pytest.mark.parametrize("opens", [one.opens for one in IMPORTERS.values() if one.opens is not None])
@pytest.mark.parametrize("one", LONG)
def test_no_pattern_takes_time_on_a_long_line(opens: re.Pattern[str], one: str) -> None:
    start = time.process_time()
    opens.match(one * (20_000 // len(one)))
    assert time.process_time() - start < 0.1


@pytest.mark.parametrize("one", LONG)
def test_no_log_takes_time_for_a_long_line(one: str) -> None:
    text = one * (20_000 // len(one))
    start = time.process_time()
    corpus.read(f"{text}\n{text}x\n".encode() + NCCL + f"{text}\n".encode())
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("$ mpirun -np 8 ./build/all_reduce_perf -b 8", "all_reduce_perf"),
        ("+ srun /opt/nccl-tests/build/alltoall_perf_mpi", "alltoall_perf_mpi"),
        ("mpirun -np 2 osu_latency -m 1:1024", "osu_latency"),
        ("mpiexec IMB-MPI1 Allreduce", "IMB-MPI1"),
        ("$ ib_write_bw -a -d mlx5_0", "ib_write_bw"),
        ("make -j", None),
    ],
)
def test_command_lines_are_told(line: str, found: str | None) -> None:
    match = COMMAND.search(line)
    assert (match and match[1]) == found
