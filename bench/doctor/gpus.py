"""GPUs as the NVIDIA driver tells of them: by its library, and by nvidia-smi what that would need a context for."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

from collmark.bench.backends.cuda_driver import find_driver
from collmark.bench.backends.gpu_seat import choose_gpu, is_asked
from collmark.bench.doctor.sources import GpuProbe, GpuSeat, NoGpus
from collmark.core.errors import UnavailableError
from collmark.core.units import MIB, NBytes

QUERY = "uuid,name,memory.total,memory.used"
ASK_SECONDS = 10.0  # for nvidia-smi to answer: it wakes a driver that sleeps


class DriverGpus:
    """Asks the driver of this host."""

    def seat(self, local_rank: int) -> GpuSeat:
        """Return the GPU that a rank will use."""
        driver = find_driver()
        gpus = driver.gpus if driver else ()
        try:
            own = choose_gpu(local_rank, len(gpus), shared=is_asked()) if gpus else None
        except UnavailableError:
            own = None
        return GpuSeat(uuid="" if own is None else gpus[own].uuid, visible=len(gpus) if driver else None)

    def memory(self) -> Mapping[str, tuple[str, NBytes, NBytes]]:
        """Return name, memory and what of it is in use, B, by UUID."""
        command = ["nvidia-smi", f"--query-gpu={QUERY}", "--format=csv,noheader,nounits"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=ASK_SECONDS, check=True)
        except (OSError, subprocess.SubprocessError):
            return {}
        return read_smi(done.stdout)


def read_smi(text: str) -> dict[str, tuple[str, NBytes, NBytes]]:
    """Return name, memory and what of it is in use, B, by UUID; lines that tell it otherwise are left out.

    Examples
    --------
    >>> read_smi("GPU-1, NVIDIA H100, 81559, 4")
    {'GPU-1': ('NVIDIA H100', 85520809984, 4194304)}
    """
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines()]
    return {
        row[0]: (row[1], int(row[2]) * MIB, int(row[3]) * MIB)
        for row in rows
        if len(row) == 4 and row[2].isdecimal() and row[3].isdecimal()
    }


def probe_for(backend: str) -> GpuProbe:
    """Return the probe that a backend needs."""
    return DriverGpus() if backend == "nccl" else NoGpus()
