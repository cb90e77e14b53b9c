"""What is known of the ranks of a launch and of their hosts before anything is timed.

Empty text, an empty collection or None is "not told". Sizes are bytes, times seconds. What many ranks have in common
stands once: a host in `hosts`, the same process facts in one object.
"""

from __future__ import annotations

import functools

import msgspec

from collmark.core.units import BytesPerSecond, NBytes, Seconds

UNLIMITED = -1
OURS = "collmark"
"""The launcher's name where collmark has started the ranks itself, on this machine."""


class Interface(msgspec.Struct, frozen=True, kw_only=True):
    """A network interface: an address of it, of IPv4 if it has one, whether it is up, the largest packet in B."""

    name: str
    address: str = ""
    is_up: bool = True
    mtu: NBytes | None = None


class Port(msgspec.Struct, frozen=True, kw_only=True):
    """A port of an RDMA device.

    Attributes
    ----------
    device : str
        As the verbs library names it.
    port : int
        Its number.
    state, link_layer : str
        ACTIVE and so on; InfiniBand, or Ethernet where it is RoCE.
    rate : float or None
        B/s.
    """

    device: str
    port: int
    state: str = ""
    link_layer: str = ""
    rate: BytesPerSecond | None = None

    @property
    def is_active(self) -> bool:
        """Whether the subnet manager, or the link partner, has brought it up."""
        return self.state == "ACTIVE"


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU of a host: a name that no other has, its model, its memory and how much others hold of it, B."""

    uuid: str
    name: str = ""
    memory: NBytes | None = None
    used: NBytes | None = None


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """A resource limit; -1 is none."""

    soft: int
    hard: int


class HostFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One host, as the first of its ranks saw it.

    Attributes
    ----------
    cpu, kernel, driver : str
        Processor model, release of the kernel, version of the NVIDIA driver.
    cores : int or None
        That are online, whoever may use them.
    clock_source : str
        What the kernel's clock is made of.
    governors : dict of str to int
        CPU frequency governor to the cores that have it.
    interfaces, ports, gpus
        Of the network, of RDMA devices, GPUs.
    memory : int or None
        That processes may still fill.
    shm, shm_free : int or None
        /dev/shm, and what is free of it.
    is_virtual : bool
        A hypervisor says that it is there.
    bridges, redirecting : int or None
        PCI bridges that have access control (ACS), and those that redirect peer-to-peer traffic.
    translates : bool or None
        The IOMMU translates the addresses that GPUs use.
    reads_gpu : bool or None
        Something lets RDMA devices read GPU memory: nvidia_peermem, or dma-buf.
    """

    cpu: str = ""
    kernel: str = ""
    driver: str = ""
    cores: int | None = None
    clock_source: str = ""
    governors: dict[str, int] = {}
    interfaces: tuple[Interface, ...] = ()
    ports: tuple[Port, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    memory: NBytes | None = None
    shm: NBytes | None = None
    shm_free: NBytes | None = None
    is_virtual: bool = False
    bridges: int | None = None
    redirecting: int | None = None
    translates: bool | None = None
    reads_gpu: bool | None = None


class ProcessFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One process, as far as others are likely to be the same.

    Attributes
    ----------
    versions, plugins : dict of str to str
        Of libraries, and of what they load besides.
    settings : dict of str to str
        Variables that communication libraries read.
    claims : dict of str to int
        Numbers of ranks, nodes and cores that launchers wrote down.
    memlock, nofile : Limit or None
        Bytes that may be locked, files that may be open.
    may_lock : bool
        Has the right to lock more (CAP_IPC_LOCK).
    shares_gpu : bool
        Asked for ranks that share a GPU, to test.
    """

    versions: dict[str, str] = {}
    plugins: dict[str, str] = {}
    settings: dict[str, str] = {}
    claims: dict[str, int] = {}
    memlock: Limit | None = None
    nofile: Limit | None = None
    may_lock: bool = False
    shares_gpu: bool = False


class RankFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One rank.

    Attributes
    ----------
    rank : int
        Index.
    host : str
        Name of its host, one of :attr:`Facts.hosts`.
    cores : tuple of int
        That it may run on, as its launcher started it.
    interface : str
        By which it reaches rank 0.
    gpu : str
        UUID of the one it will use.
    visible_gpus : int or None
        That its process sees.
    process : ProcessFacts
        What it is likely to have in common with others.
    """

    rank: int
    host: str
    cores: tuple[int, ...] = ()
    interface: str = ""
    gpu: str = ""
    visible_gpus: int | None = None
    process: ProcessFacts = ProcessFacts()


class Objection(msgspec.Struct, frozen=True, kw_only=True):
    """What was noticed while the ranks came together, for the check of that name; on which rank, if it was one."""

    check: str
    words: str
    rank: int | None = None


class Facts(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """All that is judged.

    Attributes
    ----------
    backend, launcher : str
        What is to move the bytes; who started the ranks.
    asked : int or None
        Ranks that the user asked for, where a launcher decides.
    hosts : dict of str to HostFacts
        By name; one that no rank described has empty facts.
    ranks : tuple of RankFacts
        In order.
    offsets : dict of str to float
        Wall clock of a host less that of rank 0's, s.
    objections : tuple of Objection
        What was noticed while the ranks came together.
    """

    backend: str
    launcher: str = OURS
    asked: int | None = None
    hosts: dict[str, HostFacts] = {}
    ranks: tuple[RankFacts, ...] = ()
    offsets: dict[str, Seconds] = {}
    objections: tuple[Objection, ...] = ()

    @property
    def is_several(self) -> bool:
        """Whether the ranks lie on several hosts."""
        return len(self.hosts) > 1

    @functools.cached_property
    def described(self) -> dict[str, HostFacts]:
        """Hosts of which something is known: of what nobody has said, nothing differs."""
        return {name: host for name, host in self.hosts.items() if host != HostFacts()}

    @functools.cached_property
    def ranks_of(self) -> dict[str, tuple[RankFacts, ...]]:
        """Ranks of each host."""
        found: dict[str, list[RankFacts]] = {host: [] for host in self.hosts}
        for rank in self.ranks:
            found[rank.host].append(rank)
        return {host: tuple(ranks) for host, ranks in found.items()}
