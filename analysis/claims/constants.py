"""The data table of constants: link rates, model sizes, GPU memory; each stands once, with its source."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from collmark.analysis.claims.quantity import Quantity, read_quantity
from collmark.core.errors import UnknownNameError, UsageError, nearest

WORDS = ("meaning", "source")
"""Keys of a group that are texts; all others are quantities."""
REFERENCE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\.[A-Za-z_][A-Za-z0-9_-]*", re.ASCII)
"""How a row refers to a constant: GROUP.KEY."""


class Constants:
    """Quantities by name: ``nvlink4.one_way``.

    Parameters
    ----------
    quantities : mapping of str to Quantity
        By GROUP.KEY.
    """

    def __init__(self, quantities: Mapping[str, Quantity]) -> None:
        self.quantities = dict(quantities)

    def __getitem__(self, name: str) -> Quantity:
        """Return a constant, or raise UnknownNameError with the nearest."""
        if name in self.quantities:
            return self.quantities[name]
        group = name.partition(".")[0]
        of_group = [other for other in self.quantities if other.startswith(f"{group}.")]
        groups = dict.fromkeys(f"{other.partition('.')[0]}.*" for other in self.quantities)
        close = nearest(name, self.quantities)
        # All constants would fill the screen: those of the group, or the groups.
        raise UnknownNameError("constant", name, ([close] if close and not of_group else []) + (of_group or [*groups]))

    def with_more(self, other: Constants, where: str) -> Constants:
        """Return these and others.

        Raises
        ------
        UsageError
            If a name stands in both.
        """
        twice = sorted(self.quantities.keys() & other.quantities.keys())
        if twice:
            raise UsageError(f"{where}: constant {twice[0]!r} is there already; choose another name")
        return Constants({**self.quantities, **other.quantities})


def read_constants(groups: object, where: str) -> tuple[Constants, list[str]]:
    """Read groups of constants from a TOML table.

    Parameters
    ----------
    groups : object
        Tables by the group's name: ``meaning``, ``source``, and quantities.
    where : str
        For messages.

    Returns
    -------
    Constants, list of str
        What could be read, and everything that is wrong.
    """
    found: dict[str, Quantity] = {}
    problems: list[str] = []
    if not isinstance(groups, Mapping):
        return Constants({}), [f"{where} is no table of groups"]
    for group, table in groups.items():
        problem = _problem_of_group(table)
        if problem:
            problems.append(f"{where}.{group}: {problem}")
            continue
        for key, written in table.items():
            name = f"{group}.{key}"
            if key in WORDS:
                continue
            if not REFERENCE.fullmatch(name):
                problems.append(f"{where}.{name}: a name is of letters, digits, _ and -")
                continue
            try:
                found[name] = _described(read_quantity(written), key, table)
            except UsageError as error:
                problems.append(f"{where}.{name}: {error}")
    return Constants(found), problems


def _problem_of_group(table: object) -> str:
    if not isinstance(table, Mapping):
        return "a group of constants is a table, as [constants.mine]"
    for key in WORDS:
        if not isinstance(table.get(key), str) or not table[key].strip():
            close = nearest(key, [k for k in table if isinstance(table[k], str)])
            return f"says no {key}" + (f"; did you mean {key!r} by {close!r}?" if close and close not in WORDS else "")
    return ""


def _described(quantity: Quantity, key: str, table: Mapping[str, Any]) -> Quantity:
    return msgspec.structs.replace(
        quantity, meaning=table["meaning"], key=key.replace("_", " "), source=table["source"]
    )
