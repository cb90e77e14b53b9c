"""From rows to cases: what is missing is asked for, and what a log holds cannot break where it is kept."""

import pytest

from collmark.analysis.importers.read import read_log
from collmark.analysis.importers.records import MOST_LABEL, case_of, label_of
from collmark.analysis.importers.row import Facts, Row
from collmark.core.case import Case
from collmark.core.plan import Plan, check_plan


def row(settings: str = "", operation: str = "all_reduce", candidates: tuple[str, ...] = ()) -> Row:
    """Return a row that says all else that a case needs."""
    return Row(
        tool="nccl-tests", operation=operation, candidates=candidates, dtype="float32", reduction="sum", ranks=4,
        nodes=2, nbytes=1024, nbytes_printed=1024, seconds=1e-5, statistic="", file="log", line=1, printed={},
        backend="nccl", settings=settings,
    )  # fmt: skip


def test_an_operation_that_is_not_told_is_asked_for_by_the_names_that_it_may_have() -> None:
    assert isinstance(case_of(row()), Case)
    several = ("all_gather", "all_to_all", "all_to_all_v")
    assert case_of(row(operation="", candidates=several)) == (
        "the operation is not in the log: say --operation all_gather, all_to_all or all_to_all_v"
    )


@pytest.mark.parametrize(
    ("settings", "label"),
    [
        ("", ""),
        ("ALGO=Ring PROTO=LL", "ALGO=Ring PROTO=LL"),
        ("called by ../../../etc/passwd", "called by ..-..-..-etc-passwd"),
        ("\x1b]0;title\x07\r\nnext\ud800", "-]0;title---next-"),
        ("Größe 8", "Größe 8"),
    ],
)
def test_a_label_of_a_log_is_one_that_a_plan_takes(settings: str, label: str) -> None:
    case = case_of(row(settings=settings))
    assert isinstance(case, Case)
    assert case.placement.label == label_of(settings) == label
    check_plan(Plan(operations=("all_reduce",), backends=("gloo",), placements=(case.placement,)))


def test_long_settings_that_differ_at_their_end_stay_two_labels() -> None:
    labels = {label_of("x" * 10_000 + end) for end in "ab"} | {label_of("x" * MOST_LABEL)}
    assert len(labels) == 3
    assert {len(label) for label in labels} == {MOST_LABEL}


def test_a_path_planted_in_a_log_names_no_folder() -> None:
    line = (
        "[2025-02-10 08:00:01,100] [INFO] [logging.py:107:log_dist] [Rank 0] comm op: broadcast "
        "| [Caller Func: a/../../b] | time (ms): 0.14 | msg size: 22.21 KB | algbw (Gbps): 1.30 | busbw (Gbps): 1.30\n"
    )
    (found,) = read_log(line.encode(), "log", Facts(ranks=16, nodes=2, dtype="float16", backend="nccl")).rows
    case = case_of(found)
    assert isinstance(case, Case)
    assert "/" not in case.placement.label
