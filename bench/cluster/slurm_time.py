"""Durations as Slurm writes them."""

from __future__ import annotations

import math
import re

from collmark.core.errors import UsageError, excerpt

MINUTE, HOUR, DAY = 60, 3600, 86400
_FORM = re.compile(
    r"(?:(?P<days>\d{1,5})-(?P<d_hours>\d{1,2})(?::(?P<d_minutes>\d{1,2})(?::(?P<d_seconds>\d{1,2}))?)?)"
    r"|(?:(?P<hours>\d{1,5}):(?P<h_minutes>\d{1,2}):(?P<h_seconds>\d{1,2}))"
    r"|(?:(?P<minutes>\d{1,7})(?::(?P<m_seconds>\d{1,2}))?)"
)
_SECONDS = {"days": DAY, "hours": HOUR, "minutes": MINUTE, "seconds": 1}


def parse_limit(text: str) -> int:
    """Return a time limit of Slurm in s; UsageError where it is none.

    Source: sbatch(1), ``--time``: minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes,
    days-hours:minutes:seconds.

    >>> parse_limit("90"), parse_limit("1:30:00"), parse_limit("2-0")
    (5400, 5400, 172800)
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise UsageError(
            f"{excerpt(repr(text))}: must be as sbatch writes it: minutes, hours:minutes:seconds, days-hours"
        )
    parts = {name: int(value) for name, value in found.groupdict().items() if value}
    seconds = sum(value * _SECONDS[name.rpartition("_")[2]] for name, value in parts.items())
    if not seconds:
        raise UsageError(f"{text}: must be above 0; leave it away where there is no limit")
    return seconds


def format_limit(seconds: float) -> str:
    """Return a duration as ``--time`` takes it, whole minutes: Slurm counts no finer.

    >>> format_limit(61), format_limit(90000)
    ('0:02:00', '25:00:00')
    """
    minutes = math.ceil(seconds / MINUTE)
    return f"{minutes // 60}:{minutes % 60:02d}:00"
