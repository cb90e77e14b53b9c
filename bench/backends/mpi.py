"""MPI through mpi4py, buffers in host memory: the library's own functions, called by the native loop."""

from __future__ import annotations

import ctypes
import importlib.util
import mmap
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collmark.bench.backends import slurm_pmi
from collmark.bench.backends.mpi_calls import IN_PLACE, Call, Handles, Library, own_part, program_of
from collmark.bench.rotation import spacing
from collmark.bench.session import Backend, World
from collmark.bench.start_page import BlockTimer, make_page, open_page
from collmark.core.case import Case, Form
from collmark.core.dtype import DTYPES
from collmark.core.errors import UnavailableError
from collmark.core.expansion import Capability
from collmark.core.grouping import Group, groups_of
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Tier
from collmark.core.record import Evidence
from collmark.kernels.addition import FloatArray
from collmark.kernels.buffer import HostBuffer
from collmark.kernels.native import WORD, NativeLoop, Program, Step, load_loop

NO_SUCH_TYPE = "MPI has no such type to reduce; it is only moved, as 16-bit words"
CAPABILITY = Capability(
    # MPI's broadcast has one buffer for what is sent and received.
    operations={name: name == "broadcast" for name in OPERATIONS},
    dtypes=("float32", "float64", "bfloat16", "float16", "int32", "int8", "uint8"),
    reductions=("sum", "prod", "min", "max"),
    also_in_place=IN_PLACE,
    forms=tuple(Form),
    takes_thread_level=True,
    unreduced={"bfloat16": NO_SUCH_TYPE, "float16": NO_SUCH_TYPE},
)
TYPES = {
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "bfloat16": "UINT16_T",
    "float16": "UINT16_T",
    "int32": "INT32_T",
    "int8": "INT8_T",
    "uint8": "UINT8_T",
}
STATUS_IGNORE = {"mpich": 1, "openmpi": 0}  # as both families' mpi.h define it for programs that are compiled already
MOST_CORES = 1 << 16
SHARED = "/dev/shm/"  # noqa: S108 - where libraries' segments are looked for; nothing is written there


class MpiSession:
    """MPI initialised on one rank."""

    asynchronous = False

    def __init__(self, world: World) -> None:
        self.world = world
        self.mpi = _import_mpi(world.plan.mpi_library)
        self._level = _initialise(self.mpi, world.plan.thread_level)
        self._check_ranks()
        # A communicator of our own: its errors are returned to us, and ranks have our order.
        self.comm = self.mpi.COMM_WORLD.Split(0, world.rank)
        self.comm.Set_errhandler(self.mpi.ERRORS_RETURN)
        self.library = _functions(self.mpi)
        self.timer = self._make_timer(load_loop())
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, *[WORD] * 5)
        self._reduce_local = prototype(self.library.address("MPI_Reduce_local"))
        self._sum = [self.mpi._handleof(handle) for handle in (self.mpi.FLOAT, self.mpi.SUM)]  # noqa: SLF001 - as below
        self.clock = time.monotonic_ns
        self._pools: list[NDArray[np.uint8]] = []
        self._comms: dict[str, Any] = {}

    def _check_ranks(self) -> None:
        found, version = self.mpi.COMM_WORLD.Get_size(), _version(self.mpi)
        if found != self.world.ranks:
            raise UnavailableError(
                f"{version} counts {found} rank{'s' if found > 1 else ''}, {self.world.ranks} were started: "
                + (slurm_pmi.remedy(os.environ) or "their launcher belongs to another MPI; use this library's mpiexec")
            )

    def _make_timer(self, loop: NativeLoop | None) -> BlockTimer | None:
        """Return what times blocks; the page only where every rank can open it."""
        ranks, rank = self.world.ranks, self.world.rank
        nbytes = loop.page_nbytes(ranks) if loop else 0
        page, ticket = (make_page(nbytes) if loop and rank == 0 and self.world.one_host else None) or (None, b"")
        ticket = self.world.share(ticket)
        if rank and loop:
            page = open_page(ticket, nbytes)
        has = np.array([loop is not None, page is not None], dtype=np.int32)
        self.mpi.COMM_WORLD.Allreduce(self.mpi.IN_PLACE, has, self.mpi.MIN)
        if loop is None or not has[0]:
            return None
        return BlockTimer(
            loop, page if has[1] else None, rank=rank, ranks=ranks, crowded=self._is_crowded(), words_of=self._words_of
        )

    def _is_crowded(self) -> bool:
        """Whether there are more ranks than cores that any of them may run on."""
        cores = np.zeros(MOST_CORES, dtype=np.uint8)
        own = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
        cores[[core for core in own if core < MOST_CORES]] = 1
        self.mpi.COMM_WORLD.Allreduce(self.mpi.IN_PLACE, cores, self.mpi.MAX)
        return int(cores.sum()) < self.world.ranks

    def _words_of(self, fault: int) -> str:
        try:
            return str(self.mpi.Get_error_string(fault))
        except self.mpi.Exception:
            return f"MPI returned {fault}"

    def reserve(self, nbytes: int) -> None:
        """Allocate one send and one receive buffer, each on pages of its own, from which all cases take their part."""
        try:
            self._pools = [np.frombuffer(mmap.mmap(-1, max(8, nbytes)), dtype=np.uint8) for _ in range(2)]
        except (OSError, ValueError, OverflowError, MemoryError) as error:
            msg = f"2 buffers of {nbytes} B do not fit into memory: choose smaller --sizes"
            raise UnavailableError(msg) from error
        for pool in self._pools:
            pool.fill(0)  # pages are there before anything is timed

    def arrange(self, group: Group) -> None:
        """Make the communicators of an arrangement, where there are none yet; all ranks call it.

        Pairs need none: their messages name ranks of the whole.
        """
        if not group.is_pair and group.arrangement not in self._comms:
            each = groups_of(group.arrangement, group.world, group.company)
            own = next(one.index for one in each if self.world.rank in one.members)
            comm = self._comms[group.arrangement] = self.comm.Split(own, self.world.rank)
            comm.Set_errhandler(self.mpi.ERRORS_RETURN)

    def bind(self, case: Case, slot: int) -> MpiBound:
        """Take views of the buffers and make the program."""
        return MpiBound(self, case, slot)

    def view(self, pool: int, case: Case, count: int, begin: int = 0) -> tuple[int, HostBuffer]:
        """Return `count` elements from a byte of a buffer on, as address and as host buffer."""
        dtype = DTYPES[case.dtype]
        raw = self._pools[pool][begin : begin + count * dtype.itemsize].view(dtype.storage)
        address = int(self._pools[pool].ctypes.data) + begin
        return address, HostBuffer(raw, dtype, reduction=case.reduction, ranks=case.placement.ranks)

    def handles_of(self, case: Case) -> Handles:
        """Return the words of the handles that a case needs."""
        group = case.group
        comm = self.comm if group is None or group.is_pair else self._comms[group.arrangement]
        word, mpi = self.mpi._handleof, self.mpi  # noqa: SLF001 - mpi4py documents it for this purpose
        return Handles(
            comm=word(comm),
            element=word(getattr(mpi, TYPES[case.dtype])),
            byte=word(mpi.BYTE),
            op=word(getattr(mpi, case.reduction.upper()) if case.reduction else mpi.OP_NULL),
            info=word(mpi.INFO_NULL),
            in_place=int(mpi.IN_PLACE),
        )

    def add(self, to: FloatArray, source: FloatArray) -> None:
        """Add by MPI_Reduce_local, which reductions of most libraries call."""
        self._reduce_local(source.ctypes.data, to.ctypes.data, to.size, *self._sum)

    def synchronize(self) -> None:
        """Calls block: there is nothing to wait for."""

    def facts(self) -> Mapping[str, str]:
        """Versions and settings."""
        starts = "agreed on a shared page" if self.timer and self.timer.agrees else "agreed over the control channel"
        import mpi4py

        return {
            "mpi": _version(self.mpi),
            "mpi_library": self.world.plan.mpi_library,
            "mpi4py": str(mpi4py.__version__),
            "thread_level": self._level,
            "starts": starts,
            "loop": "native, MPI's functions by address"
            if self.timer
            else "Python, MPI's functions through ctypes: the native loop was not built",
        }

    def evidence(self, *, one_host: bool) -> Evidence:
        """Tier from the hosts and from what this process shares with others."""
        if not one_host:
            if self.mpi.get_vendor()[0] == "MPICH" and (settings := tcp_settings(os.environ)):
                return Evidence(tier=Tier.TCP, because=["several hosts", f"MPICH has nothing but TCP: {settings}"])
            return Evidence(tier=Tier.UNKNOWN, because=["several hosts; MPI does not tell which link it uses"])
        segments = shared_segments()
        if self.world.ranks > 1 and segments:
            because = ["all ranks on one host", f"rank {self.world.rank} maps {', '.join(segments)}"]
            return Evidence(tier=Tier.SHARED_MEMORY, because=because)
        return Evidence(tier=Tier.UNKNOWN, because=["one host; no segment of MPI's in shared memory was found"])

    def close(self) -> None:
        """Leave MPI."""
        for comm in (*self._comms.values(), self.comm):
            comm.Free()
        self.mpi.Finalize()


class MpiBound:
    """A case bound to buffers on one rank."""

    def __init__(self, session: MpiSession, case: Case, slot: int) -> None:
        operation, exchange = OPERATIONS[case.operation], case.exchange
        rank = case.members.index(session.world.rank)
        sent = sum(segment.count for segment in operation.sends(exchange, rank))
        received = sum(segment.count for segment in operation.expects(exchange, rank))
        begin, own = slot * spacing(case.nbytes), 0
        if case.in_place:
            own = own_part(case, rank)
            # A rank that only sends, or only receives, has the other side's data in the same place.
            sent, received = sent or received, max(sent, received)
        send, self.send = session.view(0, case, sent, begin + own)
        receive, self.receive = session.view(0 if case.in_place else 1, case, received, begin)
        self._call = Call(session.library, session.handles_of(case), case, rank=rank, send=send, receive=receive)
        self._session = session
        try:
            self.program: Program = program_of(self._call)
        except UnavailableError:
            self.release()
            raise
        self.call: Callable[[], object] = self.program.call

    def overlapping(self, compute: int) -> Program | None:
        """Return the program with a computation of so many ns before the wait; None unless it is non-blocking."""
        timer, case = self._session.timer, self._call.case
        if timer is None or case.form is not Form.NONBLOCKING or OPERATIONS[case.operation].pair:
            return None
        *begun, wait = self.program.calls
        computed = Step(timer.loop.compute_address, (compute,))
        return Program([*begun, computed, wait], self.program.keeps)

    def device_time(self) -> int:
        """No device."""
        return 0

    def release(self) -> None:
        """Free persistent requests; the buffers belong to the session."""
        for request in self._call.requests:
            self._session.library.free_request(request)
        self._call.requests.clear()


def _import_mpi(path: str) -> ModuleType:
    """Import mpi4py's module over a library, MPI not initialised."""
    if path:
        os.environ["MPI4PY_LIBMPI"] = path
        os.environ.pop("MPI4PY_MPIABI", None)
    import mpi4py

    mpi4py.rc.initialize = False
    mpi4py.rc.finalize = False
    from mpi4py import MPI

    return MPI


def _initialise(mpi: ModuleType, wanted: str) -> str:
    """Initialise MPI at a thread level, and return the level in force."""
    names = {getattr(mpi, f"THREAD_{name.upper()}"): name for name in ("single", "funneled", "serialized", "multiple")}
    levels = {name: level for level, name in names.items()}
    provided = mpi.Init_thread(levels[wanted])
    if provided < levels[wanted]:
        raise UnavailableError(
            f"{_version(mpi)} gives thread level {names[provided]} where {wanted} was asked for: --thread-level "
            f"{names[provided]}"
        )
    return wanted if provided == levels[wanted] else f"{wanted} (the library gives {names[provided]})"


def _functions(mpi: ModuleType) -> Library:
    path = str(mpi.__file__)
    library = Library(
        path,
        _version(mpi),
        status_nbytes=mpi._sizeof(mpi.Status),  # noqa: SLF001 - documented, as above
        request_nbytes=mpi._sizeof(mpi.Request),  # noqa: SLF001
        ignore=None,
    )
    if "mpiabi" not in Path(path).name:  # the ABI of MPI 5 has yet another word
        library.ignore = STATUS_IGNORE["openmpi" if library.has("ompi_mpi_comm_self") else "mpich"]
    return library


def _version(mpi: ModuleType) -> str:
    name, numbers = mpi.get_vendor()
    return f"{name} {'.'.join(map(str, numbers))}"


def shared_segments() -> list[str]:
    """Return the files of shared memory that this process maps, digits that differ from launch to launch left out."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    names = {line.split(maxsplit=5)[5] for line in lines if SHARED in line and line.split()[1].endswith("s")}
    return sorted({name.removesuffix(" (deleted)").rstrip("0123456789.").rstrip("_-") for name in names})


def tcp_settings(environ: Mapping[str, str]) -> str:
    """Return the settings that leave MPICH nothing but TCP between hosts, over UCX and libfabric alike; or empty."""
    ucx, fabric = (environ.get(name, "") for name in ("UCX_TLS", "FI_PROVIDER"))
    is_tcp = "tcp" in ucx.split(",") and {*ucx.split(",")} <= {"tcp", "self"} and fabric == "tcp"
    return f"UCX_TLS={ucx}, FI_PROVIDER={fabric}" if is_tcp else ""


def _missing() -> str:
    if importlib.util.find_spec("mpi4py") is None:
        return "mpi4py is not installed: pip install 'collmark[mpi]', or 'collmark[mpi-embedded]' without an MPI here"
    return ""


MPI = Backend(
    name="mpi",
    capability=CAPABILITY,
    missing=_missing,
    open=MpiSession,
    needs_mpiexec=True,
    load=lambda plan: _import_mpi(plan.mpi_library),
    remedy=lambda: slurm_pmi.remedy(os.environ),
)
