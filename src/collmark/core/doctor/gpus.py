"""Checks of GPUs and of the way between them: one for each rank, seen by the others, reached without detours."""

from __future__ import annotations

from collections.abc import Iterator

from collmark.core.doctor.check import Check, NotTold, Seen
from collmark.core.doctor.facts import Facts, HostFacts, RankFacts
from collmark.core.doctor.finding import Level
from collmark.core.doctor.limits import uses_rdma
from collmark.core.numeral import counted
from collmark.core.units import GIB, NBytes, format_about_nbytes

HELD: NBytes = 2 * GIB
"""Above what a driver keeps for itself of an idle GPU (0.5 to 0.8 GB of an H100)."""


def _on_gpus(facts: Facts) -> bool:
    return facts.backend == "nccl"


def _with_gpus(facts: Facts) -> Iterator[tuple[str, HostFacts]]:
    for name, host in facts.hosts.items():
        if host.gpus:
            yield name, host


def _needs_peers(facts: Facts) -> bool:
    """Whether traffic between PCI devices matters: between GPUs, or between one and an RDMA device."""
    several = any(len(host.gpus) > 1 for _name, host in _with_gpus(facts))
    return _on_gpus(facts) and (several or uses_rdma(facts))


def _distinct(facts: Facts) -> Iterator[Seen | NotTold]:
    if not any(rank.gpu for rank in facts.ranks):
        yield NotTold(why="the driver names no GPU of a rank")
    for ranks in facts.ranks_of.values():
        of_gpu: dict[str, list[RankFacts]] = {}
        for rank in ranks:
            of_gpu.setdefault(rank.gpu, []).append(rank)
        without = [rank for rank in of_gpu.get("", []) if rank.visible_gpus is not None]
        if without and len(of_gpu) > 1:
            found = f"no GPU is left, of {without[0].visible_gpus} that are seen"
            yield Seen(level=Level.BLOCKING, ranks=tuple(without), found=found)
        for gpu, sharing in of_gpu.items():
            if gpu and len(sharing) > 1 and not sharing[0].process.shares_gpu:
                yield Seen(level=Level.BLOCKING, ranks=tuple(sharing), found=f"have the same GPU, {gpu}")


def _hidden(facts: Facts) -> Iterator[Seen]:
    for ranks in facts.ranks_of.values():
        each_sees_one = all(rank.visible_gpus == 1 for rank in ranks)
        if len({rank.gpu for rank in ranks}) > 1 and each_sees_one:
            yield Seen(level=Level.WARNING, ranks=ranks, found="each rank sees its own GPU and no other")


def _held(facts: Facts) -> Iterator[Seen | NotTold]:
    told = [(name, gpu) for name, host in _with_gpus(facts) for gpu in host.gpus if gpu.used is not None]
    if not told:
        yield NotTold(why="nvidia-smi does not tell how much memory of the GPUs is in use")
    used = {rank.gpu for rank in facts.ranks}
    for name, gpu in told:
        if gpu.used is not None and gpu.used > HELD and gpu.uuid in used:
            of_all = f" of {format_about_nbytes(gpu.memory)}" if gpu.memory else ""
            found = f"GPU {gpu.uuid}: others hold {format_about_nbytes(gpu.used)}{of_all}"
            yield Seen(level=Level.WARNING, hosts=(name,), found=found)


def _acs(facts: Facts) -> Iterator[Seen | NotTold]:
    for name, host in _with_gpus(facts):
        if host.is_virtual:
            continue  # there ACS is as the hypervisor needs it, with ATS beside it
        if host.redirecting is None:
            yield NotTold(why="only root may read the settings of PCI bridges: lspci -vvv | grep ACSCtl")
        elif host.redirecting:
            of_all = f"{host.redirecting} of {counted(host.bridges or host.redirecting, 'PCI bridge')}"
            yield Seen(level=Level.WARNING, hosts=(name,), found=f"{of_all} redirect peer-to-peer traffic (ACS)")


def _iommu(facts: Facts) -> Iterator[Seen]:
    for name, host in _with_gpus(facts):
        if host.translates and not host.is_virtual:
            yield Seen(level=Level.HINT, hosts=(name,), found="the IOMMU translates what GPUs address")


def _direct(facts: Facts) -> Iterator[Seen]:
    for name, host in _with_gpus(facts):
        if host.reads_gpu is False and any(port.is_active for port in host.ports):
            yield Seen(level=Level.WARNING, hosts=(name,), found="neither nvidia_peermem nor dma-buf is there")


GPUS = {
    "gpus": Check(
        looks="every rank has a GPU of its own, by UUID",
        breaks="NCCL refuses two ranks on one GPU",
        mend="one rank a GPU (srun --ntasks-per-node), --gpu-bind=none, and no CUDA_VISIBLE_DEVICES that is the same "
        "on all; COLLMARK_SHARED_GPU=1 lets ranks share one, to test and never to measure",
        rule=_distinct,
        applies=_on_gpus,
        sources=("NVIDIA/nccl issues 103 and 418",),
    ),
    "gpu binding": Check(
        looks="ranks see the GPUs of the other ranks on their host",
        breaks="what cannot be seen cannot be reached directly: NCCL may go through host memory and not through NVLink",
        mend="give ranks all GPUs of the host: srun --gpus-per-node with --gpu-bind=none, no --gpus-per-task, no "
        "CUDA_VISIBLE_DEVICES of one",
        rule=_hidden,
        applies=lambda facts: _on_gpus(facts) and any(rank.gpu for rank in facts.ranks),
        sources=("NVIDIA/nccl issue 1066", "open-mpi/ompi issue 11949"),
    ),
    "gpu memory": Check(
        looks="memory that others hold of the ranks' GPUs",
        breaks="another program may be running there: times are shared with it, and large buffers do not fit",
        mend="nvidia-smi shows who it is; ask for hosts of your own (srun --exclusive)",
        rule=_held,
        applies=_on_gpus,
    ),
    "acs": Check(
        looks="access control of PCI bridges: it sends traffic between devices through the processor",
        breaks="GPUDirect is slow, or hangs",
        mend="switch ACS off in the BIOS, or for each bridge with setpci, unless virtual machines share the host",
        rule=_acs,
        applies=_needs_peers,
        sources=("NVIDIA's NCCL guide, Troubleshooting, PCI Access Control Services",),
    ),
    "iommu": Check(
        looks="whether the IOMMU translates addresses, on bare metal",
        breaks="GPUDirect may be slower, and ACS switched on with it",
        mend="boot with iommu=pt, unless virtual machines share the host",
        rule=_iommu,
        applies=_needs_peers,
        sources=("NVIDIA's NCCL guide, Troubleshooting, PCI Access Control Services",),
    ),
    "gpudirect": Check(
        looks="that RDMA devices can read GPU memory: nvidia_peermem, or dma-buf (open driver, Linux 5.12)",
        breaks="every byte between hosts is copied through host memory",
        mend="modprobe nvidia_peermem, or install the open kernel modules of the driver",
        rule=_direct,
        applies=lambda facts: _on_gpus(facts) and facts.is_several and uses_rdma(facts),
        sources=("NVIDIA's GPU operator guide, GPUDirect RDMA",),
    ),
}
