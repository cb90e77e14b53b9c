"""Hierarchical costs against their messages on two tiers, and the max-rate model."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from tests.analysis.costs.machine import Message, Schedule, Step, deliver, seconds
from tests.analysis.costs.schedules import (
    exchanged,
    gathered,
    on_all,
    own_blocks,
    reduced,
    ring_all_gather,
    ring_reduce_scatter,
    scattered,
)

from collmark.analysis.costs.hierarchy import HIERARCHIES
from collmark.analysis.costs.max_rate import MaxRate
from collmark.core.errors import UsageError
from collmark.core.placement import Placement

PLACEMENTS = [(2, 2), (4, 2), (2, 4), (3, 3), (4, 1), (1, 4), (8, 2)]
TIERS = [((1.0, 0.0), (0.0, 0.0)), ((0.0, 1.0), (0.0, 0.0)), ((0.0, 0.0), (1.0, 0.0)), ((0.0, 0.0), (0.0, 1.0)),
         ((1.0, 3.0), (5.0, 40.0))]  # fmt: skip


def at_once(groups: list[list[int]], phase: Callable[[int, Callable[[int], tuple[object, ...]]], list[Step]],
            blocks: Callable[[int, int], tuple[object, ...]]) -> list[Step]:  # fmt: skip
    """The same phase in every group of ranks at once; `blocks` are those of part i in group g."""
    each = [
        [
            [m._replace(sender=ranks[m.sender], receiver=ranks[m.receiver]) for m in step]
            for step in phase(len(ranks), lambda part, group=group: blocks(group, part))  # type: ignore[misc]
        ]
        for group, ranks in enumerate(groups)
    ]
    return [[message for step in steps for message in step] for steps in zip(*each, strict=True)]


def local_groups(g: int, k: int) -> list[list[int]]:
    return [[node * g + i for i in range(g)] for node in range(k)]


def rails(g: int, k: int) -> list[list[int]]:
    return [[node * g + i for node in range(k)] for i in range(g)]


def all_reduce(g: int, k: int) -> Schedule:
    """Block (i, j) is part j of what rail i holds after the node has reduced."""
    ranks = g * k
    first, full = reduced(ranks, ranks)

    def inside(_node: int, part: int) -> tuple[object, ...]:
        return tuple(part * k + j for j in range(k))

    def between(rail: int, part: int) -> tuple[object, ...]:
        return (rail * k + part,)

    steps = [
        *at_once(local_groups(g, k), ring_reduce_scatter, inside),
        *at_once(rails(g, k), ring_reduce_scatter, between),
        *at_once(rails(g, k), ring_all_gather, between),
        *at_once(local_groups(g, k), ring_all_gather, inside),
    ]
    return Schedule(steps, first, on_all(ranks, ranks, full), ranks)


def of_rail(g: int, k: int) -> Callable[[int, int], tuple[object, ...]]:
    return lambda _node, i: tuple(node * g + i for node in range(k))


def all_gather(g: int, k: int) -> Schedule:
    steps = [
        *at_once(rails(g, k), ring_all_gather, lambda rail, node: (node * g + rail,)),
        *at_once(local_groups(g, k), ring_all_gather, of_rail(g, k)),
    ]
    return Schedule(steps, own_blocks(g * k), gathered(g * k), g * k)


def reduce_scatter(g: int, k: int) -> Schedule:
    steps = [
        *at_once(local_groups(g, k), ring_reduce_scatter, of_rail(g, k)),
        *at_once(rails(g, k), ring_reduce_scatter, lambda rail, node: (node * g + rail,)),
    ]
    return scattered(g * k, steps)


def direct(g: int, k: int) -> Schedule:
    ranks = g * k
    steps = []
    for shift, turn in itertools.product(range(k), range(g)):
        if shift or turn:
            step = []
            for rank in range(ranks):
                to = (rank // g + shift) % k * g + (rank % g + turn) % g
                step.append(Message(rank, to, ((rank, to),)))
            steps.append(step)
    return exchanged(ranks, steps)


def by_rails(g: int, k: int) -> Schedule:
    ranks = g * k
    steps: list[Step] = []
    for turn in range(1, g):
        step = []
        for rank in range(ranks):
            i = (rank % g + turn) % g
            step.append(Message(rank, rank // g * g + i, tuple((rank, node * g + i) for node in range(k))))
        steps.append(step)
    for shift in range(1, k):
        step = []
        for rank in range(ranks):
            to = (rank + shift * g) % ranks
            step.append(Message(rank, to, tuple((rank // g * g + i, to) for i in range(g))))
        steps.append(step)
    return exchanged(ranks, steps)


BUILT = {
    "all_reduce/reduce_scatter, all_reduce, all_gather": all_reduce,
    "all_gather/between nodes, then inside": all_gather,
    "reduce_scatter/inside, then between nodes": reduce_scatter,
    "all_to_all/direct": direct,
    "all_to_all/inside to the rail, then between nodes": by_rails,
}


def test_every_hierarchy_is_proven() -> None:
    assert set(BUILT) == set(HIERARCHIES)


@pytest.mark.parametrize(("g", "k"), PLACEMENTS)
@pytest.mark.parametrize("key", BUILT)
def test_a_hierarchy_is_what_its_schedule_takes(key: str, g: int, k: int) -> None:
    schedule = BUILT[key](g, k)
    deliver(schedule)
    terms = HIERARCHIES[key].terms(Placement(nodes=k, ranks_per_node=g))
    for local, network in TIERS:

        def link(
            sender: int, receiver: int, tiers: tuple[tuple[float, float], ...] = (local, network)
        ) -> tuple[float, float]:
            return tiers[sender // g != receiver // g]

        assert terms.seconds(1.0, local=local, network=network) == pytest.approx(
            seconds(schedule, (0, 0, 0), link=link)
        )
    reduced_bytes = seconds(schedule, (0.0, 0.0, 1.0))
    assert terms.local.gamma + terms.network.gamma == pytest.approx(reduced_bytes)


def test_senders_share_what_a_node_injects() -> None:
    """By hand: 4 ranks of 10 GB/s each on two NICs of 12.5 GB/s."""
    node = MaxRate(alpha=2e-6, process_rate=10e9, rail_rate=12.5e9, rails=2)
    assert node.most_senders == 2.5
    assert node.seconds(1_000_000, 1) == pytest.approx(2e-6 + 1e6 / 10e9)
    assert node.seconds(1_000_000, 2) == pytest.approx(2e-6 + 1e6 / 10e9)
    assert node.seconds(1_000_000, 4) == pytest.approx(2e-6 + 4e6 / 25e9)
    assert [node.rate(q) / 1e9 for q in (1, 2, 3, 8)] == [10, 20, 25, 25]


@pytest.mark.parametrize("wrong", [{"alpha": -1.0}, {"process_rate": 0.0}, {"rails": 0}, {"rail_rate": float("nan")}])
def test_max_rate_refuses_what_makes_no_sense(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="max-rate needs"):
        MaxRate(**{"alpha": 1e-6, "process_rate": 1e9, "rail_rate": 1e9, **wrong})  # type: ignore[arg-type]
