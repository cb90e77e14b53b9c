"""What a finding says is slow: a rank is told from its NIC by how it does inside its node."""

from __future__ import annotations

import msgspec

from collmark.analysis.pairs.find import Finding, Kind
from collmark.analysis.pairs.meetings import Layout


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """Something slow.

    Attributes
    ----------
    kind : Kind
        What it is.
    ranks : tuple of int
        Its ranks.
    """

    kind: Kind
    ranks: tuple[int, ...]


def named(finding: Finding, layout: Layout) -> Named:
    """Return what is slow: of what is slow between nodes alone, the NIC."""
    suspect = finding.suspect
    kind = suspect.kind
    if kind in (Kind.RANK, Kind.NODE) and suspect.is_between and finding.inside is not None:
        is_slow_inside = finding.inside > finding.excess / 2
        own_nic = layout.nics == (layout.placement.ranks_per_node if kind is Kind.RANK else 1)
        if not is_slow_inside and own_nic:
            kind = Kind.NIC
    return Named(kind=kind, ranks=suspect.ranks)
