"""The probes: files in all the forms that they have, this very system, and a driver that is a fake."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.bench.doctor.planted import PlantedHost, plant_port

from collmark.bench.backends.cuda_driver import Driver, Gpu
from collmark.bench.doctor import gpus
from collmark.bench.doctor.gather import host_names, offset
from collmark.bench.doctor.gpus import DriverGpus, probe_for, read_smi
from collmark.bench.doctor.host import access_control, host_facts
from collmark.bench.doctor.process import file_words, process_facts
from collmark.bench.doctor.sources import GpuSeat, NoGpus, Sources, package_version, space_of
from collmark.bench.handshake import Hello
from collmark.core.doctor.facts import UNLIMITED, Limit
from collmark.core.units import MIB

needs_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc and /sys")


@pytest.fixture
def host(tmp_path: Path) -> PlantedHost:
    return PlantedHost(tmp_path, "host")


@pytest.mark.parametrize(
    ("words", "version", "reads"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19\n", "535.104.05", False),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n", "580.95.05", True),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  570.172", "570.172", True),
        ("", "", False),
    ],
)  # fmt: skip
def test_the_driver_tells_its_version_and_whether_it_is_open(
    host: PlantedHost,
    words: str,
    version: str,
    reads: bool,  # noqa: FBT001
) -> None:
    host.write("proc/driver/nvidia/version", words)
    host.write("proc/sys/kernel/osrelease", "6.8.0-45-generic\n")
    host.write("proc/driver/nvidia/gpus/0000:18:00.0/information", "Model: \t\t NVIDIA L4\nGPU UUID: \t GPU-1\n")
    facts = host_facts(host.sources(), on_gpus=True)
    assert (facts.driver, facts.reads_gpu) == (version, reads)
    assert [(gpu.uuid, gpu.name) for gpu in facts.gpus] == [("GPU-1", "NVIDIA L4")]
    host.write("proc/sys/kernel/osrelease", "5.4.0-150-generic\n")
    assert host_facts(host.sources(), on_gpus=True).reads_gpu is False
    host.write("sys/module/nvidia_peermem/refcnt", "0\n")
    assert host_facts(host.sources(), on_gpus=True).reads_gpu is True


def test_ports_tell_state_layer_and_rate(host: PlantedHost) -> None:
    plant_port(host, "mlx5_10", rate="100 Gb/sec (4X EDR)")
    plant_port(host, "mlx5_2", state="2: INIT", rate="unknown")
    first, second = host_facts(host.sources(), on_gpus=False).ports
    assert (first.device, first.is_active, first.rate) == ("mlx5_2", False, None)
    assert (second.device, second.is_active, second.rate) == ("mlx5_10", True, 12.5e9)


@pytest.mark.parametrize(
    ("config", "control"),
    [
        (b"", None),
        (bytes(64), None),
        (bytes(4096), None),
        # A list that leads back to itself, as a broken device may have it.
        (bytes(0x100) + (0x0001 | 0x100 << 20).to_bytes(4, "little") + bytes(60), None),
        (bytes(0x100) + (0x000D).to_bytes(4, "little") + b"\0\0\x1d\0" + bytes(8), 0x1D),
        (bytes(0x100) + (0x000D).to_bytes(4, "little"), None),
    ],
)  # fmt: skip
def test_access_control_is_read_from_the_list_of_capabilities(config: bytes, control: int | None) -> None:
    assert access_control(config) == control


def test_cores_and_memory(host: PlantedHost) -> None:
    host.write("sys/devices/system/cpu/online", "0-2,4\n")
    host.write("proc/meminfo", "MemAvailable:    2048 kB\n")
    facts = host_facts(host.sources(), on_gpus=False)
    assert (facts.cores, facts.memory) == (4, 2 * MIB)
    sources = Sources(root=host.root, memory_left=lambda: 100, space=lambda _path: None)
    assert host_facts(sources, on_gpus=False).memory == 100


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Max locked memory         65536                unlimited      bytes\n", Limit(soft=65536, hard=UNLIMITED)),
        ("Max locked memory         unlimited            unlimited            bytes\n", Limit(soft=-1, hard=-1)),
        ("", None),
    ],
)  # fmt: skip
def test_limits(host: PlantedHost, text: str, expected: Limit | None) -> None:
    host.write("proc/self/limits", text)
    assert process_facts(host.sources(), "gloo").memlock == expected


def test_a_plug_in_is_found_where_the_library_looks(host: PlantedHost) -> None:
    host.write("opt/plugin/lib/libnccl-net-ofi.so", "ofi")
    host.write("usr/lib64/libnccl-net.so", "system")
    assert list(process_facts(host.sources(), "nccl").plugins) == ["libnccl-net.so"]
    host.environ = {"LD_LIBRARY_PATH": "/nowhere:/opt/plugin/lib", "NCCL_NET_PLUGIN": "ofi"}
    plugins = process_facts(host.sources(), "nccl").plugins
    assert list(plugins) == ["libnccl-net-ofi.so"]
    assert plugins["libnccl-net-ofi.so"].startswith("libnccl-net-ofi.so (3 B, crc32")
    assert process_facts(host.sources(), "gloo").plugins == {}


def test_files_of_one_name_are_told_apart_by_content(tmp_path: Path) -> None:
    one, other = tmp_path / "one/lib.so", tmp_path / "other/lib.so"
    for path, content in ((one, b"abc"), (other, b"abd")):
        path.parent.mkdir()
        path.write_bytes(content)
    assert file_words(one) != file_words(other)
    assert file_words(tmp_path / "none.so") == ""


@needs_linux
def test_this_system_tells_the_truth_about_itself() -> None:
    sources = Sources()
    facts, process = host_facts(sources, on_gpus=False), process_facts(sources, "gloo")
    assert facts.cores == os.cpu_count()
    assert facts.kernel == os.uname().release
    assert "lo" in {one.name for one in facts.interfaces}
    assert all(one.mtu for one in facts.interfaces)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert process.nofile == Limit(soft=soft, hard=hard)
    soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    assert process.memlock == Limit(soft=soft, hard=hard)
    assert process.versions["python"] == ".".join(map(str, sys.version_info[:3]))


def test_packages_and_file_systems(tmp_path: Path) -> None:
    assert package_version("msgspec")
    assert package_version("no-such-package-of-ours") == ""
    size, free = space_of(tmp_path) or (0, 1)
    assert size >= free >= 0
    assert space_of(tmp_path / "none") is None


def test_a_driver_gives_each_rank_its_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver(version=(13, 0), gpus=tuple(Gpu(name="x", memory=1, uuid=f"GPU-{place}") for place in range(2)))
    monkeypatch.setattr(gpus, "find_driver", lambda: driver)
    assert [DriverGpus().seat(rank) for rank in range(3)] == [
        GpuSeat(uuid="GPU-0", visible=2), GpuSeat(uuid="GPU-1", visible=2), GpuSeat(uuid="", visible=2)
    ]  # fmt: skip
    monkeypatch.setattr(gpus, "find_driver", lambda: None)
    assert DriverGpus().seat(0) == GpuSeat()


def test_what_nvidia_smi_says_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert DriverGpus().memory() == {}
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'GPU-1, NVIDIA H100, 81559, 512'\necho 'GPU-2, NVIDIA H100, [N/A], [N/A]'\n")
    program.chmod(0o755)
    assert DriverGpus().memory() == {"GPU-1": ("NVIDIA H100", 81559 * MIB, 512 * MIB)}
    assert read_smi("No devices were found\n") == {}


def test_only_nccl_asks_for_gpus() -> None:
    assert isinstance(probe_for("nccl"), DriverGpus)
    assert isinstance(probe_for("gloo"), NoGpus)


def hello(rank: int, host: str, network: str) -> Hello:
    return Hello(
        rank=rank, ranks=4, host=host, clock="", network=network, pid=1, cores=(), purpose="", proof=b"", nonce=b""
    )


def test_hosts_of_one_name_in_networks_of_their_own_are_told_apart() -> None:
    hellos = [hello(0, "a", "1"), hello(1, "a", "2"), hello(2, "b", "3"), hello(3, "a", "1")]
    assert host_names(hellos) == ["a#1", "a#2", "b", "a#1"]


def test_the_quickest_look_at_a_clock_counts() -> None:
    looks = np.array([[0, 10**9 + 400, 1000], [2000, 10**9 + 2050, 2100], [3000, 10**9 + 9000, 90000]])
    assert offset(looks) == 1.0, "the first is 100 ns off"
