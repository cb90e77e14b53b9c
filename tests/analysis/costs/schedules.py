"""Every algorithm of the cost table as a schedule, written from its description and not from its cost."""

from __future__ import annotations

from collections.abc import Callable

from tests.analysis.costs.machine import Block, Message, Schedule, State, Step

EMPTY: frozenset[int] = frozenset()


def reduced(ranks: int, blocks: int) -> tuple[State, frozenset[int]]:
    """Every rank holds its own contribution to every block."""
    return [{block: frozenset({rank}) for block in range(blocks)} for rank in range(ranks)], frozenset(range(ranks))


def on_all(ranks: int, blocks: int, content: frozenset[int]) -> State:
    return [dict.fromkeys(range(blocks), content) for _rank in range(ranks)]


def ring_reduce_scatter(ranks: int, blocks_of: Callable[[int], tuple[Block, ...]]) -> list[Step]:
    """Rank r ends with the parts of index r reduced."""
    return [
        [Message(rank, (rank + 1) % ranks, blocks_of((rank - step - 1) % ranks), adds=True) for rank in range(ranks)]
        for step in range(ranks - 1)
    ]


def ring_all_gather(ranks: int, blocks_of: Callable[[int], tuple[Block, ...]]) -> list[Step]:
    return [
        [Message(rank, (rank + 1) % ranks, blocks_of((rank - step) % ranks)) for rank in range(ranks)]
        for step in range(ranks - 1)
    ]


def one(index: int) -> tuple[Block, ...]:
    return (index,)


def ring(ranks: int) -> Schedule:
    first, full = reduced(ranks, ranks)
    steps = [*ring_reduce_scatter(ranks, one), *ring_all_gather(ranks, one)]
    return Schedule(steps, first, on_all(ranks, ranks, full), ranks)


def segmented_ring(ranks: int) -> Schedule:
    """Two segments a block, each a message of its own, one after the other."""
    first, full = reduced(ranks, 2 * ranks)
    halves = [lambda index, half=half: (2 * index + half,) for half in (0, 1)]
    steps = [
        step
        for phase in (ring_reduce_scatter, ring_all_gather)
        for pair in zip(*(phase(ranks, half) for half in halves), strict=True)
        for step in pair
    ]
    return Schedule(steps, first, on_all(ranks, 2 * ranks, full), 2 * ranks)


def folded(ranks: int) -> tuple[int, list[int], list[tuple[int, int]]]:
    """The power of two, the ranks that take part (even ones below 2 x rest do not), and who stands in for whom."""
    power = 1
    while 2 * power <= ranks:
        power *= 2
    rest = ranks - power
    active = [2 * index + 1 if index < rest else index + rest for index in range(power)]
    return power, active, [(2 * index, 2 * index + 1) for index in range(rest)]


def recursive_doubling(ranks: int) -> Schedule:
    power, active, pairs = folded(ranks)
    first, full = reduced(ranks, 1)
    steps = [[Message(left, right, (0,), adds=True) for left, right in pairs]]
    mask = 1
    while mask < power:
        steps.append([Message(active[i], active[i ^ mask], (0,), adds=True) for i in range(power)])
        mask *= 2
    steps.append([Message(right, left, (0,)) for left, right in pairs])
    return Schedule([step for step in steps if step], first, on_all(ranks, 1, full), 1)


def halve(active: list[int], parts: list[tuple[Block, ...]]) -> list[Step]:
    """Recursive halving: member i ends with part i."""

    def blocks(low: int, high: int) -> tuple[Block, ...]:
        return tuple(block for part in parts[low:high] for block in part)

    steps, size = [], len(active)
    while size > 1:
        half, step = size // 2, []
        for i, rank in enumerate(active):
            low = i // size * size
            is_low = i < low + half
            given = (low + half, low + size) if is_low else (low, low + half)
            step.append(Message(rank, active[i + half if is_low else i - half], blocks(*given), adds=True))
        steps.append(step)
        size = half
    return steps


def double(active: list[int], parts: list[tuple[Block, ...]]) -> list[Step]:
    """Recursive doubling of what is held: member i begins with part i."""
    steps, size = [], 1
    while size < len(active):
        step = []
        for i, rank in enumerate(active):
            low = i // size * size
            held = tuple(block for part in parts[low : low + size] for block in part)
            step.append(Message(rank, active[i ^ size], held))
        steps.append(step)
        size *= 2
    return steps


def halving_doubling(ranks: int) -> Schedule:
    power, active, pairs = folded(ranks)
    first, full = reduced(ranks, power)
    whole, parts = tuple(range(power)), [one(i) for i in range(power)]
    steps = [
        [Message(left, right, whole, adds=True) for left, right in pairs],
        *halve(active, parts),
        *double(active, parts),
        [Message(right, left, whole) for left, right in pairs],
    ]
    return Schedule([step for step in steps if step], first, on_all(ranks, power, full), power)


def own_blocks(ranks: int) -> State:
    return [{rank: frozenset({rank})} for rank in range(ranks)]


def gathered(ranks: int) -> State:
    return [{block: frozenset({block}) for block in range(ranks)} for _rank in range(ranks)]


def gather_ring(ranks: int) -> Schedule:
    return Schedule(ring_all_gather(ranks, one), own_blocks(ranks), gathered(ranks), ranks)


def gather_doubling(ranks: int) -> Schedule:
    steps = double(list(range(ranks)), [one(i) for i in range(ranks)])
    return Schedule(steps, own_blocks(ranks), gathered(ranks), ranks)


def gather_bruck(ranks: int) -> Schedule:
    """Rank r holds blocks r, r + 1, ... and gives all of them, or as many as are lacking, to rank r - distance."""
    steps, held = [], 1
    while held < ranks:
        count = min(held, ranks - held)
        steps.append(
            [
                Message(rank, (rank - held) % ranks, tuple((rank + i) % ranks for i in range(count)))
                for rank in range(ranks)
            ]
        )
        held += count
    return Schedule(steps, own_blocks(ranks), gathered(ranks), ranks)


def scattered(ranks: int, steps: list[Step]) -> Schedule:
    first, full = reduced(ranks, ranks)
    return Schedule(steps, first, [{rank: full} for rank in range(ranks)], ranks)


def pairwise_reduce(ranks: int) -> Schedule:
    steps = [
        [Message(rank, (rank + step) % ranks, one((rank + step) % ranks), adds=True) for rank in range(ranks)]
        for step in range(1, ranks)
    ]
    return scattered(ranks, steps)


def recursive_halving(ranks: int) -> Schedule:
    power, active, pairs = folded(ranks)
    stands_for = {right: (left, right) for left, right in pairs}
    parts: list[tuple[Block, ...]] = [stands_for.get(rank, (rank,)) for rank in active]
    steps = [
        [Message(left, right, tuple(range(ranks)), adds=True) for left, right in pairs],
        *halve(active, parts),
        [Message(right, left, (left,)) for left, right in pairs],
    ]
    assert len(parts) == power
    return scattered(ranks, [step for step in steps if step])


def doubling_reduce_scatter(ranks: int) -> Schedule:
    """In the step of a mask a rank gives its partner all blocks but those of its own group of that size."""
    steps, mask = [], 1
    while mask < ranks:
        step = []
        for rank in range(ranks):
            own = range(rank // mask * mask, rank // mask * mask + mask)
            kept = tuple(block for block in range(ranks) if block not in own)
            step.append(Message(rank, rank ^ mask, kept, adds=True))
        steps.append(step)
        mask *= 2
    return scattered(ranks, steps)


def whole_all_reduce(ranks: int) -> Schedule:
    return scattered(ranks, list(ring(ranks).steps))


def exchanged(ranks: int, steps: list[Step]) -> Schedule:
    first: State = [{(rank, to): frozenset({rank}) for to in range(ranks)} for rank in range(ranks)]
    last: State = [{(source, rank): frozenset({source}) for source in range(ranks)} for rank in range(ranks)]
    return Schedule(steps, first, last, ranks)


def pairwise(ranks: int) -> Schedule:
    steps = [
        [Message(rank, (rank + step) % ranks, ((rank, (rank + step) % ranks),)) for rank in range(ranks)]
        for step in range(1, ranks)
    ]
    return exchanged(ranks, steps)


def bruck(radix: int) -> Callable[[int], Schedule]:
    """A block travels its distance digit by digit."""

    def schedule(ranks: int) -> Schedule:
        held: list[list[tuple[int, int]]] = [[(rank, to) for to in range(ranks)] for rank in range(ranks)]
        steps, place = [], 1
        while place < ranks:
            step: Step = []
            moved: list[list[tuple[int, int]]] = [[] for _rank in range(ranks)]
            for rank in range(ranks):
                for digit in range(radix):
                    blocks = [b for b in held[rank] if (b[1] - b[0]) % ranks // place % radix == digit]
                    to = (rank + digit * place) % ranks
                    moved[to] += blocks
                    if digit and blocks:
                        step.append(Message(rank, to, tuple(blocks)))
            held = moved
            steps.append(step)
            place *= radix
        return exchanged(ranks, steps)

    return schedule


def binomial(ranks: int) -> list[list[tuple[int, int, tuple[int, ...]]]]:
    """Rounds of (parent, child, ranks below the child), from the root on."""
    distance = 1
    while distance < ranks:
        distance *= 2
    found = []
    while distance > 1:
        half = distance // 2
        found.append(
            [
                (parent, parent + half, tuple(range(parent + half, min(parent + distance, ranks))))
                for parent in range(0, ranks - half, distance)
            ]
        )
        distance = half
    return found


def at_root(ranks: int, blocks: int) -> State:
    held: State = [{} for _rank in range(ranks)]
    held[0] = dict.fromkeys(range(blocks), frozenset({0}))
    return held


def tree_broadcast(ranks: int) -> Schedule:
    steps = [[Message(parent, child, (0,)) for parent, child, _below in step] for step in binomial(ranks)]
    return Schedule(steps, at_root(ranks, 1), on_all(ranks, 1, frozenset({0})), 1)


def tree_scatter_steps(ranks: int) -> list[Step]:
    return [[Message(parent, child, below) for parent, child, below in step] for step in binomial(ranks)]


def scatter_ring(ranks: int) -> Schedule:
    steps = [*tree_scatter_steps(ranks), *ring_all_gather(ranks, one)]
    return Schedule(steps, at_root(ranks, ranks), on_all(ranks, ranks, frozenset({0})), ranks)


def scatter_doubling(ranks: int) -> Schedule:
    steps = [*tree_scatter_steps(ranks), *double(list(range(ranks)), [one(i) for i in range(ranks)])]
    return Schedule(steps, at_root(ranks, ranks), on_all(ranks, ranks, frozenset({0})), ranks)


def tree_reduce(ranks: int) -> Schedule:
    first, full = reduced(ranks, 1)
    steps = [[Message(child, parent, (0,), adds=True) for parent, child, _below in step] for step in binomial(ranks)]
    return Schedule(steps[::-1], first, [{0: full}, *({} for _rank in range(ranks - 1))], 1)


def halving_gather(ranks: int) -> Schedule:
    first, full = reduced(ranks, ranks)
    steps = [*halve(list(range(ranks)), [one(i) for i in range(ranks)]), *tree_gather_steps(ranks)]
    return Schedule(steps, first, [dict.fromkeys(range(ranks), full), *({} for _rank in range(ranks - 1))], ranks)


def tree_gather_steps(ranks: int) -> list[Step]:
    return [[Message(child, parent, below) for parent, child, below in step] for step in binomial(ranks)[::-1]]


def to_root(ranks: int, steps: list[Step]) -> Schedule:
    last: State = [{block: frozenset({block}) for block in range(ranks)}, *({} for _rank in range(ranks - 1))]
    return Schedule(steps, own_blocks(ranks), last, ranks)


def from_root(ranks: int, steps: list[Step]) -> Schedule:
    return Schedule(steps, at_root(ranks, ranks), [{rank: frozenset({0})} for rank in range(ranks)], ranks)


def dissemination(ranks: int) -> Schedule:
    """Tokens: what a rank knows of the others' arrival; each round it tells all of it. Nothing is payload."""
    first: State = [{0: frozenset({rank})} for rank in range(ranks)]
    known = [{rank} for rank in range(ranks)]
    steps, distance = [], 1
    while any(len(ranks_known) < ranks for ranks_known in known):
        steps.append([Message(rank, (rank + distance) % ranks, ()) for rank in range(ranks)])
        known = [known[rank] | known[(rank - distance) % ranks] for rank in range(ranks)]
        distance *= 2
    return Schedule(steps, first, [{} for _rank in range(ranks)], 1)


def shift(ranks: int) -> Schedule:
    first: State = [{rank: frozenset({rank})} for rank in range(ranks)]
    last: State = [{(rank - 1) % ranks: frozenset({(rank - 1) % ranks})} for rank in range(ranks)]
    return Schedule([[Message(rank, (rank + 1) % ranks, (rank,)) for rank in range(ranks)]], first, last, 1)


SCHEDULES: dict[str, Callable[[int], Schedule]] = {
    "all_reduce/ring": ring,
    "all_reduce/segmented ring": segmented_ring,
    "all_reduce/recursive doubling": recursive_doubling,
    "all_reduce/halving and doubling": halving_doubling,
    "all_gather/ring": gather_ring,
    "all_gather/recursive doubling": gather_doubling,
    "all_gather/Bruck": gather_bruck,
    "reduce_scatter/pairwise": pairwise_reduce,
    "reduce_scatter/recursive halving": recursive_halving,
    "reduce_scatter/recursive doubling": doubling_reduce_scatter,
    "reduce_scatter/whole all_reduce by ring": whole_all_reduce,
    "all_to_all/pairwise": pairwise,
    "all_to_all/Bruck": bruck(2),
    "all_to_all/Bruck, radix 4": bruck(4),
    "broadcast/binomial tree": tree_broadcast,
    "broadcast/scatter, ring all_gather": scatter_ring,
    "broadcast/scatter, recursive doubling": scatter_doubling,
    "reduce/binomial tree": tree_reduce,
    "reduce/reduce_scatter, gather": halving_gather,
    "gather/binomial tree": lambda ranks: to_root(ranks, tree_gather_steps(ranks)),
    "gather/linear": lambda ranks: to_root(ranks, [[Message(rank, 0, (rank,))] for rank in range(1, ranks)]),
    "scatter/binomial tree": lambda ranks: from_root(ranks, tree_scatter_steps(ranks)),
    "scatter/linear": lambda ranks: from_root(ranks, [[Message(0, rank, (rank,))] for rank in range(1, ranks)]),
    "barrier/dissemination": dissemination,
    "send_recv/direct": shift,
}
