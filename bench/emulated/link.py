"""A link of a known rate: how it is shaped, and what its counters say."""

from __future__ import annotations

import msgspec

MTU = 1500  # B, as Ethernet's
HEADERS = 66  # B a packet: Ethernet 14, IPv4 20, TCP 20, its time stamps 12
LARGEST_FRAME = MTU + 14
QUEUE = 2**20  # B that wait for their turn: more than a sender may have waiting, so that nothing is dropped


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """A link, the same both ways, by the kernel's token bucket filter (tbf).

    Attributes
    ----------
    rate : float
        Of whole frames, in B/s.
    patience : float
        Seconds by which a timer may come late without a loss of rate.
    """

    rate: float
    patience: float = 1e-3

    @property
    def burst(self) -> int:
        """Bytes that pass at once after a pause: the smallest bucket that sustains the rate.

        The largest frame, without which nothing passes, and what comes while a timer is late: tokens that find the
        bucket full are lost.
        """
        return int(LARGEST_FRAME + self.rate * self.patience)

    @property
    def pause(self) -> float:
        """Seconds in which an empty bucket fills: after it every transfer has the same head start, `burst`."""
        return self.burst / self.rate

    @property
    def discipline(self) -> str:
        """What tc is told of it; its rates are in bit/s."""
        return f"tbf rate {round(8 * self.rate)}bit burst {self.burst} limit {QUEUE}"


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """One of the networks that join all hosts.

    Attributes
    ----------
    name : str
        Name, and that of its interface on every host: at most 11 letters and digits.
    link : Link
        Between a host and the switch.
    """

    name: str
    link: Link


class Counters(msgspec.Struct, frozen=True, kw_only=True):
    """What an interface has sent and received since it was made.

    Attributes
    ----------
    sent, received : int
        Bytes of frames.
    packets_sent, packets_received : int
        Frames.
    """

    sent: int
    packets_sent: int
    received: int
    packets_received: int

    def since(self, before: Counters) -> Counters:
        """Return what was counted after `before`."""
        mine, theirs = msgspec.structs.asdict(self), msgspec.structs.asdict(before)
        return Counters(**{name: mine[name] - theirs[name] for name in mine})

    @property
    def payload_sent(self) -> int:
        """Bytes sent without the headers of a TCP/IPv4 packet with time stamps."""
        return self.sent - HEADERS * self.packets_sent
