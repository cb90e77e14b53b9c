"""Checks of what processes may use: locked memory, open files, shared memory, memory."""

from __future__ import annotations

from collections.abc import Iterator

from collmark.core.doctor.check import Check, NotTold, Seen
from collmark.core.doctor.facts import UNLIMITED, Facts, Limit
from collmark.core.doctor.finding import Level
from collmark.core.numeral import counted
from collmark.core.units import GIB, MIB, NBytes, format_about_nbytes

MEMLOCK: NBytes = GIB
"""Our choice: 64 KiB were too few for queues (openucx/ucx issue 8229), 8 MiB for buffers (NVIDIA/nccl-tests issue 206);
guides ask for unlimited."""
FILES_OF_RANK = 128
"""Besides the connections to other ranks: libraries, logs, devices; `SPARE_FILES` of the control channel."""
SHM_OF_RANK: NBytes = 32 * MIB
"""Our choice: NCCL makes several segments of 9,637,888 B a rank, and 64 MiB, what Docker gives, were too few
for 4 GPUs (NVIDIA/nccl issue 342)."""
MEMORY_OF_RANK: NBytes = 512 * MIB
"""An interpreter with torch loaded takes some 300 MiB before any buffer."""


def uses_rdma(facts: Facts) -> bool:
    """Whether the backend will register memory with an RDMA device that is up."""
    settings = [rank.process.settings for rank in facts.ranks]
    off = any(one.get("NCCL_IB_DISABLE", "0") == "1" or one.get("NCCL_NET", "").lower() == "socket" for one in settings)
    if facts.backend == "nccl" and off:
        return False
    return facts.backend in ("nccl", "mpi") and any(
        port.is_active for host in facts.hosts.values() for port in host.ports
    )


def _locked(limit: Limit | None) -> NBytes | None:
    return None if limit is None or limit.soft == UNLIMITED else limit.soft


def _memlock(facts: Facts) -> Iterator[Seen | NotTold]:
    if all(rank.process.memlock is None for rank in facts.ranks):
        yield NotTold(why="the system does not tell its limits")
    # UCX, below MPI, goes on over TCP; on one host NCCL does not use the device.
    level = Level.HINT if not facts.is_several else Level.BLOCKING if facts.backend == "nccl" else Level.WARNING
    for rank in facts.ranks:
        nbytes = _locked(rank.process.memlock)
        if nbytes is not None and nbytes < MEMLOCK and not rank.process.may_lock:
            yield Seen(level=level, ranks=(rank,), found=f"{format_about_nbytes(nbytes)}, needs unlimited")


def _nofile(facts: Facts) -> Iterator[Seen | NotTold]:
    if all(rank.process.nofile is None for rank in facts.ranks):
        yield NotTold(why="the system does not tell its limits")
    ranks = len(facts.ranks)
    for rank in facts.ranks:
        limit = rank.process.nofile
        # Rank 0 has two control connections to every other rank, and raises its own limit as far as it may.
        need = FILES_OF_RANK + (2 * ranks if rank.rank == 0 else ranks)
        most = None if limit is None else limit.hard if rank.rank == 0 else limit.soft
        if most is not None and UNLIMITED != most < need:
            level = Level.BLOCKING if rank.rank == 0 else Level.WARNING
            yield Seen(level=level, ranks=(rank,), found=f"{most} open files, {counted(ranks, 'rank')} need {need}")


def _shm(facts: Facts) -> Iterator[Seen | NotTold]:
    if all(host.shm is None for host in facts.hosts.values()):
        yield NotTold(why="there is no /dev/shm")
    for name, host in facts.hosts.items():
        ranks = len(facts.ranks_of[name])
        if ranks > 1 and host.shm is not None and host.shm_free is not None and host.shm_free <= SHM_OF_RANK * ranks:
            free, size = format_about_nbytes(host.shm_free), format_about_nbytes(host.shm)
            need = format_about_nbytes(SHM_OF_RANK * ranks)
            found = f"{free} free of {size}, {counted(ranks, 'rank')} may need over {need}"
            yield Seen(level=Level.WARNING, hosts=(name,), found=found)


def _memory(facts: Facts) -> Iterator[Seen | NotTold]:
    if all(host.memory is None for host in facts.hosts.values()):
        yield NotTold(why="the system does not tell how much memory is free")
    for name, host in facts.hosts.items():
        ranks = len(facts.ranks_of[name])
        if host.memory is not None and host.memory < MEMORY_OF_RANK * ranks:
            found = f"{format_about_nbytes(host.memory)} left for {counted(ranks, 'rank')}"
            yield Seen(level=Level.WARNING, hosts=(name,), found=found)


LIMITS = {
    "memlock": Check(
        looks="locked memory (ulimit -l) of every rank, where an RDMA device is up and the backend would use it",
        breaks="registering memory with the device fails: NCCL ends with an error, MPI goes over TCP unsaid",
        mend="LimitMEMLOCK=infinity in slurmd's service, limits.conf, docker run --ulimit memlock=-1",
        rule=_memlock,
        applies=uses_rdma,
        sources=(
            "NVIDIA's NCCL guide, Troubleshooting, InfiniBand",
            "Linux, user_verbs: Memory pinning",
            "openucx/ucx issue 8229",
        ),
    ),
    "nofile": Check(
        looks="open files (ulimit -n), for a connection to every other rank",
        breaks="ranks cannot connect to all others",
        mend="ulimit -n 65536 before the launch, LimitNOFILE in slurmd's service",
        rule=_nofile,
    ),
    "shm": Check(
        looks="free space of /dev/shm, for the ranks of a host (nccl, mpi)",
        breaks="NCCL and MPI exchange through it inside a host: they end with an error or a bus error",
        mend="docker run --shm-size=1g (Docker gives 64 MiB) or --ipc=host; under Kubernetes a volume in memory; "
        "remove stale files",
        rule=_shm,
        applies=lambda facts: facts.backend in ("nccl", "mpi"),
        sources=("NVIDIA's NCCL guide, Troubleshooting, Shared memory", "NVIDIA/nccl issues 290 and 342"),
    ),
    "memory": Check(
        looks="memory that is free for the ranks of a host, control groups included",
        breaks="the kernel ends a rank, or swaps it out, in the middle of a measurement",
        mend="fewer ranks a host, srun --mem=0, or a larger limit of the container",
        rule=_memory,
    ),
}
