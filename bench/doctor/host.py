"""What one host is and has, from the files of its system."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from collmark.bench.doctor.sources import Sources
from collmark.core.doctor.facts import HostFacts, Port
from collmark.core.units import KIB, BytesPerSecond, NBytes

CPUS = "/sys/devices/system/cpu"
PCI = "/sys/bus/pci/devices"
RDMA = "/sys/class/infiniband"
SHM = Path("/dev/shm")  # noqa: S108 - looked at, and nothing is written there
BRIDGE = "0x0604"  # class of a PCI to PCI bridge, the ports of a switch among them
EXTENDED = 0x100  # where PCI Express's extended capabilities begin; ordinary users read the first 64 bytes only
ACS = 0x000D  # id of the Access Control Services capability
CONTROL = 6  # offset of its control register
REDIRECTS = 0b1100  # in that: peer-to-peer requests, and completions, go upstream (PCI_ACS_RR, PCI_ACS_CR)
DMA_BUF = (5, 12)  # Linux from which a driver may hand GPU memory to RDMA devices as dma-buf


def host_facts(sources: Sources, *, on_gpus: bool) -> HostFacts:
    """Return what is known of this host; of its GPUs, and the PCI bridges between them, only where they are used."""
    cores = _cores(sources)
    governors = Counter(filter(None, (sources.text(f"{CPUS}/cpu{core}/cpufreq/scaling_governor") for core in cores)))
    kernel, gpus = sources.text("/proc/sys/kernel/osrelease"), sources.gpu_list() if on_gpus else ()
    shm = sources.space(SHM)
    settings = list(_access_controls(sources)) if gpus else []
    readable = [one for one in settings if one is not None]
    return HostFacts(
        cpu=sources.field("/proc/cpuinfo", "model name"),
        kernel=kernel,
        driver=_driver(sources),
        cores=len(cores) or None,
        clock_source=sources.text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        governors=dict(governors),
        interfaces=sources.interfaces(),
        ports=tuple(_ports(sources)),
        gpus=gpus,
        memory=_memory(sources),
        shm=shm[0] if shm else None,
        shm_free=shm[1] if shm else None,
        is_virtual="hypervisor" in sources.field("/proc/cpuinfo", "flags").split(),
        bridges=len(settings) if gpus else None,
        redirecting=sum(bool(one & REDIRECTS) for one in readable) if readable or not settings else None,
        translates=_translates(sources) if gpus else None,
        reads_gpu=_reads_gpu(sources, kernel) if gpus else None,
    )


def _cores(sources: Sources) -> list[int]:
    found: list[int] = []
    for first, last in re.findall(r"\b(\d{1,4})(?:-(\d{1,4}))?\b", sources.text(f"{CPUS}/online")):
        found += range(int(first), int(last or first) + 1)
    return found


def _driver(sources: Sources) -> str:
    found = re.search(r"Kernel Module.*?\s(\d+\.\d+(?:\.\d+)?)\s", sources.text("/proc/driver/nvidia/version") + " ")
    return found[1] if found else ""


def _memory(sources: Sources) -> NBytes | None:
    number = re.fullmatch(r"(\d{1,15}) kB", sources.field("/proc/meminfo", "MemAvailable"))
    told = [int(number[1]) * KIB] if number else []
    allowed = sources.memory_left()
    return min([*told, *([] if allowed is None else [allowed])], default=None)


def _ports(sources: Sources) -> Iterator[Port]:
    for device in sources.names(RDMA):
        for port in filter(str.isdecimal, sources.names(f"{RDMA}/{device}/ports")):
            folder = f"{RDMA}/{device}/ports/{port}"
            yield Port(
                device=device,
                port=int(port),
                state=sources.text(f"{folder}/state").partition(":")[2].strip(),  # "4: ACTIVE"
                link_layer=sources.text(f"{folder}/link_layer"),
                rate=_rate(sources.text(f"{folder}/rate")),
            )


def _rate(words: str) -> BytesPerSecond | None:
    found = re.match(r"([\d.]+) Gb/sec", words)  # "400 Gb/sec (4X NDR)"
    return float(found[1]) * 1e9 / 8 if found else None


def _access_controls(sources: Sources) -> Iterator[int | None]:
    """Yield the control register of each bridge that has access control; None where we may not read it."""
    for device in sources.names(PCI):
        if sources.text(f"{PCI}/{device}/class").startswith(BRIDGE):
            try:
                config = sources.path(f"{PCI}/{device}/config").read_bytes()
            except OSError:
                config = b""
            if len(config) <= EXTENDED:
                yield None
            elif (control := access_control(config)) is not None:
                yield control


def access_control(config: bytes) -> int | None:
    """Return the ACS control register of a device's configuration space; None where it has none.

    Extended capabilities are a list: id in the lower 16 bits of a header, place of the next in the upper 12
    (PCI Express Base Specification, 7.6.3; Linux's pci_find_ext_capability).
    """
    place, seen = EXTENDED, set()
    while EXTENDED <= place <= len(config) - 8 and place not in seen:
        seen.add(place)
        header = int.from_bytes(config[place : place + 4], "little")
        if header & 0xFFFF == ACS:
            return int.from_bytes(config[place + CONTROL : place + CONTROL + 2], "little")
        place = header >> 20
    return None


def _translates(sources: Sources) -> bool | None:
    """Whether the IOMMU translates for NVIDIA's devices: the domain of a group is DMA or DMA-FQ, and not identity."""
    kinds = [
        kind
        for device in sources.names(PCI)
        if sources.text(f"{PCI}/{device}/vendor") == "0x10de"
        and (kind := sources.text(f"{PCI}/{device}/iommu_group/type"))
    ]
    return any(kind.startswith("DMA") for kind in kinds) if kinds else None


def _reads_gpu(sources: Sources, kernel: str) -> bool:
    if any(sources.has(f"/sys/module/{name}") for name in ("nvidia_peermem", "nv_peer_mem")):
        return True
    found = re.match(r"(\d+)\.(\d+)", kernel)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    return version >= DMA_BUF and "Open Kernel Module" in sources.text("/proc/driver/nvidia/version")
