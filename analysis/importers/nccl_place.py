"""Whether a row of nccl-tests follows the one before it, in the sizes that the head asks for or in those seen so far.

Source: the laws of nccl-tests src/*.cu between bytes asked for and printed: whole elements, and where ranks share them
the share of one rank rounded down, since 2024 to 16 bytes (rccl-tests before: to 4 elements in some tests).
"""

from __future__ import annotations

from collmark.analysis.importers.nccl_head import Grid
from collmark.analysis.importers.nccl_row import Parsed

ALIGNMENT = 16  # bytes of one rank's share
MOST_ZERO = 2**24
"""No more is asked for in a row of size 0: 16 bytes for each of a million ranks."""
MOST_FIRST = 8
"""Units of the first size after those of 0: the largest factor between sizes that is taken for one."""


class Place:
    """Where in its run a table is.

    Parameters
    ----------
    grid : Grid or None
        Sizes by the head; None where they are not known, or no longer believed.
    ragged : int or None
        Number of ranks of an operation whose size does not follow from the count, 0 where it is not known; None for
        others.
    """

    def __init__(self, grid: Grid | None, ragged: int | None = None) -> None:
        self.grid = grid
        self._ragged = ragged
        self._at: int | None = None
        self._last: Parsed | None = None
        self._before: int | None = None
        self._refused = 0
        self._elided = False

    def miss(self) -> None:
        """Count a row that stands there but could not be read."""
        self._refused += 1

    def elide(self) -> None:
        """Note that rows were left out on purpose."""
        self._elided = True

    def wants(self, size: int) -> bool:
        """Return whether a row of such a size would come next."""
        if self.grid is None:
            return False
        if self._last is None or self._at is None:
            return size == self.grid.first
        return size == (self._last.size * self.grid.step if self.grid.factor else self._last.size + self.grid.step)

    def take(self, row: Parsed) -> bool:
        """Return whether a row follows; it then is the last."""
        follows = self._follows_head(row, self.grid) if self.grid is not None else self._follows_seen(row)
        if follows:
            self._before = self._last.size if self._last is not None and self._last.size else None
            self._last = row
            self._refused, self._elided = 0, False
        return follows

    def _follows_head(self, row: Parsed, grid: Grid) -> bool:
        asked = grid.first if self._at is None else grid.after(self._at) or grid.first
        for _ in range(self._refused + 1 if not self._elided else MOST_ZERO):
            if asks_for(asked, row, row.times if self._ragged is None else self._ragged):
                self._at = asked
                return True
            following = grid.after(asked)
            if following is None:
                return False
            asked = following
        return False

    def _follows_seen(self, row: Parsed) -> bool:
        last = self._last
        if last is None:
            return True
        if (row.type, row.redop, row.root, len(row.halves)) != (last.type, last.redop, last.root, len(last.halves)):
            return False
        if last.size == 0:
            return row.size == 0 or row.size <= MOST_FIRST * _unit(row)
        if row.size <= last.size or row.times != last.times:
            return False
        if self._elided or self._before is None:
            return True
        return self._continues(row, last.size, self._before)

    def _continues(self, row: Parsed, last: int, before: int) -> bool:
        slack = _unit(row) if row.times != 1 else row.itemsize - 1
        by_factor = by_step = last
        for _ in range(self._refused + 1):
            by_factor = by_factor * last // before
            by_step += last - before
            if abs(row.size - by_factor) <= slack * (1 + last // before) or abs(row.size - by_step) <= 2 * slack:
                return True
        return False


def _unit(row: Parsed) -> int:
    """Return the least size above 0 that a row's operation can have, about."""
    times = row.times
    return row.itemsize if times is None or times == 1 else times * ALIGNMENT


def asks_for(asked: int, row: Parsed, times: int | None) -> bool:
    """Return whether a row is what the tool makes of so many bytes asked for.

    Parameters
    ----------
    asked : int
    row : Parsed
    times : int or None
        How many times the count is what was asked for; None for size 0, 0 where it is not known.
    """
    elements = asked // row.itemsize
    if times is None:
        return elements == 0 or asked < MOST_ZERO
    if times == 0:
        return row.elements <= elements
    if times == 1:
        return row.elements == elements
    share = elements // times
    return row.elements in {share, share & -4, share & -max(1, ALIGNMENT // row.itemsize)}
