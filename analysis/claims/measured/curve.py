"""Curves of one tier, put together where only run and label differ."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from collmark.analysis.claims.measured.selector import Selector
from collmark.core.errors import one_line
from collmark.core.operation_table import OPERATIONS
from collmark.core.units import format_nbytes

if TYPE_CHECKING:
    from collmark.analysis.columns import Series
    from collmark.analysis.models.fit import Fit

OTHER_PLACE = ("run", "placement", "tier", "fabric", "marker")
"""Fields of a series in which two sides of a comparison differ by their nature; all others must be alike."""


WAYS = {1: "one-way", 2: "two-way"}
"""Directions in which a stream goes, in words; its bandwidth is that of one direction in either case."""


def way_words(directions: int) -> str:
    """Return a number of directions in words."""
    return WAYS.get(directions, f"{directions} directions")


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
    skewed : float or None
        Share of repetitions whose ranks entered over 10 % of L apart; None where no clock could tell.
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
    skewed: float | None = None

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
        series = [s.operation, s.backend, s.device, s.dtype, s.placement, s.tier_words, s.cadence, _statistic(s)]
        launches = ", ".join(map(str, self.launches)) or "none"
        left_out = f"; left out: {self.left_out}" if self.left_out else ""
        return one_line(f"run {s.run}: {', '.join(series)}; launches {launches}{span}{left_out}")


def _buffers(series: Series) -> str:
    return f"{series.buffers} buffers" if series.buffers else ""


def _statistic(series: Series) -> str:
    return f"{series.marker}, T as {series.origin}" if series.origin else f"T is {series.estimand}"


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
        scheduling = f"scheduling {s.scheduling}" if s.scheduling else ""
        parts = [s.backend, s.device, s.dtype, _buffers(s), scheduling, self.place, s.traffic]
        return one_line(", ".join(filter(None, parts)))

    @property
    def place(self) -> str:
        """The tier, and how many ranks lie on how many nodes."""
        nodes = f"{self.nodes} node{'' if self.nodes == 1 else 's'}"
        return f"{self.curves[0].series.tier_words}, {self.ranks} ranks on {nodes}"

    @property
    def imported(self) -> bool:
        """Whether another tool measured it."""
        return bool(self.curves[0].series.origin)

    def definition(self, quantity: str, *, software: bool = False) -> str:
        """Return what a quantity of it is: operation, directions, place, cadence, what T is; software if asked."""
        s = self.curves[0].series
        ways = [way_words(s.directions)] if OPERATIONS[s.operation].streams else []
        tool = [s.backend, s.device, s.dtype, _buffers(s)] if software else []
        parts = [f"{s.operation} {quantity}", *ways, self.place, *tool, s.cadence, _statistic(s)]
        return one_line(", ".join(filter(None, parts)))

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
