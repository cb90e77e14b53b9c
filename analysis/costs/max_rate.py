"""The max-rate model: ranks of a node that send at once share what the node can inject."""

from __future__ import annotations

import msgspec

from collmark.core.errors import UsageError


class MaxRate(msgspec.Struct, frozen=True, kw_only=True):
    """Gropp, Olson & Samfass 2016 (EuroMPI), "Modeling MPI communication performance on SMP nodes".

    Attributes
    ----------
    alpha : float
        Latency, s.
    process_rate, rail_rate : float
        What one rank can send, and what one NIC can inject, B/s.
    rails : int
        NICs of a node.

    Raises
    ------
    UsageError
        If a figure is not positive.
    """

    alpha: float
    process_rate: float
    rail_rate: float
    rails: int = 1

    def __post_init__(self) -> None:
        """Check the figures."""
        if not (self.alpha >= 0 and all(value > 0 for value in (self.process_rate, self.rail_rate, self.rails))):
            raise UsageError("max-rate needs alpha of at least 0 s and rates and rails above 0")

    @property
    def most_senders(self) -> float:
        """Senders a node beyond which more of them do not send more."""
        return self.rails * self.rail_rate / self.process_rate

    def rate(self, senders: int) -> float:
        """Return what a node sends, B/s: min(q R_process, rails x R_rail)."""
        return min(senders * self.process_rate, self.rails * self.rail_rate)

    def seconds(self, nbytes: float, senders: int) -> float:
        """Return T in s where each of `senders` ranks of a node sends nbytes: alpha + q n / rate."""
        return self.alpha + senders * nbytes / self.rate(senders)
