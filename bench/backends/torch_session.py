"""A process group of torch.distributed on one rank, and cases bound on it: what its backends have in common."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from collmark.bench.backends.torch_calls import CALLS, Call, Maker
from collmark.bench.rotation import spacing
from collmark.bench.session import World
from collmark.core.case import Case
from collmark.core.dtype import DTYPES
from collmark.core.errors import UnavailableError
from collmark.core.expansion import Capability
from collmark.core.grouping import Group, groups_of
from collmark.core.operation_table import OPERATIONS
from collmark.core.plan import Plan
from collmark.kernels.addition import add
from collmark.kernels.buffer import HostBuffer, PayloadBuffer

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from torch.distributed import TCPStore

# torch's all_reduce, broadcast and reduce have one buffer for what is sent and received.
IN_PLACE = frozenset({"all_reduce", "broadcast", "reduce"})
CAPABILITY = Capability(
    operations={name: name in IN_PLACE for name in CALLS},
    dtypes=("float32", "float64", "bfloat16", "float16", "int32", "int8", "uint8"),
    reductions=("sum", "prod", "min", "max", "avg"),
)
"""What torch.distributed has functions for; a backend may refuse some of it."""
ACKNOWLEDGEMENT = 4  # bytes after the last message of a stream


def without_torch() -> str:
    """Return why torch cannot be used, with the remedy; empty where it is installed. Imports nothing."""
    return "" if importlib.util.find_spec("torch") else "torch is not installed: pip install 'collmark[torch]'"


def load_torch(_plan: Plan) -> None:
    """Import torch."""
    import torch.distributed  # noqa: F401 - to have it done


class TorchSession:
    """A session before its process group is open; subclasses choose interface and device, then call `join`.

    Attributes
    ----------
    calls : mapping of str to callable
        The call table.
    place : str
        Where buffers lie, as torch names it.
    """

    asynchronous = False
    timer = None
    add = staticmethod(add)  # gloo's own loop cannot be called by itself
    calls: Mapping[str, Maker] = CALLS
    place = "cpu"

    def __init__(self, world: World) -> None:
        # torch's store warns of every client whose address has no name, on every rank.
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
        import torch
        import torch.distributed as dist

        self.torch = torch
        self.dist = dist
        self.world = world
        self.clock = time.monotonic_ns
        self.timeout = timedelta(seconds=10 * world.timeout)
        self._pools: list[Tensor] = []
        self._groups: dict[str, object] = {}

    def open_store(self) -> TCPStore:
        """Return a store of our own, at a port of rank 0 that all ranks are told."""
        if self.world.rank == 0:
            host = "127.0.0.1" if self.world.one_host else self.world.host
            store = self.dist.TCPStore(host, 0, is_master=True, timeout=self.timeout, wait_for_workers=False)
            self.world.share(f"{host} {store.port}".encode())
            return store
        host, port = self.world.share(b"").decode().split()
        return self.dist.TCPStore(host, int(port), is_master=False, timeout=self.timeout)

    def join(self, backend: str, store: TCPStore, device: torch.device | None = None) -> None:
        """Open the process group; with a device, connect its ranks at once."""
        self.dist.init_process_group(
            backend,
            store=store,
            rank=self.world.rank,
            world_size=self.world.ranks,
            timeout=self.timeout,
            device_id=device,
        )

    def reserve(self, nbytes: int) -> None:
        """Allocate one send and one receive buffer, from which all cases take their part."""
        try:
            self._pools = [
                self.torch.empty(size, dtype=self.torch.uint8, device=self.place)
                for size in (max(8, nbytes), max(8, nbytes), ACKNOWLEDGEMENT)
            ]
        except RuntimeError as error:
            msg = f"2 buffers of {nbytes} B do not fit into memory ({self.place}): choose smaller --sizes"
            raise UnavailableError(msg) from error

    def arrange(self, group: Group) -> None:
        """Make the process groups of an arrangement, where there are none yet; all ranks call it.

        Pairs need none: their messages name ranks of the whole.
        """
        if group.is_pair or group.arrangement in self._groups:
            return
        for one in groups_of(group.arrangement, group.world, group.company):
            made = self.dist.new_group(list(one.members), timeout=self.timeout)
            if self.world.rank in one.members:
                self._groups[group.arrangement] = made

    def bind(self, case: Case, slot: int) -> TorchBound:
        """Take views of the buffers and choose the function."""
        return TorchBound(self, case, slot)

    def view(self, pool: int, case: Case, count: int, begin: int = 0) -> tuple[Tensor, PayloadBuffer]:
        """Return `count` elements from a byte of a buffer on, as tensor and as what is written and compared."""
        dtype = DTYPES[case.dtype]
        raw = self._pools[pool][begin : begin + count * dtype.itemsize]
        return raw.view(getattr(self.torch, dtype.name)), self.buffer(raw, case)

    def buffer(self, raw: Tensor, case: Case) -> PayloadBuffer:
        """Return the bytes of a tensor as what is written and compared."""
        dtype = DTYPES[case.dtype]
        return HostBuffer(raw.numpy().view(dtype.storage), dtype, reduction=case.reduction, ranks=case.placement.ranks)

    def call_of(self, case: Case, send: Tensor, receive: Tensor) -> Callable[[], object]:
        """Return the operation, without arguments."""
        group = None if case.group is None or case.group.is_pair else self._groups[case.group.arrangement]
        call = Call(self.dist, case, self.world.rank, group, send=send, receive=receive, acknowledgement=self._pools[2])
        return self.calls[case.operation](call)

    def synchronize(self) -> None:
        """Calls block: there is nothing to wait for."""

    def device_time(self) -> int:
        """No device."""
        return 0

    def close(self) -> None:
        """Leave the process group."""
        self.dist.destroy_process_group()


class TorchBound:
    """A case bound to tensors on one rank."""

    program = None

    def __init__(self, session: TorchSession, case: Case, slot: int) -> None:
        operation, exchange = OPERATIONS[case.operation], case.exchange
        rank = case.members.index(session.world.rank)
        sent = sum(segment.count for segment in operation.sends(exchange, rank))
        received = sum(segment.count for segment in operation.expects(exchange, rank))
        if case.in_place:
            # One tensor, which on ranks that only receive (or only send) has the other side's size.
            sent = received = max(sent, received)
        begin = slot * spacing(case.nbytes)
        send, self.send = session.view(0, case, sent, begin)
        receive, self.receive = session.view(0 if case.in_place else 1, case, received, begin)
        self.call = session.call_of(case, send, receive)
        self.device_time = session.device_time

    def overlapping(self, _compute: int) -> None:
        """No program."""

    def release(self) -> None:
        """The buffers belong to the session."""
