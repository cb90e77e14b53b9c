"""What is set without an option: by variables of the environment and by two files, and which of them set it.

An option wins over a plan file, which wins over ``COLLMARK_*``, then ``collmark.toml`` in the current folder, then
``config.toml`` of the user, then the default. Keys are those of a plan file, and :data:`RANKS` and :data:`RESULTS`.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from collmark.core.decoding import unknown_key
from collmark.core.errors import PlanError, UsageError, short_path
from collmark.core.plan_field import FIELDS, RANKS_FIELD, TEXT_FIELD, PlanField

PREFIX = "COLLMARK_"
PROJECT_FILE = "collmark.toml"
USER_FILE = "collmark/config.toml"
RANKS, RESULTS = "ranks", "results"

KEYS: dict[str, PlanField] = {**FIELDS, RANKS: RANKS_FIELD, RESULTS: TEXT_FIELD}
"""What can be set, and how it is read."""


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What a key was set to.

    Attributes
    ----------
    value : object
        As the plan keeps it.
    source : str
        The variable or the file.
    """

    value: Any
    source: str


Settings = Mapping[str, Setting]


def read_settings(environ: Mapping[str, str] = os.environ) -> dict[str, Setting]:
    """Return what is set, by key.

    Raises
    ------
    UsageError
        With everything that is wrong in one of the files, or with the variables; each key with file and line.
    """
    files = [_user_file(environ), Path(PROJECT_FILE)]
    found: dict[str, Setting] = {}
    for path in files:
        found |= {} if path is None else _of_file(path)
    return found | _of_variables(environ)


def values_of_plan(settings: Settings) -> dict[str, Any]:
    """Return what is set of the fields of a plan."""
    return {key: setting.value for key, setting in settings.items() if key in FIELDS}


def variable_of(key: str) -> str:
    """Return the variable that sets a key.

    Examples
    --------
    >>> variable_of("case_budget")
    'COLLMARK_CASE_BUDGET'
    """
    return PREFIX + key.upper()


def _user_file(environ: Mapping[str, str]) -> Path | None:
    """Return config.toml by the XDG base directory specification, which ignores paths that are not absolute."""
    folder, home = environ.get("XDG_CONFIG_HOME", ""), environ.get("HOME", "")
    if Path(folder).is_absolute():
        return Path(folder) / USER_FILE
    return Path(home) / ".config" / USER_FILE if home else None


def _of_file(path: Path) -> dict[str, Setting]:
    try:
        text = path.read_text(encoding="utf-8")
        table = tomllib.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"{short_path(path)}: {reason}; mend it or move it away") from error
    found: dict[str, Setting] = {}
    problems: list[str] = []
    for key, written in table.items():
        value, faults = _read(key, written)
        found[key] = Setting(value=value, source=str(path))
        problems += [f"{short_path(path)}:{_line_of(key, text)}: {fault}" for fault in faults]
    if problems:
        raise PlanError(problems)
    return found


def _of_variables(environ: Mapping[str, str]) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    problems: list[str] = []
    for key, field in KEYS.items():
        name = variable_of(key)
        if environ.get(name):  # an empty one sets nothing, as everywhere
            value, faults = field.read(environ[name])
            found[key] = Setting(value=value, source=name)
            problems += [f"{name}: {fault}" for fault in faults]
    if problems:
        raise PlanError(problems)
    return found


def _read(key: str, written: object) -> tuple[Any, list[str]]:
    if key not in KEYS:
        return None, [unknown_key(key, list(KEYS))]
    value, faults = KEYS[key].read(written)
    return value, [f"{key}: {fault}" for fault in faults]


def _line_of(key: str, text: str) -> int:
    """Return the line that a key of the top level stands on; the first, where it is written in a way of its own."""
    start = re.compile(rf"""\s*\[*\s*["']?{re.escape(key)}["']?\s*[=.\]]""")
    return next((number for number, line in enumerate(text.splitlines(), 1) if start.match(line)), 1)
