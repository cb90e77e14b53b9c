"""Curves of one tier, and which of them may be put beside each other: never unlike ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from collmark.analysis.claims.measured.selector import Selector
from collmark.core.errors import one_line
from collmark.core.operation import Estimand
from collmark.core.units import format_nbytes

if TYPE_CHECKING:
    from collmark.analysis.columns import Series
    from collmark.analysis.models.fit import Fit

OTHER_PLACE = ("run", "placement", "tier", "fabric", "marker")
"""Fields of a series in which two sides of a comparison differ by their nature; all others must be alike."""
_BRACKETED = {Estimand.LAST_IN_LAST_OUT.value, Estimand.FIRST_IN_LAST_OUT.value, Estimand.LONGEST_LOCAL.value}


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured of one series, as far as it may enter a claim.

    Attributes
    ----------
    series : Series
        What was measured.
    ranks, nodes : int
        Its ranks, and the nodes they lie on.
    labels : tuple of str
        Labels of placement and run, and the name of the run's folder.
    launches : tuple of int
        Ids of the launches that entered.
    times : dict of int to tuple of float
        By nbytes: the median of T in each launch, s.
    fit : Fit or None
        Its model.
    refused : str
        Why there is no fit.
    left_out : str
        Records that did not enter, as ``2 unstable``.
    """

    series: Series
    ranks: int
    nodes: int
    labels: tuple[str, ...]
    launches: tuple[int, ...]
    times: dict[int, tuple[float, ...]]
    fit: Fit | None = None
    refused: str = ""
    left_out: str = ""

    @property
    def condition(self) -> dict[str, object]:
        """Everything that must be alike on two sides, the number of ranks apart."""
        fields = msgspec.structs.asdict(self.series)
        return {name: value for name, value in fields.items() if name not in OTHER_PLACE}

    @property
    def words(self) -> str:
        """One line of evidence: run, series, launches, sizes."""
        s, sizes = self.series, sorted(self.times)
        span = f"; {format_nbytes(sizes[0])} to {format_nbytes(sizes[-1])}" if sizes else ""
        series = [s.operation, s.backend, s.device, s.dtype, s.placement, s.tier_words, s.cadence]
        series.append(f"{s.marker}, T as {s.origin}" if s.origin else f"T is {s.estimand}")
        launches = ", ".join(map(str, self.launches)) or "none"
        left_out = f"; left out: {self.left_out}" if self.left_out else ""
        return one_line(f"run {s.run}: {', '.join(series)}; launches {launches}{span}{left_out}")


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """Curves of one tier under one condition: their launches count together.

    Attributes
    ----------
    tier : str
        As it was asked for.
    curves : tuple of Curve
        At least one; they differ in run and label only.
    """

    tier: str
    curves: tuple[Curve, ...]

    @property
    def condition(self) -> dict[str, object]:
        """What all of its curves have in common, the number of ranks apart."""
        return self.curves[0].condition

    @property
    def ranks(self) -> int:
        """Ranks of all of its curves."""
        return self.curves[0].ranks

    @property
    def nodes(self) -> int:
        """Nodes that they lie on."""
        return self.curves[0].nodes

    @property
    def words(self) -> str:
        """The condition in a few words, as far as it differs between runs of one plan."""
        s = self.curves[0].series
        parts = [s.backend, s.device, s.dtype, f"{s.buffers} buffers", f"scheduling {s.scheduling}", self.place]
        return one_line(", ".join([*parts, s.traffic] if s.traffic else parts))

    @property
    def place(self) -> str:
        """The tier, and how many ranks lie on how many nodes."""
        nodes = f"{self.nodes} node{'' if self.nodes == 1 else 's'}"
        return f"{self.curves[0].series.tier_words}, {self.ranks} ranks on {nodes}"

    @property
    def evidence(self) -> tuple[str, ...]:
        """A line for each curve."""
        return tuple(curve.words for curve in self.curves)

    def times(self, nbytes: int) -> tuple[float, ...]:
        """Return the medians of T at a size in all launches, s."""
        return tuple(value for curve in self.curves for value in curve.times.get(nbytes, ()))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes that were measured, in bytes."""
        return tuple(sorted({nbytes for curve in self.curves for nbytes in curve.times}))


class Pairing(msgspec.Struct, frozen=True, kw_only=True):
    """Sides that may be compared, or why none may.

    Attributes
    ----------
    pairs : tuple of (Side, Side)
        Alike in everything but their place.
    reason : str
        What differs, where nothing is alike.
    """

    pairs: tuple[tuple[Side, Side], ...] = ()
    reason: str = ""


def sides(
    curves: Iterable[Curve], selector: Selector, operation: str, ranks: int | None = None, *, any_nodes: bool = False
) -> tuple[Side, ...]:
    """Return the usable curves of a tier and an operation, put together where only run and label differ.

    Parameters
    ----------
    curves, selector, operation
        Of all curves those of a tier and an operation.
    ranks : int or None
        Number of ranks; any where None.
    any_nodes : bool
        Put curves together whose ranks lie on unlike numbers of nodes.
    """
    groups: dict[tuple[object, ...], list[Curve]] = {}
    for curve in curves:
        s = curve.series
        if s.operation != operation or not curve.times or (ranks is not None and curve.ranks != ranks):
            continue
        if selector.takes(s.tier, s.fabric, curve.labels):
            nodes = None if any_nodes else curve.nodes
            key = (*curve.condition.values(), s.tier, s.fabric, curve.ranks, nodes)
            groups.setdefault(key, []).append(curve)
    return tuple(Side(tier=selector.text, curves=tuple(group)) for group in groups.values())


def pair_up(over: Sequence[Side], under: Sequence[Side], *, equal_ranks: bool) -> Pairing:
    """Return all pairs of sides that are alike.

    Parameters
    ----------
    over, under : sequence of Side
        Of one operation and two tiers.
    equal_ranks : bool
        Whether the number of ranks must be equal too.
    """
    pairs = tuple((a, b) for a in over for b in under if not unlike(a, b, equal_ranks=equal_ranks))
    if pairs or not over or not under:
        return Pairing(pairs=pairs)
    a, b = min(((a, b) for a in over for b in under), key=lambda pair: len(unlike(*pair, equal_ranks=equal_ranks)))
    return Pairing(reason=f"unlike sides: {'; '.join(unlike(a, b, equal_ranks=equal_ranks))}")


def unlike(a: Side, b: Side, *, equal_ranks: bool) -> tuple[str, ...]:
    """Return in which fields two sides differ, in words."""
    left, right = a.condition, b.condition
    found = [f"{name} {left[name]} against {right[name]}" for name in left if left[name] != right[name]]
    if equal_ranks and a.ranks != b.ranks:
        found.append(f"{a.ranks} against {b.ranks} ranks")
    # Inside a node and across nodes differ by their nature; more ranks on a node share what leads out of it.
    if equal_ranks and a.nodes != b.nodes and min(a.nodes, b.nodes) > 1:
        found.append(f"{a.nodes} against {b.nodes} nodes")
    return tuple(found)


def mixes_clocks(pairing: Pairing) -> bool:
    """Whether all that differs is that clocks could be compared on one side only: D_max serves on both."""
    words = pairing.reason.removeprefix("unlike sides: ")
    name, _space, rest = words.partition(" ")
    return name == "estimand" and {*rest.split(" against ")} <= _BRACKETED
