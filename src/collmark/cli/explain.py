"""The values of a plan as a table, with what each comes from."""

from __future__ import annotations

import sys
from typing import Any

from collmark.cli.console import Terminal
from collmark.cli.figures import ABSENT, percent
from collmark.cli.layout import Column, lay_out
from collmark.core.units import format_duration, format_nbytes
from collmark.workflow.explaining import Explained

SECONDS = ("case_budget", "budget", "timeout")


def print_explained(terminal: Terminal, rows: list[Explained]) -> None:
    """Print a row for each key."""
    columns = [
        Column(name="key", cells=[row.key for row in rows]),
        Column(name="value", cells=[value_words(row.key, row.value) for row in rows]),
        Column(name="from", cells=[row.source for row in rows]),
    ]
    terminal.out("\n".join(lay_out(columns, terminal.width(), terminal.painter(sys.stdout))))


def value_words(key: str, value: Any) -> str:  # noqa: ANN401 - whatever the key holds
    """Return a value with its unit.

    Examples
    --------
    >>> value_words("precision", 0.05), value_words("samples", 1024), value_words("dtypes", ("int8", "float32"))
    ('5.0 %', '1 KiB', 'int8, float32')
    >>> value_words("budget", 0.0), value_words("in_place", ())
    ('no bound', '-')
    """
    if key == "precision":
        return f"{percent(value)} %"
    if key == "budget" and not value:
        return "no bound"
    if key in SECONDS:
        return format_duration(value)
    if key == "samples":
        return format_nbytes(value)
    if isinstance(value, tuple):
        return ", ".join(value) or ABSENT
    return ABSENT if value in (None, "") else str(value)
