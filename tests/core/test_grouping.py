"""Groups of ranks: which ranks lie in which group, where that is, and what is refused."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis.made import case_of

from collmark.core.case import Case
from collmark.core.errors import UsageError
from collmark.core.grouping import Company, Group, check_arrangement, groups_of
from collmark.core.placement import Placement

PLACES = Placement(nodes=2, ranks_per_node=4, label="rail")


def members(arrangement: str, world: Placement = PLACES) -> list[list[int]]:
    return [list(group.members) for group in groups_of(arrangement, world, Company.ALONE)]


def test_blocked_strided_and_node_by_hand() -> None:
    assert members("blocked:2") == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert members("strided:2") == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert members("strided:4") == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert members("node") == [[0, 1, 2, 3], [4, 5, 6, 7]]


@given(st.sampled_from(["blocked", "strided"]), st.integers(1, 12), st.integers(1, 12))
def test_every_rank_lies_in_one_group(kind: str, size: int, count: int) -> None:
    found = members(f"{kind}:{size}", Placement(ranks_per_node=size * count))
    assert [len(own) for own in found] == [size] * count
    assert sorted(rank for own in found for rank in own) == list(range(size * count))
    assert all(own == sorted(own) for own in found)


@pytest.mark.parametrize(("arrangement", "nodes", "each"), [
    ("blocked:2", 1, 2), ("blocked:8", 2, 4), ("strided:2", 2, 1), ("strided:4", 2, 2), ("node", 1, 4)
])  # fmt: skip
def test_a_group_lies_where_its_ranks_lie(arrangement: str, nodes: int, each: int) -> None:
    for group in groups_of(arrangement, PLACES, Company.ALONE):
        assert group.placement == Placement(nodes=nodes, ranks_per_node=each, label="rail")


@pytest.mark.parametrize(("arrangement", "words"), [
    ("blocked:3", "8 ranks cannot be divided into groups of 3"), ("blocked", "say how many ranks"),
    ("strided:0", "say how many ranks"), ("blocked:x", "blocked:x: say how many ranks a group has, a whole number"),
    ("blocked:4:2", "blocked:4:2: say how many"), ("rows:2", "unknown arrangement"),
])  # fmt: skip
def test_what_cannot_be_is_refused(arrangement: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        groups_of(arrangement, PLACES, Company.ALONE)


def test_a_group_that_lies_unevenly_has_no_place() -> None:
    with pytest.raises(UsageError, match="group 0 would lie unevenly on the nodes of 3x4"):
        groups_of("blocked:6", Placement(nodes=3, ranks_per_node=4), Company.ALONE)


@pytest.mark.parametrize("arrangement", ["all", "node", "blocked:7", "strided:64"])
def test_a_plan_may_ask_for_what_some_ranks_can_be(arrangement: str) -> None:
    check_arrangement(arrangement)


@pytest.mark.parametrize(
    "arrangement",
    [
        "",
        "blocked",
        "blocked:",
        "blocked:-2",
        "node:2",
        "strided:1e3",
        "All",
        "blocked:04",
        "blocked:+4",
        "blocked: 4",
        "blocked:9999999",
    ],
)
def test_a_plan_may_not_ask_for_what_no_ranks_can_be(arrangement: str) -> None:
    with pytest.raises(UsageError):
        check_arrangement(arrangement)


def grouped(index: int = 1, company: Company = Company.TOGETHER) -> Case:
    group = groups_of("strided:2", PLACES, company)[index]
    return msgspec.structs.replace(case_of(), group=group, placement=group.placement)


def test_a_case_knows_its_ranks_and_its_company() -> None:
    case = grouped()
    assert list(case.members) == [1, 5]
    assert case.world == PLACES
    assert [list(one.members) for one in case.company] == members("strided:2")
    assert case in case.company
    alone = grouped(company=Company.ALONE)
    assert alone.company == (alone,)
    whole = case_of()
    assert (list(whole.members), whole.world, whole.company) == ([0, 1], whole.placement, (whole,))


def test_no_two_groups_and_no_two_companies_are_one_case() -> None:
    keys = {grouped(index, company).key for index in range(4) for company in Company} | {case_of().key}
    assert len(keys) == 9


def test_a_case_comes_back_from_what_is_stored_and_a_wrong_one_does_not() -> None:
    case = grouped()
    assert msgspec.json.decode(msgspec.json.encode(case), type=Case) == case
    built = msgspec.to_builtins(case)
    for change, words in (
        ({"placement": {"nodes": 1, "ranks_per_node": 2}}, "lies on 2x1@rail, not on 1x2"),
        ({"group": built["group"] | {"index": 4}}, "group 4: strided:2 of 2x4@rail has 4"),
    ):
        with pytest.raises(ValueError, match=words):
            msgspec.convert(built | change, Case)


def test_the_struct_says_what_is_wrong_with_it() -> None:
    with pytest.raises(UsageError, match="has 4"):
        Group(arrangement="blocked:2", index=7, world=PLACES)
