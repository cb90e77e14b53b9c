"""Costs of all_gather; nbytes is what each rank holds at the end."""

from __future__ import annotations

from collmark.analysis.costs.algorithm import Algorithm, Terms, others, rounds
from collmark.analysis.costs.all_reduce import THAKUR

ROWS = (
    Algorithm(
        operation="all_gather",
        name="ring",
        law=lambda ranks: Terms(alpha=ranks - 1, beta=others(ranks)),
        source=f"{THAKUR}; MPICH allgather_intra_ring.c; gloo allgather.cc; NCCL's ring",
    ),
    Algorithm(
        operation="all_gather",
        name="recursive doubling",
        law=lambda ranks: Terms(alpha=rounds(ranks), beta=others(ranks)),
        source=f"{THAKUR}; MPICH allgather_intra_recursive_doubling.c",
        only_powers_of_two=True,
    ),
    Algorithm(
        operation="all_gather",
        name="Bruck",
        law=lambda ranks: Terms(alpha=rounds(ranks), beta=others(ranks)),
        source=f"Bruck et al. 1997, IEEE TPDS 8(11); {THAKUR}; MPICH allgather_intra_brucks.c",
        note="the source writes lg p for ceil(lg p)",
    ),
)
"""Each with what stands before alpha and beta."""
