"""Checks that hosts are alike: versions, plug-ins, settings, hardware."""

from __future__ import annotations

from collections.abc import Iterator

from collmark.core.doctor.check import Check, Seen, differing
from collmark.core.doctor.facts import Facts
from collmark.core.doctor.finding import Level

PROTOCOLS = {"gloo": ("collmark", "torch"), "nccl": ("collmark", "torch", "nccl"), "mpi": ("collmark", "mpi")}
"""Of each backend, what talks to itself across ranks: other versions may not understand each other."""
MATTERS = {"gloo": ("python",), "nccl": ("python", "cuda", "driver"), "mpi": ("python", "mpi4py")}
PREFIXES = {"gloo": ("GLOO_",), "nccl": ("NCCL_", "TORCH_NCCL_"), "mpi": ("UCX_", "FI_")}
"""Of each backend, beginnings of names of variables that it reads."""
OF_RANK = ("_IFNAME", "_HCA", "HOSTID", "_FILE", "NET_DEVICES")
"""Ends of names of variables that may well differ between ranks or hosts."""


def _told(facts: Facts, kind: str) -> dict[str, list[tuple[str, str]]]:
    """Return (host, value) of every version, plug-in or setting of processes, by its name."""
    names = dict.fromkeys(name for rank in facts.ranks for name in getattr(rank.process, kind))
    return {
        name: [(rank.host, getattr(rank.process, kind).get(name, "")) for rank in facts.ranks] for name in sorted(names)
    }


def _versions(facts: Facts) -> Iterator[Seen]:
    told = _told(facts, "versions")
    told |= {
        name: [(host, getattr(one, name)) for host, one in facts.described.items()] for name in ("driver", "kernel")
    }
    for name, values in told.items():
        if words := differing(values):
            found = f"{name} differs: {words}"
            if name in PROTOCOLS.get(facts.backend, ()):
                yield Seen(level=Level.BLOCKING, found=found)
            else:
                level = Level.WARNING if name in MATTERS.get(facts.backend, ()) else Level.HINT
                yield Seen(level=level, found=found, breaks="hosts do not run the same code, and may differ in speed")


def _plugins(facts: Facts) -> Iterator[Seen]:
    for name, values in _told(facts, "plugins").items():
        if words := differing(values):
            yield Seen(level=Level.WARNING, found=f"{name} differs: {words}")


def _settings(facts: Facts) -> Iterator[Seen]:
    for name, values in _told(facts, "settings").items():
        matters = name.startswith(PREFIXES.get(facts.backend, ())) and not name.endswith(OF_RANK)
        if matters and (words := differing(values, absent="not set")):
            yield Seen(level=Level.WARNING, found=f"{name} differs: {words}")


def _hardware(facts: Facts) -> Iterator[Seen]:
    used = {rank.gpu for rank in facts.ranks}  # a screen may hang on another
    models = {
        host: sorted({gpu.name or "unknown" for gpu in one.gpus if gpu.uuid in used})
        for host, one in facts.described.items()
    }
    if words := differing((host, ", ".join(names)) for host, names in models.items()):
        yield Seen(level=Level.WARNING, found=f"GPUs differ: {words}")
    for host, names in models.items():
        if len(names) > 1:
            yield Seen(level=Level.WARNING, hosts=(host,), found=f"GPUs of several models: {', '.join(names)}")
    if words := differing((host, one.cpu) for host, one in facts.described.items()):
        yield Seen(level=Level.HINT, found=f"processors differ: {words}")


ALIKE = {
    "versions": Check(
        looks="collmark, torch, NCCL, CUDA, MPI, driver, kernel: the same on every host",
        breaks="unlike versions may not understand each other: they fail, or hang",
        mend="one environment for all hosts: a container image, or a folder that all of them see",
        rule=_versions,
        sources=("NVIDIA/nccl issue 1328",),
    ),
    "plug-ins": Check(
        looks="network and tuning plug-ins of NCCL, UCX and libfabric: the same file on every host",
        breaks="hosts move bytes in different ways: ranks fail to connect, or the slowest way sets the pace",
        mend="install the same plug-in everywhere, or name one with NCCL_NET_PLUGIN on all ranks",
        rule=_plugins,
        sources=("NVIDIA's NCCL guide, NCCL_NET_PLUGIN",),
    ),
    "settings": Check(
        looks="NCCL_, GLOO_, UCX_ or FI_ variables, as the backend reads: the same on every rank, but for devices",
        breaks="ranks may choose different algorithms or transports, and hang",
        mend="set them for all ranks: srun --export=ALL, mpiexec -x NAME or -genv NAME, torchrun on every host",
        rule=_settings,
        sources=("NVIDIA/nccl issue 1328",),
    ),
    "hardware": Check(
        looks="processors, and the GPUs that ranks use: the same models everywhere",
        breaks="the slowest host sets the pace of every collective",
        mend="ask for hosts of one kind (srun --constraint)",
        rule=_hardware,
    ),
}
