"""Reduction operators, and contributions whose reduction is known exactly in every dtype and order.

At each element one rank, the carrier, contributes a value that sets the result; all others contribute an idle
value. The carrier changes from element to element and from epoch to epoch, so that a rank left out shows.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from collmark.core.registry import Registry


class Contribution(msgspec.Struct, frozen=True, kw_only=True):
    """What ranks put in for one reduction, number of ranks and limit.

    Attributes
    ----------
    span : int
        Number of distinct results; 0 where no exact contribution exists.
    idle : int
        Value of every rank that is not the carrier.
    carrier : tuple of (int, int)
        (offset, slope): the carrier of step f = 1 ... span contributes offset + slope x f.
    result : tuple of (int, int)
        (offset, slope): the reduced value is offset + slope x f.
    """

    span: int
    idle: int
    carrier: tuple[int, int]
    result: tuple[int, int]


class Reduction(msgspec.Struct, frozen=True, kw_only=True):
    """One reduction operator.

    Attributes
    ----------
    name : str
        Lower-case name of torch.distributed.ReduceOp (prod for PRODUCT).
    contribution : callable
        (ranks, limit) to :class:`Contribution`.
    ulps : int
        Units in the last place by which a correct result may differ: 1 where libraries multiply by 1/ranks.
    neutral : int
        A value that repeated reduction in place leaves alone, so that timed repetitions never overflow.
    """

    name: str
    contribution: Callable[[int, int], Contribution]
    ulps: int = 0
    neutral: int = 0


def _sum(ranks: int, limit: int) -> Contribution:
    # Everybody contributes 1 while that leaves half the range for the carrier: then a missing rank always shows.
    idle = 1 if 2 * ranks <= limit else 0
    return Contribution(span=limit - idle * ranks, idle=idle, carrier=(idle, 1), result=(idle * ranks, 1))


def _prod(_ranks: int, limit: int) -> Contribution:
    # From 2 on: a carrier that contributed 1 could be left out unseen.
    return Contribution(span=limit - 1, idle=1, carrier=(1, 1), result=(1, 1))


def _min(_ranks: int, limit: int) -> Contribution:
    return Contribution(span=limit, idle=limit, carrier=(limit, -1), result=(limit, -1))


def _max(_ranks: int, limit: int) -> Contribution:
    return Contribution(span=limit, idle=0, carrier=(0, 1), result=(0, 1))


def _avg(ranks: int, limit: int) -> Contribution:
    return Contribution(span=limit // ranks, idle=0, carrier=(0, ranks), result=(0, 1))


REDUCTIONS = Registry(
    "reduction",
    {
        row.name: row
        for row in (
            Reduction(name="sum", contribution=_sum),
            Reduction(name="prod", contribution=_prod, neutral=1),
            Reduction(name="min", contribution=_min),
            Reduction(name="max", contribution=_max),
            Reduction(name="avg", contribution=_avg, ulps=1),
        )
    },
)
