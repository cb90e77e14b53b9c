"""Figures as text: fixed units, three digits, never a zero for what is not zero, a dash for what is not there."""

from __future__ import annotations

from collections.abc import Sequence

from collmark.core.units import format_gigabytes_per_second, format_microseconds, format_nbytes

ABSENT = "-"
LEAST_PERCENT, MOST_PERCENT = 0.05, 999.5


def microseconds(seconds: float | None) -> str:
    """Return a time in us."""
    return ABSENT if seconds is None else format_microseconds(seconds)


def gigabytes(bytes_per_second: float | None) -> str:
    """Return a bandwidth in GB/s (1e9)."""
    return ABSENT if bytes_per_second is None else format_gigabytes_per_second(bytes_per_second)


def percent(share: float | None) -> str:
    """Return a share in per cent, to two digits.

    Examples
    --------
    >>> [percent(share) for share in (0.014, 0.123, 0.0001, 0, 2.5, 50, None)]
    ['1.4', '12', '<0.1', '0', '250', '>999', '-']
    """
    if share is None:
        return ABSENT
    value = 100 * share
    if value == 0:
        return "0"
    if value < LEAST_PERCENT:
        return "<0.1"
    if value >= MOST_PERCENT:
        return ">999"
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def nbytes(effective: int, requested: int) -> str:
    """Return a size, and the one asked for where it differs.

    Examples
    --------
    >>> nbytes(4096, 4096), nbytes(2996, 3000), nbytes(0, 0)
    ('4 KiB', '3000->2996 B', '-')
    """
    if not effective:
        return ABSENT
    if effective == requested:
        return format_nbytes(effective)
    return f"{requested}->{effective} B"


def aligned(cells: Sequence[str]) -> list[str]:
    """Return cells of equal width with their points above each other; what has no point ends where others' does.

    Examples
    --------
    >>> aligned(["142", "0.5", "-"])
    ['142  ', '  0.5', '  -  ']
    """
    heads = [cell.partition(".")[0] for cell in cells]
    tails = [cell[len(head) :] for cell, head in zip(cells, heads, strict=True)]
    before, after = max(map(len, heads), default=0), max(map(len, tails), default=0)
    return [f"{head:>{before}}{tail:<{after}}" for head, tail in zip(heads, tails, strict=True)]
