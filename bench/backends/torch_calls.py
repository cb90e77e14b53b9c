"""The operations in torch.distributed's public functions: one table for every backend that torch opens.

With gloo a call returns when it is done. With NCCL it returns when it is queued on the device: what it says of waiting
then holds for the current stream, which goes on only after the operation.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING

from collmark.core.case import Case

if TYPE_CHECKING:
    from torch import Tensor

Maker = Callable[["Call"], Callable[[], object]]
"""Chooses the function of a case: from what a call is made of to the call, without arguments."""


class Call:
    """What a call is made of.

    Parameters
    ----------
    dist : module
        torch.distributed, the process group open.
    case : Case
        What is called.
    rank : int
        Of this process, among all.
    group : ProcessGroup or None
        Whose ranks take part; None for all.
    send, receive : Tensor
        What this rank sends and receives, in whole elements.
    acknowledgement : Tensor of uint8
        What follows the last message of a stream, a few bytes.
    """

    def __init__(
        self,
        dist: ModuleType,
        case: Case,
        rank: int,
        group: object = None,
        *,
        send: Tensor,
        receive: Tensor,
        acknowledgement: Tensor,
    ) -> None:
        self.dist, self.group = dist, group
        self.rank, self.ranks, self.case = case.members.index(rank), case.placement.ranks, case
        self.send, self.receive, self.acknowledgement = send, receive, acknowledgement
        self.op = _reduce_op(dist, case.reduction)

    def peer(self, rank: int) -> int:
        """Return a rank of the group as torch's functions take it: its index among all."""
        return self.case.members[rank % self.ranks]

    def blocks(self, tensor: Tensor) -> list[Tensor]:
        """Return a tensor's blocks, one per rank."""
        return list(tensor.chunk(self.ranks))


def _reduce_op(dist: ModuleType, reduction: str) -> object:
    name = {"prod": "PRODUCT"}.get(reduction, reduction.upper())
    return getattr(dist.ReduceOp, name) if name else None


def _all_reduce(c: Call) -> Callable[[], object]:
    all_reduce, tensor, op, group = c.dist.all_reduce, c.send, c.op, c.group
    return lambda: all_reduce(tensor, op, group)


def _all_gather(c: Call) -> Callable[[], object]:
    # torch 2.13 renames the function and warns of the old name.
    gather = getattr(c.dist, "all_gather_single", None) or c.dist.all_gather_into_tensor
    send, receive, group = c.send, c.receive, c.group
    return lambda: gather(receive, send, group)


def _reduce_scatter(c: Call) -> Callable[[], object]:
    scatter = getattr(c.dist, "reduce_scatter_single", None) or c.dist.reduce_scatter_tensor
    send, receive, op, group = c.send, c.receive, c.op, c.group
    return lambda: scatter(receive, send, op, group)


def _all_to_all(c: Call) -> Callable[[], object]:
    exchange, send, receive, group = c.dist.all_to_all_single, c.send, c.receive, c.group
    counts = c.case.exchange.counts
    if counts is None:
        return lambda: exchange(receive, send, None, None, group)
    inputs = list(counts[c.rank])
    outputs = [row[c.rank] for row in counts]
    return lambda: exchange(receive, send, outputs, inputs, group)


def _broadcast(c: Call) -> Callable[[], object]:
    broadcast, tensor, root, group = c.dist.broadcast, c.send, c.peer(c.case.root), c.group
    return lambda: broadcast(tensor, root, group)


def _reduce(c: Call) -> Callable[[], object]:
    reduce, tensor, root, op, group = c.dist.reduce, c.send, c.peer(c.case.root), c.op, c.group
    return lambda: reduce(tensor, root, op, group)


def _gather(c: Call) -> Callable[[], object]:
    gather, send, root, group = c.dist.gather, c.send, c.peer(c.case.root), c.group
    parts = c.blocks(c.receive) if c.rank == c.case.root else None
    return lambda: gather(send, parts, root, group)


def _scatter(c: Call) -> Callable[[], object]:
    scatter, receive, root, group = c.dist.scatter, c.receive, c.peer(c.case.root), c.group
    parts = c.blocks(c.send) if c.rank == c.case.root else None
    return lambda: scatter(receive, parts, root, group)


def _barrier(c: Call) -> Callable[[], object]:
    barrier, group = c.dist.barrier, c.group
    return lambda: barrier(group)


def _send_recv(c: Call) -> Callable[[], object]:
    isend, irecv, send, receive, group = c.dist.isend, c.dist.irecv, c.send, c.receive, c.group
    after, before = c.peer(c.rank + 1), c.peer(c.rank - 1)
    if c.ranks == 1:
        return lambda: receive.copy_(send)

    def call() -> None:
        outgoing = isend(send, after, group)
        irecv(receive, before, group).wait()
        outgoing.wait()

    return call


def _idle() -> None:
    return None


def _ping_pong(c: Call) -> Callable[[], object]:
    if c.rank > 1:
        return _idle
    do_send, do_recv, send, receive = c.dist.send, c.dist.recv, c.send, c.receive
    other, group = c.peer(1 - c.rank), c.group

    def there_and_back() -> None:
        do_send(send, other, group)
        do_recv(receive, other, group)

    def back() -> None:
        do_recv(receive, other, group)
        do_send(send, other, group)

    return back if c.rank else there_and_back


def _stream(c: Call) -> Callable[[], object]:
    if c.rank > 1:
        return _idle
    isend, irecv, recv, do_send = c.dist.isend, c.dist.irecv, c.dist.recv, c.dist.send
    send, receive, acknowledgement, window = c.send, c.receive, c.acknowledgement, range(c.case.messages)
    other, group = c.peer(1 - c.rank), c.group

    def stream() -> None:
        for work in [isend(send, other, group) for _ in window]:
            work.wait()
        recv(acknowledgement, other, group)

    def sink() -> None:
        for work in [irecv(receive, other, group) for _ in window]:
            work.wait()
        do_send(acknowledgement, other, group)

    return sink if c.rank else stream


def _bidirectional_stream(c: Call) -> Callable[[], object]:
    if c.rank > 1:
        return _idle
    isend, irecv, send, receive = c.dist.isend, c.dist.irecv, c.send, c.receive
    other, window, acknowledgement, group = c.peer(1 - c.rank), range(c.case.messages), c.acknowledgement, c.group
    acknowledge = c.dist.recv if c.rank == 0 else c.dist.send

    def both_ways() -> None:
        incoming = [irecv(receive, other, group) for _ in window]
        outgoing = [isend(send, other, group) for _ in window]
        for work in incoming + outgoing:
            work.wait()
        acknowledge(acknowledgement, other, group)

    return both_ways


def _batched_send_recv(c: Call) -> Callable[[], object]:
    if c.ranks == 1:
        return _send_recv(c)
    batch, exchange = _batch(c, c.peer(c.rank + 1), c.peer(c.rank - 1)), c.dist.batch_isend_irecv

    def call() -> None:
        for work in exchange(batch):
            work.wait()

    return call


def _batched_bidirectional_stream(c: Call) -> Callable[[], object]:
    if c.rank > 1:
        return _idle
    other, window, acknowledgement, group = c.peer(1 - c.rank), range(c.case.messages), c.acknowledgement, c.group
    batch, exchange = _batch(c, other, other), c.dist.batch_isend_irecv
    acknowledge = c.dist.recv if c.rank == 0 else c.dist.send

    def both_ways() -> None:
        for work in [work for _ in window for work in exchange(batch)]:
            work.wait()
        acknowledge(acknowledgement, other, group)

    return both_ways


def _batch(c: Call, after: int, before: int) -> list[object]:
    return [c.dist.P2POp(c.dist.isend, c.send, after, c.group), c.dist.P2POp(c.dist.irecv, c.receive, before, c.group)]


CALLS: dict[str, Maker] = {
    "all_reduce": _all_reduce,
    "all_gather": _all_gather,
    "reduce_scatter": _reduce_scatter,
    "all_to_all": _all_to_all,
    "all_to_all_v": _all_to_all,
    "broadcast": _broadcast,
    "reduce": _reduce,
    "gather": _gather,
    "scatter": _scatter,
    "barrier": _barrier,
    "send_recv": _send_recv,
    "ping_pong": _ping_pong,
    "stream": _stream,
    "bidirectional_stream": _bidirectional_stream,
}

QUEUED_CALLS = CALLS | {"send_recv": _batched_send_recv, "bidirectional_stream": _batched_bidirectional_stream}
"""For a library whose calls wait for each other in a queue: a message there and one back that are not one batch would
each wait, behind the other, for a peer that does the same. A batch is two messages and never more, since what is in one
batch is moved as one."""
