"""Faults planted in the files, variables and devices of two nodes: each is found, by its own check and no other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.bench.doctor.planted import (
    DRIVER,
    FakeGpus,
    PlantedHost,
    facts_of,
    hgx,
    laptop,
    plant_bridge,
    plant_port,
    plant_processor,
)

from collmark.bench.doctor import process
from collmark.core.doctor.facts import Facts, HostFacts, Interface, Limit, Objection, Port, ProcessFacts, RankFacts
from collmark.core.doctor.finding import Level
from collmark.core.doctor.table import CHECKS, diagnose
from collmark.core.units import GIB, MIB

Hosts = list[PlantedHost]
B, W, H = Level.BLOCKING, Level.WARNING, Level.HINT


def _library(host: PlantedHost, content: str) -> None:
    host.write("opt/mpi/lib/libmpi.so.40", content)


def _one_core(hosts: Hosts) -> None:
    hosts[1].cores = dict.fromkeys(range(8), (0,))


def _cpus_per_task(hosts: Hosts) -> None:
    for host in hosts:
        host.environ["SLURM_CPUS_PER_TASK"] = "4"
        host.cores = {rank: (rank,) for rank in range(8)}


def _own_core(hosts: Hosts) -> None:
    for host in hosts:
        host.cores = {rank: (rank,) for rank in range(8)}


def _same_gpu(hosts: Hosts) -> None:
    # CUDA_VISIBLE_DEVICES=0 on every rank of the second host.
    hosts[1].gpus.shown = dict.fromkeys(range(8), hosts[1].gpus.uuids[:1])


def _own_gpu(hosts: Hosts) -> None:
    for host in hosts:
        host.gpus.shown = {rank: [host.gpus.uuids[rank]] for rank in range(8)}


def _held(hosts: Hosts) -> None:
    hosts[1].gpus.used = 3 * GIB


def _bridges(hosts: Hosts) -> None:
    plant_bridge(hosts[1], 2, control=0x1D)  # SV, RR, CR and UF, as a BIOS leaves them
    plant_bridge(hosts[1], 3, control=0b1000)  # completions alone


def _translated(hosts: Hosts) -> None:
    for gpu in range(8):
        hosts[1].write(f"sys/bus/pci/devices/0000:{gpu + 0x18:02x}:00.0/iommu_group/type", "DMA-FQ\n")


def _closed_driver(hosts: Hosts) -> None:
    for host in hosts:
        words = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31\n"
        host.write("proc/driver/nvidia/version", words)


def _set(name: str, value: str, where: slice = slice(None)) -> Callable[[Hosts], None]:
    def plant(hosts: Hosts) -> None:
        for host in hosts[where]:
            host.environ[name] = value

    return plant


def _attribute(name: str, value: object) -> Callable[[Hosts], None]:
    return lambda hosts: setattr(hosts[1], name, value)


def _package(name: str, version: str) -> Callable[[Hosts], None]:
    return lambda hosts: hosts[1].packages.update({name: version})


def _processor(governor: str, source: str = "tsc") -> Callable[[Hosts], None]:
    return lambda hosts: plant_processor(hosts[1], governor, source)


def _limits(**limits: str) -> Callable[[Hosts], None]:
    return lambda hosts: hosts[1].limits(**limits)


def _file(path: str, text: str) -> Callable[[Hosts], None]:
    return lambda hosts: hosts[1].write(path, text)


SECOND = slice(1, 2)
NO_ETH0 = (Interface(name="lo", address="127.0.0.1"), Interface(name="ens3", address="10.0.0.2", mtu=9000))
SMALL_MTU = (Interface(name="lo", address="127.0.0.1"), Interface(name="eth0", address="10.0.0.2", mtu=1500))

FAULTS: dict[str, tuple[str, str, Level, Callable[[Hosts], None], str]] = {
    # what is wrong: backend, check, level, how it is planted, what is said of it
    "driver differs": ("nccl", "versions", W, _file("proc/driver/nvidia/version", DRIVER.format("535.104.05")),
                       "driver differs: 550.90.07 on a; 535.104.05 on b"),
    "NCCL differs": ("nccl", "versions", B, _package("nvidia-nccl-cu12", "2.26.2"), "nccl differs: 2.27.3 on a; 2.26"),
    "torch differs": ("gloo", "versions", B, _package("torch", "2.7.1"), "torch differs: 2.8.0 on a; 2.7.1 on b"),
    "MPI differs": ("mpi", "versions", B, lambda hosts: _library(hosts[1], "other"), "mpi differs: libmpi.so"),
    "kernel differs": ("gloo", "versions", H, _file("proc/sys/kernel/osrelease", "6.8.0\n"), "kernel differs"),
    "plug-in on one host only": ("nccl", "plug-ins", W, _file("usr/local/lib/libnccl-net.so", "plug-in"),
                                 "libnccl-net.so differs: none on a; libnccl-net.so (7 B, crc32"),
    "settings differ": ("nccl", "settings", W, _set("NCCL_ALGO", "Ring", SECOND), "NCCL_ALGO differs: not set on a"),
    "processors differ": ("gloo", "hardware", H, _file("proc/cpuinfo", "model name\t: AMD EPYC 9654\nflags\t: tsc\n"),
                          "processors differ: Intel(R) Xeon(R) Platinum 8480C on a; AMD EPYC 9654 on b"),
    "no such interface": ("gloo", "interface", B, lambda hosts: (_set("GLOO_SOCKET_IFNAME", "eth0")(hosts),
                          _attribute("interfaces", NO_ETH0)(hosts), _attribute("interface", "ens3")(hosts))[0],
                          "GLOO_SOCKET_IFNAME=eth0, and no such interface is up; there is lo, ens3"),
    "loopback across hosts": ("gloo", "interface", B, _set("GLOO_SOCKET_IFNAME", "lo"), "=lo leads to no other host"),
    "docker0 across hosts": ("nccl", "interface", B, _set("NCCL_SOCKET_IFNAME", "docker"), "=docker leads to no other"),
    "way over a bridge": ("gloo", "interface", B, _attribute("interface", "docker0"), "to rank 0 goes over docker0"),
    "port down on one host": ("nccl", "rdma", W, lambda hosts: plant_port(hosts[1], "mlx5_3", state="1: DOWN"),
                              "active ports differ: 8 x 400 Gb/s InfiniBand on a; 7 x 400 Gb/s InfiniBand on b"),
    "slow port": ("mpi", "rdma", W, lambda hosts: plant_port(hosts[1], "mlx5_3", rate="200 Gb/sec (4X HDR)"),
                  "1 x 200 Gb/s InfiniBand, 7 x 400 Gb/s InfiniBand on b"),
    "no such device": ("nccl", "rdma", W, _set("NCCL_IB_HCA", "=mlx5_bond_0:1"), "NCCL_IB_HCA==mlx5_bond_0:1, and no"),
    "packets of two sizes": ("gloo", "mtu", W, _attribute("interfaces", SMALL_MTU), "9000 B on a; 1500 B on b"),
    "two ranks on one GPU": ("nccl", "gpus", B, _same_gpu, "have the same GPU, GPU-b-0"),
    "binding hides peers": ("nccl", "gpu binding", W, _own_gpu, "each rank sees its own GPU and no other"),
    "GPU in use": ("nccl", "gpu memory", W, _held, "others hold 3.00 GiB of 80.0 GiB"),
    "ACS": ("nccl", "acs", W, _bridges, "2 of 4 PCI bridges redirect peer-to-peer traffic"),
    "IOMMU": ("nccl", "iommu", H, _translated, "the IOMMU translates what GPUs address"),
    "no GPUDirect": ("nccl", "gpudirect", W, _closed_driver, "neither nvidia_peermem nor dma-buf"),
    "all on one core": ("gloo", "cores", W, _one_core, "8 ranks on core 0, of 32 that are there"),
    "cores not taken over": ("nccl", "cores", W, _cpus_per_task, "1 core a rank, and the job asked for 4"),
    "a core for four threads": ("gloo", "cores", W, _own_core, "1 core a rank, of 32"),
    "governor": ("gloo", "governor", W, _processor("powersave"), "powersave on 32 cores"),
    "clock source": ("gloo", "clock source", W, _processor("performance", "hpet"), "hpet"),
    "locked memory, NCCL": ("nccl", "memlock", B, _limits(locked="65536"), "64.0 KiB, needs unlimited"),
    "locked memory, MPI": ("mpi", "memlock", W, _limits(locked="8388608"), "8.00 MiB, needs unlimited"),
    "open files of rank 0": ("gloo", "nofile", B, lambda hosts: hosts[0].limits(files="150"), "16 ranks need 160"),
    "open files": ("gloo", "nofile", W, _limits(files="64"), "64 open files, 16 ranks need 144"),
    "/dev/shm of a container": ("nccl", "shm", W, _attribute("shm", (64 * MIB, 60 * MIB)), "60.0 MiB free of 64.0 MiB"),
    "no memory left": ("gloo", "memory", W, _file("proc/meminfo", "MemAvailable:    1000000 kB\n"), "left for 8 ranks"),
}  # fmt: skip


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nodes")
    for name in ("a", "b"):
        hgx(folder, name)
    return folder


@pytest.fixture
def nodes(tmp_path: Path, planted: Path, monkeypatch: pytest.MonkeyPatch) -> Hosts:
    monkeypatch.setattr(process, "torch_cuda", lambda: "12.8")  # whatever is installed here
    return [hgx(tmp_path, name, planted) for name in ("a", "b")]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_by_its_own_check(nodes: Hosts, fault: str) -> None:
    backend, check, level, plant, words = FAULTS[fault]
    plant(nodes)
    facts = facts_of(nodes, backend, each=8)
    found = diagnose(facts)
    assert {(one.check, one.level) for one in found.findings} == {(check, level)}
    assert any(words in one.found for one in found.findings), found.findings
    assert all(one.breaks and one.mend for one in found.findings)
    # It is this check that finds it: without it nobody does.
    others = {name: rule for name, rule in CHECKS.items() if name != check}
    assert not diagnose(facts, others).findings


OF_THE_LAUNCH: dict[str, tuple[str, Level, dict[str, object], str]] = {
    "other number of ranks": ("world", B, {"asked": 32}, "32 ranks were asked for, 16 were started by srun"),
    "copies of rank 0": ("ranks", B, {"objections": (Objection(check="ranks", words="two are rank 0"),)}, "two"),
    "uneven": ("placement", B, {"objections": (Objection(check="placement", words="unevenly, 9 on a"),)}, "9 on a"),
    "no library": ("backend", B, {"objections": (Objection(check="backend", words="no torch", rank=9),)}, "no torch"),
    "another MPI's launcher": ("launcher", B, {"objections": (Objection(check="launcher", words="all are 0"),)}, "all"),
}  # fmt: skip


@pytest.mark.parametrize("fault", OF_THE_LAUNCH)
def test_a_fault_of_the_launch_is_found_by_its_own_check(nodes: Hosts, fault: str) -> None:
    check, level, job, words = OF_THE_LAUNCH[fault]
    facts = facts_of(nodes, "gloo", 8, **job)  # type: ignore[arg-type]
    (one,) = diagnose(facts).findings
    assert (one.check, one.level) == (check, level)
    assert words in one.found
    assert not diagnose(facts, {name: rule for name, rule in CHECKS.items() if name != check}).findings


def test_a_clock_that_is_off_is_found_by_its_own_check(nodes: Hosts) -> None:
    facts = facts_of(nodes, "gloo", 8, offsets={"b": -42.0})
    (one,) = diagnose(facts).findings
    assert (one.check, one.where, one.found) == ("wall clock", "b", "42 s behind a")
    assert not diagnose(facts, {name: rule for name, rule in CHECKS.items() if name != "wall clock"}).findings
    assert [bool(diagnose(facts_of(nodes, "gloo", 8, offsets={"b": off})).findings) for off in (0.9, 1.1)] == [0, 1]


def test_variables_that_contradict_the_launch(nodes: Hosts) -> None:
    _set("WORLD_SIZE", "4")(nodes)
    (one,) = diagnose(facts_of(nodes, "mpi", 8, launcher="mpiexec")).findings
    assert (one.check, one.level) == ("world", W)
    assert "WORLD_SIZE=4, and mpiexec has started 16" in one.found
    nodes[0].environ = {"SLURM_JOB_NUM_NODES": "2"}
    (one,) = diagnose(facts_of(nodes[:1], "gloo", 8, launcher="collmark")).findings
    assert (one.check, one.level) == ("world", W)
    assert "a Slurm job of 2 nodes, and no launcher" in one.found


@pytest.mark.parametrize("backend", ["nccl", "mpi", "gloo"])
@pytest.mark.parametrize("count", [1, 2])
def test_no_false_alarm_on_nodes_as_they_should_be(nodes: Hosts, backend: str, count: int) -> None:
    found = diagnose(facts_of(nodes[:count], backend, each=8))
    assert not found.findings
    assert not found.unknown
    assert {"world", "versions", "cores", "governor", "memory"} <= set(found.good)
    assert ({"gpus", "acs", "gpu binding"} <= set(found.good)) is (backend == "nccl")


def test_a_variable_of_another_backend_may_differ(nodes: Hosts) -> None:
    _set("NCCL_ALGO", "Ring", SECOND)(nodes)
    assert not diagnose(facts_of(nodes, "gloo", each=8)).findings


def test_a_host_that_nobody_described_differs_in_nothing(nodes: Hosts) -> None:
    for host in nodes:
        host.environ["NCCL_SOCKET_IFNAME"] = "eth0"
    facts = facts_of(nodes, "nccl", each=8)
    unseen = msgspec.structs.replace(facts, hosts={**facts.hosts, "b": HostFacts()})
    assert not diagnose(unseen).findings


def test_a_gpu_that_no_rank_uses_may_be_another(nodes: Hosts) -> None:
    words = "Model: \t\t NVIDIA DGX Display\nGPU UUID: \t GPU-screen\n"
    nodes[1].write("proc/driver/nvidia/gpus/0000:90:00.0/information", words)
    assert not diagnose(facts_of(nodes, "nccl", each=8)).findings
    facts = facts_of(nodes, "nccl", each=8)
    ranks = (*facts.ranks[:-1], msgspec.structs.replace(facts.ranks[-1], gpu="GPU-screen"))
    found = diagnose(msgspec.structs.replace(facts, ranks=ranks)).findings
    assert {one.check for one in found} == {"hardware"}
    assert any(
        "b: GPUs of several models: NVIDIA DGX Display, NVIDIA H100" in f"{one.where}: {one.found}" for one in found
    )


def test_settings_that_may_differ_are_no_false_alarm(nodes: Hosts) -> None:
    for position, host in enumerate(nodes):
        host.environ |= {"NCCL_IB_HCA": f"mlx5_{position}", "NCCL_SOCKET_IFNAME": "^docker,lo"}
        host.environ |= {"NCCL_DEBUG_FILE": f"/tmp/{position}", "SLURM_CPUS_PER_TASK": "4"}
        host.cores = {rank: tuple(range(4 * rank, 4 * rank + 4)) for rank in range(8)}
    assert not diagnose(facts_of(nodes, "nccl", each=8)).findings


@pytest.mark.parametrize("backend", ["mpi", "gloo"])
def test_what_does_no_harm_on_a_laptop_is_no_finding(tmp_path: Path, backend: str) -> None:
    host = laptop(tmp_path)
    _library(host, "MPICH")
    host.environ["GLOO_SOCKET_IFNAME"] = "lo"
    found = diagnose(facts_of([host], backend, each=4, launcher="collmark"))
    assert not found.findings
    assert "memlock" not in found.good  # it does not matter here
    assert set(found.unknown) == {"governor"}


def test_locked_memory_matters_only_where_it_is_needed(nodes: Hosts) -> None:
    for host in nodes:
        host.limits(locked="65536")
    assert diagnose(facts_of(nodes, "nccl", 8)).blocking
    (hint,) = diagnose(facts_of(nodes[:1], "nccl", 8)).findings
    assert (hint.check, hint.level) == ("memlock", H)
    assert not diagnose(facts_of(nodes, "gloo", 8)).findings
    for variable, value in (("NCCL_IB_DISABLE", "1"), ("NCCL_NET", "Socket")):
        for host in nodes:
            host.environ = {variable: value}
        assert not diagnose(facts_of(nodes, "nccl", 8)).findings
    for host in nodes:
        host.environ = {}
        host.write("proc/self/status", "CapEff:\t000001ffffffffff\n")  # root may lock what it wants
    assert not diagnose(facts_of(nodes, "nccl", 8)).findings


def test_ranks_that_are_meant_to_share_a_gpu(nodes: Hosts) -> None:
    _same_gpu(nodes)
    nodes[1].environ["COLLMARK_SHARED_GPU"] = "1"
    assert "gpus" not in {one.check for one in diagnose(facts_of(nodes, "nccl", 8)).findings}


def test_more_ranks_than_gpus(nodes: Hosts) -> None:
    facts = facts_of(nodes, "nccl", each=8)
    ranks = (*facts.ranks[:-1], msgspec.structs.replace(facts.ranks[-1], gpu=""))
    (one,) = diagnose(msgspec.structs.replace(facts, ranks=ranks)).findings
    assert (one.check, one.level, one.where) == ("gpus", B, "rank 15 (b)")
    assert "no GPU is left, of 8" in one.found


def test_bridges_that_only_root_may_read(nodes: Hosts) -> None:
    for bridge in range(4):
        plant_bridge(nodes[1], bridge, control=0x1D, readable=False)
    found = diagnose(facts_of(nodes, "nccl", 8))
    assert not found.findings
    assert "lspci" in found.unknown["acs"]
    words = (nodes[1].base / "proc/cpuinfo").read_text().replace("fpu", "fpu hypervisor")
    nodes[1].write("proc/cpuinfo", words)  # there ACS is the hypervisor's business
    assert "acs" in diagnose(facts_of(nodes, "nccl", 8)).good


def test_a_host_that_tells_nothing(tmp_path: Path) -> None:
    bare = PlantedHost(tmp_path / "bare", "bare")
    bare.interfaces, bare.packages, bare.gpus = (), {}, FakeGpus([])
    found = diagnose(facts_of([bare], "nccl", each=2, launcher="collmark"))
    assert not found.findings
    assert {"gpus", "gpu memory", "governor", "clock source", "nofile", "memory"} <= set(found.unknown)


@pytest.mark.parametrize("garbage", [b"", b"\0" * 5000, b"\xff\xfe: -1\n" * 9, b"9" * 5000, b"0-99999999999,x\n"])
def test_files_of_any_content_break_nothing(tmp_path: Path, garbage: bytes) -> None:
    host = hgx(tmp_path, "a")
    for path in host.root.rglob("*"):
        if path.is_file():
            path.write_bytes(garbage)
    host.write("sys/class/infiniband/mlx5_0/ports/x/state", garbage)
    host.environ = {"LD_LIBRARY_PATH": f"{'x' * 5000}:/a", "SLURM_CPUS_PER_TASK": "9" * 5000, "WORLD_SIZE": "-1"}
    found = diagnose(facts_of([host], "nccl", each=2, launcher="mpiexec"))
    assert all(str(one).isprintable() for one in found.findings)


def test_hostile_text_stays_one_line(nodes: Hosts) -> None:
    _set("NCCL_ALGO", "x\n\x1b[2Jy", SECOND)(nodes)
    (one,) = diagnose(facts_of(nodes, "nccl", each=8)).findings
    assert str(one).isprintable()


def test_no_credential_is_kept(nodes: Hosts) -> None:
    _set("NCCL_PLUGIN_TOKEN", "hf_planted0123456789", SECOND)(nodes)
    facts = facts_of(nodes, "nccl", each=8)
    assert b"planted" not in msgspec.json.encode(facts)
    assert not diagnose(facts).findings


def test_rank_0_holds_text_of_hosts_and_not_of_ranks(nodes: Hosts) -> None:
    facts = facts_of(nodes, "nccl", each=8)
    assert len({id(rank.process) for rank in facts.ranks}) == 1
    _set("NCCL_ALGO", "Ring", SECOND)(nodes)
    facts = facts_of(nodes, "nccl", each=8)
    assert len({id(rank.process) for rank in facts.ranks}) == 2
    assert list(facts.hosts) == ["a", "b"]


def test_many_ranks_are_judged_in_findings_of_few_words() -> None:
    ranks, each = 16_384, 8
    hosts = [f"node{number:04d}" for number in range(ranks // each)]
    base = facts_with(hosts, each)
    found = diagnose(base)
    assert {one.check for one in found.findings} == {"memlock"}
    assert all(len(str(one)) < 1000 for one in found.findings)


def facts_with(hosts: list[str], each: int) -> Facts:
    low = ProcessFacts(memlock=Limit(soft=65536, hard=65536), nofile=Limit(soft=1 << 20, hard=1 << 20))
    good = msgspec.structs.replace(low, memlock=Limit(soft=-1, hard=-1))
    one = HostFacts(ports=(Port(device="mlx5_0", port=1, state="ACTIVE", rate=50e9, link_layer="InfiniBand"),))
    ranks = tuple(
        RankFacts(rank=rank, host=hosts[rank // each], process=low if rank % 2 else good, gpu=f"GPU-{rank}")
        for rank in range(len(hosts) * each)
    )
    return Facts(backend="nccl", launcher="srun", hosts=dict.fromkeys(hosts, one), ranks=ranks)
