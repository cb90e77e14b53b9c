"""What an operation is: the columns of the operation table (:mod:`collmark.core.operation_table`).

nbytes (S below) is what nccl-tests prints: the largest over ranks of max(bytes sent, bytes received), self
included, after rounding down to whole elements, per rank where the operation divides its vector. n is the number
of ranks, B = S / n.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum

import msgspec

from collmark.core.errors import UsageError
from collmark.core.numeral import counted
from collmark.core.payload import Segment

MOST_RAGGED_RANKS = 2048  # a count for every pair of ranks and case: beyond it they fill gigabytes


class Estimand(StrEnum):
    """What the time T of a repetition is."""

    LAST_IN_LAST_OUT = "L"
    """Last exit minus last entry: the cost once everyone is there."""
    FIRST_IN_LAST_OUT = "G"
    """Last exit minus first entry after a synchronised start: for operations that a rank may leave early."""
    HALF_ROUND_TRIP = "half round trip"
    """Half of rank 0's time for there and back, one clock."""
    PER_MESSAGE = "per message"
    """Rank 0's time from its first send to the last acknowledgement, over the number of messages."""
    LONGEST_LOCAL = "D_max"
    """Longest local duration: what is left where clocks cannot be compared."""
    REPORTED = "reported"
    """What another tool says that it is; its statistic stands in the record."""


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """The size of one call of an operation.

    Attributes
    ----------
    ranks : int
        Number of ranks.
    block : int
        Elements of one block: the whole vector, or one rank's share where the operation divides it.
    itemsize : int
        Bytes per element.
    root : int
        Rank of the root, where there is one.
    counts : tuple of tuple of int or None
        Elements that rank r sends to rank d, ``counts[r][d]``, for ragged operations.
    messages : int
        Messages per call, for streams.
    """

    ranks: int
    block: int
    itemsize: int
    root: int = 0
    counts: tuple[tuple[int, ...], ...] | None = None
    messages: int = 1


class Wire(msgspec.Struct, frozen=True, kw_only=True):
    """Minimal bytes over links for one call (for streams, one message; for ping_pong, there and back).

    Attributes
    ----------
    root_sent, root_received : float
        By the root; in point-to-point operations by rank 0.
    other_sent, other_received : float
        By each other rank that takes part, on average.
    total : float
        Sent by all ranks together.
    """

    root_sent: float
    root_received: float
    other_sent: float
    other_received: float
    total: float


SegmentsLaw = Callable[[Exchange, int], Sequence[Segment]]
"""(exchange, rank) to the segments of that rank's buffer, in order."""


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table.

    Attributes
    ----------
    name : str
        torch.distributed spelling.
    sends, expects : callable
        Buffer law and expected result: segments of a rank's send and receive buffer.
    bus_factor : callable
        Number of ranks to the factor from algorithm to bus bandwidth.
    minimal : callable
        Exchange to minimal bytes over links.
    estimand : Estimand
        What T is where clocks can be compared.
    time_means, size_means : str
        T as a model must read it, and S, in words.
    source : str
        Where factor and size convention come from.
    divides : bool
        S is divided among the ranks.
    reduces, rooted, ragged : bool
        Takes a reduction, a root, counts per pair.
    in_place : bool
        Send and receive buffer may be the same.
    sized : bool
        False for barrier.
    pair : bool
        Ranks 0 and 1 take part, all others idle.
    streams : bool
        Sends a window of messages per call.
    even : str
        Of a ragged operation, the one that does the same with equal counts.
    both_ways : callable
        Number of ranks to the number of directions in which one link carries data.
    """

    name: str
    sends: SegmentsLaw
    expects: SegmentsLaw
    bus_factor: Callable[[int], float]
    minimal: Callable[[Exchange], Wire]
    estimand: Estimand
    time_means: str
    size_means: str
    source: str
    divides: bool = False
    reduces: bool = False
    rooted: bool = False
    ragged: bool = False
    in_place: bool = False
    sized: bool = True
    pair: bool = False
    streams: bool = False
    even: str = ""
    both_ways: Callable[[int], int] = lambda _ranks: 1

    @property
    def minimum_ranks(self) -> int:
        """Ranks needed for the operation to make sense."""
        return 2 if self.pair else 1

    def block_of(self, nbytes: int, *, ranks: int, itemsize: int) -> int:
        """Return the elements of one block for a requested size, rounded down; 0 where none is left."""
        if not self.sized:
            return 0
        return nbytes // itemsize // (ranks if self.divides else 1)

    def nbytes_of(self, exchange: Exchange) -> int:
        """Return the effective size S in bytes: max over ranks of max(sent, received), self included."""
        if not self.sized:
            return 0
        if exchange.counts is not None:
            sums: list[int] = [sum(row) for row in (*exchange.counts, *zip(*exchange.counts, strict=True))]
            return max(sums) * exchange.itemsize
        blocks = exchange.ranks if self.divides else 1
        return exchange.block * blocks * exchange.itemsize

    def model_nbytes(self, exchange: Exchange) -> float:
        """Return the bytes beside beta in T (:attr:`time_means`): bus bytes, or a ragged call's at the busiest rank."""
        if exchange.counts is None:
            return self.bus_factor(exchange.ranks) * self.nbytes_of(exchange)
        lines = (*exchange.counts, *zip(*exchange.counts, strict=True))
        busiest = max(sum(line) - line[position % exchange.ranks] for position, line in enumerate(lines))
        return float(busiest * exchange.itemsize)

    def estimand_of(self, exchange: Exchange) -> Estimand:
        """Return the estimand; a rank with a partner it exchanges nothing with may leave a ragged call early."""
        if exchange.counts is None:
            return self.estimand
        ranks = range(exchange.ranks)
        if all(exchange.counts[r][d] and exchange.counts[d][r] for r in ranks for d in ranks if r != d):
            return self.estimand
        return Estimand.FIRST_IN_LAST_OUT


def check_ranks(operation: Operation, ranks: int) -> None:
    """Raise UsageError unless `operation` can run on `ranks` ranks."""
    if ranks < operation.minimum_ranks:
        least = counted(operation.minimum_ranks, "rank")
        raise UsageError(f"{operation.name} needs at least {least}, not {ranks}: add --ranks {operation.minimum_ranks}")
    if operation.ragged and ranks > MOST_RAGGED_RANKS:
        raise UsageError(f"{operation.name} keeps a count for every pair of ranks: at most {MOST_RAGGED_RANKS} ranks")
