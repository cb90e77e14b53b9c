"""What is slow is named, alone; nobody is where nothing is slow; and what cannot be told is not said."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from tests.prove.pairs_draws import NOISE, Setting, drawn, is_found, name_of

from collmark.analysis.pairs.find import Kind, again, confirmed, sweep, visible
from collmark.analysis.pairs.meetings import Layout, Meetings, usual
from collmark.core.pairing import Round, all_rounds, packed
from collmark.core.placement import Placement

SMALL, LARGE = Setting(nodes=4, each=2, nics=2), Setting(nodes=8, each=8, nics=4)
SLOW = {Kind.RANK: 1.1, Kind.PAIR: 1.1, Kind.NODE: 1.1, Kind.NIC: 2.0}


def rounds_of(setting: Setting) -> list[Round]:
    return list(all_rounds(Placement(nodes=setting.nodes, ranks_per_node=setting.each)))


@pytest.mark.parametrize(("setting", "runs"), [(SMALL, 40), (LARGE, 8)], ids=["8 ranks", "64 ranks"])
@pytest.mark.parametrize("kind", SLOW)
def test_what_is_slow_is_named_alone(setting: Setting, runs: int, kind: Kind) -> None:
    slow = msgspec.structs.replace(setting, slow=kind, factor=SLOW[kind])
    named = [is_found(truth, found) for truth, _sweep, found in (drawn(slow, rounds_of(slow), k) for k in range(runs))]
    assert sum(named) >= runs - 1  # 99 % are wanted: two misses in 40 have a chance of 6 %


def test_nobody_is_named_where_nothing_is_slow() -> None:
    runs = [drawn(SMALL, rounds_of(SMALL), seed) for seed in range(60)]
    assert not any(found for _truth, _sweep, found in runs)
    assert any(first.suspects for _truth, first, _found in runs), "though some were asked in vain"


def test_an_excess_has_its_size_and_its_interval() -> None:
    slow = msgspec.structs.replace(LARGE, slow=Kind.RANK, factor=1.2)
    inside = 0
    for seed in range(20):
        _truth, _sweep, found = drawn(slow, rounds_of(slow), seed)
        (between,) = [one for one in found if one.suspect.is_between]
        assert between.factor == pytest.approx(1.2, abs=0.02)
        assert between.interval is not None
        inside += between.interval.lower <= np.log(1.2) <= between.interval.upper
    assert inside >= 16  # 95 % are meant; four or more misses of 20 have a chance of 2 %


def test_a_rank_is_told_from_its_nic_by_its_own_node() -> None:
    for kind in (Kind.RANK, Kind.NIC):
        setting = Setting(nodes=8, each=4, nics=4, slow=kind, factor=1.3)
        truth, _sweep, found = drawn(setting, rounds_of(setting), 3)
        assert {name_of(one, setting) for one in found} == {(kind, truth.ranks)}


def test_two_faults_are_both_named() -> None:
    setting = Setting(nodes=8, each=2, nics=2)
    rounds, random = rounds_of(setting), np.random.default_rng(1)

    def measured(pairs: list[tuple[int, int]]) -> Meetings:
        one_M, two_M = np.array(pairs).T
        slow_M = np.where((one_M == 3) | (two_M == 3), 1.2, 1.0)
        slow_M = slow_M * np.where((np.minimum(one_M, two_M) == 6) & (np.maximum(one_M, two_M) == 9), 1.3, 1.0)
        there_M, back_M = 1e-4 * slow_M * np.exp(random.normal(0, NOISE, (2, len(pairs))))
        return Meetings(one_M=one_M, two_M=two_M, there_M=there_M, back_M=back_M)

    first = sweep(measured([pair for one in rounds for pair in one.pairs]), setting.layout)
    repeats = [measured([pair for one in again(first, rounds, seed) for pair in one]) for seed in range(5)]
    found = {(one.suspect.kind, one.suspect.ranks) for one in confirmed(first, repeats) if one.suspect.is_between}
    assert {(kind, tuple(sorted(ranks))) for kind, ranks in found} == {(Kind.RANK, (3,)), (Kind.PAIR, (6, 9))}


def test_of_two_nodes_neither_is_called_slow() -> None:
    setting = Setting(nodes=2, each=4, nics=1, slow=Kind.NODE, factor=1.5)
    for seed in range(10):
        _truth, first, found = drawn(setting, rounds_of(setting), seed)
        assert not [one for one in found if one.suspect.is_between]
        assert first.between is not None
        assert first.between.level > np.log(1.4e-4), "both are slower together: that is all that can be told"


@pytest.mark.parametrize(("setting", "runs"), [(SMALL, 200), (LARGE, 60)], ids=["8 ranks", "64 ranks"])
def test_what_would_show_is_what_sweeps_suspect(setting: Setting, runs: int) -> None:
    clean = [
        first.between for _truth, first, _found in (drawn(setting, rounds_of(setting), seed) for seed in range(30))
    ]
    limit = float(np.exp(np.mean([visible(tier, 0.01) for tier in clean if tier is not None])))
    slow = msgspec.structs.replace(setting, slow=Kind.PAIR, factor=limit)
    suspected = 0
    for seed in range(runs):
        truth, first, _found = drawn(slow, rounds_of(slow), seed)
        suspected += any(one.kind is Kind.PAIR and set(one.ranks) == set(truth.ranks) for one in first.suspects)
    assert 0.75 <= suspected / runs <= 0.99  # 90 % are meant, and said to be about that


def test_without_suspects_nothing_is_measured_again() -> None:
    pairs = [pair for one in rounds_of(SMALL) for pair in one.pairs]
    one_M, two_M = np.array(pairs).T
    same_M = np.full(len(pairs), 1e-4)
    first = sweep(Meetings(one_M=one_M, two_M=two_M, there_M=same_M, back_M=same_M), SMALL.layout)
    assert again(first, rounds_of(SMALL), 1) == []
    assert confirmed(first, []) == []


def test_rounds_of_suspects_are_of_disjoint_pairs() -> None:
    slow = msgspec.structs.replace(LARGE, slow=Kind.NODE, factor=1.2)
    _truth, first, _found = drawn(slow, rounds_of(slow), 1)
    for pairs in again(first, rounds_of(slow), 7):
        assert packed(pairs) == [pairs]


def test_half_of_the_pairs_being_slow_hides_nobody() -> None:
    # Of four nodes of two ranks one slow node is in half of all pairs between nodes.
    layout = Layout(placement=Placement(nodes=4, ranks_per_node=2))
    pairs = [pair for one in all_rounds(layout.placement) if one.is_between for pair in one.pairs]
    one_M, two_M = np.array(pairs).T
    slow_M = np.where((one_M < 2) | (two_M < 2), 1.1e-4, 1e-4)
    found = usual(Meetings(one_M=one_M, two_M=two_M, there_M=slow_M, back_M=slow_M), 8)
    assert found is not None
    assert np.exp(found.level) == pytest.approx(1e-4, rel=1e-3)
    assert np.exp(found.excess_R) == pytest.approx([1.1] * 2 + [1.0] * 6, rel=1e-3)
