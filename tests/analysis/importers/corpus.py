"""The logs under tests/data/logs with what stands in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from collmark.analysis.importers.read import Read, read_log
from collmark.analysis.importers.row import Facts

ROOT = Path(__file__).parents[2] / "data" / "logs"
FIELDS = (
    "tool", "operation", "dtype", "reduction", "ranks", "ranks_from", "nbytes", "nbytes_printed", "seconds",
    "statistic", "algorithm_bandwidth", "bus_bandwidth", "wrong", "in_place", "group", "line",
)  # fmt: skip
"""Of a row in ``NAME.rows.json``."""
MEASURED = ("seconds", "algorithm_bandwidth", "bus_bandwidth")
_KEYS = (".rows.json", ".skipped.json")
_ENDS = (".gz", ".log", ".txt", ".json", ".jsonl", ".csv", ".out")


def logs() -> list[Path]:
    """Return all logs."""
    found = (path for path in ROOT.rglob("*") if path.is_file() and not path.name.endswith(_KEYS))
    return sorted(found)


def truth_of(log: Path, key: str) -> list[dict[str, Any]] | None:
    """Return what a key beside a log says: "rows" or "skipped"."""
    name = log.name
    while name.endswith(_ENDS):
        name = name[: name.rindex(".")]
    path = log.with_name(f"{name}.{key}.json")
    found: list[dict[str, Any]] | None = json.loads(path.read_text()) if path.exists() else None
    return found


def read(data: bytes) -> Read:
    """Return what is in a log of which nothing else is known."""
    return read_log(data, "log", Facts())
