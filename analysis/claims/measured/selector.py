"""Tiers as people address them: TIER[:FABRIC][@LABEL]."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from collmark.core.errors import UnknownNameError, UsageError
from collmark.core.placement import Fabric, Tier

Link = tuple[Tier, Fabric | None]

ALIASES: dict[str, tuple[Link, ...]] = {
    "infiniband": ((Tier.RDMA, Fabric.INFINIBAND),),
    "roce": ((Tier.RDMA, Fabric.ROCE),),
    # RoCE runs on Ethernet as TCP does: what is said of Ethernet is judged for each.
    "ethernet": ((Tier.RDMA, Fabric.ROCE), (Tier.TCP, None)),
}
"""Names that people use for a tier and a fabric."""
WITHIN_NODE = (Tier.SHARED_MEMORY, Tier.LOOPBACK, Tier.PCIE, Tier.NVLINK, Tier.XGMI)
"""Tiers whose ranks lie on one node."""


class Selector(msgspec.Struct, frozen=True, kw_only=True):
    """Which records belong to a tier.

    Attributes
    ----------
    text : str
        As written.
    links : tuple of (Tier, Fabric or None)
        Any of them; no fabric takes every fabric.
    label : str
        Of the placement, or of the run, or the name of its folder; empty for any. Letter case does not count.
    """

    text: str
    links: tuple[Link, ...]
    label: str = ""

    def takes(self, tier: str, fabric: str, labels: Iterable[str]) -> bool:
        """Whether a record of some tier, fabric and labels belongs to it."""
        if self.label and self.label.casefold() not in {label.casefold() for label in labels}:
            return False
        return any(tier == link.value and (name is None or fabric == name.value) for link, name in self.links)

    def narrows(self, other: Selector) -> bool:
        """Whether it takes nothing that `other` does not take."""
        inside = all(
            any(tier is t and (fabric is f or f is None) for t, f in other.links) for tier, fabric in self.links
        )
        return inside and other.label.casefold() in ("", self.label.casefold())


def read_selector(text: str) -> Selector:
    """Read TIER[:FABRIC][@LABEL], or an alias in place of tier and fabric.

    Raises
    ------
    UsageError
        If there is no such tier or fabric, the label is empty, or the tier has no fabric.

    Examples
    --------
    >>> read_selector("infiniband@ndr").links == read_selector("rdma:infiniband").links
    True
    """
    name, at, label = text.strip().partition("@")
    if at and not label.strip():
        raise UsageError(f"{text!r}: the label behind @ is empty; write TIER[:FABRIC][@LABEL]")
    if name in ALIASES:
        return Selector(text=text.strip(), links=ALIASES[name], label=label.strip())
    tier, colon, fabric = name.partition(":")
    if tier not in set(Tier):
        raise UnknownNameError("tier", name, [*(member.value for member in Tier), *ALIASES])
    if colon and tier != Tier.RDMA:
        raise UsageError(f"{text!r}: only rdma has a fabric; label other tiers apart, as {tier}@LABEL")
    if colon and fabric not in set(Fabric):
        raise UnknownNameError("fabric", fabric, [member.value for member in Fabric])
    link = (Tier(tier), Fabric(fabric) if colon else None)
    return Selector(text=text.strip(), links=(link,), label=label.strip())
