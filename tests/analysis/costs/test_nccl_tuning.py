"""NCCL's tuning model against figures that were worked out of its source, and against what NCCL is known to choose."""

from __future__ import annotations

import itertools

import pytest

from collmark.analysis.costs.nccl_tuning import (
    ALGORITHMS,
    Path,
    Processor,
    System,
    paths,
    prior,
    seconds,
    system_of,
)
from collmark.core.errors import UnknownNameError, UsageError

HGX = System(generation="hopper", gpus_per_node=8)
TWO = System(generation="hopper", gpus_per_node=8, nodes=2)


def path(operation: str, name: str, system: System) -> Path:
    return next(one for one in paths(operation, system) if f"{one.algorithm}/{one.protocol}" == name)


@pytest.mark.parametrize(
    ("nodes", "name", "microseconds"),
    [
        (1, "tree/LL", 15.2),
        (1, "ring/LL", 15.0),
        (1, "ring/Simple", 56.0),
        (2, "tree/LL", 25.2),
        (2, "ring/LL", 40.0),
        (16, "tree/LL", 55.2),
        (16, "ring/LL", 311.6),
        (64, "tree/LL", 75.2),
        (64, "ring/LL", 1242.8),
    ],
)
def test_latencies_are_those_of_the_method_notes(nodes: int, name: str, microseconds: float) -> None:
    """method.md B.3, check values: all_reduce, 8 GPUs a node, Intel."""
    system = System(generation="hopper", gpus_per_node=8, nodes=nodes)
    assert path("all_reduce", name, system).latency * 1e6 == pytest.approx(microseconds, abs=0.05)


def test_a_public_log_prints_the_same_prediction() -> None:
    """NVIDIA/nccl issue 1453: 25.2148 us for 128 B on 2 x 8 H100, tree/LL; measured there: 61.6 us."""
    chosen = prior("all_reduce", TWO, 128)
    assert (chosen.algorithm, chosen.protocol) == ("tree", "LL")
    assert chosen.seconds * 1e6 == pytest.approx(25.2, abs=0.05)


def test_eight_hopper_gpus_change_to_the_switch_at_2_mib() -> None:
    """NCCL on 8 x H200 was seen to take ring/LL up to 1 MiB and NVLS/Simple from 2 MiB (method.md B.2)."""
    for power in range(16, 34):
        chosen = prior("all_reduce", HGX, 1 << power)
        expected = ("ring", "LL") if power <= 20 else ("nvls", "Simple")
        assert (chosen.algorithm, chosen.protocol) == expected, power


def bus_bandwidth(name: str, system: System) -> float:
    ranks = system.ranks
    return path("all_reduce", name, system).bandwidth * 2 * (ranks - 1) / ranks / 1e9


def test_asymptotes_of_one_hopper_node_are_near_what_was_published() -> None:
    """Measured: 476 to 480 GB/s in the switch, 365 to 370 by ring (method.md C.3)."""
    assert bus_bandwidth("nvls/Simple", HGX) == pytest.approx(480)
    assert bus_bandwidth("ring/Simple", HGX) == pytest.approx(360)
    four = System(generation="hopper", gpus_per_node=4)
    assert prior("all_reduce", four, 1 << 33).algorithm == "ring"
    ampere = System(generation="ampere", gpus_per_node=8)
    assert bus_bandwidth("ring/Simple", ampere) == pytest.approx(240)
    assert all(one.algorithm != "nvls" for one in paths("all_reduce", ampere))


def test_bandwidths_by_hand() -> None:
    """Hopper, two nodes: 8 rails of 45 GB/s."""
    assert bus_bandwidth("ring/Simple", TWO) == pytest.approx(360)
    assert bus_bandwidth("ring/LL", TWO) == pytest.approx(39)  # Intel's cap at two nodes
    assert bus_bandwidth("ring/LL128", TWO) == pytest.approx(8 * 36.7)
    assert path("all_reduce", "tree/Simple", TWO).bandwidth / 1e9 == pytest.approx(0.5 * min(0.92 * 360, 8 * 41.4))
    assert bus_bandwidth("nvls-tree/Simple", TWO) == pytest.approx(8 * 57.7)
    amd = System(generation="hopper", gpus_per_node=8, nodes=2, processor=Processor.AMD)
    assert bus_bandwidth("ring/LL", amd) == pytest.approx(22.5)


def test_a_ring_over_nodes_has_a_plateau_at_large_sizes() -> None:
    ring = path("all_reduce", "ring/Simple", TWO)
    threshold = 64 * 16 * 16  # 16 channels are opened over 8 rails, as logs of 8-GPU nodes show; 16 ranks
    below, above = (seconds("all_reduce", ring, TWO, n) - n / ring.bandwidth for n in (threshold - 1, threshold))
    assert (below, above) == pytest.approx((ring.latency, 1.4 * ring.latency))


def test_trees_are_slower_in_the_middle() -> None:
    tree = path("all_reduce", "tree/LL", HGX)
    nbytes = 64 << 12  # the 13th entry of its table: 0.4
    assert seconds("all_reduce", tree, HGX, nbytes) == pytest.approx(tree.latency + nbytes / (0.4 * tree.bandwidth))
    assert seconds("all_reduce", tree, HGX, 1) == pytest.approx(tree.latency + 1 / tree.bandwidth)
    assert seconds("all_reduce", tree, HGX, 64 << 24) == pytest.approx(tree.latency + (64 << 24) / tree.bandwidth)


def test_one_gpu_a_node_may_take_pat() -> None:
    nodes = System(generation="hopper", gpus_per_node=1, nodes=16)
    pat = path("all_gather", "pat/Simple", nodes)
    assert pat.latency * 1e6 == pytest.approx(8 + 4 * 14 / 3.5 + 16 * 2.8)
    assert pat.bandwidth / 1e9 == pytest.approx(0.75 * 45)
    assert all(one.algorithm != "pat" for one in paths("all_gather", TWO))


@pytest.mark.parametrize("operation", ALGORITHMS)
def test_times_grow_with_size_and_with_nodes(operation: str) -> None:
    for system in (HGX, TWO, System(generation="blackwell", gpus_per_node=8, nodes=4)):
        times = [prior(operation, system, 1 << power).seconds for power in range(3, 34, 2)]
        assert all(later > earlier > 0 for earlier, later in itertools.pairwise(times))


def test_names_of_priors() -> None:
    assert system_of("nccl:HOPPER", gpus_per_node=8, nodes=1) == HGX
    assert system_of("nccl:hopper:AMD", gpus_per_node=8, nodes=2).processor is Processor.AMD
    with pytest.raises(UsageError, match="must be nccl:GENERATION"):
        system_of("hopper", gpus_per_node=8, nodes=1)
    with pytest.raises(UnknownNameError, match="unknown generation of GPUs 'kepler'"):
        system_of("nccl:kepler", gpus_per_node=8, nodes=1)
    with pytest.raises(UnknownNameError, match="unknown processor 'z80'"):
        system_of("nccl:hopper:z80", gpus_per_node=8, nodes=1)
    with pytest.raises(UsageError, match="at least two GPUs"):
        system_of("nccl:hopper", gpus_per_node=1, nodes=1)
    with pytest.raises(UsageError, match="has no all_to_all"):
        paths("all_to_all", HGX)
