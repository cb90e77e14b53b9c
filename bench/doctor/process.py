"""What one process may do, and which libraries it would load; none of them is loaded."""

from __future__ import annotations

import os
import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

from collmark import __version__
from collmark.bench.backends.cuda_driver import torch_cuda
from collmark.bench.backends.gpu_seat import is_asked
from collmark.bench.doctor.sources import Sources
from collmark.bench.secrecy import is_secret
from collmark.core.doctor.facts import UNLIMITED, Limit, ProcessFacts
from collmark.core.units import MIB

SETTINGS = ("NCCL_", "TORCH_NCCL_", "GLOO_", "UCX_", "FI_PROVIDER")
"""Beginnings of variables that decide how libraries move bytes, and that ranks should agree on."""
CLAIMS = ("WORLD_SIZE", "SLURM_JOB_NUM_NODES", "SLURM_CPUS_PER_TASK")
NCCL_PACKAGES = ("nvidia-nccl-cu13", "nvidia-nccl-cu12", "nvidia-nccl-cu11")
PLUGINS = {
    "nccl": ("libnccl-net.so", "libnccl-tuner.so"),
    "mpi": ("libucp.so.0", "libfabric.so.1"),
}
FOLDERS = ("/usr/local/lib", "/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu")
MAY_LOCK = 1 << 14  # CAP_IPC_LOCK of linux/capability.h
NUMBER = re.compile(r"[0-9]{1,9}")
SHOWN = 200  # letters of a value


def process_facts(sources: Sources, backend: str, mpi_library: str = "") -> ProcessFacts:
    """Return what is known of this process.

    Parameters
    ----------
    sources : Sources
    backend : str
        Whose libraries matter.
    mpi_library : str
        The shared library that the mpi backend loads.
    """
    environ = sources.environ
    capabilities = re.fullmatch(r"[0-9a-f]{1,16}", sources.field("/proc/self/status", "CapEff"))
    return ProcessFacts(
        versions=dict(_versions(sources, backend, mpi_library)),
        plugins=dict(_plugins(sources, backend)),
        settings={
            name: os.fsencode(value).decode(errors="backslashreplace")[:SHOWN]
            for name, value in sorted(environ.items())
            if name.startswith(SETTINGS) and not is_secret(name, value)
        },
        claims={name: int(text) for name in CLAIMS if NUMBER.fullmatch(text := environ.get(name, ""))},
        memlock=_limit(sources, "Max locked memory"),
        nofile=_limit(sources, "Max open files"),
        may_lock=bool(capabilities and int(capabilities[0], 16) & MAY_LOCK),
        shares_gpu=is_asked(environ),
    )


def _versions(sources: Sources, backend: str, mpi_library: str) -> Iterator[tuple[str, str]]:
    """Yield what of the environment matters to a backend, and what merely may differ."""
    yield "collmark", __version__
    yield "python", ".".join(map(str, sys.version_info[:3]))
    if backend in ("gloo", "nccl"):
        yield "torch", sources.package("torch")
    if backend == "nccl":
        yield "nccl", next(filter(None, map(sources.package, NCCL_PACKAGES)), "")
        yield "cuda", torch_cuda()
    if backend == "mpi":
        yield "mpi4py", sources.package("mpi4py")
        if mpi_library:
            yield "mpi", file_words(sources.path(mpi_library))


def _plugins(sources: Sources, backend: str) -> Iterator[tuple[str, str]]:
    """Yield the plug-ins that a backend's library would find, by the names that it looks for."""
    asked = sources.environ.get("NCCL_NET_PLUGIN", "") if backend == "nccl" else ""
    for name in PLUGINS.get(backend, ()):
        if asked and name == "libnccl-net.so":
            name = asked if asked.endswith(".so") or "/" in asked else f"libnccl-net-{asked}.so"  # noqa: PLW2901
        folders = [*sources.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep), *FOLDERS]
        places = (str(Path(folder, name)) for folder in filter(None, folders))
        place = next(filter(sources.has, places), None)
        if place is not None:
            yield name, file_words(sources.path(place))


def file_words(path: Path) -> str:
    """Return by what two libraries are the same: name, which tells the version, size, checksum of the beginning.

    There lies the build id that linkers write; the whole would be 10 to 100 MB, from a network file system.
    """
    try:
        real = path.resolve()
        with real.open("rb") as file:
            head = file.read(MIB)
        return f"{real.name} ({real.stat().st_size} B, crc32 of the first MiB {zlib.crc32(head):08x})"
    except OSError:
        return ""


def _limit(sources: Sources, name: str) -> Limit | None:
    """Return a resource limit; None where /proc does not tell."""
    found = re.search(
        rf"^{name}\s+(unlimited|\d{{1,20}})\s+(unlimited|\d{{1,20}})\s", sources.text("/proc/self/limits"), re.MULTILINE
    )
    if not found:
        return None
    soft, hard = (UNLIMITED if text == "unlimited" else int(text) for text in found.groups())
    return Limit(soft=soft, hard=hard)
