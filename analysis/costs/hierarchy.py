"""Costs over two tiers: g ranks a node on a fast tier, k nodes on a slow one, one after the other.

Rank i of every node talks to rank i of the others, so that g rails are in use at once. If, and only if, such an
algorithm ran, the slow link's rate follows from a measured bus bandwidth; a flat ring explains many figures as well.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from collmark.analysis.costs.algorithm import Algorithm, Terms, others
from collmark.analysis.costs.index import ALGORITHMS
from collmark.core.placement import Placement
from collmark.core.registry import Registry


class TwoTiers(msgspec.Struct, frozen=True, kw_only=True):
    """Terms inside a node and between nodes, over the operation's nbytes."""

    local: Terms
    network: Terms

    def seconds(
        self,
        nbytes: float,
        *,
        local: tuple[float, float],
        network: tuple[float, float],
        gamma: float = 0.0,
    ) -> float:
        """Return T in s; tiers as (alpha in s, beta in s/B), gamma in s/B."""
        return sum(
            terms.seconds(nbytes, alpha=alpha, beta=beta, gamma=gamma)
            for terms, (alpha, beta) in ((self.local, local), (self.network, network))
        )


class Hierarchy(msgspec.Struct, frozen=True, kw_only=True):
    """One hierarchical algorithm.

    Attributes
    ----------
    operation, name : str
        What it does, and how people call it.
    law : callable
        Ranks per node and nodes to :class:`TwoTiers`.
    source : str
        Where it comes from.
    """

    operation: str
    name: str
    law: Callable[[int, int], TwoTiers]
    source: str

    @property
    def key(self) -> str:
        """Its name in the index."""
        return f"{self.operation}/{self.name}"

    def terms(self, placement: Placement) -> TwoTiers:
        """Return the terms of a placement; a tier with one member has none."""
        return self.law(placement.ranks_per_node, placement.nodes)


NOTHING = Terms(alpha=0)


def _terms(key: str, ranks: int, share: float = 1.0) -> Terms:
    row: Algorithm = ALGORITHMS[key]
    return row.terms(ranks).of_share(share) if ranks > 1 else NOTHING


def _all_reduce(ranks_per_node: int, nodes: int) -> TwoTiers:
    inside = _terms("reduce_scatter/pairwise", ranks_per_node) + _terms("all_gather/ring", ranks_per_node)
    return TwoTiers(local=inside, network=_terms("all_reduce/ring", nodes, 1 / ranks_per_node))


def _ends(local: str, network: str) -> Callable[[int, int], TwoTiers]:
    """A rail holds 1/g of all blocks: they cross the network, and then, or before, the node's own links."""
    return lambda ranks_per_node, nodes: TwoTiers(
        local=_terms(local, ranks_per_node), network=_terms(network, nodes, 1 / ranks_per_node)
    )


def _direct(ranks_per_node: int, nodes: int) -> TwoTiers:
    ranks = ranks_per_node * nodes
    return TwoTiers(
        local=Terms(alpha=ranks_per_node - 1, beta=(ranks_per_node - 1) / ranks),
        network=Terms(alpha=ranks - ranks_per_node, beta=(ranks - ranks_per_node) / ranks),
    )


def _by_rails(ranks_per_node: int, nodes: int) -> TwoTiers:
    return TwoTiers(
        local=Terms(alpha=ranks_per_node - 1, beta=others(ranks_per_node)),
        network=Terms(alpha=nodes - 1, beta=others(nodes)),
    )


_ROWS = (
    Hierarchy(
        operation="all_reduce",
        name="reduce_scatter, all_reduce, all_gather",
        law=_all_reduce,
        source="2 (g - 1)/g n inside, 2 (k - 1)/k n/g between: Cho et al. 2019 (BlueConnect), MLSys",
    ),
    Hierarchy(
        operation="all_gather",
        name="between nodes, then inside",
        law=_ends("all_gather/ring", "all_gather/ring"),
        source="the second half of the hierarchical all_reduce",
    ),
    Hierarchy(
        operation="reduce_scatter",
        name="inside, then between nodes",
        law=_ends("reduce_scatter/pairwise", "reduce_scatter/pairwise"),
        source="the first half of the hierarchical all_reduce",
    ),
    Hierarchy(
        operation="all_to_all",
        name="direct",
        law=_direct,
        source="(g - 1)/p n stay inside, (p - g)/p n cross: nccl-tests issue 267",
    ),
    Hierarchy(
        operation="all_to_all",
        name="inside to the rail, then between nodes",
        law=_by_rails,
        source="NCCL's PXN: blocks of one rail are gathered inside the node and cross together",
    ),
)

HIERARCHIES = Registry("hierarchical algorithm", [(row.key, row) for row in _ROWS])
