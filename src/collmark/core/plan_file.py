"""The file of a plan as a table of keys, before anything in it is understood."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from collmark.core.errors import UsageError, short_path


def read_table(path: Path) -> dict[str, Any]:
    """Return the keys of a plan file with what is written there; UsageError where it cannot be read."""
    where = f"plan {short_path(path)}"
    try:
        text = path.read_text(encoding="utf-8")
        table = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{where}: {_reason(error)}; collmark plan --init writes one to start from") from error
    if not isinstance(table, dict):
        raise UsageError(f"{where}: must be a table of a plan's keys; collmark plan --init writes one to start from")
    return table


def _reason(error: Exception) -> str:
    """Return why a file cannot be read as TOML."""
    match error:
        case OSError():
            return str(error.strerror)
        case RecursionError():
            return "tables or lists nested too deeply"
        case UnicodeDecodeError() | tomllib.TOMLDecodeError() | json.JSONDecodeError():
            return str(error)
    return "a number has thousands of digits"
