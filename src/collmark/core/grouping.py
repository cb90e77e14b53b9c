"""Ranks in groups of equal size, each with an operation of its own: side by side at once, or one group alone.

A model-parallel job has a communicator for every group of ranks that lie next to each other (``blocked``), and one for
every set of ranks with the same place in those (``strided``); all groups of one kind communicate at the same time.
Pairs that meet in a round (:mod:`collmark.core.pairing`) are groups as well, without a communicator of their own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from itertools import islice

import msgspec

from collmark.core.bounds import Count
from collmark.core.errors import UnknownNameError, UsageError
from collmark.core.numeral import counted, shown
from collmark.core.pairing import Pair, all_rounds, count_rounds
from collmark.core.placement import MOST_RANKS, Placement

ALL = "all"
"""All ranks in one group: no groups at all."""
NODE = "node"
KINDS = ("blocked", "strided")
PAIRS = "pairs:"
BACK = ":back"
"""Ending of rounds in which the second of each pair is the first."""
FORMS = (ALL, "blocked:RANKS", "strided:RANKS", NODE, "pairs:ROUND", "pairs:ROUND:back", "pairs:I-J+K-L")
"""How arrangements are written; RANKS are those of one group, ROUND is one of those in which all pairs meet."""


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
        How ranks are grouped, one of `FORMS` but all.
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
        return len(pairs_of(self.arrangement, self.world)) if self.is_pair else self.world.ranks // self.size

    @property
    def is_pair(self) -> bool:
        """Whether it is one of the pairs that meet in a round."""
        return self.arrangement.startswith(PAIRS)

    @property
    def members(self) -> Sequence[int]:
        """Indices of its ranks among all, in the order that they have in the group."""
        if self.is_pair:
            return pairs_of(self.arrangement, self.world)[self.index]
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
    if arrangement.startswith(PAIRS):
        pairs_of(arrangement, world)
        return 2
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
    if arrangement.startswith(PAIRS):
        _written(arrangement)
        return
    kind, _colon, number = arrangement.partition(":")
    # So many ranks can be divided so: what remains wrong is wrong for all.
    group_size(arrangement, Placement(ranks_per_node=(_size_of(number) if kind in KINDS else 0) or 1))


@cache
def pairs_of(arrangement: str, world: Placement) -> tuple[Pair, ...]:
    """Return the pairs of an arrangement, the first of each sends first; UsageError where these ranks have no such."""
    number, named, is_back = _written(arrangement)
    if named:
        ranks = [rank for pair in named for rank in pair]
        if len(set(ranks)) < len(ranks) or max(ranks) >= world.ranks:
            raise UsageError(
                f"{shown(arrangement)}: name each of the {counted(world.ranks, 'rank')}, 0 and up, at most once"
            )
        return named
    count = count_rounds(world)
    if number >= count:
        raise UsageError(f"{arrangement}: {world} has {counted(count, 'round')} of pairs, 0 and up")
    pairs = next(islice(all_rounds(world), number, None)).pairs
    return tuple((two, one) for one, two in pairs) if is_back else pairs


def _written(arrangement: str) -> tuple[int, tuple[Pair, ...], bool]:
    """Return the number of a round, or the pairs that are named, and whether each goes back."""
    text = arrangement.removeprefix(PAIRS)
    if re.fullmatch(rf"\d{{1,7}}({BACK})?", text):
        return int(text.removesuffix(BACK)), (), text.endswith(BACK)
    if re.fullmatch(r"\d{1,7}-\d{1,7}(\+\d{1,7}-\d{1,7})*", text):
        ends = (pair.split("-") for pair in text.split("+"))
        return 0, tuple((int(one), int(two)) for one, two in ends), False
    raise UsageError(f"{shown(arrangement)}: a round of pairs is written as pairs:0, pairs:0:back or pairs:0-5+3-7")


def _size_of(number: str) -> int:
    """Return a number of ranks, 0 where it is none; written otherwise, one arrangement would be taken for two."""
    size = int(number) if re.fullmatch(r"[1-9][0-9]{0,9}", number) else 0
    return size if size <= MOST_RANKS else 0


def groups_of(arrangement: str, world: Placement, company: Company) -> list[Group]:
    """Return the groups of an arrangement; UsageError where these ranks cannot be divided so."""
    first = Group(arrangement=arrangement, index=0, world=world, company=company)
    return [msgspec.structs.replace(first, index=index) for index in range(first.count)]
