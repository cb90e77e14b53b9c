"""A small machine that carries out schedules: who sends which blocks to whom in which step, and when all is done.

It knows no formula. Ranks hold blocks; a block is the set of ranks whose contribution is in it. What a schedule costs
is what its messages take: a message begins when both ends are free, and a rank sends and receives at the same time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple

Block = Hashable
State = list[dict[Block, frozenset[int]]]


class Message(NamedTuple):
    """Some blocks from one rank to another; `adds` where the receiver reduces them into its own."""

    sender: int
    receiver: int
    blocks: tuple[Block, ...]
    adds: bool = False


Step = list[Message]
Weights = tuple[float, float, float]
"""alpha, beta and gamma, beta and gamma over one whole nbytes."""


class Schedule(NamedTuple):
    """Steps, what each rank holds at first and must hold in the end, and how many blocks make nbytes."""

    steps: Sequence[Step]
    first: State
    last: State
    blocks: int


def deliver(schedule: Schedule) -> None:
    """Carry it out; AssertionError where a rank sends what it lacks, adds twice, or ends without its result."""
    state = [dict(held) for held in schedule.first]
    for step in schedule.steps:
        sent = [(message, [state[message.sender][block] for block in message.blocks]) for message in step]
        for message, contents in sent:
            held = state[message.receiver]
            for block, content in zip(message.blocks, contents, strict=True):
                if message.adds:
                    assert not held[block] & content, f"{message} adds {content} twice"
                    held[block] |= content
                else:
                    held[block] = content
    for rank, wanted in enumerate(schedule.last):
        assert {block: state[rank].get(block) for block in wanted} == wanted, f"rank {rank} lacks its result"


def seconds(
    schedule: Schedule,
    weights: Weights,
    *,
    ports: int = 1,
    link: Callable[[int, int], tuple[float, float]] | None = None,
) -> float:
    """Return when the last rank is done.

    Parameters
    ----------
    schedule, weights
        What is done, and what a message, a whole nbytes over a link and its reduction take.
    ports
        Messages that a rank may send, and receive, in one step; their bytes share its link.
    link
        Own alpha and beta for each pair of sender and receiver.
    """
    ready = [0.0] * len(schedule.first)
    alpha, beta, gamma = weights
    for step in schedule.steps:
        out, into = _loads(step, ports)
        done = list(ready)
        for message in step:
            own_alpha, own_beta = link(message.sender, message.receiver) if link else (alpha, beta)
            share = max(out[message.sender], into[message.receiver]) / schedule.blocks
            arrived = max(ready[message.sender], ready[message.receiver]) + own_alpha + share * own_beta
            done[message.sender] = max(done[message.sender], arrived)
            reduced = len(message.blocks) / schedule.blocks * gamma if message.adds else 0.0
            done[message.receiver] = max(done[message.receiver], arrived + reduced)
        ready = done
    return max(ready)


def _loads(step: Iterable[Message], ports: int) -> tuple[dict[int, int], dict[int, int]]:
    """Return the blocks that each rank sends and receives in a step."""
    out: dict[int, int] = defaultdict(int)
    into: dict[int, int] = defaultdict(int)
    ends: dict[tuple[str, int], int] = defaultdict(int)
    for message in step:
        out[message.sender] += len(message.blocks)
        into[message.receiver] += len(message.blocks)
        ends["out", message.sender] += 1
        ends["in", message.receiver] += 1
    assert max(ends.values(), default=0) <= ports, "a rank has one port each way"
    return out, into


def busiest(schedule: Schedule) -> tuple[float, float, float]:
    """Return what the busiest ranks send, receive and reduce, over nbytes."""
    sent: dict[int, int] = defaultdict(int)
    received: dict[int, int] = defaultdict(int)
    added: dict[int, int] = defaultdict(int)
    for message in (message for step in schedule.steps for message in step):
        sent[message.sender] += len(message.blocks)
        received[message.receiver] += len(message.blocks)
        added[message.receiver] += len(message.blocks) * message.adds
    most = (max(counts.values()) / schedule.blocks for counts in (sent, received, added))
    return next(most), next(most), next(most)
