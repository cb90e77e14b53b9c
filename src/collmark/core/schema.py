"""Stored text as the type it holds: parsed, brought to the current schema, and checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from collmark.core.decoding import decoded
from collmark.core.errors import SchemaError, UsageError
from collmark.core.record import SCHEMA_VERSION

T = TypeVar("T")

UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""From a version to the function that turns its objects into those of the next."""


def read_object(text: bytes, kind: type[T], where: str) -> T:
    """Return the object that a stored text holds.

    Parameters
    ----------
    text : bytes
        One JSON object.
    kind : type
        What it should be.
    where : str
        File, and line where there are several, for what is said of the schema.

    Raises
    ------
    SchemaError
        If its schema is unknown or newer.
    UsageError
        If it is no JSON object, or a field does not hold what it should; without `where`.
    """
    # JSON has neither NaN nor infinity: Python's own reader lets both through, msgspec does not.
    try:
        raw = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(str(error)) from error
    except RecursionError as error:
        raise UsageError("nested too deeply") from error
    if not isinstance(raw, dict):
        raise UsageError("not a JSON object")
    return decoded(_upgraded(raw, where), kind)


def _upgraded(raw: dict[str, Any], where: str) -> dict[str, Any]:
    version = raw.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise SchemaError(f"{where}: no schema_version; is this a collmark result?")
    if version > SCHEMA_VERSION:
        raise SchemaError(f"{where}: schema {version} is newer than {SCHEMA_VERSION}; upgrade collmark to read it")
    for step in range(version, SCHEMA_VERSION):
        raw = UPGRADES[step](raw)
    return raw
