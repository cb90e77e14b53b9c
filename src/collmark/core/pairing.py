"""Rounds of disjoint pairs: every pair of ranks meets once, and all that meet in a round meet over like links.

A round is inside the nodes, or between them: then each node talks with one other, every rank of it with one there. So
all pairs of a round load the network alike, and what a pair has in one round may be set against what others have in
others.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import msgspec

from collmark.core.placement import Placement

Pair = tuple[int, int]

PER_DOUBLING = 4
"""Rounds between nodes for each doubling of the ranks, where not all are made: the cost then grows as n log n."""
MOST_WHOLE = 256
"""Ranks up to which every pair meets, unless something else is asked for."""


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """Disjoint pairs that are measured at once.

    Attributes
    ----------
    pairs : tuple of (int, int)
        Indices of ranks; the first sends first.
    is_between : bool
        Whether the two of each pair lie on different nodes.
    number : int
        Which of :func:`all_rounds` it is.
    """

    pairs: tuple[Pair, ...]
    is_between: bool
    number: int


def matchings(count: int) -> Iterator[list[Pair]]:
    """Yield the rounds of a tournament in which each of some meets each other once; with odd ones out where it must.

    The circle method (Kirkman 1847): one stays, the others turn around it.

    Examples
    --------
    >>> list(matchings(4))
    [[(3, 0), (1, 2)], [(3, 1), (2, 0)], [(3, 2), (0, 1)]]
    """
    places = count + count % 2
    turning = places - 1
    for turn in range(turning):
        pairs = [(turning, turn)]
        pairs += [((turn + step) % turning, (turn - step) % turning) for step in range(1, places // 2)]
        yield [(one, two) for one, two in pairs if one < count and two < count]


def all_rounds(placement: Placement) -> Iterator[Round]:
    """Yield the rounds in which every pair of ranks meets exactly once.

    Parameters
    ----------
    placement : Placement
        N nodes of g ranks; ranks of a node lie next to each other. There are n - 1 rounds of n / 2 pairs where N and g
        are even.
    """
    nodes, each = placement.nodes, placement.ranks_per_node
    number = 0
    for own in matchings(each) if each > 1 else ():
        pairs = [(node * each + one, node * each + two) for node in range(nodes) for one, two in own]
        yield Round(pairs=tuple(pairs), is_between=False, number=number)
        number += 1
    for met in matchings(nodes) if nodes > 1 else ():
        for shift in range(each):
            pairs = [
                (one * each + local, two * each + (local + shift) % each) for one, two in met for local in range(each)
            ]
            yield Round(pairs=tuple(pairs), is_between=True, number=number)
            number += 1


def count_rounds(placement: Placement) -> int:
    """Return how many rounds :func:`all_rounds` yields."""
    return _turns(placement.ranks_per_node) + _turns(placement.nodes) * placement.ranks_per_node


def _turns(count: int) -> int:
    """Return how many rounds let each of some meet each other once."""
    return 0 if count == 1 else count - 1 + count % 2


def some_rounds(placement: Placement, count: int, seed: int) -> list[int]:
    """Return the numbers of all rounds inside the nodes, and of so many of those between them, drawn at random."""
    inside = _turns(placement.ranks_per_node)
    between = range(inside, count_rounds(placement))
    drawn = random.Random(seed).sample(between, min(count, len(between)))  # noqa: S311 - a design, no secret
    return [*range(inside), *sorted(drawn)]


def usual_rounds(placement: Placement, seed: int) -> list[int]:
    """Return the numbers of all rounds, or of many ranks of so many that they grow as the logarithm of the ranks."""
    if placement.ranks <= MOST_WHOLE:
        return list(range(count_rounds(placement)))
    return some_rounds(placement, math.ceil(PER_DOUBLING * math.log2(placement.ranks)), seed)


def packed(pairs: list[Pair]) -> list[list[Pair]]:
    """Return some pairs in rounds of disjoint ones, each as early as it fits."""
    rounds: list[list[Pair]] = []
    busy: list[set[int]] = []
    for pair in pairs:
        place = next((at for at, taken in enumerate(busy) if not taken & {*pair}), len(rounds))
        if place == len(rounds):
            rounds.append([])
            busy.append(set())
        rounds[place].append(pair)
        busy[place].update(pair)
    return rounds
