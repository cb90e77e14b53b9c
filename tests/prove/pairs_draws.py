"""Pairs of ranks drawn at random, one thing among them slow: what is found of it. Every run has a seed."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec
import numpy as np

from collmark.analysis.pairs.find import Finding, Kind, Sweep, again, confirmed, sweep
from collmark.analysis.pairs.meetings import Layout, Meetings
from collmark.core.pairing import Pair, Round
from collmark.core.placement import Placement

NOISE = 0.02  # standard deviation of ln T of a direction of a pair, anew in each launch
LAUNCHES = 5  # that measure suspects again
SECONDS = {False: 20e-6, True: 100e-6}  # inside a node, between nodes


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What is drawn.

    Attributes
    ----------
    nodes, each, nics : int
        Nodes, ranks and NICs of each.
    slow : Kind or None
        What is slow; None for a clean run.
    factor : float
        T over what is usual.
    """

    nodes: int
    each: int
    nics: int
    slow: Kind | None = None
    factor: float = 1.1

    @property
    def layout(self) -> Layout:
        """Where ranks lie."""
        return Layout(placement=Placement(nodes=self.nodes, ranks_per_node=self.each), nics=self.nics)


class Truth(msgspec.Struct, frozen=True, kw_only=True):
    """What is slow in one run."""

    setting: Setting
    ranks: tuple[int, ...]

    def logs(self, pairs: Iterable[Pair], random: np.random.Generator) -> Meetings:
        """Draw the times of some pairs in a launch."""
        setting, layout = self.setting, self.setting.layout
        one_M, two_M = np.array(list(pairs), dtype=np.int64).reshape(-1, 2).T
        between_M = layout.node_of(one_M) != layout.node_of(two_M)
        is_one_M, is_two_M = np.isin(one_M, self.ranks), np.isin(two_M, self.ranks)
        slow_M = {
            None: np.zeros(len(one_M), dtype=bool),
            Kind.RANK: is_one_M | is_two_M,
            Kind.NODE: is_one_M | is_two_M,
            Kind.NIC: (is_one_M | is_two_M) & between_M,
            Kind.PAIR: is_one_M & is_two_M,
            Kind.LINK: is_one_M & is_two_M & between_M,
        }[setting.slow]
        usual_M = np.where(between_M, SECONDS[True], SECONDS[False]) * np.where(slow_M, setting.factor, 1.0)
        there_M, back_M = usual_M * np.exp(random.normal(0, NOISE, (2, len(one_M))))
        return Meetings(one_M=one_M, two_M=two_M, there_M=there_M, back_M=back_M)


def truth(setting: Setting, random: np.random.Generator) -> Truth:
    """Choose what is slow."""
    node, other = random.choice(setting.nodes, 2, replace=False).tolist()
    local = int(random.integers(setting.each))
    layout, rank = setting.layout, node * setting.each + local
    ranks: dict[Kind | None, tuple[int, ...]] = {
        None: (),
        Kind.RANK: (rank,),
        Kind.NODE: tuple(layout.members(node)),
        Kind.PAIR: (rank, other * setting.each + int(random.integers(setting.each))),
        Kind.LINK: (*layout.members(min(node, other)), *layout.members(max(node, other))),
    }
    if setting.slow is Kind.NIC:
        ranks[Kind.NIC] = tuple(layout.nic_members(node, int(random.integers(setting.nics))))
    return Truth(setting=setting, ranks=ranks[setting.slow])


def drawn(setting: Setting, rounds: list[Round], seed: int) -> tuple[Truth, Sweep, list[Finding]]:
    """Return what was slow in a run, its sweep, and what was found."""
    random = np.random.default_rng(seed)
    slow = truth(setting, random)
    first = sweep(slow.logs((pair for one in rounds for pair in one.pairs), random), setting.layout)
    repeats = []
    for launch in range(LAUNCHES):
        pairs = [pair for one in again(first, rounds, seed * LAUNCHES + launch) for pair in one]
        if pairs:
            repeats.append(slow.logs(pairs, random))
    return slow, first, confirmed(first, repeats)


def is_found(slow: Truth, found: list[Finding]) -> bool:
    """Whether exactly that which is slow was named, and nothing else."""
    if not found or slow.setting.slow is None:
        return False
    names = {name_of(one, slow.setting) for one in found}
    own = slow.setting.slow
    return names == {(own, tuple(sorted(slow.ranks)))}


def name_of(one: Finding, setting: Setting) -> tuple[Kind, tuple[int, ...]]:
    """Return what a finding says is slow."""
    from collmark.analysis.pairs.name import named

    return named(one, setting.layout).kind, tuple(sorted(one.suspect.ranks))


def spread_of(found: list[Finding], factor: float) -> float:
    """Return how far the largest excess is from the truth, relative."""
    return max((abs(one.factor / factor - 1) for one in found), default=math.nan)
