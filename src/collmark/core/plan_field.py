"""How a person writes each field of a plan, and what is allowed: the same in an option and in a plan file."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from collmark.core.bounds import LARGEST
from collmark.core.case import Binding, Buffers, Cadence, Form, InPlace, Scheduling, ThreadLevel
from collmark.core.dtype import DTYPES
from collmark.core.errors import UnknownNameError, UsageError
from collmark.core.grouping import check_arrangement
from collmark.core.numeral import parse_number, parse_whole, shown
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import MOST_RANKS
from collmark.core.reduction import REDUCTIONS
from collmark.core.registry import Registry
from collmark.core.sweep import parse_sweep
from collmark.core.traffic import law_of
from collmark.core.units import parse_nbytes, parse_seconds

AUTO = "auto"
DAY = 86400
LEAST_CASE = 0.02
"""Seconds of one case, below which it would not get past its checks."""
UNBOUNDED = ("0", "none")


class PlanField(msgspec.Struct, frozen=True, kw_only=True):
    """One field that a person writes.

    Attributes
    ----------
    convert : callable
        From text, or what TOML makes of it, to the value that the plan keeps; UsageError for what is none.
    faults : callable
        From the value and what was written, which is the value itself in a plan that is there already, to everything
        that is wrong with it. The words start with what was written.
    """

    convert: Callable[[object], Any]
    faults: Callable[[Any, object], list[UsageError]]

    def read(self, written: object) -> tuple[Any, list[UsageError]]:
        """Return the value of what is written, and what is wrong with it; None where it is no value at all."""
        try:
            value = self.convert(written)
        except UsageError as error:
            return None, [error]
        return value, self.faults(value, written)


def _within(convert: Callable[[object], Any], holds: Callable[[Any], bool], allowed: str) -> PlanField:
    """Return a field of one value inside limits; `convert` gives None for what is nothing of the kind."""

    def refusal(written: object) -> UsageError:
        return UsageError(f"{shown(written)}: must be {allowed}")

    def convert_or_refuse(written: object) -> Any:  # noqa: ANN401 - whatever the field keeps
        value = convert(written)
        if value is None:
            raise refusal(written)
        return value

    return PlanField(
        convert=convert_or_refuse, faults=lambda value, written: [] if holds(value) else [refusal(written)]
    )


def _number(written: object) -> float | None:
    if isinstance(written, bool) or not isinstance(written, int | float):
        return None
    # No limit is as wide as this, and TOML knows whole numbers that no float can hold.
    return float(written) if abs(written) <= LARGEST else math.inf


def _whole(written: object) -> int | None:
    if isinstance(written, str):
        try:
            return parse_whole(written)
        except UsageError:
            return None
    return written if isinstance(written, int) and not isinstance(written, bool) else None


def _launches(written: object) -> int | str | None:
    return AUTO if written == AUTO else _whole(written)


def _share(written: object) -> float | None:
    if not isinstance(written, str):
        return _number(written)
    text = written.strip()
    try:
        value = parse_number(text.removesuffix("%"))
    except UsageError:
        return None
    return value / 100 if text.endswith("%") else value


def _seconds(written: object) -> float | None:
    return parse_seconds(written) if isinstance(written, str) else _number(written)


def _bound(written: object) -> float | None:
    return 0.0 if isinstance(written, str) and written.strip() in UNBOUNDED else _seconds(written)


def _nbytes(written: object) -> int | None:
    return parse_nbytes(written) if isinstance(written, str) else _whole(written)


def _sizes(written: object) -> str:
    parts = written if isinstance(written, list) else [written]
    if any(not isinstance(part, str) and _whole(part) is None for part in parts):
        raise UsageError(f"{shown(written)}: must be sizes such as 8B:1GiB:x2, or a list of them")
    return str(parse_sweep(",".join(map(str, parts))))


def _names(written: object) -> tuple[str, ...]:
    parts = [written] if isinstance(written, str) else written
    if not isinstance(parts, Sequence) or not all(isinstance(part, str) for part in parts):
        raise UsageError(f"{shown(written)}: must be a name, or a list of names")
    return tuple(name.strip() for part in parts for name in part.split(",") if name.strip())


def _text(written: object) -> str:
    if not isinstance(written, str):
        raise UsageError(f"{shown(written)}: must be text")
    return written


def _axis(registry: Registry[Any] | None) -> PlanField:
    """Return a field of names; without a registry, whoever knows them checks them."""

    def faults(names: tuple[str, ...], _written: object) -> list[UsageError]:
        twice = sorted({name for name in names if names.count(name) > 1})
        return [
            *([] if names else [UsageError("needs at least one name")]),
            *(unknown_names(names, registry) if registry is not None else []),
            *(UsageError(f"names {shown(name)} twice") for name in twice),
        ]

    return PlanField(convert=_names, faults=faults)


def unknown_names(names: Sequence[str], registry: Registry[Any]) -> list[UnknownNameError]:
    """Return an error for each name that is not in a registry."""
    return [UnknownNameError(registry.kind, name, registry) for name in names if name not in registry]


def _faults_of_names(names: Sequence[str], check: Callable[[str], object]) -> list[UsageError]:
    """Return what is wrong with names that something else reads."""
    faults = [] if names else [UsageError("needs at least one name")]
    faults += [UsageError(f"names {shown(name)} twice") for name in sorted({n for n in names if names.count(n) > 1})]
    for name in names:
        try:
            check(name)
        except UsageError as error:
            faults.append(error)
    return faults


def _traffic_faults(text: str, _written: object) -> list[UsageError]:
    return _faults_of_names(text.split(",") if text else [], law_of)


def _arrangement_faults(names: tuple[str, ...], _written: object) -> list[UsageError]:
    return _faults_of_names(names, check_arrangement)


def _choices(kind: type[StrEnum], word: str, *, least: int = 1) -> PlanField:
    """Return a field of members of a closed set, at least so many."""

    def convert(written: object) -> tuple[str, ...]:
        names = _names(written)
        # What is none of them is kept as it is written, to be named with the others.
        return tuple(kind(name) if name in list(kind) else name for name in names)

    def faults(names: tuple[str, ...], _written: object) -> list[UsageError]:
        twice = sorted({str(name) for name in names if names.count(name) > 1})
        return [
            *([] if len(names) >= least else [UsageError("needs at least one name")]),
            *(UnknownNameError(word, name, kind) for name in names if name not in list(kind)),
            *(UsageError(f"names {shown(name)} twice") for name in twice),
        ]

    return PlanField(convert=convert, faults=faults)


def _choice(kind: type[StrEnum], word: str) -> PlanField:
    def convert(written: object) -> StrEnum:
        if not isinstance(written, str) or written not in list(kind):
            raise UnknownNameError(word, shown(written), kind)
        return kind(written)

    return PlanField(convert=convert, faults=lambda _value, _written: [])


def _checked(convert: Callable[[object], str], check: Callable[[str], object]) -> PlanField:
    """Return a field of text that something else reads."""

    def faults(value: str, _written: object) -> list[UsageError]:
        try:
            check(value)
        except UsageError as error:
            return [error]
        return []

    return PlanField(convert=convert, faults=faults)


TEXT_FIELD = _checked(_text, lambda _text: None)
"""Text that is taken as it is."""

FIELDS: dict[str, PlanField] = {
    "operations": _axis(OPERATIONS),
    "sizes": _checked(_sizes, parse_sweep),
    "dtypes": _axis(DTYPES),
    "reductions": _axis(REDUCTIONS),
    "backends": _axis(None),
    "traffic": PlanField(convert=lambda written: ",".join(_names(written)), faults=_traffic_faults),
    "precision": _within(_share, lambda share: 0.0005 <= share <= 0.5, "a share from 0.05% to 50%, as 5% or 0.05"),
    "case_budget": _within(_seconds, lambda time: LEAST_CASE <= time <= DAY, "a time from 20 ms to one day, as 2s"),
    "budget": _within(_bound, lambda time: 0 <= time <= 30 * DAY, "a time up to 30 days, or 0 for no bound"),
    "timeout": _within(_seconds, lambda time: 1 <= time <= DAY, "a time from 1 s to one day, as 30s"),
    "cadences": _choices(Cadence, "cadence"),
    "buffers": _choices(Buffers, "buffer temperature"),
    "in_place": _choices(InPlace, "choice of in place", least=0),
    "forms": _choices(Form, "form"),
    "mpi_library": TEXT_FIELD,
    "thread_level": _choice(ThreadLevel, "thread level"),
    "groups": PlanField(convert=_names, faults=_arrangement_faults),
    "messages": _within(_whole, lambda number: 1 <= number <= 1024, "a whole number in 1 to 1024"),
    "batch": _within(_whole, lambda number: 2 <= number <= 128, "a whole number in 2 to 128"),
    "samples": _within(_nbytes, lambda nbytes: 0 <= nbytes <= LARGEST, "a size from 0 on, as 64MiB"),
    "seed": _within(_whole, lambda seed: 0 <= seed <= LARGEST, f"a whole number in 0 to {LARGEST}"),
    "launches": _within(
        _launches,
        lambda launches: launches == AUTO if isinstance(launches, str) else 1 <= launches <= 1000,
        f'a whole number in 1 to 1000, or "{AUTO}"',
    ),
    "scheduling": _choice(Scheduling, "scheduling"),
    "binding": _choice(Binding, "binding"),
}
"""Every field of a plan but placements and simulation, which are tables of their own."""

RANKS_FIELD = _within(_whole, lambda ranks: 1 <= ranks <= MOST_RANKS, f"a whole number in 1 to {MOST_RANKS}")
"""Local ranks, which are no field of a plan: they become its placement."""
