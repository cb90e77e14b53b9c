"""NCCL's own model, a prior: what its tuning tables predict, as published in version 2.30.7.

It is how NCCL ranks its algorithms, and no measurement: a public log shows 25.2 us predicted and 61.6 us measured at
128 B on 2 x 8 H100 (NVIDIA/nccl issue 1453). Draw it beside measurements; nothing is fitted to it or decided by it.

Source: src/graph/tuning.cc (ncclTopoTuneModel, ncclTopoGetAlgoTime); links of topo.h, channels as search.cc finds them
on the machines of :class:`System`. Left out: machines without NVSwitch, InfiniBand SHARP (CollNet, NVLS over nodes),
several GPUs a NIC, and what environment variables change.
"""

from __future__ import annotations

import functools
from enum import StrEnum
from importlib import resources

import msgspec

from collmark.core.errors import UnknownNameError, UsageError

WORDS = "NCCL's own model, a prior"
PROTOCOLS = ("LL", "LL128", "Simple")
ALGORITHMS = {
    "all_reduce": ("tree", "ring", "nvls", "nvls-tree"),
    "all_gather": ("ring", "nvls", "pat"),
    "reduce_scatter": ("ring", "nvls", "pat"),
    "broadcast": ("ring",),
    "reduce": ("ring",),
}
_MICRO, _GIGA = 1e-6, 1e9


class Processor(StrEnum):
    """What the tables know of CPUs."""

    INTEL = "intel"
    AMD = "amd"
    OTHER = "other"


class _Generation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ll: list[float]
    ring_ll128: list[float]
    tree_ll128: list[float]
    tree: list[float]
    nvls_tree: list[float]
    nvls_efficiency: float
    nvlink: float
    ring: tuple[int, float]
    rail: float
    speeds: list[float]


class _Tables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    latency: dict[str, dict[str, list[float]]]
    tree_factor: dict[str, list[float]]
    generation: dict[str, _Generation]


@functools.cache
def _tables() -> _Tables:
    text = resources.files(__package__).joinpath("nccl_tuning.toml").read_bytes()
    return msgspec.toml.decode(text, type=_Tables)


class System(msgspec.Struct, frozen=True, kw_only=True):
    """GPUs behind NVSwitch in nodes that have a NIC for each.

    Attributes
    ----------
    generation : str
        volta, ampere, hopper or blackwell.
    gpus_per_node, nodes : int
        Ranks lie one a GPU.
    processor : Processor
        Of the nodes.
    """

    generation: str
    gpus_per_node: int
    nodes: int = 1
    processor: Processor = Processor.INTEL

    def __post_init__(self) -> None:
        """Check the names and numbers."""
        names = _tables().generation
        if self.generation not in names:
            raise UnknownNameError("generation of GPUs", self.generation, names)
        if self.gpus_per_node < 1 or self.nodes < 1 or self.ranks < 2:
            raise UsageError("NCCL's model needs at least two GPUs")

    @property
    def ranks(self) -> int:
        """Number of GPUs."""
        return self.gpus_per_node * self.nodes

    @property
    def scale(self) -> int:
        """Column of the caps: one node, two, more."""
        return min(self.nodes, 3) - 1


class Path(msgspec.Struct, frozen=True, kw_only=True):
    """One algorithm under one protocol.

    Attributes
    ----------
    algorithm, protocol : str
        NCCL's names.
    latency : float
        s.
    bandwidth : float
        nbytes over time at large sizes, B/s.
    """

    algorithm: str
    protocol: str
    latency: float
    bandwidth: float


class Prior(msgspec.Struct, frozen=True, kw_only=True):
    """What the model predicts, and by which algorithm and protocol."""

    algorithm: str
    protocol: str
    seconds: float


def paths(operation: str, system: System) -> list[Path]:
    """Return every algorithm and protocol that the model weighs for an operation.

    Raises
    ------
    UsageError
        If NCCL's model has no such operation.
    """
    if operation not in ALGORITHMS:
        raise UsageError(f"NCCL's model has no {operation}: {', '.join(ALGORITHMS)}")
    return [
        Path(
            algorithm=algorithm,
            protocol=protocol,
            latency=_latency(operation, algorithm, protocol, system) * _MICRO,
            bandwidth=bandwidth * _GIGA,
        )
        for algorithm in ALGORITHMS[operation]
        for protocol in PROTOCOLS
        if (bandwidth := _bandwidth(operation, algorithm, protocol, system)) > 0
    ]


def seconds(operation: str, path: Path, system: System, nbytes: int) -> float:
    """Return T in s of one call at a size: latency + nbytes / bandwidth, both corrected as NCCL does."""
    latency, bandwidth = path.latency, path.bandwidth
    bin_ = max(nbytes >> 6, 1).bit_length() - 1
    factors = _tables().tree_factor[path.protocol]
    is_tree = path.algorithm == "tree" and bin_ < 23
    # On x86 only; other processors keep NVLSTree as it is.
    is_nvls_tree = path.algorithm == "nvls-tree" and system.generation == "blackwell" and bin_ < len(factors)
    if operation == "all_reduce" and (is_tree or (is_nvls_tree and system.processor is not Processor.OTHER)):
        bandwidth *= factors[bin_]
    if _is_plateau(operation, path, system, nbytes):
        latency *= 1.9 if system.generation == "volta" else 1.4
    return latency + nbytes / bandwidth


def _is_plateau(operation: str, path: Path, system: System, nbytes: int) -> bool:
    is_ring = (path.algorithm, path.protocol) == ("ring", "Simple")
    channels = 2 * _ring_graph(system)[0]  # each that the search finds is opened twice (connect.cc)
    return is_ring and operation == "all_reduce" and system.nodes > 1 and nbytes // (channels * system.ranks) >= 64


def prior(operation: str, system: System, nbytes: int) -> Prior:
    """Return what NCCL would choose, and the time that it reckons with."""
    best = min(paths(operation, system), key=lambda path: seconds(operation, path, system, nbytes))
    return Prior(algorithm=best.algorithm, protocol=best.protocol, seconds=seconds(operation, best, system, nbytes))


def _ring_graph(system: System) -> tuple[int, float]:
    """Return channels and GB/s of each: over NVLink on one node, over a NIC for each GPU on several."""
    generation = _tables().generation[system.generation]
    return generation.ring if system.nodes == 1 else (system.gpus_per_node, generation.rail)


def _nvls_graph(system: System) -> tuple[int, float, float]:
    """Return channels, one for each GPU, and GB/s of each inside and between nodes."""
    generation, gpus = _tables().generation[system.generation], system.gpus_per_node
    if system.nodes > 1:
        return gpus, generation.rail, generation.rail
    total = generation.nvlink * gpus / max(gpus - 1, 1)
    inside = next((speed for speed in generation.speeds if speed * gpus <= total), generation.speeds[-1])
    # Without a network nothing holds the second rate back but the search, which stops at twice the first.
    between = max(speed for speed in generation.speeds if speed <= 2 * inside)
    return gpus, inside, between


def _bandwidth(operation: str, algorithm: str, protocol: str, system: System) -> float:
    """Return nbytes over time in GB/s; 0 where NCCL does not allow it."""
    steps = _steps(operation, system.ranks)
    if algorithm in {"nvls", "nvls-tree"}:
        bus = _nvls(operation, algorithm, protocol, system)
        return bus * system.ranks / steps if operation == "all_reduce" else bus
    generation = _tables().generation[system.generation]
    channels, each = _ring_graph(system)
    bus, column = channels * each, system.scale
    if algorithm == "pat":
        is_allowed = protocol == "Simple" and system.gpus_per_node == 1
        return 0.75 * bus if is_allowed else 0.0
    total = _ll_total(system)
    if algorithm == "ring":
        caps = {"LL": (0.5 * bus, total), "LL128": (0.92 * bus, channels * generation.ring_ll128[column])}
        return min(caps.get(protocol, (bus,))) * system.ranks / steps
    bus = min(0.92 * bus, channels * generation.tree[column])
    share = 7 / 9 if system.nodes == 1 else 120 / 128
    caps = {"LL": (bus / 3.8, total), "LL128": (bus * share, channels * generation.tree_ll128[column])}
    return min(caps.get(protocol, (bus,))) * 0.5


def _ll_total(system: System) -> float:
    """Return the cap of LL on all channels: by GPU on one node, on several by processor."""
    generations = _tables().generation
    if system.nodes == 1:
        return generations[system.generation].ll[0]
    return generations["ampere" if system.processor is Processor.AMD else "volta"].ll[system.scale]


def _nvls(operation: str, algorithm: str, protocol: str, system: System) -> float:
    """Return the bus bandwidth in GB/s with reduction in the switch."""
    generation = _tables().generation[system.generation]
    channels, inside, between = _nvls_graph(system)
    is_one_node = system.nodes == 1
    if protocol != "Simple" or channels < 2 or is_one_node != (algorithm == "nvls"):
        return 0.0  # over nodes NVLS needs CollNet, on one there is no tree
    rate = inside * generation.nvls_efficiency * (channels - 1) / channels
    rate *= 2 if operation == "all_reduce" else (system.gpus_per_node - 1) / system.gpus_per_node
    if is_one_node:
        return channels * min(rate, between)
    return channels * min(rate, between * (2 if system.nodes == 2 else 1), generation.nvls_tree[system.scale])


def _steps(operation: str, ranks: int) -> int:
    return {"all_reduce": 2 * (ranks - 1), "all_gather": ranks - 1, "reduce_scatter": ranks - 1}.get(operation, ranks)


def _latency(operation: str, algorithm: str, protocol: str, system: System) -> float:
    """Return the latency in us."""
    column, tables = PROTOCOLS.index(protocol), _tables().latency
    base, inside = (tables[name][algorithm][column] for name in ("base", "nvlink"))
    # One GPU a node cannot hide the network's latency: that of the tree then.
    between = tables["net"]["tree" if system.gpus_per_node == 1 else algorithm][column]
    doublings = system.nodes.bit_length() - 1
    if algorithm == "tree":
        return base + 2 * ((system.gpus_per_node - 1) * inside + doublings * between)
    if algorithm == "nvls":
        return inside
    if algorithm == "nvls-tree":
        return base + inside + 2 * doublings * between
    if algorithm == "pat":
        return base + doublings * between / 3.5 + 2.8 * system.ranks
    return base + _ring_latency(operation, protocol, system, inside, between)


def _ring_latency(operation: str, protocol: str, system: System, inside: float, between: float) -> float:
    steps, crossings = _steps(operation, system.ranks), system.nodes - 1
    if operation in {"broadcast", "reduce"}:
        # Channels are alike on NVSwitch: chunks follow each other, and one hop is left.
        return inside if system.nodes == 1 else _tables().latency["net"]["ring"][PROTOCOLS.index(protocol)]
    overhead = 0.0 if system.nodes == 1 else 2.0 if system.processor is Processor.AMD else 1.0
    inside = max(inside, overhead * (3 if protocol == "Simple" else 1))
    crossings *= 2 if operation == "all_reduce" else 1
    return (steps - crossings) * inside + crossings * between


def system_of(name: str, *, gpus_per_node: int, nodes: int) -> System:
    """Return the system of a prior's name: ``nccl:HOPPER``, ``nccl:AMPERE:amd``.

    Raises
    ------
    UsageError
        If it is no such name.
    """
    library, _colon, rest = name.partition(":")
    generation, _colon, processor = rest.partition(":")
    if library.lower() != "nccl" or not generation:
        raise UsageError(f"--prior {name}: must be nccl:GENERATION, as nccl:HOPPER, or nccl:HOPPER:amd")
    if processor and processor.lower() not in list(Processor):
        raise UnknownNameError("processor", processor, Processor)
    return System(
        generation=generation.lower(),
        gpus_per_node=gpus_per_node,
        nodes=nodes,
        processor=Processor(processor.lower()) if processor else Processor.INTEL,
    )
