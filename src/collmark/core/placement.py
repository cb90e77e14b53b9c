"""Where ranks lie, and the class of link between them."""

from __future__ import annotations

import math
import re
from enum import StrEnum
from typing import Annotated

import msgspec

from collmark.core.errors import UsageError

MOST_RANKS = 2**20
"""More ranks, or nodes, than any machine has are a slip of the pen."""

_RANGES = r"\[(\d{1,9}(?:-\d{1,9})?(?:,\d{1,9}(?:-\d{1,9})?)*)\]"
_NODES = re.compile(rf"[A-Za-z0-9](?:[A-Za-z0-9_.-]|{_RANGES})*")


class Tier(StrEnum):
    """Class of link that a group of ranks communicates over: the slowest it crosses."""

    SHARED_MEMORY = "shared-memory"
    LOOPBACK = "loopback"
    PCIE = "pcie"
    NVLINK = "nvlink"
    XGMI = "xgmi"
    RDMA = "rdma"
    TCP = "tcp"
    SIMULATED = "simulated"
    SHARED_GPU = "shared-gpu"
    """Ranks share a GPU and go over sockets: an arrangement to test in, whose figures measure nothing."""
    UNKNOWN = "unknown"


class Fabric(StrEnum):
    """Name of an RDMA fabric."""

    INFINIBAND = "infiniband"
    ROCE = "roce"
    EFA = "efa"
    SLINGSHOT = "slingshot"
    OTHER = "other"


class Placement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which ranks lie on which nodes: `nodes` nodes with `ranks_per_node` ranks each.

    Attributes
    ----------
    nodes, ranks_per_node : int
        At least one, at most `MOST_RANKS`.
    label : str
        A name of the user's, to address the tier of these ranks by.
    nodelist : str
        Which nodes, as Slurm writes them (``n[1-2]``), where it matters; a job is submitted for exactly these.
    """

    nodes: Annotated[int, msgspec.Meta(ge=1, le=MOST_RANKS)] = 1
    ranks_per_node: Annotated[int, msgspec.Meta(ge=1, le=MOST_RANKS)] = 1
    label: str = ""
    nodelist: str = ""

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.nodes * self.ranks_per_node

    def __str__(self) -> str:
        text = f"{self.nodes}x{self.ranks_per_node}"
        return f"{text}@{self.label}" if self.label else text


def count_nodes(nodelist: str) -> int:
    """Return how many nodes a list of Slurm names; source: scontrol(1), show hostnames.

    Raises
    ------
    UsageError
        If it is no such list.

    Examples
    --------
    >>> count_nodes("a[1-3,7],b01"), count_nodes("rack[0-1]n[08-11]")
    (5, 8)
    """
    count = 0
    for name in re.split(r",(?![^\[]*\])", nodelist):
        if not _NODES.fullmatch(name):
            raise UsageError("write it as Slurm does, n[1-2],m7")
        count += math.prod(
            sum(int(last or first) - int(first) + 1 for first, last in re.findall(r"(\d+)(?:-(\d+))?", ranges))
            for ranges in re.findall(_RANGES, name)
        )
    return count
