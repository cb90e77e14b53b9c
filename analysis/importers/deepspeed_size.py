"""Message sizes as DeepSpeed and what comes from it print them: powers of 1024, two decimals (convert_size)."""

from __future__ import annotations

import math

from collmark.analysis.importers.figure import Figure

SIZE = r"(?:0B|\d{1,4}\.(?:\d[1-9]|\d) [KMGTPEZY]?B)"
"""Python's own way to write a number rounded to two decimals: at least one, and no zero at the end of two."""
_UNITS = ("B", "KB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB")


def nbytes_of(text: str) -> int:
    """Return the bytes of a printed size; what was rounded to two decimals of its unit is so here."""
    if text == "0B":
        return 0
    number, unit = text.split(" ")
    return round(float(number) * 1024.0 ** _UNITS.index(unit))


def with_rounding(seconds: Figure, size: str) -> Figure:
    """Return a time whose bounds also stand for the rounding of the size that is divided by it."""
    unit = _UNITS.index(size.rpartition(" ")[2].removeprefix("0"))
    slack = 0.005 * 1024**unit / max(nbytes_of(size), 1) if unit else 0.0
    return Figure(seconds.text, seconds.value, seconds.lower / (1 + slack), seconds.upper / (1 - slack))


def printed_size(nbytes: int) -> str:
    """Return how a size is printed."""
    if nbytes == 0:
        return "0B"
    power = math.floor(math.log(nbytes, 1024))
    return f"{round(nbytes / 1024**power, 2)} {_UNITS[power]}" if power < len(_UNITS) else ""
