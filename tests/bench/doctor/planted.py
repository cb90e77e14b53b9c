"""Hosts whose files, variables and devices are planted: two HGX H100 nodes, and a laptop.

Synthesised after such machines: the forms of the files are those that Linux and the drivers write.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from collmark.bench.doctor.gather import Gathering, tell
from collmark.bench.doctor.sources import GpuSeat, Sources, in_order
from collmark.bench.handshake import Hello
from collmark.bench.job import Job
from collmark.core.doctor.facts import Facts, Interface
from collmark.core.placement import Placement
from collmark.core.plan import Plan
from collmark.core.units import GIB, MIB

CORES = 32  # of the 112 of such a node, so that planting is quick
GPUS = 8
DRIVER = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {}  Release Build  (dvs-builder)  Fri May 31\n"
LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max processes             8255413              8255413              processes
Max open files            {files:<21}{files:<21}files
Max locked memory         {locked:<21}{locked:<21}bytes
"""
ROUTABLE = (
    Interface(name="lo", address="127.0.0.1", mtu=65536),
    Interface(name="eth0", address="10.0.0.1", mtu=9000),
    Interface(name="docker0", address="172.17.0.1", mtu=1500),
)


class FakeGpus:
    """Stands for the driver of a host: `shown` are the GPUs that each rank sees, `used` what others hold, B."""

    def __init__(self, uuids: list[str], shown: Mapping[int, list[str]] | None = None, used: int = 4 * MIB) -> None:
        self.uuids, self.shown, self.used = uuids, shown or {}, used

    def seat(self, local_rank: int) -> GpuSeat:
        seen = self.shown.get(local_rank, self.uuids)
        return GpuSeat(uuid=seen[local_rank % len(seen)] if seen else "", visible=len(seen))

    def memory(self) -> Mapping[str, tuple[str, int, int]]:
        return dict.fromkeys(self.uuids, ("NVIDIA H100 80GB HBM3", 80 * GIB, self.used))


class Overlaid(Sources, frozen=True, kw_only=True):
    """Sources whose files lie in one tree or, where they are not there, in another."""

    base: Path

    def path(self, path: str) -> Path:
        own = super().path(path)
        return own if own.exists() else self.base / path.lstrip("/")

    def names(self, path: str) -> list[str]:
        return in_order(
            {entry.name for tree in (self.root, self.base) for entry in (tree / path.lstrip("/")).glob("*")}
        )


class PlantedHost:
    """One host: a tree of files over another that many tests share, and what no file tells."""

    def __init__(self, root: Path, name: str, base: Path | None = None) -> None:
        self.root, self.name, self.base = root, name, base or root
        self.environ: dict[str, str] = {}
        self.interfaces: tuple[Interface, ...] = ROUTABLE
        self.interface = "eth0"
        self.shm = (1000 * GIB, 990 * GIB)
        self.packages = {"torch": "2.8.0", "nvidia-nccl-cu12": "2.27.3", "mpi4py": "4.1.0"}
        self.cores: dict[int, tuple[int, ...]] = {}
        self.gpus = FakeGpus([])

    def write(self, path: str, text: str | bytes) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())

    def limits(self, *, locked: str = "unlimited", files: str = "1048576") -> None:
        self.write("proc/self/limits", LIMITS.format(locked=locked, files=files))

    def sources(self) -> Sources:
        return Overlaid(
            root=self.root,
            base=self.base,
            environ=self.environ,
            interfaces=lambda: self.interfaces,
            space=lambda _path: self.shm,
            package=lambda name: self.packages.get(name, ""),
            memory_left=lambda: None,
            gpus=self.gpus,
        )


def hgx(root: Path, name: str, base: Path | None = None) -> PlantedHost:
    """Return a node as it should be: 8 GPUs, 8 ports of 400 Gb/s, nothing in the way; its files are below `base`."""
    host = PlantedHost(root / name, name, base / name if base else None)
    uuids = [f"GPU-{name}-{gpu}" for gpu in range(GPUS)]
    host.gpus = FakeGpus(uuids)
    if base is None:
        _plant_hgx(host, uuids)
    return host


def _plant_hgx(host: PlantedHost, uuids: list[str]) -> None:
    flags = "fpu vme de pse tsc msr constant_tsc nonstop_tsc"
    host.write("proc/cpuinfo", f"processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Platinum 8480C\nflags\t\t: {flags}\n")
    host.write("proc/sys/kernel/osrelease", "5.15.0-1063-nvidia\n")
    host.write("proc/meminfo", "MemTotal:       2113406000 kB\nMemAvailable:   2080000000 kB\n")
    host.write("proc/self/status", "Name:\tpython\nCapEff:\t0000000000000000\n")
    host.write("proc/driver/nvidia/version", DRIVER.format("550.90.07"))
    host.limits()
    host.write("opt/mpi/lib/libmpi.so.40", "Open MPI 4.1.6")
    for gpu, uuid in enumerate(uuids):
        words = f"Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t {uuid}\n"
        host.write(f"proc/driver/nvidia/gpus/0000:{gpu + 0x18:02x}:00.0/information", words)
        device = f"sys/bus/pci/devices/0000:{gpu + 0x18:02x}:00.0"
        host.write(f"{device}/vendor", "0x10de\n")
        host.write(f"{device}/class", "0x030200\n")
        host.write(f"{device}/iommu_group/type", "identity\n")
        plant_port(host, f"mlx5_{gpu}")
    for bridge in range(4):
        plant_bridge(host, bridge, control=0)
    plant_processor(host, "performance")


def plant_processor(host: PlantedHost, governor: str, clock_source: str = "tsc") -> None:
    cpus = "sys/devices/system/cpu"
    host.write(f"{cpus}/online", f"0-{CORES - 1}\n")
    for core in range(CORES):
        host.write(f"{cpus}/cpu{core}/cpufreq/scaling_governor", f"{governor}\n")
    host.write("sys/devices/system/clocksource/clocksource0/current_clocksource", f"{clock_source}\n")


def plant_port(host: PlantedHost, device: str, state: str = "4: ACTIVE", rate: str = "400 Gb/sec (4X NDR)") -> None:
    folder = f"sys/class/infiniband/{device}/ports/1"
    for name, text in (("state", state), ("link_layer", "InfiniBand"), ("rate", rate)):
        host.write(f"{folder}/{name}", f"{text}\n")


def plant_bridge(host: PlantedHost, number: int, control: int, *, readable: bool = True) -> None:
    """Plant a port of a PCI switch, whose ACS capability is the second in the list, as behind AER."""
    config = bytearray(4096 if readable else 64)
    if readable:
        config[0x100:0x104] = (0x0001 | 1 << 16 | 0x148 << 20).to_bytes(4, "little")
        config[0x148:0x14C] = (0x000D | 1 << 16).to_bytes(4, "little")
        config[0x14E:0x150] = control.to_bytes(2, "little")
    folder = f"sys/bus/pci/devices/0000:{number + 0x40:02x}:00.0"
    host.write(f"{folder}/class", "0x060400\n")
    host.write(f"{folder}/vendor", "0x1000\n")
    host.write(f"{folder}/config", bytes(config))


def laptop(root: Path) -> PlantedHost:
    """Return a laptop: no RDMA device, small limits that do no harm there."""
    host = PlantedHost(root / "laptop", "laptop")
    host.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: 13th Gen Intel(R) Core(TM) i7-1360P\nflags\t\t: tsc\n")
    host.write("proc/sys/kernel/osrelease", "6.8.0-45-generic\n")
    host.write("proc/meminfo", "MemTotal:       16000000 kB\nMemAvailable:    9000000 kB\n")
    host.write("proc/self/status", "Name:\tpython\nCapEff:\t0000000000000000\n")
    host.limits(locked="65536", files="1024")
    host.write("sys/devices/system/cpu/online", "0-7\n")
    host.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n")
    host.shm = (8 * GIB, 8 * GIB)
    host.interface = "lo"
    return host


def facts_of(
    hosts: list[PlantedHost], backend: str, each: int, offsets: Mapping[str, float] | None = None, **job: object
) -> Facts:
    """Return what rank 0 knows once `each` ranks of every host have told of themselves, over the wire's encoding."""
    total = each * len(hosts)
    hellos = [
        Hello(
            rank=rank, ranks=total, host=host.name, clock=host.name, network=host.name, pid=1000 + rank,
            cores=host.cores.get(local, tuple(range(CORES))), purpose="", proof=b"", nonce=b"",
        )
        for rank, (host, local) in enumerate((host, local) for host in hosts for local in range(each))
    ]  # fmt: skip
    gathering = Gathering(hellos)
    library = "/opt/mpi/lib/libmpi.so.40" if backend == "mpi" else ""
    for rank, hello in enumerate(hellos):
        host = next(host for host in hosts if host.name == hello.host)
        told = tell(backend, library, rank % each, host.interface, host.sources())
        gathering.add(rank, msgspec.msgpack.decode(msgspec.msgpack.encode(told), type=type(told)))
    values = {"launcher": "srun"} | job
    made = Job(
        folder="", launch=1, backend=backend, placement=Placement(nodes=len(hosts), ranks_per_node=each), cases=(),
        plan=Plan(), budget=0.0, samples_left=0, **values,  # type: ignore[arg-type]
    )  # fmt: skip
    return gathering.facts(made, dict(offsets or {}))
