"""Which sides may be put beside each other: never unlike ones, and what differs is said of each that is left out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec

from collmark.analysis.claims.measured.curve import WAYS, Side, sides
from collmark.analysis.claims.measured.material import Material
from collmark.analysis.claims.measured.selector import Selector
from collmark.core.marker import NOT_IN_LOGS
from collmark.core.operation import Estimand

_BRACKETED = {Estimand.LAST_IN_LAST_OUT.value, Estimand.FIRST_IN_LAST_OUT.value, Estimand.LONGEST_LOCAL.value}
_NAMES = {"origin": "statistic of", "window": "messages in flight:", "directions": "directions:"}
_VALUES: dict[str, dict[Any, str]] = {"origin": {"": "collmark's own"}, "directions": WAYS}
LEVELLED = "clocks could be compared on one side only: T is D_max on both, skew included"


class Pairing(msgspec.Struct, frozen=True, kw_only=True):
    """Sides that may be compared, or why none may.

    Attributes
    ----------
    pairs : tuple of (Side, Side)
        Alike in everything but their place.
    reason : str
        What differs, where nothing is alike.
    notes : tuple of str
        That T is D_max on both sides; sides that are like no other, and what differs.
    levelled : bool
        Whether T is D_max on both sides.
    """

    pairs: tuple[tuple[Side, Side], ...] = ()
    reason: str = ""
    notes: tuple[str, ...] = ()
    levelled: bool = False


def pairs_of(
    material: Material,
    a: Selector,
    b: Selector,
    operation: str,
    *,
    ranks: int | None = None,
    equal_ranks: bool = True,
    longest: bool = False,
) -> Pairing:
    """Return the sides of two tiers that are alike: with T as D_max wherever only their clocks differ.

    Parameters
    ----------
    material, a, b, operation
        Of all curves those of two tiers and an operation.
    ranks : int or None
        Number of ranks; any where None.
    equal_ranks : bool
        Whether the number of ranks must be equal on both sides, unless unequal ones were asked for.
    longest : bool
        T as D_max in any case.
    """
    is_equal = equal_ranks and not material.unequal_ranks
    over, under = (sides(material.curves, tier, operation, ranks) for tier in (a, b))
    if not longest and not any(_only_clocks_differ(x, y, equal_ranks=is_equal) for x in over for y in under):
        return pair_up(over, under, equal_ranks=is_equal)
    over, under = (sides(material.longest, tier, operation, ranks) for tier in (a, b))
    found = pair_up(over, under, equal_ranks=is_equal)
    return msgspec.structs.replace(found, notes=(_levelled((*over, *under)), *found.notes), levelled=True)


def mix_clocks(pairs: Iterable[tuple[Side, Side]]) -> bool:
    """Whether clocks could be compared in some pairs and not in others."""
    found = {str(side.condition["estimand"]) for pair in pairs for side in pair}
    return Estimand.LONGEST_LOCAL.value in found and len(found & _BRACKETED) > 1


def pair_up(over: Sequence[Side], under: Sequence[Side], *, equal_ranks: bool) -> Pairing:
    """Return all pairs of sides that are alike.

    Parameters
    ----------
    over, under : sequence of Side
        Of one operation and two tiers.
    equal_ranks : bool
        Whether the number of ranks must be equal too.
    """
    if not over or not under:
        return Pairing()
    differences = {
        (i, j): unlike(a, b, equal_ranks=equal_ranks) for i, a in enumerate(over) for j, b in enumerate(under)
    }
    pairs = tuple((over[i], under[j]) for (i, j), words in differences.items() if not words)
    if not pairs:
        return Pairing(reason=f"unlike sides: {_least(differences.values())}")
    alone = []
    for axis, group in enumerate((over, under)):
        for position, side in enumerate(group):
            own = [words for place, words in differences.items() if place[axis] == position]
            if all(own):
                alone.append(f"not compared, {side.tier} {side.words}: unlike sides: {_least(own)}")
    return Pairing(pairs=pairs, notes=tuple(alone))


def _least(differences: Iterable[Sequence[str]]) -> str:
    """Return the fewest differences, in words."""
    fewest: Sequence[str] = min(differences, key=len)
    return "; ".join(fewest)


def unlike(a: Side, b: Side, *, equal_ranks: bool, apart: Collection[str] = ()) -> tuple[str, ...]:
    """Return in which fields two sides differ, in words; some fields may be set apart."""
    left, right = a.condition, b.condition
    # Whose figures they are differs wherever one side does not tell these.
    apart = {*apart, *(name for name in NOT_IN_LOGS if not (left[name] and right[name]))}
    found = [
        f"{_NAMES.get(name, name)} {_words(name, left[name])} against {_words(name, right[name])}"
        for name in left
        if left[name] != right[name] and name not in apart
    ]
    if equal_ranks and a.ranks != b.ranks:
        found.append(f"{a.ranks} against {b.ranks} ranks")
    # Inside a node and across nodes differ by their nature; more ranks on a node share what leads out of it.
    if equal_ranks and a.nodes != b.nodes and min(a.nodes, b.nodes) > 1:
        found.append(f"{a.nodes} against {b.nodes} nodes")
    return tuple(found)


def _words(name: str, value: object) -> str:
    return _VALUES.get(name, {}).get(value) or str(value) or "none"


def _only_clocks_differ(a: Side, b: Side, *, equal_ranks: bool) -> bool:
    """Whether all that differs is that clocks could be compared on one side only: D_max serves on both."""
    estimands = {str(side.condition["estimand"]) for side in (a, b)}
    return len(estimands) == 2 and estimands <= _BRACKETED and len(unlike(a, b, equal_ranks=equal_ranks)) == 1


def _levelled(found: Sequence[Side]) -> str:
    """Return that T is D_max on both sides, and how much skew is in it as far as a clock can tell."""
    shares = [curve.skewed for side in found for curve in side.curves if curve.skewed is not None]
    told = (
        f"; {100 * max(shares):.0f} % of repetitions where it could be told entered over 10 % of L apart"
        if shares
        else ""
    )
    return f"{LEVELLED}{told}"
