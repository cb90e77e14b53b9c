"""Where facts come from: the system's files, variables, interfaces, installed packages, GPUs; a test plants its own."""

from __future__ import annotations

import contextlib
import fcntl
import importlib.metadata
import os
import re
import socket
import struct
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from collmark.bench import environment
from collmark.bench.noise import system
from collmark.core.doctor.facts import Gpu, Interface
from collmark.core.units import NBytes

GET_FLAGS, GET_MTU = 0x8913, 0x8921  # Linux's SIOCGIFFLAGS, SIOCGIFMTU
IS_UP = 1  # IFF_UP
GLOBAL = "00"  # scope of an IPv6 address that others may reach, in /proc/net/if_inet6


class GpuSeat(msgspec.Struct, frozen=True, kw_only=True):
    """The GPU that a rank will use, by UUID, among so many that its process sees."""

    uuid: str = ""
    visible: int | None = None


class GpuProbe(Protocol):
    """Asks a driver for GPUs."""

    def seat(self, local_rank: int) -> GpuSeat:
        """Return the GPU that a rank will use."""

    def memory(self) -> Mapping[str, tuple[str, NBytes, NBytes]]:
        """Return name, memory and what of it is in use, B, of the GPUs of this host by UUID; empty where not told."""


class NoGpus:
    """Asks nobody: the backend needs no GPU."""

    def seat(self, local_rank: int) -> GpuSeat:
        """Return none."""
        del local_rank
        return GpuSeat()

    def memory(self) -> Mapping[str, tuple[str, NBytes, NBytes]]:
        """Return none."""
        return {}


def package_version(name: str) -> str:
    """Return the version of an installed package; empty where it is not installed. Imports nothing of it."""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(name)
    return ""


def space_of(path: Path) -> tuple[NBytes, NBytes] | None:
    """Return size and free bytes of a file system; None where there is none."""
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    return found.f_frsize * found.f_blocks, found.f_frsize * found.f_bavail


def interfaces_here() -> tuple[Interface, ...]:
    """Return the network interfaces of this process's network namespace, of which /sys may know nothing."""
    if not sys.platform.startswith("linux"):
        return ()
    try:
        lines = [line.split() for line in Path("/proc/self/net/if_inet6").read_text(encoding="ascii").splitlines()]
    except OSError:
        lines = []
    wide = {line[-1]: line[0] for line in lines if line[3] == GLOBAL}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        return tuple(_interface(probe, name, wide.get(name, "")) for _index, name in socket.if_nameindex())


def _interface(probe: socket.socket, name: str, other: str) -> Interface:
    def ask(what: int) -> bytes:
        try:
            return fcntl.ioctl(probe, what, struct.pack("256s", name.encode()))[16:24]
        except OSError:  # it has no address, or has just gone
            return bytes(8)

    (flags,) = struct.unpack("h", ask(GET_FLAGS)[:2])
    (mtu,) = struct.unpack("i", ask(GET_MTU)[:4])
    address = ask(environment.GET_ADDRESS)[4:8]
    return Interface(
        name=name,
        address=socket.inet_ntoa(address) if any(address) else other,
        is_up=bool(flags & IS_UP),
        mtu=mtu or None,
    )


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """Where facts come from.

    Attributes
    ----------
    root : Path
        Above /proc, /sys and libraries.
    environ : mapping
        Environment variables.
    interfaces, space, package, memory_left : callable
        Network interfaces; size and free bytes of a file system; version of a package; bytes that control groups allow.
    gpus : GpuProbe
        Of the backend.
    """

    root: Path = Path("/")
    environ: Mapping[str, str] = os.environ
    interfaces: Callable[[], tuple[Interface, ...]] = interfaces_here
    space: Callable[[Path], tuple[NBytes, NBytes] | None] = space_of
    package: Callable[[str], str] = package_version
    memory_left: Callable[[], NBytes | None] = system.memory_left
    gpus: GpuProbe = NoGpus()

    def path(self, path: str) -> Path:
        """Return a path of the system below the root."""
        return self.root / path.lstrip("/")

    def has(self, path: str) -> bool:
        """Whether a path is there, as far as we may see."""
        try:
            return self.path(path).exists()
        except OSError:
            return False

    def text(self, path: str) -> str:
        """Return what a file holds, stripped; empty where it cannot be read."""
        try:
            return self.path(path).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return ""

    def names(self, path: str) -> list[str]:
        """Return the names in a folder, sorted as people count; none where it cannot be read."""
        try:
            return in_order(entry.name for entry in self.path(path).iterdir())
        except OSError:
            return []

    def field(self, path: str, name: str) -> str:
        """Return what stands behind ``name:`` in a file of lines, first of them; empty where there is none."""
        found = re.search(rf"^{re.escape(name)}\s*:\s*(.*)$", self.text(path), re.MULTILINE)
        return found[1].strip() if found else ""

    def gpu_list(self) -> tuple[Gpu, ...]:
        """Return the GPUs of this host as the driver's files name them, with what the probe knows of their memory."""
        told = self.gpus.memory()
        places = [f"{GPU_FILES}/{bus}/information" for bus in self.names(GPU_FILES)]
        files = {self.field(place, "GPU UUID"): self.field(place, "Model") for place in places}
        return tuple(
            Gpu(uuid=uuid, name=told[uuid][0], memory=told[uuid][1], used=told[uuid][2])
            if uuid in told
            else Gpu(uuid=uuid, name=files[uuid])
            for uuid in dict.fromkeys([*told, *files])
            if uuid
        )


GPU_FILES = "/proc/driver/nvidia/gpus"


def in_order(names: Iterable[str]) -> list[str]:
    """Return names sorted as people count.

    Examples
    --------
    >>> in_order(["mlx5_10", "mlx5_2"])
    ['mlx5_2', 'mlx5_10']
    """
    return sorted(names, key=lambda name: [part.rjust(20, "0") for part in re.split(r"(\d+)", name)])
