"""Costs of all_reduce; nbytes is the vector."""

from __future__ import annotations

from collmark.analysis.costs.algorithm import Algorithm, Terms, others, power_below, rounds

THAKUR = "Thakur, Rabenseifner & Gropp 2005, IJHPCA 19(1)"


def _ring(ranks: int) -> Terms:
    return Terms(alpha=2 * (ranks - 1), beta=2 * others(ranks), gamma=others(ranks))


def _segmented_ring(ranks: int) -> Terms:
    return Terms(alpha=4 * (ranks - 1), beta=2 * others(ranks), gamma=others(ranks))


def _recursive_doubling(ranks: int) -> Terms:
    power = power_below(ranks)
    steps = rounds(power)
    # Ranks above the power of two hand their vector to a neighbour first, and get the result last.
    folded = power < ranks
    return Terms(alpha=steps + 2 * folded, beta=steps + 2 * folded, gamma=steps + folded)


def _halving_doubling(ranks: int) -> Terms:
    power = power_below(ranks)
    folded = power < ranks
    return Terms(
        alpha=2 * rounds(power) + 2 * folded,
        beta=2 * others(power) + 2 * folded,
        gamma=others(power) + folded,
    )


def _double_tree(ranks: int) -> Terms:
    # From 4 ranks on some rank has a parent and two children in one tree and a parent in the other: it sends two halves
    # up and two down. With 2 and 3 ranks none has two children.
    beta = {2: 1.0, 3: 1.5}.get(ranks, 2.0)
    return Terms(alpha=2 * rounds(ranks), beta=beta, gamma=0.5 if ranks == 2 else 1.0)


def _switch_multicast(ranks: int) -> Terms:
    # Each rank reads its share reduced out of the switch and writes it to all: n of its own is read, n/p written.
    return Terms(alpha=1, beta=(ranks + 1) / ranks)


ROWS = (
    Algorithm(
        operation="all_reduce",
        name="ring",
        law=_ring,
        source=f"{THAKUR}; MPICH allreduce_intra_ring.c; NCCL's ring",
    ),
    Algorithm(
        operation="all_reduce",
        name="segmented ring",
        law=_segmented_ring,
        source="gloo allreduce.cc: at least two segments of a block, at most 1 MiB each",
        note="messages of up to 2 MiB per rank, larger blocks have more; gloo's docs/algorithms.md says 4p, its loop "
        "sends 4(p - 1). Two are in flight, so that up to half of their alphas overlap",
        backends=("gloo",),
    ),
    Algorithm(
        operation="all_reduce",
        name="recursive doubling",
        law=_recursive_doubling,
        source=f"{THAKUR}; MPICH allreduce_intra_recursive_doubling.c",
        note="the source's cost, n lg p, is for powers of two; the rest is counted in its code",
    ),
    Algorithm(
        operation="all_reduce",
        name="halving and doubling",
        law=_halving_doubling,
        source=f"Rabenseifner; {THAKUR}; MPICH allreduce_intra_reduce_scatter_allgather.c",
        note="beyond powers of two the source writes (p - 1)/p where its code halves among the 2^m ranks left: "
        "(2^m - 1)/2^m stands here, up to 10 % less",
    ),
    Algorithm(
        operation="all_reduce",
        name="double binary tree",
        law=_double_tree,
        source="Sanders, Speck & Traeff 2009, Parallel Computing 35(12); NCCL's tree",
        note="an inner rank's two children are taken as one step of latency; chunks add theirs",
        is_limit=True,
    ),
    Algorithm(
        operation="all_reduce",
        name="switch multicast",
        law=_switch_multicast,
        source="NVLS: NVIDIA/nccl issue 1455 and nccl-tests issue 212 state n/(n + 1) of the link rate",
        backends=("nccl", "cupy-nccl"),
        note="reduced in the switch; alpha is one passage, whatever the number of ranks",
        is_limit=True,
    ),
    Algorithm(
        operation="all_reduce",
        name="switch tree",
        law=lambda _ranks: Terms(alpha=1, beta=1.0),
        source="SHARP: Graham et al. 2016, COM-HPC",
        backends=("nccl", "cupy-nccl", "mpi"),
        note="reduced in the switches, streamed; alpha is one passage up and down a tree whose depth is the fabric's",
        is_limit=True,
    ),
)
"""Each with what stands before alpha, beta and gamma."""
