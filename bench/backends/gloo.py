"""gloo through torch.distributed's public functions: what PyTorch users feel, buffers in host memory."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from types import ModuleType
from typing import TYPE_CHECKING

from collmark.bench import environment
from collmark.bench.rotation import spacing
from collmark.bench.session import Backend, World
from collmark.core.case import Case
from collmark.core.dtype import DTYPES
from collmark.core.errors import UnavailableError
from collmark.core.expansion import Capability
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Tier
from collmark.core.record import Evidence
from collmark.kernels.buffer import HostBuffer

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributed import TCPStore

CAPABILITY = Capability(
    # torch's all_reduce, broadcast and reduce have one buffer for what is sent and received.
    operations={
        "all_reduce": True,
        "all_gather": False,
        "reduce_scatter": False,
        "all_to_all": False,
        "all_to_all_v": False,
        "broadcast": True,
        "reduce": True,
        "gather": False,
        "scatter": False,
        "barrier": False,
        "send_recv": False,
        "ping_pong": False,
        "stream": False,
        "bidirectional_stream": False,
    },
    dtypes=("float32", "float64", "bfloat16", "float16", "int32", "int8", "uint8"),
    reductions=("sum", "prod", "min", "max", "avg"),
    except_for={("avg", True): "torch divides by the ranks in floating point and refuses avg of integers"},
)
LOOPBACK = {"linux": "lo", "darwin": "lo0"}


class GlooSession:
    """torch.distributed's gloo process group on one rank."""

    asynchronous = False
    timer = None

    def __init__(self, world: World) -> None:
        # torch's store warns of every client whose address has no name, on every rank.
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
        import torch
        import torch.distributed as dist

        self.torch = torch
        self.dist = dist
        self.world = world
        # Sums are gloo's own; more threads of torch would only take cores away.
        torch.set_num_threads(1)
        self._interface = _choose_interface(world)
        timeout = timedelta(seconds=10 * world.timeout)
        store = self._store(timeout)
        dist.init_process_group("gloo", store=store, rank=world.rank, world_size=world.ranks, timeout=timeout)
        self._pools: list[Tensor] = []
        self.clock = time.monotonic_ns

    def _store(self, timeout: timedelta) -> TCPStore:
        if self.world.rank == 0:
            host = "127.0.0.1" if self.world.one_host else self.world.host
            store = self.dist.TCPStore(host, 0, is_master=True, timeout=timeout, wait_for_workers=False)
            self.world.share(f"{host} {store.port}".encode())
            return store
        host, port = self.world.share(b"").decode().split()
        return self.dist.TCPStore(host, int(port), is_master=False, timeout=timeout)

    def reserve(self, nbytes: int) -> None:
        """Allocate one send and one receive buffer, from which all cases take their part."""
        try:
            self._pools = [self.torch.empty(max(8, nbytes), dtype=self.torch.uint8) for _ in range(2)]
        except RuntimeError as error:
            msg = f"2 buffers of {nbytes} B do not fit into memory: choose smaller --sizes"
            raise UnavailableError(msg) from error

    def bind(self, case: Case, slot: int) -> GlooBound:
        """Take views of the buffers and choose the function."""
        return GlooBound(self, case, slot)

    def view(self, pool: int, case: Case, count: int, begin: int = 0) -> tuple[Tensor, HostBuffer]:
        """Return `count` elements from a byte of a buffer on, as tensor and as host buffer."""
        dtype = DTYPES[case.dtype]
        raw = self._pools[pool][begin : begin + count * dtype.itemsize]
        host = HostBuffer(raw.numpy().view(dtype.storage), dtype, reduction=case.reduction, ranks=case.placement.ranks)
        return raw.view(getattr(self.torch, dtype.name)), host

    def synchronize(self) -> None:
        """Calls block: there is nothing to wait for."""

    def facts(self) -> Mapping[str, str]:
        """Versions and settings."""
        return {
            "torch": str(self.torch.__version__),
            "interface": self._interface or "chosen by gloo",
            "torch_threads": str(self.torch.get_num_threads()),
            "loop": "torch.distributed's public functions from Python",
        }

    def evidence(self) -> Evidence:
        """Tier from the hosts and the interface."""
        if self.world.one_host and self._interface == LOOPBACK.get(sys.platform):
            because = [f"all ranks on one host, gloo bound to {self._interface} by GLOO_SOCKET_IFNAME"]
            return Evidence(tier=Tier.LOOPBACK, because=because)
        if self.world.one_host:
            return Evidence(tier=Tier.UNKNOWN, because=[f"one host, interface {self._interface or 'not known'}"])
        return Evidence(tier=Tier.TCP, because=["several hosts; gloo's transport is TCP"])

    def close(self) -> None:
        """Leave the process group."""
        self.dist.destroy_process_group()


class GlooBound:
    """A case bound to tensors on one rank."""

    program = None

    def __init__(self, session: GlooSession, case: Case, slot: int) -> None:
        operation, exchange, rank = OPERATIONS[case.operation], case.exchange, session.world.rank
        sent = sum(segment.count for segment in operation.sends(exchange, rank))
        received = sum(segment.count for segment in operation.expects(exchange, rank))
        if case.in_place:
            # One tensor, which on ranks that only receive (or only send) has the other side's size.
            sent = received = max(sent, received)
        begin = slot * spacing(case.nbytes)
        send, self.send = session.view(0, case, sent, begin)
        receive, self.receive = session.view(0 if case.in_place else 1, case, received, begin)
        self.call: Callable[[], object] = _CALLS[case.operation](_Call(session, case, send, receive))

    def overlapping(self, _compute: int) -> None:
        """No program."""

    def device_time(self) -> int:
        """No device."""
        return 0

    def release(self) -> None:
        """The buffers belong to the session."""


class _Call:
    """What a call is made of: the library, the case, and the tensors of one rank."""

    def __init__(self, session: GlooSession, case: Case, send: Tensor, receive: Tensor) -> None:
        self.dist = session.dist
        self.rank, self.ranks, self.case = session.world.rank, session.world.ranks, case
        self.send, self.receive = send, receive
        self.op = _reduce_op(session.dist, case.reduction)
        self.acknowledgement = session.torch.zeros(4, dtype=session.torch.uint8)

    def blocks(self, tensor: Tensor) -> list[Tensor]:
        """Return a tensor's blocks, one per rank."""
        return list(tensor.chunk(self.ranks))


def _reduce_op(dist: ModuleType, reduction: str) -> object:
    name = {"prod": "PRODUCT"}.get(reduction, reduction.upper())
    return getattr(dist.ReduceOp, name) if name else None


def _all_reduce(c: _Call) -> Callable[[], object]:
    all_reduce, tensor, op = c.dist.all_reduce, c.send, c.op
    return lambda: all_reduce(tensor, op)


def _all_gather(c: _Call) -> Callable[[], object]:
    # torch 2.13 renames the function and warns of the old name.
    gather = getattr(c.dist, "all_gather_single", None) or c.dist.all_gather_into_tensor
    send, receive = c.send, c.receive
    return lambda: gather(receive, send)


def _reduce_scatter(c: _Call) -> Callable[[], object]:
    scatter = getattr(c.dist, "reduce_scatter_single", None) or c.dist.reduce_scatter_tensor
    send, receive, op = c.send, c.receive, c.op
    return lambda: scatter(receive, send, op)


def _all_to_all(c: _Call) -> Callable[[], object]:
    exchange, send, receive = c.dist.all_to_all_single, c.send, c.receive
    counts = c.case.exchange.counts
    if counts is None:
        return lambda: exchange(receive, send)
    inputs = list(counts[c.rank])
    outputs = [row[c.rank] for row in counts]
    return lambda: exchange(receive, send, outputs, inputs)


def _broadcast(c: _Call) -> Callable[[], object]:
    broadcast, tensor, root = c.dist.broadcast, c.send, c.case.root
    return lambda: broadcast(tensor, root)


def _reduce(c: _Call) -> Callable[[], object]:
    reduce, tensor, root, op = c.dist.reduce, c.send, c.case.root, c.op
    return lambda: reduce(tensor, root, op)


def _gather(c: _Call) -> Callable[[], object]:
    gather, send, root = c.dist.gather, c.send, c.case.root
    parts = c.blocks(c.receive) if c.rank == root else None
    return lambda: gather(send, parts, root)


def _scatter(c: _Call) -> Callable[[], object]:
    scatter, receive, root = c.dist.scatter, c.receive, c.case.root
    parts = c.blocks(c.send) if c.rank == root else None
    return lambda: scatter(receive, parts, root)


def _barrier(c: _Call) -> Callable[[], object]:
    barrier: Callable[[], object] = c.dist.barrier
    return barrier


def _send_recv(c: _Call) -> Callable[[], object]:
    isend, irecv, send, receive = c.dist.isend, c.dist.irecv, c.send, c.receive
    after, before = (c.rank + 1) % c.ranks, (c.rank - 1) % c.ranks
    if c.ranks == 1:
        return lambda: receive.copy_(send)

    def call() -> None:
        outgoing = isend(send, after)
        irecv(receive, before).wait()
        outgoing.wait()

    return call


def _idle() -> None:
    return None


def _ping_pong(c: _Call) -> Callable[[], object]:
    do_send, do_recv, send, receive = c.dist.send, c.dist.recv, c.send, c.receive

    def there_and_back() -> None:
        do_send(send, 1)
        do_recv(receive, 1)

    def back() -> None:
        do_recv(receive, 0)
        do_send(send, 0)

    return {0: there_and_back, 1: back}.get(c.rank, _idle)


def _stream(c: _Call) -> Callable[[], object]:
    isend, irecv, recv, do_send = c.dist.isend, c.dist.irecv, c.dist.recv, c.dist.send
    send, receive, acknowledgement, window = c.send, c.receive, c.acknowledgement, range(c.case.messages)

    def stream() -> None:
        for work in [isend(send, 1) for _ in window]:
            work.wait()
        recv(acknowledgement, 1)

    def sink() -> None:
        for work in [irecv(receive, 0) for _ in window]:
            work.wait()
        do_send(acknowledgement, 0)

    return {0: stream, 1: sink}.get(c.rank, _idle)


def _bidirectional_stream(c: _Call) -> Callable[[], object]:
    if c.rank > 1:
        return _idle
    isend, irecv, send, receive = c.dist.isend, c.dist.irecv, c.send, c.receive
    other, window, acknowledgement = 1 - c.rank, range(c.case.messages), c.acknowledgement
    acknowledge = c.dist.recv if c.rank == 0 else c.dist.send

    def both_ways() -> None:
        incoming = [irecv(receive, other) for _ in window]
        outgoing = [isend(send, other) for _ in window]
        for work in incoming + outgoing:
            work.wait()
        acknowledge(acknowledgement, other)

    return both_ways


_CALLS: dict[str, Callable[[_Call], Callable[[], object]]] = {
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


def _choose_interface(world: World) -> str:
    """Bind gloo to the interface that leads to the other ranks, unless the user chose; host names often do not."""
    interface = LOOPBACK.get(sys.platform, "") if world.one_host else environment.interface_of(world.address)
    if interface:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", interface)
    return os.environ.get("GLOO_SOCKET_IFNAME", "")


def _missing() -> str:
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed: pip install 'collmark[torch]'"
    return ""


GLOO = Backend(name="gloo", capability=CAPABILITY, missing=_missing, open=GlooSession)
