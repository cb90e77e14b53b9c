"""From a plan to the cases of groups of ranks."""

from __future__ import annotations

from tests.core.test_expansion import expanded, problems_of

from collmark.core.grouping import Company
from collmark.core.placement import Placement


def test_every_group_is_measured_alone_and_all_of_them_together() -> None:
    cases = expanded(4, operations=("all_reduce",), sizes="64", groups=("all", "blocked:2", "strided:2")).cases
    told = [(c.placement.ranks, c.group and (c.group.arrangement, c.group.index, c.group.company)) for c in cases]
    assert told == [
        (4, None),
        *(
            (2, (kind, index, company))
            for kind in ("blocked:2", "strided:2")
            for company in Company
            for index in (0, 1)
        ),
    ]
    assert {case.world for case in cases} == {Placement(ranks_per_node=4)}
    assert {case.nbytes for case in cases} == {64}


def test_an_arrangement_of_one_group_is_left_out_and_said() -> None:
    found = expanded(4, operations=("all_reduce",), sizes="64", groups=("all", "node"))
    assert [case.group for case in found.cases] == [None]
    assert found.notices == ("groups node: left out on 1x4, where it is one group of all ranks, as all is",)
    assert problems_of(4, sizes="64", groups=("node",)) == found.notices


def test_groups_that_cannot_be_are_refused_before_anything_starts() -> None:
    assert problems_of(4, sizes="64", groups=("blocked:3",)) == (
        "groups blocked:3: 4 ranks cannot be divided into groups of 3",
    )
    (few,) = problems_of(4, operations=("ping_pong",), sizes="64", groups=("strided:1",))
    assert "ping_pong needs at least 2 ranks, not 1" in few
