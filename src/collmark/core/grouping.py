"""Ranks in groups of equal size, each with an operation of its own: side by side at once, or one group alone.

A model-parallel job has a communicator for every group of ranks that lie next to each other (``blocked``), and one for
every set of ranks with the same place in those (``strided``); all groups of one kind communicate at the same time.
"""

from __future__ import annotations

import re
from collections import Counter
from enum import StrEnum

import msgspec

from collmark.core.bounds import Count
from collmark.core.errors import UnknownNameError, UsageError
from collmark.core.numeral import counted, shown
from collmark.core.placement import MOST_RANKS, Placement

ALL = "all"
"""All ranks in one group: no groups at all."""
NODE = "node"
KINDS = ("blocked", "strided")
FORMS = (ALL, "blocked:RANKS", "strided:RANKS", NODE)
"""How arrangements are written; RANKS are those of one group."""


class Company(StrEnum):
    """Which other groups communicate at the same time."""

    ALONE = "alone"
    """None: the other ranks wait."""
    TOGETHER = "together"
    """All groups of the arrangement, each with the same operation."""


class Group(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of several groups of ranks.

    Attributes
    ----------
    arrangement : str
        How ranks are grouped: ``blocked:RANKS``, ``strided:RANKS`` or ``node``.
    index : int
        Which group, from 0 on.
    world : Placement
        Of all ranks.
    company : Company
        Which other groups communicate at the same time.
    """

    arrangement: str
    index: Count
    world: Placement
    company: Company = Company.TOGETHER

    def __post_init__(self) -> None:
        """Check that there is such a group, and that its place has a name, also after decoding."""
        if not self.index < self.count:
            raise UsageError(f"group {self.index}: {self.arrangement} of {self.world} has {self.count}")
        if len(set(self._on_nodes())) > 1:
            raise UsageError(f"{self.arrangement}: group {self.index} would lie unevenly on the nodes of {self.world}")

    @property
    def size(self) -> int:
        """Ranks of one group."""
        return group_size(self.arrangement, self.world)

    @property
    def count(self) -> int:
        """Number of groups."""
        return self.world.ranks // self.size

    @property
    def members(self) -> range:
        """Indices of its ranks among all, in the order that they have in the group."""
        if self.arrangement.startswith("strided"):
            return range(self.index, self.world.ranks, self.count)
        return range(self.index * self.size, (self.index + 1) * self.size)

    @property
    def placement(self) -> Placement:
        """Nodes that it lies on, and its ranks on each."""
        nodes = len(self._on_nodes())
        return Placement(nodes=nodes, ranks_per_node=self.size // nodes, label=self.world.label)

    def _on_nodes(self) -> list[int]:
        """Return the numbers of its ranks on the nodes that it lies on."""
        return list(Counter(rank // self.world.ranks_per_node for rank in self.members).values())

    def __str__(self) -> str:
        return f"{self.arrangement} of {self.world}, group {self.index}, {self.company}"


def group_size(arrangement: str, world: Placement) -> int:
    """Return the ranks of one group; UsageError where that is no arrangement, or none of these ranks."""
    kind, _colon, number = arrangement.partition(":")
    if arrangement == NODE:
        return world.ranks_per_node
    if kind not in KINDS:
        raise UnknownNameError("arrangement of groups", arrangement, FORMS)
    size = _size_of(number)
    if not size:
        raise UsageError(
            f"{shown(arrangement)}: say how many ranks a group has, a whole number from 1 to {MOST_RANKS}, as {kind}:2"
        )
    if world.ranks % size:
        raise UsageError(f"{arrangement}: {counted(world.ranks, 'rank')} cannot be divided into groups of {size}")
    return size


def check_arrangement(arrangement: str) -> None:
    """Raise UsageError where nothing can be arranged so."""
    if arrangement == ALL:
        return
    kind, _colon, number = arrangement.partition(":")
    # So many ranks can be divided so: what remains wrong is wrong for all.
    group_size(arrangement, Placement(ranks_per_node=(_size_of(number) if kind in KINDS else 0) or 1))


def _size_of(number: str) -> int:
    """Return a number of ranks, 0 where it is none; written otherwise, one arrangement would be taken for two."""
    size = int(number) if re.fullmatch(r"[1-9][0-9]{0,9}", number) else 0
    return size if size <= MOST_RANKS else 0


def groups_of(arrangement: str, world: Placement, company: Company) -> list[Group]:
    """Return the groups of an arrangement; UsageError where these ranks cannot be divided so."""
    first = Group(arrangement=arrangement, index=0, world=world, company=company)
    return [msgspec.structs.replace(first, index=index) for index in range(first.count)]
