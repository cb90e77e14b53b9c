"""NCCL through torch.distributed's public functions, one GPU a rank: what PyTorch users feel, buffers in its memory.

A call only queues work on the GPU. T is by the host's clock, from before the call until the stream has nothing left to
do; beside it stand the time to queue, and the interval between two events of the GPU around the call
(docs/decisions/0010-nccl-estimands.md).
"""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from collmark.bench.backends.cuda_driver import find_driver, missing_for, torch_cuda
from collmark.bench.backends.gpu_seat import SHARED, choose_gpu, is_asked, shared_words, sharing_environment
from collmark.bench.backends.torch_calls import QUEUED_CALLS
from collmark.bench.backends.torch_session import CAPABILITY, TorchSession, load_torch, without_torch
from collmark.bench.session import Backend, World
from collmark.core.case import Buffers, Case, Device
from collmark.core.dtype import DTYPES
from collmark.core.errors import UnavailableError
from collmark.core.numeral import counted
from collmark.core.placement import Tier
from collmark.core.record import Evidence
from collmark.kernels.buffer import PayloadBuffer
from collmark.kernels.device_buffer import DeviceBuffer

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributed import TCPStore

QUERY = {"driver": "driver_version", "sm_clock": "clocks.sm", "most_sm_clock": "clocks.max.sm"}
ASK_SECONDS = 10.0  # for nvidia-smi to answer
CALIBRATIONS = 200  # records of an event


class NcclSession(TorchSession):
    """torch.distributed's NCCL process group on one rank."""

    asynchronous = True
    calls = QUEUED_CALLS

    def __init__(self, world: World) -> None:
        super().__init__(world)
        if not self.dist.is_nccl_available():
            raise UnavailableError("this torch is built without NCCL: install the default wheel for Linux")
        cuda = self.torch.cuda
        # Rank 0 decides: an arrangement that only some ranks know of would not be marked.
        self._is_shared = bool(world.share(b"shared" if is_asked() else b""))
        if self._is_shared:
            _set_environment(world)
        # torch warns that messages outside a batch wait for each other on one stream; those of a case are meant to.
        os.environ.setdefault("TORCH_NCCL_SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING", "false")
        gpu = choose_gpu(world.local_rank, cuda.device_count(), shared=self._is_shared)
        self.place = f"cuda:{gpu}"
        cuda.set_device(gpu)
        self._properties = cuda.get_device_properties(gpu)
        # One stream for everything: what torch's functions call the current one. A collective is queued on it itself
        # (on a stream of torch's own before torch 2.8, and point-to-point operations still are), and it goes on only
        # when that is done. So an event before the call and one after it are before and after the operation.
        self._stream = cuda.current_stream()
        self._begin, self._end = (cuda.Event(enable_timing=True) for _ in range(2))
        store = self.open_store()
        if not self._is_shared:
            self._check_own_gpu(store)
        self.join("nccl", store, self.torch.device(self.place))

    def _check_own_gpu(self, store: TCPStore) -> None:
        """Raise UnavailableError, on every rank, where two of them have the same GPU."""
        world = self.world
        store.set(f"gpu-{world.rank}", str(self._properties.uuid))
        words = ""
        if world.rank == 0:
            words = shared_words([store.get(f"gpu-{rank}").decode() for rank in range(world.ranks)])
        words = world.share(words.encode()).decode()
        if words:
            raise UnavailableError(words)

    def buffer(self, raw: Tensor, case: Case) -> PayloadBuffer:
        """Return the bytes of a tensor as what is written and compared."""
        return DeviceBuffer(raw, DTYPES[case.dtype], reduction=case.reduction, ranks=case.placement.ranks)

    def call_of(self, case: Case, send: Tensor, receive: Tensor) -> Callable[[], object]:
        """Return the operation, queued behind the first of the two events."""
        record, stream, operation = self._begin.record, self._stream, super().call_of(case, send, receive)

        def call() -> None:
            record(stream)
            operation()

        return call

    def synchronize(self) -> None:
        """Queue the second event, and wait for everything queued: the host does the former while the GPU works."""
        self._end.record(self._stream)
        self._stream.synchronize()

    def device_time(self) -> int:
        """Ns between the events around the last call; they resolve about 0.5 us (CUDA's cudaEventElapsedTime)."""
        milliseconds: float = self._begin.elapsed_time(self._end)
        return round(milliseconds * 1e6)

    def facts(self) -> Mapping[str, str]:
        """Versions, the GPU, and what an event adds to every T."""
        torch = self.torch
        nccl = ".".join(map(str, torch.cuda.nccl.version()))
        arrangement = {"arrangement": SHARED} if self._is_shared else {}
        return {
            **arrangement,
            "torch": str(torch.__version__),
            "nccl": nccl,
            "cuda": str(torch.version.cuda),
            "gpu": self._properties.name,
            **_asked_of_smi(f"GPU-{self._properties.uuid}"),
            "event_record": f"{self._event_seconds() * 1e6:.2f} us of each T and time to queue",
            "loop": "torch.distributed's public functions from Python; the stream is waited for",
        }

    def _event_seconds(self) -> float:
        """Return the host's time to queue an event in s, median."""
        record, stream, clock = self._begin.record, self._stream, self.clock
        seconds = []
        for _ in range(CALIBRATIONS):
            before = clock()
            record(stream)
            seconds.append((clock() - before) * 1e-9)
        stream.synchronize()
        return statistics.median(seconds)

    def evidence(self, *, one_host: bool) -> Evidence:
        """What torch can tell of the link, which is not its class."""
        if self._is_shared:
            return Evidence(tier=Tier.SHARED_GPU, because=[SHARED, "over sockets, as between hosts"])
        if not one_host:
            return Evidence(tier=Tier.UNKNOWN, because=["several hosts; torch does not tell which link NCCL uses"])
        return Evidence(tier=Tier.UNKNOWN, because=["one host", self._peer_words()])

    def _peer_words(self) -> str:
        ranks, cuda = self.world.ranks, self.torch.cuda
        if ranks > cuda.device_count():
            return "rank 0 does not see the other ranks' GPUs"
        pairs = [(one, other) for one in range(ranks) for other in range(ranks) if one != other]
        reach = sum(cuda.can_device_access_peer(one, other) for one, other in pairs)
        how = "; torch does not tell whether by NVLink or PCIe" if reach else ""
        return f"{reach} of {counted(len(pairs), 'pair')} of GPUs can reach each other's memory{how}"


def _set_environment(world: World) -> None:
    for name, value in sharing_environment(world.rank, socket.gethostname(), one_host=world.one_host).items():
        if name == "NCCL_HOSTID":
            os.environ[name] = value
        else:
            os.environ.setdefault(name, value)


def _asked_of_smi(gpu: str) -> dict[str, str]:
    """Return what only nvidia-smi says of a GPU; nothing where it is not there."""
    command = ["nvidia-smi", f"--id={gpu}", f"--query-gpu={','.join(QUERY.values())}", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=ASK_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(zip(QUERY, (value.strip() for value in done.stdout.split(",")), strict=False))


def _missing() -> str:
    return without_torch() or missing_for(torch_cuda(), find_driver())


def _memories() -> tuple[int, ...]:
    driver = find_driver()
    return tuple(gpu.memory for gpu in driver.gpus) if driver else ()


NCCL = Backend(
    name="nccl",
    # What drives buffers out of a GPU's cache must be read by the GPU: that is not there yet.
    capability=msgspec.structs.replace(CAPABILITY, device=Device.CUDA, temperatures=(Buffers.SAME,)),
    missing=_missing,
    open=NcclSession,
    load=load_torch,
    devices=_memories,
)
