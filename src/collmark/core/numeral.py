"""Numbers as people write them, and counts of things as people read them.

``int`` and ``float`` read more than people mean: ``1_0``, digits of other scripts, ``nan``, endless rows of nines.
Every number in an option, a plan or a traffic is read here, or as part of a size, time or range by the patterns of
:mod:`collmark.core.units` and :mod:`collmark.core.sweep`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from collmark.core.errors import UsageError, excerpt

MAX_DIGITS = 40
"""Python refuses to convert numbers of over 4300 digits; none of ours needs 40."""
MOST_LISTED = 3
"""Of several names."""

_WHOLE = re.compile(rf"[+-]?\d{{1,{MAX_DIGITS}}}", re.ASCII)
_NUMBER = re.compile(
    rf"[+-]?(\d{{1,{MAX_DIGITS}}}(\.\d{{0,{MAX_DIGITS}}})?|\.\d{{1,{MAX_DIGITS}}})(e[+-]?\d{{1,3}})?",
    re.ASCII | re.IGNORECASE,
)


def shown(value: object) -> str:
    """Return a value as a message shows it: text as it was written, everything short."""
    if isinstance(value, str):
        return excerpt(value) if value.strip() else "(empty)"
    if isinstance(value, bool):
        return "true" if value else "false"
    return excerpt(repr(value))


def parse_whole(text: str) -> int:
    """Read a whole number in ASCII digits.

    Raises
    ------
    UsageError
        If `text` is anything else.

    Examples
    --------
    >>> parse_whole(" 12 "), parse_whole("-3")
    (12, -3)
    """
    if not _WHOLE.fullmatch(text.strip()):
        raise UsageError(f"{shown(text)}: must be a whole number")
    return int(text)


def parse_number(text: str) -> float:
    """Read a number in ASCII digits, with a point and an exponent where they are needed.

    Raises
    ------
    UsageError
        If `text` is anything else.

    Examples
    --------
    >>> parse_number("0.05"), parse_number("5e-2")
    (0.05, 0.05)
    """
    if not _NUMBER.fullmatch(text.strip()):
        raise UsageError(f"{shown(text)}: must be a number")
    return float(text)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the singular for one.

    Examples
    --------
    >>> counted(1, "case"), counted(0, "case"), counted(5, "launch")
    ('1 case', '0 cases', '5 launches')
    """
    plural = "es" if noun.endswith(("s", "x", "ch", "sh")) else "s"
    return f"{number} {noun}{'' if number == 1 else plural}"


def listed(names: Sequence[str], most: int | None = MOST_LISTED, separator: str = ", ") -> str:
    """Return names, the first few with the number of the others; all where `most` is None.

    Examples
    --------
    >>> listed(["a", "b"]), listed(["a", "b", "c", "d", "e"]), listed(["a", "b"], 1)
    ('a, b', 'a, b, c and 2 more', 'a and 1 more')
    """
    shown = names[:most]
    more = len(names) - len(shown)
    return separator.join(shown) + (f" and {more} more" if more else "")


def spans(numbers: Sequence[int]) -> str:
    """Return whole numbers as a list with ranges, in the order given.

    Examples
    --------
    >>> spans((0, 1, 2, 3, 6, 8, 9))
    '0-3,6,8,9'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs)
