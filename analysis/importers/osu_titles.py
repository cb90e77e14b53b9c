"""The titles of the OSU micro-benchmarks: which benchmark a table belongs to, and what its size and time mean.

Sources: the BENCHMARK strings of the suite's ``c/mpi/**/*.c``, ``c/nccl`` and ``c/xccl`` (versions 3.1 to 7.5), and of
``python/mpi/*.py`` of OMB-Py. What a size is: osu_allgather, osu_gather, osu_scatter and osu_alltoall send ``size``
bytes per rank or destination; osu_reduce_scatter divides ``size`` among the ranks.
"""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

from collmark.analysis.importers.row import SizeIs
from collmark.core.case import Cadence, Form


class Kind(StrEnum):
    """Which column holds the figure."""

    LATENCY = "latency"
    BANDWIDTH = "bandwidth"
    RATE = "rate"
    """Bandwidth and messages per second of several pairs together."""


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """One benchmark of the suite.

    Attributes
    ----------
    operation : str
        collmark's name, or a name of its own where collmark has none.
    programs : tuple of str
        What its program is called after ``osu_``, without what tells the form.
    kind : Kind
    size_is : SizeIs
    of_ranks : bool
        Every rank has a time, and their mean is printed; otherwise it is rank 0's.
    reduces, one_sided : bool
    directions : int
        Whose bytes the bandwidth counts.
    streams : bool
        A window of messages is in flight.
    """

    operation: str
    programs: tuple[str, ...]
    kind: Kind = Kind.LATENCY
    size_is: SizeIs = SizeIs.CANONICAL
    of_ranks: bool = True
    reduces: bool = False
    one_sided: bool = False
    directions: int = 1
    streams: bool = False


class Title(msgspec.Struct, frozen=True, kw_only=True):
    """What a title says.

    Attributes
    ----------
    benchmark : Benchmark or None
        None for one that is not known.
    tool, backend : str
    version : str
        Major and minor: a third number may be cut off unseen.
    form : Form
    accelerator : str
        As printed: "CUDA", "ROCM", "OPENACC"; empty in a build or run without.
    cadence : Cadence
    """

    benchmark: Benchmark | None
    tool: str = "osu"
    backend: str = "mpi"
    version: str = ""
    form: Form = Form.BLOCKING
    accelerator: str = ""
    cadence: Cadence = Cadence.ISOLATED


def _collective(operation: str, *programs: str, block: bool = False, reduces: bool = False) -> Benchmark:
    return Benchmark(
        operation=operation,
        programs=programs,
        size_is=SizeIs.BLOCK if block else SizeIs.CANONICAL,
        reduces=reduces,
    )


def _pair(operation: str, program: str, kind: Kind = Kind.LATENCY, directions: int = 1) -> Benchmark:
    return Benchmark(
        operation=operation,
        programs=(program,),
        kind=kind,
        of_ranks=False,
        directions=directions,
        streams=kind is Kind.BANDWIDTH,
    )


_ALL_TO_ALL = _collective("all_to_all", "alltoall", block=True)
_ALL_TO_ALL_V = _collective("all_to_all_v", "alltoallv", block=True)
_ALL_TO_ALL_W = _collective("all_to_all_w", "alltoallw", block=True)
_BROADCAST = _collective("broadcast", "bcast")

BENCHMARKS = {
    "latency": _pair("ping_pong", "latency"),
    "bandwidth": _pair("stream", "bw", Kind.BANDWIDTH),
    "bi-directional bandwidth": _pair("bidirectional_stream", "bibw", Kind.BANDWIDTH, directions=2),
    "multi-threaded latency": _pair("ping_pong_multithreaded", "latency_mt"),
    "multi-process latency": _pair("ping_pong_multiprocess", "latency_mp"),
    "multi latency": Benchmark(operation="multi_ping_pong", programs=("multi_lat",)),
    "multiple bandwidth / message rate": Benchmark(
        operation="multi_pair_stream", programs=("mbw_mr",), kind=Kind.RATE, streams=True
    ),
    "allgather": _collective("all_gather", "allgather", block=True),
    "allgatherv": _collective("all_gather_v", "allgatherv", block=True),
    "allreduce": _collective("all_reduce", "allreduce", reduces=True),
    "all-to-all personalized exchange": _ALL_TO_ALL,
    "all-to-all": _ALL_TO_ALL,
    "alltoall": _ALL_TO_ALL,
    "all-to-allv personalized exchange": _ALL_TO_ALL_V,
    "all-to-allv": _ALL_TO_ALL_V,
    "alltoallv": _ALL_TO_ALL_V,
    "all-to-allw personalized exchange": _ALL_TO_ALL_W,
    "all-to-allw": _ALL_TO_ALL_W,
    "barrier": _collective("barrier", "barrier"),
    "broadcast": _BROADCAST,
    "bcast": _BROADCAST,
    "gather": _collective("gather", "gather", block=True),
    "gatherv": _collective("gather_v", "gatherv", block=True),
    "reduce": _collective("reduce", "reduce", reduces=True),
    "reduce_scatter": _collective("reduce_scatter", "reduce_scatter", reduces=True),
    # Its size is rounded down to a multiple of the ranks, which the text does not show.
    "reduce_scatter_block": _collective("reduce_scatter_block", "reduce_scatter_block", reduces=True),
    "scatter": _collective("scatter", "scatter", block=True),
    "scatterv": _collective("scatter_v", "scatterv", block=True),
    "neighborhood allgather": _collective("neighbor_all_gather", "neighbor_allgather"),
    "neighborhood allgatherv": _collective("neighbor_all_gather_v", "neighbor_allgatherv"),
    "neighborhood all-to-all": _collective("neighbor_all_to_all", "neighbor_alltoall"),
    "neighborhood all-to-allv": _collective("neighbor_all_to_all_v", "neighbor_alltoallv"),
    "neighborhood all-to-allw": _collective("neighbor_all_to_all_w", "neighbor_alltoallw"),
}
"""By what stands between the library and ``Test``, in lower case, without the words that tell the form."""


def _one_sided(operation: str, program: str, kind: Kind = Kind.LATENCY, directions: int = 1) -> Benchmark:
    return msgspec.structs.replace(_pair(operation, program, kind, directions), one_sided=True)


ONE_SIDED = {
    ("put", "latency"): _one_sided("put", "put_latency"),
    ("put", "bandwidth"): _one_sided("put_stream", "put_bw", Kind.BANDWIDTH),
    ("put", "bi-directional bandwidth"): _one_sided("put_bidirectional_stream", "put_bibw", Kind.BANDWIDTH, 2),
    ("get", "latency"): _one_sided("get", "get_latency"),
    ("get", "bandwidth"): _one_sided("get_stream", "get_bw", Kind.BANDWIDTH),
    ("accumulate", "latency"): _one_sided("accumulate", "acc_latency"),
    ("get_accumulate", "latency"): _one_sided("get_accumulate", "get_acc_latency"),
    ("fetch_and_op", "latency"): _one_sided("fetch_and_op", "fop_latency"),
    ("compare_and_swap", "latency"): _one_sided("compare_and_swap", "cas_latency"),
}
"""By the call and what is measured of it."""

OPENS = r"#? ?(?:OSU (?:One Sided )?(?:MPI|NCCL|RCCL)|OMB(?:-Py| Python) MPI) ?"
"""How a title begins, after spaces."""
_VERSION = r"(?: v(?:(?P<version>\d{1,3}\.\d{1,3})\S*|\S*))?"
_C = re.compile(
    r"#? ?OSU (?:One Sided )?(?P<library>MPI|NCCL|RCCL)(?:_(?P<call>\w+?))?"
    r"(?:-(?P<accelerator>CUDA MANAGED|CUDA|MANAGED|ROCM|OPENACC|CXL))? (?P<name>\S.*?) Test" + _VERSION
)
_PYTHON = re.compile(r"#? ?OMB(?:-Py| Python) MPI (?P<name>\S.*?) Test" + _VERSION)


def read_title(text: str) -> Title | None:
    """Return what a line says as a title, or None where it is none or cut off."""
    found = _C.fullmatch(text)
    if found is None:
        found = _PYTHON.fullmatch(text)
        if found is None:
            return None
        return Title(
            benchmark=BENCHMARKS.get(found["name"].lower()), tool="omb-py", version=found["version"] or "",
            cadence=Cadence.STREAMING,
        )  # fmt: skip
    name, form = _form_of(found["name"].lower())
    benchmark = ONE_SIDED.get((found["call"].lower(), name)) if found["call"] else _named(name)
    return Title(
        benchmark=benchmark,
        backend=found["library"].lower(),
        version=found["version"] or "",
        form=form,
        accelerator=(found["accelerator"] or "").replace("MANAGED", "CUDA MANAGED").replace("CUDA CUDA", "CUDA"),
        cadence=Cadence.ISOLATED if benchmark is not None and benchmark.of_ranks else Cadence.STREAMING,
    )


def _form_of(name: str) -> tuple[str, Form]:
    """Return the name without the words that tell how the operation is called, and how."""
    words = name.split()
    if "persistent" in words:
        return " ".join(word for word in words if word != "persistent"), Form.PERSISTENT
    if words[0] in ("non-blocking", "nonblocking"):
        return " ".join(words[1:]), Form.NONBLOCKING
    return name, Form.BLOCKING


def _named(name: str) -> Benchmark | None:
    found = BENCHMARKS.get(name)
    if found is None and name.endswith(" latency"):
        found = BENCHMARKS.get(name.removesuffix(" latency").replace("neighbor ", "neighborhood "))
    return found
