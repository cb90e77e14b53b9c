"""One side against others: pairs, verdicts, what differs, and the noise floor of repeats."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pandas as pd

from collmark.analysis.compare.align import Unmatched, align, fits_of
from collmark.analysis.compare.differences import Difference, differences
from collmark.analysis.compare.side import Side, noise_floor, repeats, times_of
from collmark.analysis.compare.summary import Row, summary
from collmark.analysis.compare.verdict import EFFECT, RATE, Comparison, Terms, judge


class Floor(msgspec.Struct, frozen=True, kw_only=True):
    """How far runs of one side lie from each other.

    Attributes
    ----------
    factor : float
        What 95 % of ratios of two runs of one side stay below, the larger run over the smaller.
    comparisons : int
        Ratios that it follows from: a pair of runs and a case each.
    """

    factor: float
    comparisons: int


class Against(msgspec.Struct, frozen=True, kw_only=True):
    """One side compared with A.

    Attributes
    ----------
    side : Side
        B.
    comparisons : tuple of Comparison
        Case by case, in the order of A's.
    unmatched : tuple of Unmatched
        What is not compared, with reasons.
    differences : tuple of Difference
        Of the environments.
    """

    side: Side
    comparisons: tuple[Comparison, ...]
    unmatched: tuple[Unmatched, ...]
    differences: tuple[Difference, ...]

    @property
    def summary(self) -> list[Row]:
        """Verdicts by operation and class of sizes."""
        return summary(self.comparisons)


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """What a comparison found.

    Attributes
    ----------
    base : Side
        A.
    others : tuple of Against
        All that was compared with it.
    effect, rate : float
        Smallest effect of interest; false discovery rate over all comparisons.
    floor : Floor or None
        Of repeats, where a side has several runs.
    """

    base: Side
    others: tuple[Against, ...]
    effect: float
    rate: float
    floor: Floor | None


def compare(
    base: Side,
    others: Sequence[Side],
    *,
    effect: float = EFFECT,
    rate: float = RATE,
    tables: Sequence[pd.DataFrame] = (),
    interpolate: bool = False,
    include_unstable: bool = False,
) -> Compared:
    """Compare some sides with one, case by case.

    Parameters
    ----------
    base : Side
        A.
    others : sequence of Side
        B, C and so on.
    effect : float
        The smallest effect of interest, as 0.05.
    rate : float
        False discovery rate over all comparisons.
    tables : sequence of DataFrame
        The records of each side where they are there already, as :meth:`Side.table` returns them.
    interpolate : bool
        Read the model of a side at sizes that only A measured.
    include_unstable : bool
        Take unstable records too.
    """
    tables = tables or [side.table() for side in (base, *others)]
    first, *rest = (times_of(table, include_unstable=include_unstable) for table in tables)
    ratios = [ratio for times in (first, *rest) for ratio in repeats(times)]
    factor = noise_floor(ratios)
    terms = Terms(effect=effect, floor=factor or 1.0, rate=rate)
    aligned = [
        align(first, times, fits_of(table, include_unstable=include_unstable) if interpolate else ())
        for times, table in zip(rest, tables[1:], strict=True)
    ]
    judged = iter(judge([pair for pairs, _ in aligned for pair in pairs], terms))
    return Compared(
        base=base,
        others=tuple(
            Against(
                side=side,
                comparisons=tuple(next(judged) for _pair in pairs),
                unmatched=tuple(unmatched),
                differences=differences(base.results, side.results),
            )
            for side, (pairs, unmatched) in zip(others, aligned, strict=True)
        ),
        effect=effect,
        rate=rate,
        floor=None if factor is None else Floor(factor=factor, comparisons=len(ratios)),
    )
