"""The tree that commands, starts, replies and pulses go along, so that no rank has many to talk to.

Rank 0 is its root. Up to `FANOUT` + 1 ranks it is a star. Messages of a rank for a command, or for a repetition whose
start is agreed: at most one to and one from each of its neighbours; behind one another: those of one path, so that
their time grows as the logarithm of the ranks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

FANOUT = 16


class Tree(msgspec.Struct, frozen=True):
    """Who talks to whom.

    Attributes
    ----------
    ranks : int
        Number of ranks.
    fanout : int
        Most children of a rank.
    """

    ranks: int
    fanout: int = FANOUT

    def parent(self, rank: int) -> int:
        """Return who tells a rank, but 0, what to do."""
        return (rank - 1) // self.fanout

    def children(self, rank: int) -> range:
        """Return whom a rank tells.

        >>> Tree(40).children(0), Tree(40).children(1), Tree(40).children(3)
        (range(1, 17), range(17, 33), range(40, 40))
        """
        first = self.fanout * rank + 1
        return range(min(first, self.ranks), min(first + self.fanout, self.ranks))

    def inner(self) -> range:
        """Return the ranks, but 0, that have children."""
        return range(1, (self.ranks - 2) // self.fanout + 1)

    def below(self, rank: int) -> list[int]:
        """Return a rank and all that hear through it, level by level."""
        found: list[int] = []
        level = range(rank, rank + 1)
        while level:
            found += level
            level = range(self.children(level[0]).start, self.children(level[-1]).stop)
        return found

    def depth(self, rank: int) -> int:
        """Return how many messages it takes, one behind the other, to reach a rank."""
        return 0 if rank == 0 else 1 + self.depth(self.parent(rank))


def merged(own: bytes, frames: Mapping[int, bytes], rank: int, tree: Tree) -> bytes:
    """Return the replies of a rank and of all below it as one frame: most are equal, and those cost nothing.

    Parameters
    ----------
    own : bytes
        Reply of the rank.
    frames : mapping of int to bytes
        What its children sent.
    rank, tree
        Where it is.
    """
    if not frames:
        return own
    replies = {rank: own}
    for child, frame in frames.items():
        replies |= taken_apart(frame, child, tree)
    others = {one: reply for one, reply in replies.items() if reply != own}
    return msgspec.msgpack.encode((own, others))


def taken_apart(frame: bytes, rank: int, tree: Tree) -> dict[int, bytes]:
    """Return the replies in a frame that a rank has sent for itself and those below it."""
    if not tree.children(rank):
        return {rank: frame}
    own, others = msgspec.msgpack.decode(frame, type=tuple[bytes, dict[int, bytes]])
    return {one: others.get(one, own) for one in tree.below(rank)}


def starts_frame(readings: Mapping[int, int] | Sequence[int], ranks: Sequence[int]) -> bytes:
    """Return when ranks start, each by its own clock, ns: one number where that is the same for all."""
    own = [readings[rank] for rank in ranks]
    return msgspec.msgpack.encode(own[:1] if len(set(own)) == 1 else own)


def starts_in(frame: bytes, ranks: Sequence[int]) -> dict[int, int]:
    """Return the starts in a frame by rank."""
    found = msgspec.msgpack.decode(frame, type=list[int])
    return dict(zip(ranks, found if len(found) > 1 else found * len(ranks), strict=True))
