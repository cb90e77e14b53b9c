"""Out of place or in place: four columns, or more, of a row of nccl-tests' table, and whether they fit each other.

Sources: nccl-tests src/common.cu BenchTime and src/*.cu getBw. Until 2018 all_gather and reduce_scatter, and hypercube
always, printed as algorithm bandwidth what a rank gets from others, S (n - 1) / n / T.
"""

from __future__ import annotations

from typing import NamedTuple

from collmark.analysis.importers.figure import Figure, figure, quotient
from collmark.analysis.importers.settle import SLACK

MICRO, MILLI, GIGA = 1e-6, 1e-3, 1e9
OLD = "mccr"
"""The layout with times in ms."""
COLUMNS = {
    "tbbw": ("time", "algbw", "busbw", "wrong"),
    "tffw": ("time", "algbw", "busbw", "wrong"),
    OLD: ("time", "algbw", "busbw", "wrong"),
    "tbbwd": ("time", "algbw", "busbw", "wrong", "bitdiff"),
    "tbbwpppp": ("time", "algbw", "busbw", "wrong", "i_min", "i_max", "i_p99", "i_cv"),
    "tbbwdpppp": ("time", "algbw", "busbw", "wrong", "bitdiff", "i_min", "i_max", "i_p99", "i_cv"),
}
"""By the layout of a half in text: a letter for each column says how it is printed."""
JSON_COLUMNS = {
    "json": ("time", "algbw", "busbw", "wrong"),
    "json_iterations": ("time", "algbw", "busbw", "wrong", "i_min", "i_p50", "i_p95", "i_p99", "i_max"),
}
UNCHECKED = frozenset(("N/A", "null", ""))
"""In the column of wrong elements: nothing was checked, or JSON does not say."""


class Half(NamedTuple):
    """Figures of one half.

    Attributes
    ----------
    layout : str
        A key of `COLUMNS` or `JSON_COLUMNS`.
    tokens : tuple of str
        As printed.
    seconds, algorithm, bus : Figure
        In SI units.
    differs : bool
        The fourth column is a largest difference, and not a count.
    fits : bool
        Size over time is the algorithm bandwidth, as far as it was rounded.
    scaled : bool or None
        That counts only what comes from others; None where it is too small to tell.
    """

    layout: str
    tokens: tuple[str, ...]
    seconds: Figure
    algorithm: Figure
    bus: Figure
    differs: bool
    fits: bool
    scaled: bool | None

    @property
    def wrong(self) -> str:
        """The fourth column."""
        return self.tokens[3]


def half_of(layout: str, tokens: tuple[str, ...], size: int, times: int | None) -> Half | None:
    """Return a half; None where time or bandwidth is no number, or the time 0.

    Parameters
    ----------
    layout : str
    tokens : tuple of str
    size : int
        In bytes.
    times : int or None
        How many times the count the size is.
    """
    seconds = figure(tokens[0], MILLI if layout == OLD else MICRO)
    algorithm, bus = figure(tokens[1], GIGA), figure(tokens[2], GIGA)
    if seconds is None or algorithm is None or bus is None or seconds.value <= 0:
        return None
    whole = _agrees(size, seconds, algorithm)
    scaled: bool | None = False
    if times is not None and times > 1 and tokens[1] == tokens[2] and _agrees(size - size // times, seconds, algorithm):
        scaled = None if whole else True
    return Half(layout, tokens, seconds, algorithm, bus, is_difference(tokens[3]), whole or scaled is True, scaled)


def _agrees(nbytes: int, time: Figure, printed: Figure) -> bool:
    own = quotient(float(nbytes), time)
    return own is None or (own.lower <= printed.upper * (1 + SLACK) and printed.lower <= own.upper * (1 + SLACK))


def is_difference(token: str) -> bool:
    """Return whether a number is a largest difference (``%5.0le``) and not a count (``%5g``)."""
    if "e" not in token:
        return False
    mantissa, _, exponent = token.rstrip("*").partition("e")
    return "." not in mantissa and (token.endswith("*") or int(exponent) < 6)


def is_other_kind(first: Half, second: Half) -> bool:
    """Return whether one half shows a difference and the other a count, as where the difference was cut off."""
    return first.differs != second.differs and not UNCHECKED & {first.wrong, second.wrong}
