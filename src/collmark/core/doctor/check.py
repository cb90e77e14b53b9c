"""One check: what it is for, and the rule that looks at the facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from collmark.core.doctor.facts import Facts, RankFacts
from collmark.core.doctor.finding import Level
from collmark.core.errors import excerpt
from collmark.core.numeral import listed, spans

MOST_NAMED = 4
"""Hosts in one finding, or values that differ, that are named; the others are counted."""
LONGEST_SPANS = 60
"""Letters of a list of ranks."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule saw; where it breaks or is mended otherwise than the check says, in its own words."""

    level: Level
    found: str
    where: str = ""
    breaks: str = ""
    mend: str = ""


class NotTold(msgspec.Struct, frozen=True, kw_only=True):
    """Why a rule could not look."""

    why: str


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table of checks.

    Attributes
    ----------
    looks : str
        What is looked at.
    breaks, mend : str
        What a finding breaks, and how to mend it.
    rule : callable
        Yields what it sees; nothing where all is well, ``NotTold`` where it cannot say.
    applies : callable
        Whether there is anything to look at: no InfiniBand, no limit that it needs.
    sources : tuple of str
        Where the field says so.
    """

    looks: str
    breaks: str
    mend: str
    rule: Callable[[Facts], Iterator[Seen | NotTold]]
    applies: Callable[[Facts], bool] = lambda _facts: True
    sources: tuple[str, ...] = ()


def where(ranks: Sequence[RankFacts]) -> str:
    """Return ranks with their hosts, not all of them where they are many."""
    numbers = excerpt(spans([rank.rank for rank in ranks]), LONGEST_SPANS)
    hosts = listed(list(dict.fromkeys(rank.host for rank in ranks)), MOST_NAMED)
    return f"rank{'s' if len(ranks) > 1 else ''} {numbers} ({hosts})"


def by_value(values: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return each value with the places where it is so, from (place, value)."""
    found: dict[str, dict[str, None]] = {}
    for place, value in values:
        found.setdefault(value, {})[place] = None
    return {value: list(places) for value, places in found.items()}


def differing(values: Iterable[tuple[str, str]], absent: str = "none") -> str:
    """Return what differs between places, the commonest first; empty where all agree.

    Examples
    --------
    >>> differing([("a", "1"), ("b", "2"), ("c", "1")]), differing([("a", "1"), ("b", "1")])
    ('1 on a, c; 2 on b', '')
    """
    places = by_value(values)
    if len(places) < 2:
        return ""
    ordered = sorted(places.items(), key=lambda item: -len(item[1]))
    parts = [f"{value or absent} on {listed(hosts, MOST_NAMED)}" for value, hosts in ordered[:MOST_NAMED]]
    more = len(ordered) - MOST_NAMED
    return "; ".join(parts) + (f"; and {more} other values" if more > 0 else "")
