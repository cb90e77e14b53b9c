"""Shapes of decision rules: from thresholds and a claimed figure to the range in which a claim holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import msgspec

from collmark.analysis.claims.quantity import Quantity, number, shown
from collmark.core.registry import Registry

Thresholds = Mapping[str, float]
_EXACT = 1e-9  # relative: two ways to work out one figure differ by less in floating point


class Band(msgspec.Struct, frozen=True, kw_only=True):
    """Where a claim holds, and where it does not yet fail, in SI units.

    Attributes
    ----------
    lower, upper : float
        The range in which it holds; an end may be infinite.
    strict : bool
        Whether the ends themselves lie outside.
    spared : tuple of float or None
        The wider range outside which it fails; None for the same range.
    """

    lower: float
    upper: float
    strict: bool = False
    spared: tuple[float, float] | None = None

    def has(self, lower: float, upper: float) -> bool:
        """Whether an interval lies inside."""
        if self.strict:
            return self.lower < lower and upper < self.upper
        return self.lower <= lower and upper <= self.upper

    def misses(self, lower: float, upper: float) -> bool:
        """Whether an interval lies wholly outside the range in which the claim does not fail."""
        least, most = self.spared or (self.lower, self.upper)
        if self.strict:
            return upper <= least or lower >= most
        return upper < least or lower > most


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """How thresholds and a claimed figure make a range.

    Attributes
    ----------
    thresholds : dict of str to (float, float)
        The thresholds it takes, and between which values each lies, the lower end included.
    band : callable
        From thresholds and claimed figure to the range.
    cell : callable
        From the same to the few words that a table shows as claimed.
    compares : bool
        Whether a claimed figure is needed; without, none is allowed.
    exact : bool
        For arithmetic only: what was measured is never equal to a figure within its rounding.
    """

    thresholds: Mapping[str, tuple[float, float]] = {}
    band: Callable[[Thresholds, Quantity], Band]
    cell: Callable[[Thresholds, Quantity], str]
    compares: bool = False
    exact: bool = False


def _rounding(_t: Thresholds, claimed: Quantity) -> Band:
    slack = max(claimed.rounding, _EXACT * abs(claimed.high))
    return Band(lower=claimed.low - slack, upper=claimed.high + slack)


def _factor(t: Thresholds, claimed: Quantity) -> Band:
    return Band(lower=claimed.low / t["tolerance"], upper=claimed.high * t["tolerance"])


def _parity(t: Thresholds, _claimed: Quantity) -> Band:
    return Band(lower=1 / t["tolerance"], upper=t["tolerance"])


def _percent(value: float) -> str:
    return f"{number(100 * value)} %"


_ANY = (0.0, math.inf)
_SHARE = (0.0, 1.0)
_TOLERANCE = (1.0, 100.0)

SHAPES: Registry[Shape] = Registry(
    "shape",
    [
        ("rounding", Shape(band=_rounding, cell=lambda _t, c: c.text, compares=True, exact=True)),
        (
            "over",
            Shape(
                band=lambda _t, c: Band(lower=c.high, upper=math.inf, strict=True),
                cell=lambda _t, c: f"> {c.text}",
                compares=True,
            ),
        ),
        (
            "under",
            Shape(
                band=lambda _t, c: Band(lower=-math.inf, upper=c.low, strict=True),
                cell=lambda _t, c: f"< {c.text}",
                compares=True,
            ),
        ),
        (
            "from",
            Shape(
                band=lambda _t, c: Band(lower=c.low, upper=math.inf),
                cell=lambda _t, c: f">= {c.text}",
                compares=True,
            ),
        ),
        (
            "factor",
            Shape(
                thresholds={"tolerance": _TOLERANCE},
                band=_factor,
                cell=lambda t, c: f"{c.text} x/{number(t['tolerance'])}",
                compares=True,
            ),
        ),
        (
            "parity",
            Shape(
                thresholds={"tolerance": _TOLERANCE},
                band=_parity,
                cell=lambda t, _c: f"1 ±{_percent(t['tolerance'] - 1)}",
            ),
        ),
        (
            "below",
            Shape(
                thresholds={"limit": _ANY},
                band=lambda t, _c: Band(lower=-math.inf, upper=t["limit"], strict=True),
                cell=lambda t, _c: f"< {number(t['limit'])}",
            ),
        ),
        (
            "above",
            Shape(
                thresholds={"limit": _ANY},
                band=lambda t, _c: Band(lower=t["limit"], upper=math.inf, strict=True),
                cell=lambda t, _c: f"> {number(t['limit'])}",
            ),
        ),
        (
            "below-time",
            Shape(
                thresholds={"limit": _ANY},
                band=lambda t, _c: Band(lower=-math.inf, upper=t["limit"], strict=True),
                cell=lambda t, _c: f"< {shown(t['limit'], 's')}",
            ),
        ),
        (
            "least",
            Shape(
                thresholds={"limit": _ANY},
                band=lambda t, _c: Band(lower=t["limit"], upper=math.inf),
                cell=lambda t, _c: f">= {number(t['limit'])}",
            ),
        ),
        (
            "most",
            Shape(
                thresholds={"limit": _ANY},
                band=lambda t, _c: Band(lower=-math.inf, upper=t["limit"]),
                cell=lambda t, _c: f"<= {_percent(t['limit'])}",
            ),
        ),
        (
            "low-share",
            Shape(
                thresholds={"holds": _SHARE, "fails": _SHARE},
                band=lambda t, _c: Band(lower=-math.inf, upper=t["holds"], spared=(-math.inf, t["fails"])),
                cell=lambda t, _c: f"< {_percent(t['holds'])}",
            ),
        ),
        (
            "high-share",
            Shape(
                thresholds={"holds": _SHARE, "fails": _SHARE},
                band=lambda t, _c: Band(lower=t["holds"], upper=math.inf, spared=(t["fails"], math.inf)),
                cell=lambda t, _c: f"> {_percent(t['holds'])}",
            ),
        ),
    ],
)
"""Every shape of a rule."""
