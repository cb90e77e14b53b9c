"""Cases side by side: alike ones are paired, all others say why not."""

from __future__ import annotations

import msgspec
import pytest
from tests.analysis.made import case_of, curve, record_of, replaced, results_of

from collmark.analysis.compare.align import Pair, Unmatched, align, fits_of
from collmark.analysis.compare.side import Side, Times, times_of
from collmark.core.case import Cadence
from collmark.core.operation import Estimand
from collmark.core.placement import Tier
from collmark.core.record import Record, Status

SIZES = (1024, 4096)


def times(records: list[Record], name: str = "made") -> dict[str, Times]:
    return times_of(Side(name=name, results=(results_of(records, name),)).table())


def aligned(a: list[Record], b: list[Record]) -> tuple[list[Pair], list[Unmatched]]:
    return align(times(a, "a"), times(b, "b"))


def test_equal_cases_are_paired_whatever_the_run_is_called() -> None:
    pairs, unmatched = aligned(curve(sizes=SIZES), curve(sizes=SIZES, alpha=40e-6))
    assert [pair.a.facts["nbytes"] for pair in pairs] == [1024, 4096]
    assert [len(pair.b.seconds_L) for pair in pairs] == [3, 3]
    assert not unmatched


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (curve(sizes=(2048,)), "no 1 KiB there"),
        (curve("all_gather", sizes=(1024,)), "no all_reduce there"),
        (curve(sizes=(1024,), of_case={"cadence": Cadence.STREAMING}), "cadence isolated against streaming"),
        (curve(sizes=(1024,), of_case={"backend": "mpi"}), "backend gloo against mpi"),
        (curve(sizes=(1024,), ranks=4), "placement 1x2 against 1x4"),
        (curve(sizes=(1024,), of_case={"dtype": "float64"}), "dtype float32 against float64"),
    ],
)
def test_what_differs_is_said(other: list[Record], reason: str) -> None:
    pairs, unmatched = aligned(curve(sizes=(1024,)), other)
    assert not pairs
    assert (unmatched[0].where, unmatched[0].reason) == ("A", reason)
    assert unmatched[1].where == "B"


def test_figures_of_a_simulation_are_compared_with_none_that_were_measured() -> None:
    pairs, unmatched = aligned(curve(sizes=(1024,)), curve(sizes=(1024,), simulated=True))
    assert not pairs
    assert unmatched[0].reason == "marker - against SIMULATED"


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [("origin", "nccl-tests", "origin - against nccl-tests"), ("window", 8, "window 1 against 8")],
)
def test_what_no_key_says_keeps_figures_apart(name: str, value: object, reason: str) -> None:
    one = times(curve(sizes=(1024,)))
    other = {key: msgspec.structs.replace(own, facts={**own.facts, name: value}) for key, own in one.items()}
    pairs, unmatched = align(one, other)
    assert not pairs
    assert [row.reason for row in unmatched] == [reason]


def test_another_tier_is_said_and_compared() -> None:
    (pair,), _unmatched = aligned(curve(sizes=(1024,), tier=Tier.NVLINK), curve(sizes=(1024,), tier=Tier.PCIE))
    assert pair.differs == "tier nvlink -> pcie"


def longest(records: list[Record]) -> list[Record]:
    estimand = Estimand.LONGEST_LOCAL
    return [
        replaced(record, timing=msgspec.structs.replace(record.timing, estimand=estimand))
        for record in records
        if record.timing is not None
    ]


def test_where_one_side_lacks_a_common_clock_both_are_the_longest_duration() -> None:
    (pair,), _unmatched = aligned(curve(sizes=(1024,)), longest(curve(sizes=(1024,))))
    assert pair.a.facts["estimand"] == pair.b.facts["estimand"] == "D_max"
    assert pair.a.seconds_L == pytest.approx([record.ranks.longest for record in curve(sizes=(1024,)) if record.ranks])


def test_without_it_they_are_not_compared() -> None:
    bare = [replaced(record, ranks=None) for record in curve(sizes=(1024,))]
    pairs, unmatched = aligned(bare, longest(curve(sizes=(1024,))))
    assert not pairs
    assert unmatched[0].reason == "T is L against D_max"


def test_a_wrong_result_breaks_only_what_was_right() -> None:
    right = curve(sizes=(1024,))
    wrong = [replaced(right[0], status=Status.WRONG), *right[1:]]
    assert [one.breaks for one in aligned(right, wrong)[1]] == [True]
    assert [one.breaks for one in aligned(wrong, wrong)[1]] == [False]
    assert [one.breaks for one in aligned(wrong, right)[1]] == [False]
    assert aligned(right, wrong)[1][0].reason == "B wrong"


def test_a_case_without_a_time_says_its_status() -> None:
    failed = [record_of(case_of(nbytes=1024), None, launch) for launch in (1, 2)]
    assert aligned(curve(sizes=(1024,)), failed)[1][0].reason == "B failed"


def test_what_b_lacks_is_lost_and_what_a_lacks_is_not() -> None:
    both, more = curve(sizes=(1024,)), curve(sizes=(1024, 4096))
    assert [one.lost for one in aligned(more, both)[1]] == [True]
    assert [one.lost for one in aligned(both, more)[1]] == [False]
    failed = [record_of(case_of(nbytes=1024), None, launch) for launch in (1, 2)]
    assert [one.lost for one in aligned(both, failed)[1]] == [True]
    assert [one.lost for one in aligned(failed, both)[1]] == [False]


def test_sizes_between_those_of_b_are_read_off_its_model_when_asked() -> None:
    b = Side(name="b", results=(results_of(curve(sizes=[2**n for n in range(10, 20, 2)]), "b"),))
    a = times(curve(sizes=(512, 1024, 2048, 2**25)))
    assert len(align(a, times_of(b.table()))[0]) == 1
    pairs, unmatched = align(a, times_of(b.table()), fits_of(b.table()))
    assert [(pair.a.facts["nbytes"], pair.b.fitted) for pair in pairs] == [(1024, False), (2048, True)]
    assert pairs[1].b.seconds_L == pytest.approx(pairs[1].a.seconds_L, rel=1e-3)
    # Beyond what B measured, on either side.
    assert [one.reason for one in unmatched if one.where == "A"] == ["no 512 B there", "no 32 MiB there"]
