"""Rounds in which every pair meets once, over like links."""

from __future__ import annotations

from itertools import combinations

import pytest

from collmark.core.errors import UsageError
from collmark.core.grouping import check_arrangement, pairs_of
from collmark.core.pairing import all_rounds, count_rounds, matchings, packed, some_rounds, usual_rounds
from collmark.core.placement import Placement

SHAPES = [(1, 2), (1, 8), (2, 1), (3, 1), (4, 2), (5, 3), (8, 8), (3, 4)]


@pytest.mark.parametrize(("nodes", "each"), SHAPES)
def test_every_pair_meets_once_and_nobody_twice_in_a_round(nodes: int, each: int) -> None:
    placement = Placement(nodes=nodes, ranks_per_node=each)
    rounds = list(all_rounds(placement))
    met = [frozenset(pair) for one in rounds for pair in one.pairs]
    assert sorted(map(sorted, met)) == sorted(map(list, combinations(range(placement.ranks), 2)))
    for one in rounds:
        ranks = [rank for pair in one.pairs for rank in pair]
        assert len(set(ranks)) == len(ranks)
        assert {first // each != second // each for first, second in one.pairs} == {one.is_between}
    assert count_rounds(placement) == len(rounds)
    if nodes % 2 == 0 and each % 2 == 0:
        assert len(rounds) == placement.ranks - 1
        assert {len(one.pairs) for one in rounds} == {placement.ranks // 2}


def test_a_round_between_nodes_loads_each_node_with_one_other() -> None:
    for one in all_rounds(Placement(nodes=6, ranks_per_node=4)):
        partners: dict[int, set[int]] = {}
        for first, second in one.pairs:
            partners.setdefault(first // 4, set()).add(second // 4)
            partners.setdefault(second // 4, set()).add(first // 4)
        assert all(len(others) == 1 for others in partners.values())


def test_rounds_of_many_ranks_grow_as_their_logarithm() -> None:
    def between(nodes: int) -> int:
        return len(usual_rounds(Placement(nodes=nodes, ranks_per_node=8), seed=1)) - 7

    assert between(16) == 15 * 8  # 128 ranks: all
    assert [between(nodes) for nodes in (64, 128, 2048)] == [36, 40, 56]
    placement = Placement(nodes=64, ranks_per_node=8)
    assert some_rounds(placement, 5, 1) != some_rounds(placement, 5, 2)
    assert some_rounds(placement, 5, 1)[:7] == list(range(7))


def test_an_odd_number_sits_out_in_turn() -> None:
    assert [len(own) for own in matchings(5)] == [2] * 5
    idle = [set(range(5)) - {rank for pair in own for rank in pair} for own in matchings(5)]
    assert sorted(rank for one in idle for rank in one) == list(range(5))


def test_pairs_are_packed_into_few_rounds() -> None:
    rounds = packed([(0, 1), (0, 2), (2, 3), (1, 3), (4, 5)])
    assert rounds == [[(0, 1), (2, 3), (4, 5)], [(0, 2), (1, 3)]]


def test_arrangements_of_pairs_are_read_and_wrong_ones_named() -> None:
    world = Placement(nodes=2, ranks_per_node=2)
    there, back = pairs_of("pairs:1", world), pairs_of("pairs:1:back", world)
    assert back == tuple((two, one) for one, two in there)
    assert pairs_of("pairs:3-0+1-2", world) == ((3, 0), (1, 2))
    for wrong, words in {
        "pairs:3": "2x2 has 3 rounds of pairs, 0 and up",
        "pairs:0-1+1-2": "at most once",
        "pairs:0-4": "each of the 4 ranks",
        "pairs:": "pairs:0-5\\+3-7",
        "pairs:1:forth": "pairs:0-5\\+3-7",
    }.items():
        with pytest.raises(UsageError, match=words):
            pairs_of(wrong, world)
    check_arrangement("pairs:12:back")
    with pytest.raises(UsageError):
        check_arrangement("pairs:a")
