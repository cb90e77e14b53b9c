"""What a run's files mean, field by field, from the annotations of the stored types."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from typing import Annotated

import msgspec

from collmark.core.doctor.finding import Diagnosis, Finding
from collmark.core.host_noise import HostNoise
from collmark.core.record import (
    Check,
    ClockModel,
    Evidence,
    Histogram,
    Host,
    Imported,
    Launch,
    Ranks,
    Record,
    Run,
    SampleReference,
    Timer,
    Timing,
)
from collmark.core.start_up import StartUp


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the field table."""

    name: str
    unit: str
    type: str
    meaning: str


def _type_name(annotation: object) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return _type_name(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return " or ".join("null" if a is type(None) else _type_name(a) for a in arguments)
    if origin in (list, tuple):
        return f"list of {_type_name(arguments[0])}"
    if origin is dict:
        return "object"
    name: str = getattr(annotation, "__name__", str(annotation))
    return {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}.get(name, name)


def field_table(struct: type[msgspec.Struct]) -> Iterator[Field]:
    """Yield name, unit, type and meaning of every field of a stored type."""
    for name, annotation in typing.get_type_hints(struct, include_extras=True).items():
        if typing.get_origin(annotation) is not Annotated:
            continue
        # Bounds are annotations as well, without words.
        meta = next(m for m in typing.get_args(annotation)[1:] if isinstance(m, msgspec.Meta) and m.description)
        extra = meta.extra or {}
        yield Field(name=name, unit=extra.get("unit", ""), type=_type_name(annotation), meaning=meta.description or "")


STORED = (
    Run, Launch, StartUp, Diagnosis, Finding, Host, HostNoise, Timer, Record, Timing, Histogram, Ranks, Check, Evidence,
    ClockModel, Imported, SampleReference,
)  # fmt: skip
"""The stored types, in the order in which results/README.md shows them."""
