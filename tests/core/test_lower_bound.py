"""The lower bound: measured on even traffic, launch by launch, at as many bytes as the busiest rank has."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from tests.analysis.made import case_of, curve, record_of, replaced

from collmark.core.case import Case
from collmark.core.lower_bound import imbalance, is_uneven, of_bound, reason_words
from collmark.core.matrix import learn, pack
from collmark.core.operation import Estimand, Exchange
from collmark.core.operation_table import OPERATIONS
from collmark.core.record import Record, Sentinel, Status
from collmark.core.statistics import log_t_interval
from collmark.core.units import format_about_nbytes

ALPHA, BETA = 20e-6, 1e-9
SIZES = (1024, 4096, 16384, 65536, 262144)
OPERATION = "all_to_all_v"


def even(operation: str = OPERATION, levels: Sequence[float] = (1.0, 1.1, 1.3), **changes: object) -> list[Record]:
    """Return records of even traffic on the line ALPHA + busiest bytes x BETA, a level for each launch."""
    return curve(operation, alpha=ALPHA, beta=BETA, sizes=SIZES, levels=levels, **changes)  # type: ignore[arg-type]


def uneven(nbytes: int, traffic: str = "zipf:1.2:7", ranks: int = 2) -> Case:
    return case_of(OPERATION, nbytes, ranks, traffic=traffic)


def busiest(case: Case) -> float:
    return OPERATIONS[case.operation].model_nbytes(case.exchange)


def line(case: Case) -> float:
    return ALPHA + busiest(case) * BETA


def swap(nbytes: int) -> str:
    """Return the traffic of two ranks that send everything to each other and keep nothing."""
    return f"file:{learn(pack('swap', ((0, nbytes), (nbytes, 0))))}"


@pytest.mark.parametrize("nbytes", [5000, 16384, 100_000])
def test_the_share_is_the_even_time_over_the_own_and_its_interval_is_over_launches(nbytes: int) -> None:
    case = uneven(nbytes)
    slower = (2.0, 2.1, 1.9)
    own = [record_of(case, line(case) * level * by, launch) for launch, (level, by) in
           enumerate(zip((1.0, 1.1, 1.3), slower, strict=True), 1)]  # fmt: skip
    (found,) = of_bound([*even(), *own]).values()
    # What launches have in common cancels: launch by launch the share is 1 / by, whatever the level.
    expected = log_t_interval([1 / by for by in slower])
    assert expected is not None
    assert found.estimate is not None
    assert (found.against, found.reason) == ("uniform all_to_all_v", "")
    assert found.value == pytest.approx(expected.value)
    assert (found.estimate.lower, found.estimate.upper) == pytest.approx((expected.lower, expected.upper))
    assert (found.estimate.count, found.estimate.over) == (3, "launches")


def test_one_launch_has_a_share_and_no_interval() -> None:
    case = uneven(5000)
    (found,) = of_bound([*even(levels=(1.0,)), record_of(case, 4 * line(case))]).values()
    assert found.value == pytest.approx(0.25)
    assert found.estimate is None


def test_own_shares_count_on_neither_side() -> None:
    # Nothing on the diagonal: all of nbytes goes over the wire, twice what an even call of two ranks sends.
    case = uneven(16384, swap(16384))
    assert busiest(case) == 16384
    (found,) = of_bound([*even(), record_of(case, ALPHA + 16384 * BETA)]).values()
    assert found.value == pytest.approx(1.0)


def test_the_largest_even_call_reaches_as_far_as_its_whole_size() -> None:
    largest, beyond = uneven(SIZES[-1], swap(SIZES[-1])), uneven(SIZES[-1] + 4, swap(SIZES[-1] + 4))
    records = [*even(), record_of(largest, line(largest)), record_of(beyond, line(beyond))]
    found = of_bound(records)
    assert found[largest.key].value == pytest.approx(1.0)
    assert found[beyond.key].value is None
    assert found[beyond.key].reason == (
        "256 KiB at the busiest rank, of uniform all_to_all_v only 512 B to 128 KiB: add sizes around it"
    )


def test_a_line_that_falls_by_chance_is_not_gone_down() -> None:
    records = [r for r in even(levels=(1.0,)) if r.case.nbytes >= SIZES[-2]]
    falling = [record_of(r.case, 1e-4 * (2 - (r.case.nbytes == SIZES[-1]))) for r in records]
    case = uneven(SIZES[-1], swap(SIZES[-1]))
    (found,) = of_bound([*falling, record_of(case, 1e-4)]).values()
    assert found.value == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ((), "no uniform traffic and no all_to_all beside it: add one of them"),
        ((16384,), "of uniform all_to_all_v only 8.00 KiB: add sizes around it"),
        ((16384, 65536), "of uniform all_to_all_v only 8.00 KiB to 32.0 KiB: add sizes around it"),
    ],
)
def test_what_cannot_be_said_is_not_said(sizes: tuple[int, ...], reason: str) -> None:
    case = uneven(1024)
    records = [r for r in even() if r.case.nbytes in sizes]
    (found,) = of_bound([*records, record_of(case, 1e-4)]).values()
    assert (found.value, found.estimate) == (None, None)
    assert found.reason.endswith(reason)


def test_all_to_all_serves_where_there_is_no_uniform_traffic() -> None:
    case = uneven(5000)
    own, others = record_of(case, line(case)), even("all_to_all", levels=(3.0,))
    assert of_bound([own, *others])[case.key].against == "all_to_all"
    assert of_bound([own, *others])[case.key].value == pytest.approx(3.0)
    both = of_bound([own, *others, *even(levels=(1.0,))])[case.key]
    assert both.against == "uniform all_to_all_v"
    assert both.value == pytest.approx(1.0)


@pytest.mark.parametrize("change", [{"dtype": "uint8"}, {"backend": "simulated"}, {"form": "nonblocking"}])
def test_only_like_is_compared(change: dict[str, str]) -> None:
    case = uneven(5000)
    others = [replaced(r, case=msgspec.convert(msgspec.to_builtins(r.case) | change, Case)) for r in even()]
    (found,) = of_bound([*others, record_of(case, line(case))]).values()
    assert found.value is None


def test_steady_measurements_enter_and_others_do_not() -> None:
    case = uneven(5000)
    own = record_of(case, line(case))
    slow = record_of(case, 9 * line(case), launch=2)
    kept = of_bound([*even(), own, replaced(slow, status=Status.UNSTABLE), replaced(slow, sentinel=Sentinel.END)])
    assert kept[case.key].value == pytest.approx(1.0)
    assert kept[case.key].estimate is None
    both = of_bound([*even(), own, replaced(slow, status=Status.UNSTABLE)], include_unstable=True)[case.key]
    assert both.value == pytest.approx((1.1 / 9) ** 0.5)
    wrong = of_bound([*even(), own, replaced(slow, status=Status.WRONG, timing=None)])[case.key]
    assert (wrong.value, wrong.reason) == (None, "wrong result in 1 of 2 launches")


def without(launch: int, nbytes: int) -> list[Record]:
    """Return even records of two launches, one of which is unstable."""
    return [
        replaced(r, status=Status.UNSTABLE) if (r.launch, r.case.nbytes) == (launch, nbytes) else r
        for r in even(levels=(1.0, 1.1))
    ]


def test_neighbours_that_were_unstable_in_other_launches_are_the_reason_and_not_their_sizes() -> None:
    case = uneven(3000)
    assert 512 < busiest(case) < 2048
    own = [record_of(case, 1e-4, launch) for launch in (1, 2)]
    # The one smaller neighbour is unstable in the first launch, the case itself in the second.
    records = [*without(1, 1024), own[0], replaced(own[1], status=Status.UNSTABLE)]
    (found,) = of_bound(records).values()
    assert (found.value, found.against) == (None, "uniform all_to_all_v")
    assert found.reason == (
        f"{format_about_nbytes(busiest(case))} at the busiest rank: no launch has a steady time both of it and of "
        "uniform all_to_all_v around: add launches"
    )
    assert of_bound(records, include_unstable=True)[case.key].value is not None
    assert of_bound([*without(1, 1024), *own])[case.key].value is not None


def test_even_traffic_without_a_steady_time_was_there_all_the_same() -> None:
    case = uneven(5000)
    unsteady = [replaced(r, status=Status.UNSTABLE) for r in even()]
    own = record_of(case, line(case))
    (found,) = of_bound([*unsteady, own]).values()
    assert "no launch has a steady time both of it and of uniform all_to_all_v around" in found.reason
    # What is steady beside it serves.
    assert of_bound([*unsteady, *even("all_to_all"), own])[case.key].against == "all_to_all"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"status": Status.UNSTABLE}, "no steady time: 2 unstable"),
        ({"status": Status.FAILED, "timing": None, "ranks": None}, "no steady time: 2 failed"),
        ({"seconds": 0.0}, "no steady time: 2 without a time"),
    ],
)
def test_a_case_without_a_time_says_what_became_of_it(changes: dict[str, object], reason: str) -> None:
    case = uneven(5000)
    seconds = changes.pop("seconds", 1e-4)
    own = [replaced(record_of(case, seconds, launch), **changes) for launch in (1, 2)]  # type: ignore[arg-type]
    (found,) = of_bound([*even(), *own]).values()
    assert found.reason == reason


def test_the_longest_local_duration_may_be_what_is_missing() -> None:
    case = uneven(16384, f"file:{learn(pack('one way', ((0, 16384), (0, 0))))}")
    (found,) = of_bound([*even(levels=(1.0,)), replaced(record_of(case, line(case)), ranks=None)]).values()
    assert found.reason == (
        "T is the longest local duration here, and uniform all_to_all_v or the case itself has none above 0"
    )


def test_each_reason_is_said_with_the_cases_that_it_is_true_of() -> None:
    small, large = uneven(64), uneven(SIZES[-1], swap(SIZES[-1] * 2))
    records = [*even(), record_of(small, 1e-4), record_of(large, 1e-4), record_of(uneven(5000), line(uneven(5000)))]
    said = reason_words(of_bound(records), records)
    assert len(said) == 2
    assert said[0].startswith(f"1 ragged case without a share of the lower bound ({small}): ")
    assert "of uniform all_to_all_v only 512 B to 128 KiB: add sizes around it" in said[0]
    assert f"({large})" in said[1]
    assert reason_words(of_bound(even()), even()) == []


def test_where_one_side_may_be_left_early_both_are_the_longest_local_duration() -> None:
    # Rank 1 sends nothing at all: it may leave early.
    case = uneven(16384, f"file:{learn(pack('one way', ((0, 16384), (0, 0))))}")
    assert case.estimand is Estimand.FIRST_IN_LAST_OUT
    own = record_of(case, line(case))
    assert own.ranks is not None
    own = replaced(own, ranks=msgspec.structs.replace(own.ranks, longest=3 * line(case)))
    (found,) = of_bound([*even(levels=(1.0,)), own]).values()
    # Made records last 1.5 times as long on their slowest rank.
    assert found.value == pytest.approx(1.5 / 3)


def test_one_rank_has_no_bound() -> None:
    case = uneven(4096, ranks=1)
    (found,) = of_bound([record_of(case, 1e-5)]).values()
    assert (found.value, found.reason) == (None, "no rank sends anything to another")


def test_even_traffic_has_no_bound_of_its_own() -> None:
    assert of_bound([*even(), *even("all_to_all"), *even("all_reduce")]) == {}
    assert [is_uneven(case_of(name)) for name in ("all_to_all_v", "all_to_all")] == [False, False]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (((5, 3), (3, 7)), 1.0),
        (((0, 3), (1, 0)), 1.5),
        (((9, 1, 1), (1, 9, 1), (4, 1, 9)), 5 / 3),  # rank 0 receives 5 and rank 2 sends 5; 9 are sent by three
        (((0, 8, 8), (0, 0, 0), (0, 0, 0)), 3.0),
        (((7, 0), (0, 1)), None),
        (((7,),), None),
        (None, None),
    ],
)
def test_imbalance_is_the_busiest_over_the_mean(
    counts: tuple[tuple[int, ...], ...] | None, expected: float | None
) -> None:
    exchange = Exchange(ranks=len(counts or ()), block=0, itemsize=4, counts=counts)
    assert imbalance(exchange) == (None if expected is None else pytest.approx(expected))
