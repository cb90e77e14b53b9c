"""Registry: an index of things by name, whose unknown names are answered helpfully."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from collmark.core.errors import UnknownNameError

__all__ = ["Registry"]

T = TypeVar("T")
D = TypeVar("D")


class Registry(Mapping[str, T]):
    """An immutable, ordered mapping from names to entries of one kind.

    Parameters
    ----------
    kind
        What an entry is, as a word for messages: "operation", "backend".
    entries
        A mapping, or (name, entry) pairs, in the order to list them. Prefer pairs:
        Python drops a duplicate in a dict literal without a word.

    Raises
    ------
    ValueError
        If a name occurs twice: a fault of ours, and so not a UsageError.

    Examples
    --------
    >>> colours = Registry("colour", [("red", 1), ("green", 2)])
    >>> colours["green"], colours.names(), "blue" in colours
    (2, ('red', 'green'), False)
    """

    def __init__(self, kind: str, entries: Mapping[str, T] | Iterable[tuple[str, T]]) -> None:
        self.kind = kind
        self._entries: dict[str, T] = {}
        for name, entry in entries.items() if isinstance(entries, Mapping) else entries:
            if name in self._entries:
                raise ValueError(f"duplicate {kind} {name!r}")
            self._entries[name] = entry

    def __getitem__(self, name: str) -> T:
        """Return the entry called `name`, or raise UnknownNameError."""
        try:
            return self._entries[name]
        except KeyError:
            raise UnknownNameError(self.kind, name, self._entries) from None

    # Mapping's own __contains__ and get expect a KeyError.
    def __contains__(self, name: object) -> bool:
        """Return whether there is an entry called `name`."""
        return name in self._entries

    def get(self, name: str, default: T | D | None = None) -> T | D | None:  # type: ignore[override]
        """Return the entry called `name`, or `default`."""
        return self._entries.get(name, default)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, in order."""
        return iter(self._entries)

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._entries)

    def names(self) -> tuple[str, ...]:
        """Return the names, in order."""
        return tuple(self._entries)
