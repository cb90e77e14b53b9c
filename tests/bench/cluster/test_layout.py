"""Which jobs a plan becomes: tiers over as many ranks, full nodes by powers of two, or what the plan names."""

from __future__ import annotations

import pytest

from collmark.bench.cluster.layout import Shape, shapes_of
from collmark.bench.cluster.profile import Kind, Profile
from collmark.core.errors import PlanError
from collmark.core.placement import Placement


def laid(nodes: int, full: int) -> tuple[dict[str, list[str]], tuple[str, ...]]:
    shapes, notices = shapes_of((), Profile(nodes=nodes, cpus_per_node=full))
    return {shape.name: [str(element.placement) for element in shape.elements] for shape in shapes}, notices


def test_tiers_have_equal_rank_counts_and_full_nodes_double() -> None:
    assert laid(16, 8) == ({"tier-a": ["1x8"], "tier-b": ["8x1"], "nodes": ["2x8", "4x8", "8x8", "16x8"]}, ())


def test_tier_a_shrinks_to_the_nodes_there_are_and_it_is_said() -> None:
    shapes, (notice,) = laid(3, 8)
    assert shapes == {"tier-a": ["1x3"], "tier-b": ["3x1"], "nodes": ["1x8", "2x8"]}
    assert notice.startswith("tier A shrinks to 3 of a node's 8 ranks")


@pytest.mark.parametrize("nodes", range(1, 20))
@pytest.mark.parametrize("full", [1, 2, 3, 8])
def test_no_placement_is_measured_twice_and_none_asks_for_more_than_there_is(nodes: int, full: int) -> None:
    if nodes * full == 1:
        with pytest.raises(PlanError, match="nobody to communicate with"):
            laid(1, 1)
        return
    shapes, _notices = laid(nodes, full)
    placements = [place for places in shapes.values() for place in places if place != "1x1"]
    if full > 1:  # with one rank a node tier B and full nodes are the same
        assert len(placements) == len(set(placements))
    for place in placements:
        wanted_nodes, ranks = map(int, place.split("x"))
        assert wanted_nodes <= nodes
        assert ranks <= full
    if min(nodes, full) > 1:
        assert int(shapes["tier-a"][0].split("x")[1]) == int(shapes["tier-b"][0].split("x")[0])


def test_more_nodes_than_an_array_has_indices_are_jobs_of_their_own() -> None:
    shapes, _notices = laid(2048, 8)
    assert shapes["nodes"] == [f"{2**power}x8" for power in range(1, 10)]
    assert (shapes["nodes-1024"], shapes["nodes-2048"]) == (["1024x8"], ["2048x8"])


def test_one_node_is_measured_alone() -> None:
    shapes, (notice,) = laid(1, 8)
    assert shapes == {"nodes": ["1x8"]}
    assert "one node" in notice


def named(*placements: Placement) -> tuple[Shape, ...]:
    return shapes_of(placements, Profile(nodes=4, cpus_per_node=8))[0]


def test_a_plan_names_placements_and_nodes() -> None:
    fast = Placement(nodes=2, label="fast", nodelist="n[1-2]")
    slow = Placement(nodes=2, label="slow", nodelist="n[3-4]")
    shapes = named(fast, slow, Placement(nodes=1, ranks_per_node=4), Placement(nodes=4, ranks_per_node=8, label="a b"))
    assert [shape.name for shape in shapes] == ["fast", "slow", "1x4", "a-b"]
    assert [shape.largest for shape in shapes][:2] == [fast, slow]
    assert [shape.kind for shape in shapes] == [Kind.TIER_B, Kind.TIER_B, Kind.TIER_A, Kind.NODES]
    assert not any(shape.is_array for shape in shapes)


@pytest.mark.parametrize(
    ("placements", "words"),
    [
        ((Placement(nodes=5),), "placements: 5x1: the profile has 4 nodes"),
        ((Placement(ranks_per_node=9),), "placements: 1x9: a node of the profile has 8 cores, one a rank"),
        ((Placement(nodes=2, label="a b"), Placement(nodes=3, label="a-b")), "placements: a-b would name two jobs"),
    ],
)
def test_placements_that_the_site_has_not_are_refused(placements: tuple[Placement, ...], words: str) -> None:
    with pytest.raises(PlanError, match=words):
        named(*placements)
