"""Records as flat rows: one column per field, SI units, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import functools
import json
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any, TextIO

import msgspec

from collmark.core.errors import UnknownNameError, UsageError
from collmark.core.marker import NOT_IN_LOGS
from collmark.core.metrics import algorithm_bandwidth, bus_bandwidth
from collmark.core.record import Launch, Record
from collmark.core.store import RunFolder

Kind = type | types.GenericAlias
"""Type of a column: str, int, float, bool or a list of one of them."""

LAUNCH_FACTS = ("backend", "placement", "launcher", "started", "scheduling")
DERIVED = {"algorithm_bandwidth": float, "bus_bandwidth": float, "oversubscribed": bool}


class Format(StrEnum):
    """What can be written."""

    CSV = "csv"
    PARQUET = "parquet"


def _bare(annotation: Any) -> Kind:  # noqa: ANN401 - whatever may annotate a field
    """Return the type of a field without units, meanings and None."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _bare(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return _bare(next(part for part in typing.get_args(annotation) if part is not type(None)))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return str
    if origin is dict:
        return str  # its names are the log's, and no columns
    if origin in (list, tuple):
        return types.GenericAlias(list, (_bare(typing.get_args(annotation)[0]),))
    kind: type = annotation
    return kind


def _leaves(struct: type[msgspec.Struct], prefix: str = "") -> Iterator[tuple[str, Kind]]:
    hints = typing.get_type_hints(struct, include_extras=True)
    for name in struct.__struct_fields__:
        kind = _bare(hints[name])
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            yield from _leaves(kind, f"{prefix}{name}_")
        else:
            yield prefix + name, kind


@functools.cache
def columns() -> Mapping[str, Kind]:
    """Return the columns of an export and the type of each: str, int, float, bool or a list of one of them."""
    launch = dict(_leaves(Launch))
    facts = {f"launch_{name}": launch[name] for name in LAUNCH_FACTS}
    return {"run": str, **dict(_leaves(Record)), **DERIVED, **facts}


def rows(folder: RunFolder) -> Iterator[dict[str, Any]]:
    """Yield one flat row for each record of a run, in the order of writing."""
    run = folder.read_run()
    launches = {launch.id: launch for launch in run.launches}
    for record in folder.records():
        row: dict[str, Any] = dict.fromkeys(columns())
        row.update(_flat(msgspec.to_builtins(record)))
        row.update(_defaults(record))
        if record.imported is not None:
            row |= dict.fromkeys(f"case_{name}" for name in NOT_IN_LOGS)
        row["run"] = folder.path.resolve().name
        if record.seconds is not None:
            row["algorithm_bandwidth"] = algorithm_bandwidth(record.case, record.seconds)
            row["bus_bandwidth"] = bus_bandwidth(record.case, record.seconds)
        row["oversubscribed"] = record.oversubscribed
        launch = launches.get(record.launch)
        if launch is not None:
            row.update({f"launch_{name}": getattr(launch, name) for name in LAUNCH_FACTS})
        yield row


def _flat(thing: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in thing.items():
        if isinstance(value, dict) and prefix + name in columns():
            yield prefix + name, json.dumps(value)
        elif isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}_")
        elif value is not None:
            yield prefix + name, value


def _defaults(record: Record) -> dict[str, Any]:
    """Return what a placement leaves out when it is written."""
    placement = record.case.placement
    return {f"case_placement_{name}": getattr(placement, name) for name in placement.__struct_fields__}


def read_format(text: str | None, file: str | None) -> Format:
    """Return the format asked for, or that of the file's name.

    Raises
    ------
    UnknownNameError
        If there is no such format.
    UsageError
        If the name ends as that of another kind of file.
    """
    if text is None:
        ending = Path(file).suffix.lower() if file is not None else ""
        if ending in ("", ".csv", ".parquet"):
            return Format.PARQUET if ending == ".parquet" else Format.CSV
        raise UsageError(f"{file}: no format has the ending {ending}: use .csv or .parquet, or say --format")
    if text not in list(Format):
        raise UnknownNameError("format", text, Format)
    return Format(text)


def write_csv(lines: Iterable[Mapping[str, Any]], stream: TextIO) -> None:
    """Write rows as CSV: absent is empty, lists are JSON."""
    writer = csv.writer(stream, lineterminator="\n")
    names = list(columns())
    writer.writerow(names)
    for row in lines:
        writer.writerow([_cell(row[name]) for name in names])


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, list | tuple) else value
