"""Costs of all_to_all; nbytes is what each rank sends in all, its own block included."""

from __future__ import annotations

from collections.abc import Callable

from collmark.analysis.costs.algorithm import Algorithm, Terms, others
from collmark.analysis.costs.all_reduce import THAKUR


def bruck(radix: int) -> Callable[[int], Terms]:
    """Return the law of Bruck's algorithm in a radix.

    In the round of a digit every block whose distance has that digit travels, digits of equal value in one message, all
    messages of a round at once.
    """

    def law(ranks: int) -> Terms:
        count, moved, place = 0, 0, 1
        while place < ranks:
            count += 1
            moved += sum(distance // place % radix != 0 for distance in range(ranks))
            place *= radix
        return Terms(alpha=count, beta=moved / ranks)

    return law


BRUCK = "Bruck et al. 1997, IEEE TPDS 8(11)"

ROWS = (
    Algorithm(
        operation="all_to_all",
        name="pairwise",
        law=lambda ranks: Terms(alpha=ranks - 1, beta=others(ranks)),
        source=f"{THAKUR}; MPICH alltoall_intra_pairwise.c; gloo alltoall.cc and NCCL post all p - 1 at once",
        note="the source writes n beta; without a rank's own block it is (p - 1)/p n",
    ),
    Algorithm(
        operation="all_to_all",
        name="Bruck",
        law=bruck(2),
        source=f"{BRUCK}; {THAKUR}; MPICH alltoall_intra_brucks.c",
        note="the source's (n/2) lg p is for powers of two; the rest is counted",
    ),
    Algorithm(
        operation="all_to_all",
        name="Bruck, radix 4",
        law=bruck(4),
        source=f"{BRUCK}; MPICH alltoall_intra_k_brucks.c",
        note="messages of a round are taken to start at once; bytes are counted where the source gives the bound "
        "(n/p)(p - 1) log_k p",
    ),
)
"""Each with what stands before alpha and beta."""
