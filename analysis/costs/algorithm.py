"""What a row of the cost table is, and how it is read.

T = (messages) x alpha + (bytes over nbytes) x nbytes x beta + (bytes reduced over nbytes) x nbytes x gamma, all three
counted along the critical path: alpha in s a message, beta in s/B of a link, gamma in s/B of a local reduction. nbytes
is that of the operation table: the vector of all_reduce and of rooted operations that copy or reduce it, and what all
ranks hold together of the others. A rank sends one message and receives one at the same time, at most.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from collmark.core.errors import UsageError
from collmark.core.operation_table import OPERATIONS


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What stands before alpha, beta and gamma.

    Attributes
    ----------
    alpha : float
        Messages that wait for each other.
    beta : float
        Bytes that cross a link one after the other, over nbytes.
    gamma : float
        Bytes that one rank reduces, one after the other, over nbytes; 0 where nothing is reduced, or in a switch.
    """

    alpha: float
    beta: float = 0.0
    gamma: float = 0.0

    def __add__(self, other: Terms) -> Terms:
        """Return the terms of one part after the other."""
        return Terms(alpha=self.alpha + other.alpha, beta=self.beta + other.beta, gamma=self.gamma + other.gamma)

    def of_share(self, share: float) -> Terms:
        """Return the terms of the same algorithm on a share of nbytes."""
        return Terms(alpha=self.alpha, beta=self.beta * share, gamma=self.gamma * share)

    def seconds(self, nbytes: float, *, alpha: float, beta: float, gamma: float = 0.0) -> float:
        """Return T in s for nbytes in B, alpha in s, beta and gamma in s/B."""
        return self.alpha * alpha + nbytes * (self.beta * beta + self.gamma * gamma)


class Algorithm(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the cost table.

    Attributes
    ----------
    operation, name : str
        What it does, and how people call it.
    law : callable
        Number of ranks, from 2 on, to :class:`Terms`.
    source : str
        Where the row comes from.
    note : str
        Where this row differs from its source, or what is left out.
    backends : tuple of str
        Where it may run; empty for all.
    only_powers_of_two : bool
        The algorithm is not defined for other numbers of ranks.
    is_limit : bool
        Pipelined: what is left when messages are cut so fine that filling the pipeline costs no bytes.
    """

    operation: str
    name: str
    law: Callable[[int], Terms]
    source: str
    note: str = ""
    backends: tuple[str, ...] = ()
    only_powers_of_two: bool = False
    is_limit: bool = False

    @property
    def key(self) -> str:
        """Its name in the index: ``all_reduce/ring``."""
        return f"{self.operation}/{self.name}"

    def holds_for(self, ranks: int) -> bool:
        """Whether the row says anything of so many ranks."""
        return ranks >= 2 and not (self.only_powers_of_two and ranks & (ranks - 1))

    def may_run(self, backend: str) -> bool:
        """Whether it is one that a backend could have; a simulated one may have any."""
        return not self.backends or backend in {*self.backends, "simulated"}

    def terms(self, ranks: int) -> Terms:
        """Return what stands before alpha, beta and gamma of nbytes.

        Raises
        ------
        UsageError
            If the row says nothing of so many ranks.
        """
        if not self.holds_for(ranks):
            needed = "a power of two" if ranks >= 2 else "at least 2"
            raise UsageError(f"{self.key} needs {needed} as number of ranks, not {ranks}")
        return self.law(ranks)

    def bus_terms(self, ranks: int) -> Terms:
        """Return the terms with beta and gamma over bus bytes (bus factor x nbytes), as fits have them."""
        factor = OPERATIONS[self.operation].bus_factor(ranks)
        return self.terms(ranks).of_share(1 / factor if factor else 0.0)


def rounds(ranks: int) -> int:
    """Return ceil(lg p): how often what is known must double until all ranks know it."""
    return (ranks - 1).bit_length()


def power_below(ranks: int) -> int:
    """Return the largest power of two that is no larger."""
    return 1 << (ranks.bit_length() - 1)


def others(ranks: int) -> float:
    """Return (p - 1)/p: the share of a vector that is not a rank's own block."""
    return (ranks - 1) / ranks
