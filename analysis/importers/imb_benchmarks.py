"""The Intel MPI Benchmarks by name, and the layouts of their tables.

Sources: ``src_c/IMB_parse_name_mpi1.c``, ``IMB_parse_name_nbc.c`` and ``IMB_parse_name_rma.c`` (names, scale_time,
scale_bw) and ``src_c/IMB_output.c`` (IMB_print_header).
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from collmark.analysis.importers.row import SizeIs
from collmark.core.case import Cadence, Form


class Layout(StrEnum):
    """Which columns a table has."""

    TIME_AND_BANDWIDTH = "time and bandwidth"
    RANGE_AND_BANDWIDTH = "range of times and bandwidth"
    RATE = "bandwidth and message rate"
    RANGE = "range of times"
    OVERLAP = "overlap"
    SYNC = "range of times without sizes"
    SYNC_OVERLAP = "overlap without sizes"
    PASSIVE = "passive target"


_HEAD = ("#bytes", "#repetitions")
_RANGE = ("t_min[usec]", "t_max[usec]", "t_avg[usec]")
_OVERLAP = ("t_ovrl[usec]", "t_pure[usec]", "t_CPU[usec]", "overlap[%]")
LAYOUTS = {
    (*_HEAD, "t[usec]", "Mbytes/sec"): Layout.TIME_AND_BANDWIDTH,
    (*_HEAD, *_RANGE, "Mbytes/sec"): Layout.RANGE_AND_BANDWIDTH,
    (*_HEAD, "Mbytes/sec", "Msg/sec"): Layout.RATE,
    (*_HEAD, *_RANGE): Layout.RANGE,
    (*_HEAD, *_OVERLAP): Layout.OVERLAP,
    ("#repetitions", *_RANGE): Layout.SYNC,
    ("#repetitions", *_OVERLAP): Layout.SYNC_OVERLAP,
    (*_HEAD, "t_pure[usec]", "t_ovrl[usec]"): Layout.PASSIVE,
}
"""By the names of columns, without those of groups and of defects."""
GROUP, DEFECTS = "Group", "defects"

TRANSFER = (Layout.TIME_AND_BANDWIDTH, Layout.RANGE_AND_BANDWIDTH)


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """One benchmark.

    Attributes
    ----------
    operation : str
        collmark's name, or a name of its own where collmark has none.
    layouts : tuple of Layout
        Its tables'.
    size_is : SizeIs
    by_version : bool
        What its size is depends on the version.
    reduces : bool
    form : Form
    cadence : Cadence
    counts : int
        How many messages' bytes its bandwidth counts per time; 0 where that is not known.
    directions : int
        Of messages at once between two ranks.
    settings : str
    """

    operation: str
    layouts: tuple[Layout, ...]
    size_is: SizeIs = SizeIs.CANONICAL
    by_version: bool = False
    reduces: bool = False
    form: Form = Form.BLOCKING
    cadence: Cadence = Cadence.ISOLATED
    counts: int = 0
    directions: int = 1
    settings: str = ""


def _transfer(operation: str, counts: int, *layouts: Layout, directions: int = 1) -> Benchmark:
    return Benchmark(
        operation=operation, layouts=layouts, cadence=Cadence.STREAMING, counts=counts, directions=directions
    )


def _collective(operation: str, *, block: bool = False, reduces: bool = False) -> Benchmark:
    return Benchmark(
        operation=operation,
        layouts=(Layout.RANGE,),
        size_is=SizeIs.BLOCK if block else SizeIs.CANONICAL,
        reduces=reduces,
    )


_REDUCE_SCATTER = msgspec.structs.replace(_collective("reduce_scatter", reduces=True), by_version=True)
_COLLECTIVES = {
    "Allreduce": _collective("all_reduce", reduces=True),
    "Reduce": _collective("reduce", reduces=True),
    "Reduce_scatter": _REDUCE_SCATTER,
    "Bcast": _collective("broadcast"),
    "Allgather": _collective("all_gather", block=True),
    "Allgatherv": _collective("all_gather_v", block=True),
    "Gather": _collective("gather", block=True),
    "Gatherv": _collective("gather_v", block=True),
    "Scatter": _collective("scatter", block=True),
    "Scatterv": _collective("scatter_v", block=True),
    "Alltoall": _collective("all_to_all", block=True),
    "Alltoallv": _collective("all_to_all_v", block=True),
    "Barrier": Benchmark(operation="barrier", layouts=(Layout.SYNC,)),
}


def _non_blocking(name: str, blocking: Benchmark) -> dict[str, Benchmark]:
    """Return a collective of IMB-NBC: with computation at the same time, and without."""
    pure = msgspec.structs.replace(blocking, form=Form.NONBLOCKING)
    overlapped = {Layout.RANGE: Layout.OVERLAP, Layout.SYNC: Layout.SYNC_OVERLAP}[blocking.layouts[0]]
    called = "I" + name.lower()
    return {called: msgspec.structs.replace(pure, layouts=(overlapped,)), f"{called}_pure": pure}


def _own(name: str) -> Benchmark:
    """Return a benchmark that collmark has no counterpart of, by its own name."""
    return Benchmark(operation=name.lower(), layouts=(*TRANSFER, Layout.RANGE, Layout.PASSIVE))


_PING_PONG = _transfer("ping_pong", 1, *TRANSFER)
BENCHMARKS = (
    {
        "PingPong": _PING_PONG,
        "PingPongSpecificSource": _PING_PONG,
        "PingPongAnySource": _transfer("ping_pong_any_source", 1, *TRANSFER),
        "PingPing": _transfer("ping_ping", 1, *TRANSFER),
        "PingPingSpecificSource": _transfer("ping_ping", 1, *TRANSFER),
        "PingPingAnySource": _transfer("ping_ping_any_source", 1, *TRANSFER),
        "Sendrecv": _transfer("send_recv", 2, Layout.RANGE_AND_BANDWIDTH),
        "Exchange": _transfer("exchange", 4, Layout.RANGE_AND_BANDWIDTH),
        "Uniband": _transfer("multi_pair_stream", 1, Layout.RATE),
        "Biband": _transfer("multi_pair_bidirectional_stream", 2, Layout.RATE, directions=2),
        "Reduce_scatter_block": msgspec.structs.replace(
            _collective("reduce_scatter", block=True, reduces=True), settings="MPI_Reduce_scatter_block"
        ),
    }
    | _COLLECTIVES
    | {name: one for called, blocking in _COLLECTIVES.items() for name, one in _non_blocking(called, blocking).items()}
    | {
        name: _own(name)
        for name in (
            "Unidir_put", "Unidir_get", "Bidir_put", "Bidir_get", "One_put_all", "One_get_all", "All_put_all",
            "All_get_all", "Put_local", "Get_local", "Put_all_local", "Get_all_local", "Exchange_put", "Exchange_get",
            "Accumulate", "Get_accumulate", "Fetch_and_op", "Compare_and_swap", "Truly_passive_put", "Unidir_Put",
            "Unidir_Get", "Bidir_Put", "Bidir_Get", "Window",
        )
    }
)  # fmt: skip
"""By the name that stands after ``# Benchmarking``."""
STREAMS = {"multi_pair_stream": "stream", "multi_pair_bidirectional_stream": "bidirectional_stream"}
"""What these are with one pair of ranks."""
