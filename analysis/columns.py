"""The columns of the frame: name, kind, unit, meaning, and where the value comes from."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from collmark.core.case import Case
from collmark.core.marker import Marker
from collmark.core.metrics import algorithm_bandwidth, bus_bandwidth
from collmark.core.operation import Estimand
from collmark.core.operation_table import OPERATIONS
from collmark.core.record import Record

TEXT, WHOLE, NUMBER, TRUTH = "str", "int64", "float64", "bool"


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column of a frame.

    Attributes
    ----------
    kind : str
        str, int64, float64 or bool; a number that is absent is NaN, a text that is absent is empty.
    unit, meaning : str
        In SI units.
    """

    kind: str
    unit: str = ""
    meaning: str


def _text(meaning: str) -> Column:
    return Column(kind=TEXT, meaning=meaning)


def _whole(meaning: str, unit: str = "") -> Column:
    return Column(kind=WHOLE, unit=unit, meaning=meaning)


def _number(meaning: str, unit: str = "") -> Column:
    return Column(kind=NUMBER, unit=unit, meaning=meaning)


def _truth(meaning: str) -> Column:
    return Column(kind=TRUTH, meaning=meaning)


def _word(member: object) -> str:
    return "" if member is None else str(member)


def _bus_nbytes(case: Case) -> float:
    return OPERATIONS[case.operation].model_nbytes(case.exchange)


def _estimand(record: Record) -> Estimand:
    if record.imported is not None:
        return Estimand.REPORTED
    return record.case.estimand if record.timing is None else record.timing.estimand


OF_CASE: dict[str, tuple[Column, Callable[[Case], object]]] = {
    "operation": (_text("name as in torch.distributed"), lambda c: c.operation),
    "backend": (_text("software that moves the bytes"), lambda c: c.backend),
    "device": (_text("where the buffers lie"), lambda c: c.device.value),
    "dtype": (_text("element type"), lambda c: c.dtype),
    "reduction": (_text("reduction; empty where there is none"), lambda c: c.reduction),
    "nbytes": (_whole("effective size S", "B"), lambda c: c.nbytes),
    "requested_nbytes": (_whole("size asked for", "B"), lambda c: c.requested_nbytes),
    "bus_nbytes": (_number("bytes beside beta in a model of T", "B"), _bus_nbytes),
    "placement": (_text("nodes x ranks per node, and its label"), lambda c: str(c.placement)),
    "nodes": (_whole("nodes"), lambda c: c.placement.nodes),
    "ranks": (_whole("ranks"), lambda c: c.placement.ranks),
    "label": (_text("the user's name of the placement"), lambda c: c.placement.label),
    "traffic": (_text("counts of a ragged operation; empty otherwise"), lambda c: c.traffic),
    "cadence": (_text("how calls follow each other"), lambda c: c.cadence.value),
    "in_place": (_truth("send and receive buffer are the same"), lambda c: c.in_place),
    "buffers": (_text("buffer temperature; empty where imported"), lambda c: c.buffers.value),
    "scheduling": (_text("scheduling class of the ranks; empty where imported"), lambda c: c.scheduling.value),
    "binding": (_text("cores that a rank may run on; empty where imported"), lambda c: c.binding.value),
    "directions": (_whole("directions in which one link carries data at once"), lambda c: c.directions),
    "messages": (_whole("messages per call"), lambda c: c.messages),
    "root": (_whole("rank of the root"), lambda c: c.root),
    "form": (_text("how an operation of MPI is called"), lambda c: c.form.value),
    "thread_level": (_text("thread level of MPI; empty for other backends"), lambda c: str(c.thread_level)),
    "groups": (
        _text("how ranks are grouped, and all ranks that there are; empty where they are one group"),
        lambda c: f"{c.group.arrangement} of {c.group.world}" if c.group else "",
    ),
    "group": (
        _text("index of the group; empty where ranks are one group"),
        lambda c: str(c.group.index) if c.group else "",
    ),
    "company": (
        _text("alone, or together with all other groups; empty where ranks are one group"),
        lambda c: c.group.company.value if c.group else "",
    ),
    "case": (_text("key of the case: equal keys may be compared"), lambda c: c.key),
}

OF_RECORD: dict[str, tuple[Column, Callable[[Record], object]]] = {
    "launch": (_whole("id of the launch: the unit of replication"), lambda r: r.launch),
    "status": (_text("how the measurement ended"), lambda r: r.status.value),
    "sentinel": (
        _text("where in the launch a repeat of the sentinel case stood; empty otherwise"),
        lambda r: _word(r.sentinel),
    ),
    "simulated": (_truth("figures come from a simulation and decide no claim"), lambda r: r.simulated),
    "marker": (
        _text(f"why figures are no measurement of ours: {', '.join(Marker)}; empty where they are one"),
        lambda r: _word(r.marker),
    ),
    "tier": (_text("class of the slowest link used, by evidence"), lambda r: r.evidence.tier.value),
    "fabric": (_text("RDMA fabric; empty otherwise"), lambda r: _word(r.evidence.fabric)),
    "clock": (_text("which clocks the stamps come from"), lambda r: r.clock.value),
    "clock_error": (
        _number("bound of the error between stamps of any two ranks; absent for one clock", "s"),
        lambda r: r.clock_model and r.clock_model.error,
    ),
    "checked": (_whole("elements compared with the expected result"), lambda r: r.check.checked),
    "wrong": (_whole("elements that differ"), lambda r: r.check.wrong),
    "oversubscribed": (_truth("more threads ran than there are cores"), lambda r: r.oversubscribed),
    "started": (_text("UTC time of the start"), lambda r: r.started),
    "wall": (_number("time spent on the case, checks included", "s"), lambda r: r.wall),
    "first_call": (_number("duration of the first call", "s"), lambda r: r.first_call),
    "origin": (
        _text("tool and statistic of an imported figure; empty for a measurement of collmark"),
        lambda r: r.imported.origin if r.imported else "",
    ),
    "estimand": (_text("what T is"), lambda r: _estimand(r).value),
    "seconds": (_number("T: the median, or what another tool says", "s"), lambda r: r.seconds),
    "lower": (_number("lower end of its interval inside the launch", "s"), lambda r: r.timing and r.timing.lower),
    "upper": (_number("upper end", "s"), lambda r: r.timing and r.timing.upper),
    "p25": (_number("lower quartile of T", "s"), lambda r: r.timing and r.timing.p25),
    "p75": (_number("upper quartile", "s"), lambda r: r.timing and r.timing.p75),
    "p95": (_number("95 % quantile", "s"), lambda r: r.timing and r.timing.p95),
    "p99": (_number("99 % quantile", "s"), lambda r: r.timing and r.timing.p99),
    "maximum": (_number("largest T", "s"), lambda r: r.timing and r.timing.maximum),
    "repetitions": (_whole("repetitions timed"), lambda r: r.timing.repetitions if r.timing else 0),
    "tau": (_number("autocorrelation time", "repetitions"), lambda r: r.timing and r.timing.tau),
    "overlap": (
        _number("share of a non-blocking call's time that as long a computation hides"),
        lambda r: r.overlap,
    ),
    "longest": (_number("median of D_max, the longest local duration", "s"), lambda r: r.ranks and r.ranks.longest),
    "skew": (
        _number("median of last entry - first entry; absent without a common clock", "s"),
        lambda r: r.ranks and r.ranks.skew,
    ),
    "skewed": (
        _number("share of repetitions whose ranks entered over 10 % of L apart"),
        lambda r: r.ranks and r.ranks.skewed,
    ),
    "algorithm_bandwidth": (
        _number("nbytes / T", "B/s"),
        lambda r: None if r.seconds is None else algorithm_bandwidth(r.case, r.seconds),
    ),
    "bus_bandwidth": (
        _number("bus factor x nbytes / T", "B/s"),
        lambda r: None if r.seconds is None else bus_bandwidth(r.case, r.seconds),
    ),
}

COLUMNS: dict[str, Column] = {
    "run": _text("name of the run's folder"),
    **{name: column for name, (column, _value) in OF_CASE.items()},
    **{name: column for name, (column, _value) in OF_RECORD.items()},
    "window": _whole("most messages in flight in a call of a stream: large sizes may have fewer by plan; 1 elsewhere"),
}
"""Every column of the frame, in its order."""


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """What must agree for figures to lie on one curve over nbytes; fields are columns of the frame."""

    run: str
    operation: str
    backend: str
    device: str
    dtype: str
    reduction: str
    placement: str
    traffic: str
    cadence: str
    in_place: bool
    buffers: str
    scheduling: str
    binding: str
    directions: int
    window: int
    root: int
    form: str
    thread_level: str
    groups: str
    group: str
    company: str
    tier: str
    fabric: str
    origin: str
    estimand: str
    marker: str

    @property
    def tier_words(self) -> str:
        """Tier and fabric as people address them: ``rdma:infiniband``."""
        return f"{self.tier}:{self.fabric}" if self.fabric else self.tier


SERIES = Series.__struct_fields__
"""The columns that :class:`Series` holds."""
