"""Estimate: a number that says how well it is known, and over what.

Reports hold no bare floats: what leaves a launch is an Estimate or says why it is not.
"""

import math
from typing import Literal, TypeAlias

import msgspec

__all__ = ["Estimate", "Mean", "Replication"]

Replication: TypeAlias = Literal["launches", "repetitions", "windows", "gaps", "runs"]

_TICK_LIMITED = ", tick-limited"


class Estimate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value with an interval, in the unit of the quantity it estimates.

    Raises
    ------
    ValueError
        If not lower <= value <= upper, if one of them is not finite, if the level is
        not between 0 and 1, or if the count is not positive. (An interval that cannot
        be bounded is no Estimate: functions return None instead.)
    """

    # Point estimate.
    value: float
    # Lower end of the interval.
    lower: float
    # Upper end of the interval.
    upper: float
    # Confidence level of the interval, as a fraction.
    level: float = 0.95
    # How value and interval were obtained, in a few words.
    method: str
    # Number of units of replication behind it.
    count: int
    # What was replicated, and so what the interval speaks about.
    over: Replication

    def __post_init__(self) -> None:
        """Check the invariants, also after decoding."""
        if not -math.inf < self.lower <= self.value <= self.upper < math.inf:
            raise ValueError(
                f"an estimate needs finite lower <= value <= upper, not {self.lower}, {self.value}, {self.upper}"
            )
        if not 0 < self.level < 1:
            raise ValueError(f"a level lies between 0 and 1, not at {self.level}")
        if self.count < 1:
            raise ValueError(f"an estimate needs a positive count, not {self.count}")

    @property
    def half_width(self) -> float:
        """The longer arm of the interval, in the unit of the value."""
        return max(self.upper - self.value, self.value - self.lower)

    @property
    def relative_half_width(self) -> float:
        """The longer arm of the interval over the magnitude of the value.

        Infinite where the value is zero and the interval is not.
        """
        if self.value == 0:
            return math.inf if self.half_width else 0.0
        return self.half_width / abs(self.value)

    def widened(self, minimum_half_width: float) -> "Estimate":
        """Return an estimate whose arms both are at least `minimum_half_width` long.

        Used for clocks: a median of readings that are all equal is known no better
        than to one tick (design.md section 4). The method then ends in "tick-limited".
        The lower end may so fall below zero where the tick exceeds the value.

        Parameters
        ----------
        minimum_half_width
            In the unit of the value, not negative.

        Raises
        ------
        ValueError
            If `minimum_half_width` is negative or not finite.
        """
        if not 0 <= minimum_half_width < math.inf:
            raise ValueError(f"a half width is finite and not negative: {minimum_half_width}")
        lower = min(self.lower, self.value - minimum_half_width)
        upper = max(self.upper, self.value + minimum_half_width)
        if (lower, upper) == (self.lower, self.upper):
            return self
        method = self.method.removesuffix(_TICK_LIMITED) + _TICK_LIMITED
        return msgspec.structs.replace(self, lower=lower, upper=upper, method=method)


class Mean(msgspec.Struct, frozen=True, kw_only=True):
    """A mean over launches, and its interval; None for one launch."""

    value: float
    interval: Estimate | None

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends of the interval; NaN where there is none."""
        return (math.nan, math.nan) if self.interval is None else (self.interval.lower, self.interval.upper)
