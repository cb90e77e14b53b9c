"""Systems by name: what their links are specified at, and what others measured over them, with sources."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from collmark.analysis.claims.measured.selector import WITHIN_NODE
from collmark.analysis.claims.quantity import Quantity, read_quantity
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Fabric, Tier
from collmark.core.registry import Registry

FILE = Path(__file__).with_name("reference.toml")
_RATE = re.compile(r"(\d{1,4}(?:\.\d{1,3})?)G(?:b/s|bps|bit/s)?", re.ASCII | re.IGNORECASE)
"""A rate as a label: 400G is 400 Gb/s, as links are sold."""
BY_OPTION = "--expect"


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """A figure that others measured.

    Attributes
    ----------
    operation, ranks
        What it is of.
    value : Quantity
        A bus bandwidth of large messages in B/s, or a time in s; one number or a range.
    how, source : str
        How it was measured, and where it stands.
    """

    operation: str
    ranks: int
    value: Quantity
    how: str
    source: str


class System(msgspec.Struct, frozen=True, kw_only=True):
    """A link, alone or in a system.

    Attributes
    ----------
    name, meaning, source : str
        What it is called and is, and where its rate is from.
    tier : Tier or None
        None for any.
    fabric : Fabric or None
        Of RDMA.
    rate : float or None
        B/s, one direction, of one GPU or one port; None where it is not known.
    ports : int or None
        Network ports of a node; None where nobody said.
    figures : tuple of Published
        What others measured.
    declared_by : str
        Who says that a measurement is of this system.
    """

    name: str
    meaning: str
    source: str
    tier: Tier | None = None
    fabric: Fabric | None = None
    rate: float | None = None
    ports: int | None = None
    figures: tuple[Published, ...] = ()
    declared_by: str = BY_OPTION

    def takes(self, tier: str, fabric: str, nodes: int) -> bool:
        """Whether a measurement may be of this system: of its tier or, where that is unknown, of as many nodes."""
        if tier == Tier.UNKNOWN and self.tier is not None:
            return (nodes == 1) == (self.tier in WITHIN_NODE)
        return (self.tier is None or tier == self.tier) and (self.fabric is None or fabric == self.fabric)


@cache
def systems() -> Registry[System]:
    """Return every system that can be named."""
    tables = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return Registry("system to expect", [(name, _system(name, table)) for name, table in tables.items()])


def _system(name: str, table: dict[str, Any]) -> System:
    figures = [
        Published(**{**row, "operation": OPERATIONS[row["operation"]].name, "value": read_quantity(row["value"])})
        for row in table.get("figures", ())
    ]
    rate = None if "rate" not in table else read_quantity(table["rate"]).value
    fabric = None if "fabric" not in table else Fabric(table["fabric"])
    read = {"rate": rate, "figures": tuple(figures), "tier": Tier(table["tier"]), "fabric": fabric}
    return System(name=name, **{**table, **read})


def named_systems(names: Iterable[str]) -> tuple[System, ...]:
    """Return the systems of some names.

    Raises
    ------
    UnknownNameError
        If there is no such system; all are listed.
    """
    return tuple(systems()[name] for name in dict.fromkeys(names))


def labelled_system(label: str) -> System | None:
    """Return the system that a placement's label declares: its name, or a rate in Gb/s; None where it does neither.

    Examples
    --------
    >>> labelled_system("400G").rate, labelled_system("NDR").rate, labelled_system("rack7")
    (50000000000.0, 50000000000.0, None)
    """
    by = "label of the placement"
    if label.lower() in systems():
        return msgspec.structs.replace(systems()[label.lower()], declared_by=by)
    match = _RATE.fullmatch(label)
    if match is None or not float(match[1]):
        return None
    rate = float(match[1]) * 1e9 / 8
    return System(name=label, meaning="a link of the rate declared", source=f"the {by}", rate=rate, declared_by=by)
