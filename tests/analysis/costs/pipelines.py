"""Algorithms that cut the vector into chunks: schedules found greedily, a chunk a message, one port each way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tests.analysis.costs.machine import Message, Schedule, State, Step
from tests.analysis.costs.schedules import at_root, on_all, reduced


class Task(NamedTuple):
    """One message, and the messages that must have arrived before."""

    message: Message
    after: tuple[Message, ...]


def greedy(tasks: Iterable[Task], *, ports: int = 1) -> list[Step]:
    """Return steps in which every message goes as soon as its ports are free, in the order of the list."""
    waiting, arrived, steps = list(tasks), set[Message](), list[Step]()
    while waiting:
        busy: dict[tuple[str, int], int] = {}
        step: Step = []
        for task in waiting:
            ends = (("out", task.message.sender), ("in", task.message.receiver))
            if set(task.after) <= arrived and all(busy.get(end, 0) < ports for end in ends):
                step.append(task.message)
                busy |= {end: busy.get(end, 0) + 1 for end in ends}
        assert step, "messages wait for each other"
        arrived |= set(step)
        waiting = [task for task in waiting if task.message not in arrived]
        steps.append(step)
    return steps


def chain_broadcast(ranks: int, chunks: int) -> Schedule:
    sent = {(c, r): Message(r, r + 1, (c,)) for c in range(chunks) for r in range(ranks - 1)}
    tasks = [Task(message, (sent[c, r - 1],) if r else ()) for (c, r), message in sent.items()]
    return Schedule(greedy(tasks), at_root(ranks, chunks), on_all(ranks, chunks, frozenset({0})), chunks)


def chain_reduce(ranks: int, chunks: int) -> Schedule:
    first, full = reduced(ranks, chunks)
    sent = {(c, r): Message(r, r - 1, (c,), adds=True) for c in range(chunks) for r in range(ranks - 1, 0, -1)}
    tasks = [Task(message, (sent[c, r + 1],) if r < ranks - 1 else ()) for (c, r), message in sent.items()]
    last: State = [dict.fromkeys(range(chunks), full), *({} for _rank in range(ranks - 1))]
    return Schedule(greedy(tasks), first, last, chunks)


def parents(ranks: int) -> list[int]:
    """Return each rank's parent in a binary tree whose odd ranks are inner ones; the root, rank 0, has -1."""
    found = [-1] * ranks
    for rank in range(1, ranks):
        bit = rank & -rank
        up = (rank ^ bit) | (bit << 1)
        found[rank] = up if up < ranks else rank ^ bit
    return found


def double_tree(ranks: int, chunks: int, *, ports: int = 1) -> Schedule:
    """Half of the chunks up and down one tree, half along another in which its leaves are inner ranks.

    That is its mirror image for even numbers of ranks, and itself moved by one rank for odd ones.
    """
    first, full = reduced(ranks, 2 * chunks)
    tree = parents(ranks)
    mirror = [-1] * ranks

    def moved(rank: int) -> int:
        return (rank + 1) % ranks if ranks % 2 else ranks - 1 - rank

    for rank, parent in enumerate(tree):
        mirror[moved(rank)] = -1 if parent < 0 else moved(parent)
    tasks = [
        task
        for chunk in range(chunks)
        for half, one in enumerate((tree, mirror))
        for task in _up_and_down(one, 2 * chunk + half)
    ]
    return Schedule(greedy(tasks, ports=ports), first, on_all(ranks, 2 * chunks, full), 2 * chunks)


def _up_and_down(tree: list[int], block: int) -> list[Task]:
    below = [[child for child, parent in enumerate(tree) if parent == rank] for rank in range(len(tree))]
    up = {rank: Message(rank, parent, (block,), adds=True) for rank, parent in enumerate(tree) if parent >= 0}
    down = {rank: Message(parent, rank, (block,)) for rank, parent in enumerate(tree) if parent >= 0}
    tasks = [Task(message, tuple(up[child] for child in below[rank])) for rank, message in up.items()]
    for rank, message in down.items():
        parent = tree[rank]
        before = (down[parent],) if parent in down else tuple(up[child] for child in below[parent])
        tasks.append(Task(message, before))
    return tasks


PIPELINES: dict[str, Callable[[int, int], Schedule]] = {
    "broadcast/chain": chain_broadcast,
    "reduce/chain": chain_reduce,
    "all_reduce/double binary tree": double_tree,
}
