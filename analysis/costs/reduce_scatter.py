"""Costs of reduce_scatter; nbytes is what each rank contributes."""

from __future__ import annotations

from collmark.analysis.costs.algorithm import Algorithm, Terms, others, power_below, rounds
from collmark.analysis.costs.all_reduce import THAKUR


def _halving(ranks: int) -> Terms:
    power = power_below(ranks)
    extra = ranks - power
    halves = [power >> step for step in range(1, rounds(power) + 1)]
    # The first `extra` of the ranks left stand for two, and so lie in the heavier half of every step.
    halved = sum(half + min(extra, half) for half in halves) / ranks
    if not extra:
        return Terms(alpha=len(halves), beta=halved, gamma=halved)
    return Terms(alpha=len(halves) + 2, beta=1 + halved + 1 / ranks, gamma=1 + halved)


def _doubling(ranks: int) -> Terms:
    moved = rounds(ranks) - others(ranks)
    return Terms(alpha=rounds(ranks), beta=moved, gamma=moved)


ROWS = (
    Algorithm(
        operation="reduce_scatter",
        name="pairwise",
        law=lambda ranks: Terms(alpha=ranks - 1, beta=others(ranks), gamma=others(ranks)),
        source=f"{THAKUR}; MPICH reduce_scatter_block_intra_pairwise.c; a ring costs the same (NCCL)",
    ),
    Algorithm(
        operation="reduce_scatter",
        name="recursive halving",
        law=_halving,
        source=f"{THAKUR}; MPICH reduce_scatter_block_intra_recursive_halving.c",
        note="beyond powers of two the source's cost is approximate, (1 + (p - 1 + n)/p) n beta as printed there; here "
        "it is counted in its code",
    ),
    Algorithm(
        operation="reduce_scatter",
        name="recursive doubling",
        law=_doubling,
        source=f"{THAKUR}; MPICH reduce_scatter_block_intra_recursive_doubling.c",
        only_powers_of_two=True,
    ),
    Algorithm(
        operation="reduce_scatter",
        name="whole all_reduce by ring",
        law=lambda ranks: Terms(alpha=2 * (ranks - 1), beta=2 * others(ranks), gamma=others(ranks)),
        source="torch's gloo: an all_reduce of which each rank keeps its block, twice the bytes by the byte counters",
        backends=("gloo",),
    ),
)
"""Each with what stands before alpha, beta and gamma."""
