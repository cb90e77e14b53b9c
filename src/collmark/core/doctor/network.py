"""Checks of the network: the interfaces and devices that ranks are told to use, or would."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from collmark.core.doctor.check import Check, Seen, differing
from collmark.core.doctor.facts import Facts, HostFacts, Interface, RankFacts
from collmark.core.doctor.finding import Level
from collmark.core.units import BytesPerSecond

INTERFACES = {"gloo": "GLOO_SOCKET_IFNAME", "nccl": "NCCL_SOCKET_IFNAME"}
"""The variable by which a backend is told its interface."""
DEVICES = "NCCL_IB_HCA"
OF_ONE_HOST = ("lo", "docker", "virbr")
"""Beginnings of names of interfaces that lead to no other host; the first two are what NCCL leaves out by itself."""


def matches(asked: str, name: str, *, exact: bool = False) -> bool:
    """Return whether a list, as NCCL reads it, names something: by prefixes, whole names behind ``=``, ``^`` for not.

    Parameters
    ----------
    asked : str
        The list; a port behind a device (``mlx5_0:1``) does not count.
    name : str
    exact : bool
        Names are whole, as torch reads GLOO_SOCKET_IFNAME.

    Examples
    --------
    >>> matches("eth,ib", "ib0"), matches("=eth0", "eth01"), matches("^docker,lo", "eth0")
    (True, False, True)
    """
    excludes = asked.startswith("^")
    asked = asked.removeprefix("^")
    exact = exact or asked.startswith("=")
    names = [part.split(":")[0] for part in asked.removeprefix("=").split(",")]
    return any(name == one if exact else name.startswith(one) for one in names if one) is not excludes


def _leads_nowhere(name: str) -> bool:
    return name.startswith(OF_ONE_HOST)


def _interface(facts: Facts) -> Iterator[Seen]:
    variable = INTERFACES.get(facts.backend, "")
    for ranks, asked in _asking(facts, variable):
        if not facts.hosts[ranks[0].host].interfaces:
            continue  # the system does not tell which there are
        chosen = _chosen(facts, ranks[0], asked)
        there = ", ".join(one.name for one in facts.hosts[ranks[0].host].interfaces) or "none"
        if not chosen:
            found = f"{variable}={asked}, and no such interface is up; there is {there}"
            yield Seen(level=Level.BLOCKING, ranks=tuple(ranks), found=found)
        elif facts.is_several and all(_leads_nowhere(one.name) for one in chosen):
            found = f"{variable}={asked} leads to no other host; there is {there}"
            yield Seen(level=Level.BLOCKING, ranks=tuple(ranks), found=found)
    for rank in facts.ranks if facts.is_several else ():
        if not _leads_nowhere(rank.interface):
            continue
        yield Seen(
            level=Level.BLOCKING,
            ranks=(rank,),
            found=f"the way to rank 0 goes over {rank.interface}",
            mend="set MASTER_ADDR or COLLMARK_CONTROL_HOST to an address of rank 0's host that others reach",
        )


def _asking(facts: Facts, variable: str) -> Iterator[tuple[list[RankFacts], str]]:
    """Yield the ranks of each host that a variable tells the same, and what."""
    for ranks in facts.ranks_of.values():
        asking: dict[str, list[RankFacts]] = {}
        for rank in ranks:
            if asked := rank.process.settings.get(variable, ""):
                asking.setdefault(asked, []).append(rank)
        for asked, same in asking.items():
            yield same, asked


def _chosen(facts: Facts, rank: RankFacts, asked: str) -> list[Interface]:
    exact = facts.backend == "gloo"
    up = [one for one in facts.hosts[rank.host].interfaces if one.is_up and one.address]
    return [one for one in up if matches(asked, one.name, exact=exact)]


def _devices(facts: Facts) -> Iterator[Seen]:
    for ranks, asked in _asking(facts, DEVICES):
        devices = [port.device for port in facts.hosts[ranks[0].host].ports if port.is_active]
        if not any(matches(asked, device) for device in devices):
            there = ", ".join(dict.fromkeys(devices)) or "none"
            found = f"{DEVICES}={asked}, and no such device is active; there is {there}"
            yield Seen(level=Level.WARNING, ranks=tuple(ranks), found=found, breaks="NCCL goes over TCP without a word")
    if words := differing((name, _ports_words(host)) for name, host in facts.described.items()):
        yield Seen(level=Level.WARNING, found=f"active ports differ: {words}")


def _ports_words(host: HostFacts) -> str:
    kinds = [f"{_gigabits(port.rate)} {port.link_layer}".strip() for port in host.ports if port.is_active]
    return ", ".join(f"{kinds.count(kind)} x {kind}" for kind in sorted(set(kinds)))


def _gigabits(rate: BytesPerSecond | None) -> str:
    return "" if rate is None else f"{rate * 8 / 1e9:g} Gb/s"


def _mtu(facts: Facts) -> Iterator[Seen]:
    told = (
        (rank.host, f"{one.mtu} B")
        for rank in facts.ranks
        for one in facts.hosts[rank.host].interfaces
        if one.name == rank.interface and one.mtu is not None and not _leads_nowhere(one.name)
    )
    if words := differing(told):
        yield Seen(level=Level.WARNING, found=f"the largest packet differs: {words}")


def _told(*variables: str) -> Callable[[Facts], bool]:
    def applies(facts: Facts) -> bool:
        return facts.is_several or any(rank.process.settings.get(one) for rank in facts.ranks for one in variables)

    return applies


NETWORK = {
    "interface": Check(
        looks="the interface that GLOO_SOCKET_IFNAME or NCCL_SOCKET_IFNAME names, and the way to rank 0",
        breaks="ranks cannot connect, or wait for an address that no other host reaches",
        mend="name an interface that every host has and that reaches the others (ip -br addr), or unset the variable",
        rule=_interface,
        applies=_told(*INTERFACES.values()),
        sources=("NVIDIA's NCCL guide, NCCL_SOCKET_IFNAME", "torch.distributed, GLOO_SOCKET_IFNAME"),
    ),
    "rdma": Check(
        looks="RDMA devices: those that NCCL_IB_HCA names, and as many active ports of one rate on every host",
        breaks="hosts with fewer or slower ports set the pace; NCCL hangs where it joins unlike sets of devices",
        mend="ibstat on the host that differs: cable, subnet manager, firmware; take it out of the job till then",
        rule=_devices,
        applies=lambda facts: (
            any(host.ports for host in facts.hosts.values())
            or any(rank.process.settings.get(DEVICES) for rank in facts.ranks)
        ),
        sources=("NVIDIA/nccl issue 2428",),
    ),
    "mtu": Check(
        looks="largest packet of the interfaces that lead to rank 0",
        breaks="small messages pass and large ones hang or are cut",
        mend="ip link set dev NAME mtu, the same on every host and switch",
        rule=_mtu,
        applies=lambda facts: facts.is_several,
    ),
}
