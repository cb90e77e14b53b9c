"""The algorithms of gloo's benchmark (gloo/benchmark/main.cc, cuda_main.cc), and what their sizes and times mean."""

from __future__ import annotations

import msgspec

from collmark.analysis.importers.row import SizeIs
from collmark.core.case import Device

_WIDTH = 98
"""Of a title's line (kTotalWidth of runner.cc): the name stands in its middle."""


class Algorithm(msgspec.Struct, frozen=True, kw_only=True):
    """An algorithm.

    Attributes
    ----------
    name : str
        As the tool calls it.
    operation : str
        In collmark's names, or an own one.
    size_is : SizeIs
        What elements times element size is.
    reduction : str
    itemsizes : tuple of int
        What an element may take; several are told apart by bandwidth or size.
    itemsize_moved : int or None
        Where the data are of another type than what the tool counts.
    sized : bool
        Elements are a size.
    trips : int
        How often the message goes over the link in the time of a call.
    device : Device
    """

    name: str
    operation: str
    size_is: SizeIs = SizeIs.CANONICAL
    reduction: str = ""
    itemsizes: tuple[int, ...] = (4, 2)
    itemsize_moved: int | None = None
    sized: bool = True
    trips: int = 1
    device: Device = Device.CPU


_ROWS = (
    *(
        Algorithm(name=name, operation="all_reduce", reduction="sum")
        for name in (
            "allreduce_ring",
            "allreduce_ring_chunked",
            "allreduce_halving_doubling",
            "allreduce_halving_doubling_pipelined",
            "allreduce_bcube",
            "new_allreduce_ring",
        )
    ),
    Algorithm(name="allreduce_local", operation="local_reduce"),
    *(Algorithm(name=name, operation="all_gather", size_is=SizeIs.BLOCK) for name in ("allgather", "allgather_ring")),
    # Unlike parts, of which elements are no size.
    Algorithm(name="allgather_v", operation="all_gather_v", sized=False),
    Algorithm(name="alltoall_v", operation="all_to_all_v", sized=False),
    # The elements moved are uint64_t, whatever type the tool counts.
    Algorithm(name="alltoall", operation="all_to_all", size_is=SizeIs.BLOCK, itemsize_moved=8),
    *(Algorithm(name=name, operation="barrier", sized=False) for name in ("barrier_all_to_all", "barrier_all_to_one")),
    *(Algorithm(name=name, operation="broadcast") for name in ("broadcast", "broadcast_one_to_all")),
    Algorithm(name="broadcast_ring", operation="broadcast_and_barrier"),
    Algorithm(name="reduce", operation="reduce", reduction="sum"),
    Algorithm(name="reduce_scatter", operation="reduce_scatter", reduction="sum"),
    Algorithm(name="scatter", operation="scatter", size_is=SizeIs.BLOCK),
    Algorithm(name="pairwise_exchange", operation="pairwise_exchange", itemsizes=(1,)),
    # Rank 0 waits for the message to come back.
    Algorithm(name="sendrecv_roundtrip", operation="ping_pong", trips=2),
    # So many messages a call as an option says; no line does.
    Algorithm(name="sendrecv_stress", operation="send_recv_stress"),
    Algorithm(name="isendirecv_stress", operation="send_recv_stress"),
)
_ALGORITHMS = {one.name: one for one in _ROWS}
_CAPITALS_ONLY = ("allgather", "allgather_v", "alltoall", "alltoall_v", "broadcast", "reduce", "scatter")
"""Algorithms of the versions that print the name in capitals."""


def algorithm_of(name: str) -> Algorithm | None:
    """Return an algorithm by name; None where there is none."""
    found = _ALGORITHMS.get(name.removeprefix("cuda_"))
    if found is None or not name.startswith("cuda_"):
        return found
    return msgspec.structs.replace(found, name=name, device=Device.CUDA)


def is_ambiguous(name: str, *, capitals: bool) -> bool:
    """Return whether a name may be the beginning of another one, whose line was cut."""
    bare = name.removeprefix("cuda_")
    if not capitals and bare in _CAPITALS_ONLY:
        return True
    return capitals and any(other != bare and other.startswith(bare) for other in _ALGORITHMS)


def centred(text: str) -> bool:
    """Return whether a title stands in the middle of its line, which a cut one does not."""
    return len(text) == _WIDTH // 2 + len(text.strip()) // 2
