"""What was measured as a share of what may be expected: of the declared link, of published figures, of its asymptote.

Only of real links: what was simulated, emulated or made in a test arrangement is never set against them.
Legend: L launches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np
import pandas as pd

from collmark.analysis.claims.measured.selector import WITHIN_NODE
from collmark.analysis.claims.quantity import number, shown
from collmark.analysis.columns import SERIES, Series
from collmark.analysis.expected.system import Published, System, labelled_system
from collmark.analysis.models.fit import Fit, Fits
from collmark.analysis.points import is_usable, measured
from collmark.analysis.ratio import log_mean, ratio
from collmark.core.estimate import Estimate
from collmark.core.marker import Marker
from collmark.core.operation_table import OPERATIONS
from collmark.core.units import format_nbytes

LEVEL, DIGITS = 0.95, 3
SMALLEST = 64
"""B: a larger message is no measure of latency."""
ALL_PORTS = ("all_reduce", "all_gather", "reduce_scatter")
"""Where a ring over several nodes leaves each by every port, so that bus bandwidth comes to that of all ports."""
ASYMPTOTE = "asymptote"
OWN = "its own asymptote"
FASTER_THAN_LINK = "faster than the link declared: it went over another, or the declaration is wrong"


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """One measured figure over one expected.

    Attributes
    ----------
    series : Series
        What was measured.
    measured, expected : str
        What stands over what: a bus bandwidth, unless it is a time.
    value : float
        Measured, in `unit`.
    low, high : float
        Expected, in `unit`; a range of published figures, else equal.
    unit : str
        ``B/s`` or ``s``.
    share : float
        Measured over expected; over the middle of a range.
    estimate : Estimate or None
        The share with its interval over launches; None for one launch.
    source : str
        Where the expected figure is from.
    warning : str
        What a share above 1 of a link means; empty otherwise.
    """

    series: Series
    measured: str
    expected: str
    value: float
    low: float
    high: float
    unit: str
    share: float
    estimate: Estimate | None
    source: str
    warning: str = ""

    @property
    def value_words(self) -> str:
        """What was measured, with its unit."""
        return shown(self.value, self.unit, digits=DIGITS)

    @property
    def expected_words(self) -> str:
        """What is expected, with its unit: one figure or a range."""
        high = shown(self.high, self.unit, digits=DIGITS)
        low = f"{shown(self.low, self.unit, high.split()[-1], DIGITS).split()[0]} to "
        return high if self.low == self.high else f"{low}{high}"

    @property
    def percent_words(self) -> tuple[str, str]:
        """The share in per cent, and its interval; the second is empty for one launch."""
        ends = () if self.estimate is None else (self.estimate.lower, self.estimate.upper)
        return number(
            100 * self.share, DIGITS
        ), f"[{', '.join(number(100 * end, DIGITS) for end in ends)}]" if ends else ""


class _Measured(msgspec.Struct, frozen=True, kw_only=True):
    """A figure in each launch."""

    words: str
    values_L: tuple[float, ...]


class _Goal(msgspec.Struct, frozen=True, kw_only=True):
    """What is expected: from `low` to `high`."""

    words: str
    low: float
    high: float
    unit: str = "B/s"
    source: str = ""


def declared(found: Iterable[Share]) -> list[Share]:
    """Return the shares of what the user declared, and not of a figure's own asymptote, the lowest first."""
    return sorted((share for share in found if share.expected != OWN), key=lambda share: share.share)


def shares(
    table: pd.DataFrame, fits: Fits, named: Sequence[System] = (), *, include_unstable: bool = False
) -> tuple[Share, ...]:
    """Return what every series reaches of what may be expected of it.

    Parameters
    ----------
    table : DataFrame
        As :func:`collmark.analysis.frame.frame` returns it.
    fits : Fits
        Of the same records.
    named : sequence of System
        Those that the user says were measured; each holds for the series of its tier. Otherwise a placement whose label
        is the name of a system, or a rate such as 400G, declares it. Nothing is guessed.
    include_unstable : bool
        Let unstable records enter.
    """
    if table.empty:
        return ()
    rows = measured(table)
    rows = rows[is_usable(rows, include_unstable=include_unstable) & rows["marker"].isin(["", Marker.IMPORTED.value])]
    rows = rows[rows["bus_nbytes"] > 0]
    found: list[Share] = []
    for key, group in rows.groupby(list(SERIES), sort=False):
        plain = [value.item() if isinstance(value, np.generic) else value for value in key]
        series = msgspec.convert(dict(zip(SERIES, plain, strict=True)), Series)
        found += _of_series(series, group, fits.of(series), named)
    return tuple(found)


def _of_series(series: Series, rows: pd.DataFrame, fit: Fit | None, named: Sequence[System]) -> Iterator[Share]:
    largest = int(rows["nbytes"].max())
    at_largest = _Measured(
        words=f"at {format_nbytes(largest)}",
        values_L=_each(rows[rows["nbytes"] == largest].eval("bus_nbytes / seconds"), rows),
    )
    asymptote = _asymptote(fit)
    system = _system_of(series, rows, named)
    if system is not None:
        yield from _of_link(series, rows, asymptote or at_largest, system)
        for figure in system.figures:
            yield from _of_published(series, rows, asymptote or at_largest, figure)
    if asymptote is not None:
        known = float(np.exp(np.log(asymptote.values_L).mean()))
        estimate = ratio(at_largest.values_L, asymptote.values_L)
        yield _share(series, at_largest, _Goal(words=OWN, low=known, high=known), estimate)


def _each(values: pd.Series, rows: pd.DataFrame) -> tuple[float, ...]:
    """Return the median of each launch."""
    return tuple(values.groupby(rows["launch"]).median().tolist())


def _asymptote(fit: Fit | None) -> _Measured | None:
    """Return the asymptote in each launch, where a fit tells it well enough to be set against anything."""
    if fit is None or not fit.describes or fit.asymptote is None or fit.asymptote.weak or not fit.asymptote.per_launch:
        return None
    return _Measured(words=ASYMPTOTE, values_L=fit.asymptote.per_launch)


def _system_of(series: Series, rows: pd.DataFrame, named: Sequence[System]) -> System | None:
    label = labelled_system(str(rows["label"].iloc[0]))
    declared = [*named, *([label] if label is not None else [])]
    nodes = int(rows["nodes"].iloc[0])
    return next((one for one in declared if one.takes(series.tier, series.fabric, nodes)), None)


def _of_link(series: Series, rows: pd.DataFrame, own: _Measured, system: System) -> Iterator[Share]:
    nodes, ranks = int(rows["nodes"].iloc[0]), int(rows["ranks"].iloc[0])
    ports = _ports(series, system, nodes, ranks)
    if system.rate is None or ports is None:
        return
    peak = system.rate * ports
    many = f", {ports} ports of a node" if ports > 1 else ""
    words = f"link {system.name}{many} ({system.declared_by})"
    share = _share(series, own, _Goal(words=words, low=peak, high=peak, source=system.source))
    if share.share > 1:
        algorithm = share.value / OPERATIONS[series.operation].bus_factor(ranks)
        above = (
            "bus bandwidth above the wire rate: reduced or multiplied in the switch (NVLS, SHARP), or another "
            f"algorithm than a ring; no rate of a wire, algorithm bandwidth is {shown(algorithm, 'B/s', digits=DIGITS)}"
        )
        share = msgspec.structs.replace(share, warning=FASTER_THAN_LINK if OPERATIONS[series.operation].pair else above)
    yield share


def _ports(series: Series, system: System, nodes: int, ranks: int) -> int | None:
    """Return the links of one node, or one GPU, that bus bandwidth counts; None where no bound is known."""
    each = ranks // nodes
    if nodes == 1 or each == 1 or system.tier in WITHIN_NODE:
        return 1
    return min(each, system.ports) if system.ports and series.operation in ALL_PORTS else None


def _of_published(series: Series, rows: pd.DataFrame, own: _Measured, figure: Published) -> Iterator[Share]:
    if (figure.operation, figure.ranks) != (series.operation, int(rows["ranks"].iloc[0])):
        return
    goal = _Goal(
        words=f"published: {figure.how}",
        low=figure.value.low,
        high=figure.value.high,
        unit=figure.value.unit,
        source=figure.source,
    )
    if goal.unit == "B/s":
        yield _share(series, own, goal)
        return
    smallest = int(rows["nbytes"].min())
    if smallest <= SMALLEST:
        times = _each(rows.loc[rows["nbytes"] == smallest, "seconds"], rows)
        latency = _Measured(words=f"T at {format_nbytes(smallest)}", values_L=times)
        yield _share(series, latency, goal)


def _share(series: Series, own: _Measured, goal: _Goal, estimate: Estimate | None = None) -> Share:
    """Return a share, by default of what is known exactly."""
    middle = (goal.low + goal.high) / 2
    value = float(np.exp(np.log(own.values_L).mean()))
    mean = log_mean(own.values_L)
    return Share(
        series=series,
        measured=own.words,
        expected=goal.words,
        value=value,
        low=goal.low,
        high=goal.high,
        unit=goal.unit,
        share=value / middle,
        estimate=estimate or (None if mean is None else mean.scaled(1 / middle).interval(LEVEL)),
        source=goal.source,
    )
