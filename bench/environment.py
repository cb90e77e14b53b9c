"""What is written down about hosts and settings: allow-listed, with secrets left out."""

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
import re
import socket
import struct
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from collmark.bench.rotation import last_level_cache
from collmark.bench.secrecy import is_secret
from collmark.core.record import Host

ALLOWED_PREFIXES = (
    "COLLMARK_", "NCCL_", "RCCL_", "UCX_", "UCC_", "OMPI_", "PMIX_", "PMI_", "MPICH_", "MPIR_CVAR_", "HYDRA_",
    "I_MPI_", "FI_", "GLOO_", "TORCH_", "TORCHELASTIC_", "CUDA_", "HIP_", "ROCR_", "HSA_", "OMP_", "MKL_", "KMP_",
    "OPENBLAS_", "NVIDIA_", "SLURM_",
)  # fmt: skip
ALLOWED_NAMES = frozenset(
    {"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "LD_PRELOAD"}
)
GET_ADDRESS = 0x8915  # Linux's SIOCGIFADDR


def allowed_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that may be written down, sorted by name; bytes that are no text as escapes."""
    return {
        name: os.fsencode(value).decode(errors="backslashreplace")
        for name, value in sorted(environment.items())
        if (name.startswith(ALLOWED_PREFIXES) or name in ALLOWED_NAMES) and not is_secret(name, value)
    }


def usable_cores() -> int:
    """Return how many cores this process may run on."""
    return len(usable_core_ids())


def usable_core_ids() -> tuple[int, ...]:
    """Return the cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def boot_id() -> str:
    """Return what two processes on one running kernel, and so on one monotonic clock, have in common."""
    return _first_line(Path("/proc/sys/kernel/random/boot_id")) or f"{socket.gethostname()}/{platform.version()}"


def clock_id() -> str:
    """Return what two processes that read one monotonic clock have in common."""
    return f"{boot_id()} {_namespace('time')}"


def process_age() -> float:
    """Return the seconds since this process was started; 0 where the system does not tell."""
    try:
        # The 22nd field is the start after boot, in ticks; the second, in brackets, may hold anything.
        started = int(
            Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()[19]
        )
        return time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0


def network_id() -> str:
    """Return what two processes that share one loopback have in common: containers of one machine may not."""
    return f"{boot_id()} {_namespace('net')}"


def _namespace(kind: str) -> str:
    try:
        return str(Path(f"/proc/self/ns/{kind}").readlink())
    except OSError:
        return ""


def interface_of(address: str) -> str:
    """Return the network interface that has an IPv4 address; empty where the system does not tell."""
    if not sys.platform.startswith("linux"):
        return ""
    for _index, name in socket.if_nameindex():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
            answer = fcntl.ioctl(probe, GET_ADDRESS, struct.pack("256s", name.encode()))
            if socket.inet_ntoa(answer[20:24]) == address:
                return name
    return ""


def describe_host(ranks: list[int]) -> Host:
    """Return what is known of this host."""
    return Host(
        name=socket.gethostname(),
        ranks=ranks,
        cores=usable_cores(),
        cpu=_cpu_model(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        memory=_memory(),
        cache=last_level_cache() or None,
        governor=_first_line(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
    )


def _first_line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()[0].strip()
    except (OSError, IndexError):
        return ""


def _cpu_model() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1].strip() if found else platform.processor()


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return None
