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
    """What a rule saw, on which ranks or hosts; what breaks or mends it otherwise than the check says.

    Where several are the same but for the place they become one finding.
    """

    level: Level
    found: str
    ranks: tuple[RankFacts, ...] = ()
    hosts: tuple[str, ...] = ()
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


def place(seen: Sequence[Seen]) -> str:
    """Return the ranks with their hosts, or the hosts, on which the same was seen; not all of them where it is many."""
    ranks = [rank for one in seen for rank in one.ranks]
    hosts = dict.fromkeys(host for one in seen for host in (*one.hosts, *(rank.host for rank in one.ranks)))
    names = listed(list(hosts), MOST_NAMED)
    if not ranks:
        return names
    numbers = excerpt(spans(sorted({rank.rank for rank in ranks})), LONGEST_SPANS)
    return f"rank{'s' if len(ranks) > 1 else ''} {numbers} ({names})"


def differing(values: Iterable[tuple[str, str]], absent: str = "none") -> str:
    """Return what differs between places, the commonest first; empty where all agree.

    Examples
    --------
    >>> differing([("a", "1"), ("b", "2"), ("c", "1")]), differing([("a", "1"), ("b", "1")])
    ('1 on a, c; 2 on b', '')
    """
    places: dict[str, dict[str, None]] = {}
    for spot, value in values:
        places.setdefault(value, {})[spot] = None
    if len(places) < 2:
        return ""
    ordered = sorted(places.items(), key=lambda item: -len(item[1]))
    parts = [f"{value or absent} on {listed(list(hosts), MOST_NAMED)}" for value, hosts in ordered[:MOST_NAMED]]
    more = len(ordered) - MOST_NAMED
    return "; ".join(parts) + (f"; and {more} other values" if more > 0 else "")
