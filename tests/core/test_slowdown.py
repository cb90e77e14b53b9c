"""What groups cost each other: one ratio a launch, of like times, and nothing where a side is missing."""

from __future__ import annotations

import math

import msgspec
import pytest
from tests.analysis.made import case_of, record_of, replaced

from collmark.core.case import Case
from collmark.core.grouping import Company, groups_of
from collmark.core.operation import Estimand
from collmark.core.placement import Placement
from collmark.core.record import Record, Sentinel, Status
from collmark.core.slowdown import slowdown_words, slowdowns
from collmark.core.statistics import log_t_interval

WORLD = Placement(ranks_per_node=4)


def case_in(index: int, company: Company) -> Case:
    group = groups_of("blocked:2", WORLD, company)[index]
    return msgspec.structs.replace(case_of(), group=group, placement=group.placement)


def records(index: int, alone_L: list[float], together_L: list[float]) -> list[Record]:
    sides = ((Company.ALONE, alone_L), (Company.TOGETHER, together_L))
    return [
        record_of(case_in(index, company), seconds, launch)
        for company, seconds_L in sides
        for launch, seconds in enumerate(seconds_L, 1)
    ]


KEY = case_in(0, Company.TOGETHER).key


def test_a_slow_launch_cancels() -> None:
    found = slowdowns(records(0, [1e-3, 2e-3, 3e-3], [1.5e-3, 3.1e-3, 4.4e-3]))
    expected = log_t_interval([1.5, 1.55, 4.4 / 3])
    assert list(found) == [KEY]
    assert found[KEY].value == pytest.approx(math.prod([1.5, 1.55, 4.4 / 3]) ** (1 / 3))
    assert expected is not None
    estimate = found[KEY].estimate
    assert estimate is not None
    assert estimate.upper == pytest.approx(expected.upper)


def test_each_group_has_its_own() -> None:
    # Each beside its own time alone: beside that of the other they would be 2 and 12, or 0.5 and 3.
    found = slowdowns([*records(0, [1e-3], [2e-3]), *records(1, [4e-3], [12e-3])])
    assert sorted(one.value for one in found.values()) == pytest.approx([2, 3])
    assert all(one.estimate is None for one in found.values())


def test_launches_that_have_one_side_only_do_not_count() -> None:
    found = slowdowns(records(0, [1e-3, 1e-3], [2e-3]))
    assert found[KEY].value == pytest.approx(2)
    assert not slowdowns(records(0, [], [2e-3]))
    assert not slowdowns(records(0, [1e-3], []))


@pytest.mark.parametrize("change", [{"status": Status.UNSTABLE}, {"sentinel": Sentinel.END}])
def test_what_may_enter_nothing_enters_nothing(change: dict[str, object]) -> None:
    assert not slowdowns([replaced(record, **change) for record in records(0, [1e-3], [2e-3])])


def test_times_of_unlike_quantities_are_longest_local_durations_on_both_sides() -> None:
    alone, together = records(0, [1e-3], [2e-3])
    assert together.timing is not None
    assert alone.ranks is not None
    assert together.ranks is not None
    apart = replaced(
        together,
        timing=msgspec.structs.replace(together.timing, estimand=Estimand.LONGEST_LOCAL),
        ranks=msgspec.structs.replace(together.ranks, longest=5e-3),
    )
    alone = replaced(alone, ranks=msgspec.structs.replace(alone.ranks, longest=1.25e-3))
    assert slowdowns([alone, apart])[KEY].value == pytest.approx(4)


def test_it_is_said_why_there_is_none() -> None:
    assert slowdown_words(records(0, [1e-3], [2e-3])) == []
    (words,) = slowdown_words(records(0, [], [2e-3]))
    assert words.startswith("1 case of groups at once without a slowdown: no launch has a steady time")
    assert slowdown_words(records(0, [1e-3], [])) == []


def test_cases_without_groups_have_none() -> None:
    assert not slowdowns([record_of(case_of(), 1e-3)])
