"""What is written down about hosts and settings: allow-listed, with secrets left out."""

from __future__ import annotations

import os
import platform
import re
import socket
from collections.abc import Mapping
from pathlib import Path

from collmark.core.record import Host

ALLOWED_PREFIXES = (
    "COLLMARK_", "NCCL_", "RCCL_", "UCX_", "UCC_", "OMPI_", "PMIX_", "PMI_", "MPICH_", "MPIR_CVAR_", "HYDRA_",
    "I_MPI_", "FI_", "GLOO_", "TORCH_", "TORCHELASTIC_", "CUDA_", "HIP_", "ROCR_", "HSA_", "OMP_", "MKL_", "KMP_",
    "OPENBLAS_", "NVIDIA_", "SLURM_",
)  # fmt: skip
ALLOWED_NAMES = frozenset(
    {"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "LD_PRELOAD"}
)
SECRET = re.compile(
    r"SECRET|TOKEN|PASSW|CREDENTIAL|PRIVATE|API_?KEY|ACCESS_?KEY|AUTH|COOKIE|SIGNATURE|_KEY$|_PWD$", re.IGNORECASE
)
# A value that looks like a credential is left out whatever its name: long runs of mixed letters and digits, keys
# in URLs, and well-known token beginnings.
SECRET_VALUE = re.compile(
    r"://[^/\s:]+:[^@/\s]+@|\b(?:gh[pousr]_|github_pat_|hf_|sk-|xox[abp]-|AKIA|eyJ)[A-Za-z0-9_\-]{8,}"
    r"|(?=[A-Za-z0-9+_\-]*\d)(?=[A-Za-z0-9+_\-]*[a-z])(?=[A-Za-z0-9+_\-]*[A-Z])[A-Za-z0-9+_\-]{32,}"
)


def allowed_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that may be written down, sorted by name."""
    return {
        name: value
        for name, value in sorted(environment.items())
        if (name.startswith(ALLOWED_PREFIXES) or name in ALLOWED_NAMES)
        and not SECRET.search(name)
        and not SECRET_VALUE.search(value)
    }


def usable_cores() -> int:
    """Return the cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def boot_id() -> str:
    """Return what two processes on one running kernel, and so on one monotonic clock, have in common."""
    return _first_line(Path("/proc/sys/kernel/random/boot_id")) or f"{socket.gethostname()}/{platform.version()}"


def describe_host(ranks: list[int]) -> Host:
    """Return what is known of this host."""
    return Host(
        name=socket.gethostname(),
        ranks=ranks,
        cores=usable_cores(),
        cpu=_cpu_model(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        memory=_memory(),
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
