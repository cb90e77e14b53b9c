"""Costs of operations with a root, of barrier and of send_recv; nbytes as in the operation table."""

from __future__ import annotations

from collmark.analysis.costs.algorithm import Algorithm, Terms, others, rounds
from collmark.analysis.costs.all_reduce import THAKUR

CHAIN = "NCCL's ring: every rank hands chunks on; Chan et al. 2007, section 4"
TREE = "MPICH bcast_intra_binomial.c, reduce_intra_binomial.c, gather and scatter likewise"


def _scatter_ring(ranks: int) -> Terms:
    return Terms(alpha=rounds(ranks) + ranks - 1, beta=2 * others(ranks))


def _binomial_reduce(ranks: int) -> Terms:
    return Terms(alpha=rounds(ranks), beta=rounds(ranks), gamma=rounds(ranks))


_COPIES = (
    Algorithm(
        operation="broadcast",
        name="binomial tree",
        law=lambda ranks: Terms(alpha=rounds(ranks), beta=rounds(ranks)),
        source=f"{THAKUR}; {TREE}",
    ),
    Algorithm(
        operation="broadcast",
        name="scatter, ring all_gather",
        law=_scatter_ring,
        source=f"van de Geijn; {THAKUR}; MPICH bcast_intra_scatter_ring_allgather.c",
    ),
    Algorithm(
        operation="broadcast",
        name="scatter, recursive doubling",
        law=lambda ranks: Terms(alpha=2 * rounds(ranks), beta=2 * others(ranks)),
        source=f"{THAKUR}; MPICH bcast_intra_scatter_recursive_doubling_allgather.c",
        only_powers_of_two=True,
    ),
    Algorithm(
        operation="broadcast",
        name="chain",
        law=lambda ranks: Terms(alpha=ranks - 1, beta=1.0),
        source=CHAIN,
        is_limit=True,
    ),
)
_REDUCTIONS = (
    Algorithm(operation="reduce", name="binomial tree", law=_binomial_reduce, source=f"{THAKUR}; {TREE}"),
    Algorithm(
        operation="reduce",
        name="reduce_scatter, gather",
        law=lambda ranks: Terms(alpha=2 * rounds(ranks), beta=2 * others(ranks), gamma=others(ranks)),
        source=f"Rabenseifner; {THAKUR}; MPICH reduce_intra_reduce_scatter_gather.c",
        only_powers_of_two=True,
    ),
    Algorithm(
        operation="reduce",
        name="chain",
        law=lambda ranks: Terms(alpha=ranks - 1, beta=1.0, gamma=1.0),
        source=CHAIN,
        is_limit=True,
    ),
)
_BLOCKS = tuple(
    Algorithm(
        operation=operation,
        name=name,
        law=law,
        source=source,
    )
    for operation in ("gather", "scatter")
    for name, law, source in (
        (
            "binomial tree",
            lambda ranks: Terms(alpha=rounds(ranks), beta=others(ranks)),
            f"{THAKUR}; {TREE}",
        ),
        (
            "linear",
            lambda ranks: Terms(alpha=ranks - 1, beta=others(ranks)),
            "gloo gather.cc and scatter.cc: the root and every other rank in turn",
        ),
    )
)
_WITHOUT_BYTES = (
    Algorithm(
        operation="barrier",
        name="dissemination",
        law=lambda ranks: Terms(alpha=rounds(ranks)),
        source="Hensgen, Finkel & Manber 1988; MPICH barrier_intra_k_dissemination.c; gloo barrier.cc",
    ),
    Algorithm(
        operation="send_recv",
        name="direct",
        law=lambda _ranks: Terms(alpha=1, beta=1.0),
        source="one message there, one from the other side",
    ),
)
ROWS = (*_COPIES, *_REDUCTIONS, *_BLOCKS, *_WITHOUT_BYTES)
"""Each with what stands before alpha, beta and gamma."""
