"""nccl-tests: what the corpus does not show; what stands in a head, and when it is believed."""

from typing import Any

import pytest
from tests.analysis.importers.nccl_text import NAMES, SIZES, head_text, read, row_text

from collmark.analysis.importers.nccl import GAP
from collmark.analysis.importers.nccl_head import read_commands
from collmark.analysis.importers.nccl_names import TESTS
from collmark.analysis.importers.nccl_operation import Kind, Seen, candidates, decide, fits
from collmark.analysis.importers.nccl_row import Parsed, parse
from collmark.analysis.importers.read import Read
from collmark.analysis.importers.row import Facts, RanksFrom
from collmark.core.case import Cadence


def _operations(found: Read) -> set[str]:
    return {row.operation for row in found.rows}


def test_the_operation_is_asked_for_where_columns_may_be_of_several() -> None:
    rows = [row_text(size, "none", share=True, factor=0.875, checked=(False, False)) for size in SIZES]
    found = read(NAMES, *rows)
    assert {(row.operation, row.candidates) for row in found.rows} == {
        ("", ("all_gather", "all_to_all", "all_to_all_v"))
    }
    # Size and bus factor mean the same for all three; that the count is a share of it does not.
    assert {(row.ranks, row.ranks_from) for row in found.rows} == {(8, RanksFrom.FACTOR)}
    assert [row.nbytes for row in found.rows] == [size for size in SIZES for _ in range(2)]
    asked = read(NAMES, *rows, facts=Facts(operation="all_to_all"))
    assert _operations(asked) == {"all_to_all"}
    assert {(row.ranks, row.ranks_from) for row in asked.rows} == {(8, RanksFrom.TEXT)}
    assert [row.seconds for row in asked.rows] == [row.seconds for row in found.rows]
    denied = read(NAMES, *rows, facts=Facts(operation="all_reduce"))
    assert _operations(denied) == {""}, "what the columns deny is not believed"


def test_of_an_operation_that_is_not_told_only_what_all_that_it_may_be_have_in_common_is() -> None:
    either = [row_text(size, "none", 0, share=True, factor=0.875) for size in SIZES]
    found = read(*either)
    assert {row.candidates for row in found.rows} == {("gather", "scatter")}
    assert {(row.ranks, row.ranks_from) for row in found.rows} == {(8, RanksFrom.TEXT)}, "both share the size out"
    unlike = [row_text(size, factor=1.0, checked=(False, False)) for size in SIZES]
    found = read(*unlike)
    assert {row.candidates for row in found.rows} == {("all_reduce", "send_recv")}
    assert {row.ranks for row in found.rows} == {None}, "two ranks of all_reduce, any number of send_recv"
    assert {row.bus_bandwidth for row in found.rows} == {row.algorithm_bandwidth for row in found.rows}


def test_lines_of_ranks_are_believed_of_an_operation_that_is_not_told_where_rows_agree() -> None:
    """Where the head has lost what tells the operation, it may have lost lines of ranks."""
    head = [line.replace("NVIDIA A100-SXM4-80GB", "GPU") for line in head_text(SIZES[0], SIZES[-1], gpus=1)]
    rows = [row_text(size, "none", share=True, factor=0.875, checked=(False, False)) for size in SIZES]
    assert {(row.operation, row.ranks, row.nodes) for row in read(*head, *rows).rows} == {("", 8, 1)}
    fewer = [line for line in head if not any(f"Rank {rank:2d}" in line for rank in range(4, 8))]
    assert {(row.operation, row.ranks, row.nodes) for row in read(*fewer, *rows).rows} == {("", 8, None)}
    send = [row_text(size, factor=1.0, checked=(False, False)) for size in SIZES]
    assert {(row.operation, row.ranks) for row in read(*head, *send).rows} == {("", None)}


def test_the_beginning_of_a_row_is_no_algorithm_and_protocol() -> None:
    assert len(read(f"{row_text(2**20)}  TREE  LL128  56").rows) == 2
    assert read(f"{row_text(2**20)}  float  none  0").rows == ()


def test_rows_of_size_zero_may_be_of_anything_that_prints_them() -> None:
    zero = row_text(2**20, "none", share=True).replace("1048576", "0", 1).replace(" 32768", "     0", 1)
    tokens = zero.split()
    tokens[6] = tokens[7] = tokens[10] = tokens[11] = "0.00"
    found = read("  ".join(tokens))
    assert {row.operation for row in found.rows} == {""}
    assert {"all_gather", "all_to_all"} <= set(found.rows[0].candidates)
    assert not {"all_reduce", "broadcast"} & set(found.rows[0].candidates)


@pytest.mark.parametrize(
    ("row", "operation"),
    [
        ({}, "all_reduce"),
        ({"checked": (True, False), "factor": 1.0}, "send_recv"),
        ({"share": True, "factor": 0.875}, "reduce_scatter"),
        ({"root": 0, "factor": 1.0}, "reduce"),
        ({"redop": "none", "root": 0, "factor": 1.0}, "broadcast"),
        ({"redop": "none", "share": True, "factor": 0.875}, "all_gather"),
    ],
)
def test_columns_that_only_one_operation_has_tell_it(row: dict[str, Any], operation: str) -> None:
    assert _operations(read(*(row_text(size, **row) for size in SIZES))) == {operation}


@pytest.mark.parametrize(
    "row",
    [
        {"redop": "none", "share": True, "factor": 0.875, "checked": (True, False)},
        {"redop": "none", "root": 2, "share": True, "factor": 0.875},
        {"checked": (False, False), "factor": 1.0},
    ],
)
def test_of_others_the_operation_is_not_told(row: dict[str, Any]) -> None:
    found = read(*(row_text(size, **row) for size in SIZES))
    assert _operations(found) == {""}
    assert all(len(one.candidates) > 1 for one in found.rows)
    assert found.skipped == ()


def test_rows_that_no_test_prints_are_refused() -> None:
    found = read(*(row_text(size, root=0, share=True) for size in SIZES))  # an operator, a root and shares
    assert found.rows == ()
    assert len(found.skipped) == len(SIZES)


def test_rows_that_contradict_the_operation_that_the_head_names_are_refused() -> None:
    rows = [row_text(size).replace("float", " half") for size in SIZES]  # twice as many bytes as count and type say
    assert _operations(read(NAMES, *rows)) == {"reduce_scatter"}
    named = ["# Collective test starting: all_reduce_perf", *head_text(SIZES[0], SIZES[-1])]
    found = read(*named, *rows)
    assert found.rows == ()
    assert len(found.skipped) == len(rows)
    assert "the text names all_reduce" in found.skipped[0].reason
    assert _operations(read(*named, *map(row_text, SIZES))) == {"all_reduce"}


@pytest.mark.parametrize("before", ["node11:21:22 [0] NCCL INFO ", "0: 1 ", "Channel 00/08 : 0 1 2 3 "])
def test_a_row_behind_other_text_is_named_and_parts_no_table(before: str) -> None:
    rows = [row_text(size) for size in SIZES]
    found = read(*head_text(SIZES[0], SIZES[-1]), *rows[:2], before + rows[2], *rows[3:])
    assert [one.reason for one in found.skipped] == ["other text stands before a row"]
    assert {(row.group, row.ranks, row.nodes) for row in found.rows} == {(1, 8, 1)}
    assert len(found.rows) == 2 * (len(SIZES) - 1)


def test_whose_table_it_is_follows_from_the_text() -> None:
    rows = [row_text(size) for size in SIZES]
    assert {(row.tool, row.backend) for row in read(*rows).rows} == {("nccl-tests", "nccl")}
    head = head_text(SIZES[0], SIZES[-1])
    version = "rccl-tests: Version develop:0ab12cd"
    instinct = [line.replace("NVIDIA A100-SXM4-80GB", "AMD Instinct MI300X") for line in head]
    for lines in (
        [head[0], "#", version, *head[1:], *rows],
        [*instinct, *rows],
        [f"{row}  RING  LL  56" for row in rows],
    ):
        assert {(row.tool, row.backend) for row in read(*lines).rows} == {("rccl-tests", "rccl")}


def test_a_command_line_tells_the_operation_of_one_run() -> None:
    rows = [row_text(size, "none", 0, share=True, factor=0.875) for size in SIZES]
    command = "$ mpirun -np 1 ./build/gather_perf -b 1M -e 16M -f 2 -g 8"
    whole = [command, *head_text(SIZES[0], SIZES[-1]), *rows, "# Avg bus bandwidth    : 1.0 "]
    assert _operations(read(*whole)) == {"gather"}
    again = read(*whole, *head_text(SIZES[0], SIZES[-1]), *rows)
    told = [row for row in again.rows if row.operation]
    assert len(told) == 2 * len(rows), "the second run has no command line of its own"
    assert _operations(again) == {"gather", ""}
    other = read(command.replace("16M", "32M"), *head_text(SIZES[0], SIZES[-1]), *rows)
    assert _operations(other) == {""}, "it asks for other sizes than the head says"


def test_a_command_line_with_several_tests_tells_nothing() -> None:
    assert read_commands(["for t in all_reduce_perf all_gather_perf; do"]).operation is None
    assert read_commands(["$ mpirun -np 8 ./allgather_test_perf -b 1K -e 1M"]).operation is None, "another tool's"
    assert read_commands(["./all_gather_perf -b 8 -e 8 && ./all_gather_perf"]).operation == "all_gather"


def test_options_of_a_command_line() -> None:
    found = read_commands(["NCCL_ALGO=Tree srun -n 16 rccl-tests/all_reduce_perf -b 1K -e 8G -f 2 -a 3 -G 2"])
    assert found.grid is not None
    assert (found.grid.first, found.grid.last, found.grid.step, found.grid.factor) == (2**10, 2**33, 2, True)
    assert (found.settings, found.rule, found.processes, found.rccl) == ("ALGO=Tree", "max of processes", 16, True)
    assert read_commands(["all_reduce_perf -b $FIRST -e 8G"]).grid is None
    assert read_commands(["all_reduce_perf"]).grid is None
    by_bytes = read_commands(["all_reduce_perf --minbytes=1M --maxbytes 4M --stepbytes 1048576"]).grid
    assert by_bytes is not None
    assert (by_bytes.first, by_bytes.last, by_bytes.step, by_bytes.factor) == (2**20, 2**22, 2**20, False)
    assert read_commands(["all_reduce_perf -b 8 -e " + "9" * 400]).grid is None


def test_a_head_holds_only_while_rows_follow_its_sizes() -> None:
    rows = [row_text(size, "none", share=True, factor=0.875, checked=(True, False)) for size in SIZES]
    whole = read(*head_text(SIZES[0], SIZES[-1]), *rows)
    assert _operations(whole) == {"all_to_all"}
    assert {(row.ranks, row.nodes, row.repetitions) for row in whole.rows} == {(8, 1, 20)}
    gap = read(*head_text(SIZES[0], SIZES[-1]), *rows[:2], *rows[3:])
    assert [(row.line, row.operation) for row in gap.rows[::2]] == [
        (14, "all_to_all"), (15, "all_to_all"), (16, ""), (17, "")
    ]  # fmt: skip
    assert _operations(read(*head_text(SIZES[0], SIZES[-1]), *rows[1:])) == {""}, (
        "it does not begin where the head says"
    )
    elided = read(*head_text(SIZES[0], SIZES[-1]), *rows[:2], "...", *rows[3:])
    assert _operations(elided) == {"all_to_all"}, "what was left out on purpose is no gap"
    broken = read(*head_text(SIZES[0], SIZES[-1]), *rows[:2], rows[2][:60], *rows[3:])
    assert _operations(broken) == {"all_to_all"}, "nor is a row that stands there and cannot be read"
    assert len(elided.rows) == len(broken.rows) == 8


def test_rows_after_a_gap_keep_what_they_say_themselves() -> None:
    rows = [row_text(size) for size in SIZES]
    found = read(*head_text(SIZES[0], SIZES[-1]), *rows[:2], *rows[3:])
    assert len(found.rows) == 8
    assert {row.ranks for row in found.rows} == {8}
    assert {row.repetitions for row in found.rows} == {20, None}
    assert {row.group for row in found.rows} == {1, 2}
    assert [(one.line, one.text) for one in found.warned] == [(16, GAP)]
    assert [one.line for one in read(*head_text(SIZES[0], SIZES[-1]), *rows[1:]).warned] == [14], (
        "its first row is gone"
    )
    assert not read(*head_text(SIZES[0], SIZES[-1]), *rows, *rows).warned, "sizes that begin anew are no gap"


def test_a_head_whose_end_names_another_test_is_not_believed() -> None:
    rows = [row_text(size, "none", 0, share=True, factor=0.875) for size in SIZES]
    start = "# Collective test starting: gather_perf"
    for end, operation in (("gather_perf", "gather"), ("scatter_perf", "")):
        last = ("# Avg bus bandwidth    : 1.0 ", f"# Collective test concluded: {end}")
        assert _operations(read(start, *head_text(SIZES[0], SIZES[-1]), *rows, *last)) == {operation}


@pytest.mark.parametrize(
    ("line", "cadence"),
    [
        ("# Blocking Enabled: wait for completion and barrier after each collective ", Cadence.ISOLATED),
        ("# Parallel Init Enabled: threads call into NcclInitRank concurrently ", Cadence.STREAMING),
    ],
)
def test_cadence(line: str, cadence: Cadence) -> None:
    head = head_text(SIZES[0], SIZES[-1])
    rows = [row_text(size) for size in SIZES]
    assert {row.cadence for row in read(head[0], line, *head[1:], *rows).rows} == {cadence}
    graph = [head[0].replace("graph: 0", "graph: 10"), *head[1:]]
    assert {row.cadence for row in read(*graph, *rows).rows} == {Cadence.GRAPH}


def test_an_average_that_is_not_the_rows_is_said() -> None:
    rows = [row_text(size) for size in SIZES]
    busy = [float(row.split()[index]) for row in rows for index in (7, 11)]
    head = head_text(SIZES[0], SIZES[-1])
    right = read(*head, *rows, f"# Avg bus bandwidth    : {sum(busy) / len(busy):g} ")
    assert right.warned == ()
    wrong = read(*head, *rows, f"# Avg bus bandwidth    : {sum(busy) / len(busy) * 1.1:g} ")
    assert "average" in wrong.warned[0].text
    assert read(*head, *rows[:-1], "...", f"# Avg bus bandwidth    : {sum(busy):g} ").warned == (), "not all are there"


@pytest.mark.parametrize("end", range(1, 12))
def test_a_row_cut_short_is_refused(end: int) -> None:
    row = row_text(2**20).rstrip()
    found = read(NAMES, row[: -end * 7])
    assert found.rows == ()
    assert len(found.skipped) == 1


@pytest.mark.parametrize(
    ("wrong", "cut", "whole"), [("    17", 0, True), ("    17", 1, False), (" 17000", 2, False), ("1.25e+06", 1, False)]
)
def test_a_count_of_wrong_elements_that_was_cut_is_no_other_count(wrong: str, cut: int, whole: bool) -> None:  # noqa: FBT001
    row = row_text(2**20)[: -len("     0")] + wrong
    found = read(NAMES, row[: len(row) - cut])
    assert [one.wrong for one in found.rows] == ([0, int(float(wrong))] if whole else [])


@pytest.mark.parametrize(
    ("column", "token"),
    [
        (0, "01048576"), (0, "1048576.0"), (0, "1048577"), (1, "262143"), (2, "flaot"), (3, "som"), (4, "-2"),
        (5, "105"), (5, "105.247"), (5, "0.00"), (5, "-105.2"), (5, "nan"), (6, "9.9"), (6, "9.961"), (6, "inf"),
        (7, "17,43"), (8, "0.5"), (8, "-1"), (9, "0x10"), (12, "00"), (12, "N/B"), (12, "1e6"),
    ],
)  # fmt: skip
def test_numbers_of_other_shapes_are_refused(column: int, token: str) -> None:
    tokens = row_text(2**20).split()
    assert len(read(NAMES, "  ".join(tokens)).rows) == 2
    tokens[column] = token
    found = read(NAMES, "  ".join(tokens))
    assert found.rows == ()


def test_columns_that_only_the_head_knows_are_passed_over() -> None:
    assert isinstance(parse(row_text(2**20) + "  3", 0, None), str)
    assert isinstance(parse(row_text(2**20) + "  3", 1, None), Parsed)
    assert len(read(NAMES + "  #iters", row_text(2**20) + "      20").rows) == 2


def test_rules_of_operations_do_not_contradict_each_other() -> None:
    """What columns tell is among what they allow."""
    flags = (True, False)
    for reduces in flags:
        for rooted in flags:
            for divided in flags:
                kind = Kind(
                    reduces=reduces,
                    rooted=rooted,
                    redop=True,
                    root=True,
                    old=False,
                    checked=(True, True),
                    errors=False,
                    divided=divided,
                )
                seen = Seen(above=False, alone=False, scaled=False, nvidia=False, operator=None)
                found = candidates(kind, seen)
                assert set(found) <= set(TESTS)
                for one in found:
                    assert fits(one, kind, alone=not divided)
                    assert decide(kind, seen, None, one) == (one,)


def test_a_time_that_is_the_cpus_is_told_by_its_bandwidth() -> None:
    """Without a head: where no row's time fits none is believed, otherwise only the one that does not is refused."""
    rows = [row_text(size) for size in SIZES]
    spoilt = rows[2].split()
    spoilt[6] = "1.00"
    assert len(read(*rows[:2], "  ".join(spoilt), *rows[3:]).rows) == 2 * (len(rows) - 1)
    small = [row_text(size) for size in (8, 16, 32)]
    large = [row.replace(row.split()[5], "4.20", 1) for row in (row_text(size) for size in (64 * 2**20, 128 * 2**20))]
    found = read(*small, *large)
    assert found.rows == ()
    assert len(found.skipped) == 5
