"""One clock seen from another: what messages there and back prove of it, and a line through many such looks.

Readings are int64 ns. Legend: E exchanges of messages, each a row (before, there, after).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]

MOST_DRIFT = 1e-3
"""Two clocks are taken to differ in rate by no more: a kernel steers each by at most 500 ppm (adjtimex(2))."""
SPREAD = 3.0  # standard errors of the drift by which a line may be wrong


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """How far another clock was ahead of ours at one moment, in ns.

    Attributes
    ----------
    moment : int
        On our clock.
    ahead : int
        The other clock's reading minus ours.
    error : float
        By which `ahead` is wrong at most.
    """

    moment: int
    ahead: int
    error: float


def envelope(exchanges_E3: Times, tick: float) -> Look:
    """Return what exchanges of messages prove of another clock (SKaMPI's envelope, as HCA3 uses it).

    The other clock was read after we sent and before we received: `there` - `after` bounds from below by how much it
    is ahead, `there` - `before` from above, however long either way took. The closest bounds of all exchanges count.

    Parameters
    ----------
    exchanges_E3 : array of int64, shape (E, 3)
        Our clock before sending, the other clock in between, our clock after receiving, ns.
    tick : float
        Step of the clocks in ns.
    """
    before, there, after = exchanges_E3.T
    low, high = int((there - after).argmax()), int((there - before).argmin())
    if there[low] - after[low] > there[high] - before[high]:
        # A clock was set meanwhile: bounds that hold before and after are the loosest.
        low, high = int((there - after).argmin()), int((there - before).argmax())
    lower, upper = int(there[low] - after[low]), int(there[high] - before[high])
    begin, end = int(min(before[low], before[high])), int(max(after[low], after[high]))
    error = (upper - lower) / 2 + MOST_DRIFT * (end - begin) / 2 + tick
    return Look(moment=(begin + end) // 2, ahead=(lower + upper) // 2, error=error)


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """What another clock reads, as a line over ours.

    Attributes
    ----------
    origin : int
        Moment on our clock in ns, from which the line is told.
    base : int
        Whole ns by which the other clock is ahead; apart, since a double does not hold the uptime of months in ns.
    offset : float
        ns at the origin, beyond the base.
    drift : float
        Rate of the other clock over ours, minus 1.
    drift_error : float
        By which the drift may be wrong.
    looks : tuple of Look
        What the line was fitted to.
    """

    origin: int
    base: int
    offset: float
    drift: float
    drift_error: float
    looks: tuple[Look, ...]

    def ahead(self, moment: int) -> int:
        """Return by how many ns the other clock is ahead at a moment of ours."""
        return self.base + round(self.offset + self.drift * (moment - self.origin))

    def moments(self, readings: Times) -> Times:
        """Return the moments on our clock, in ns, at which the other clock shows these readings."""
        since = (readings - (self.origin + self.base)).astype(np.float64)
        return self.origin + np.rint((since - self.offset) / (1 + self.drift)).astype(np.int64)

    def distance(self, look: Look) -> float:
        """Return how far the line passes from a look, in ns."""
        return abs(self.base - look.ahead + self.offset + self.drift * (look.moment - self.origin))

    def error_at(self, moment: int) -> float:
        """Return by how many ns the line may be wrong at a moment, if the other clock goes on as it did.

        At each look by its error and the distance from it; from there on the drift's error adds up.
        """
        return min(
            self.distance(look) + look.error + self.drift_error * abs(moment - look.moment) for look in self.looks
        )


def line_through(looks: Sequence[Look], origin: int) -> Line:
    """Fit a line by least squares, each look weighing as the inverse square of its error.

    The drift's error is `SPREAD` times its standard error from the residuals, at most `MOST_DRIFT`.

    Parameters
    ----------
    looks : sequence of Look
        One or more.
    origin : int
        Moment on our clock in ns, from which the line is to be told.
    """
    base = looks[0].ahead
    moments = np.array([look.moment - origin for look in looks], dtype=np.float64)
    beyond = np.array([look.ahead - base for look in looks], dtype=np.float64)
    weights = np.array([look.error for look in looks]) ** -2.0
    weights /= weights.sum()
    center, level = float(weights @ moments), float(weights @ beyond)
    spread = float(weights @ (moments - center) ** 2)
    drift = float(weights @ ((moments - center) * (beyond - level))) / spread if spread else 0.0
    drift = min(MOST_DRIFT, max(-MOST_DRIFT, drift))
    drift_error = MOST_DRIFT
    if spread and len(looks) > 2:
        residuals = beyond - level - drift * (moments - center)
        variance = float(weights @ residuals**2) / (len(looks) - 2)
        drift_error = min(MOST_DRIFT, SPREAD * (variance / spread) ** 0.5)
    return Line(
        origin=origin,
        base=base,
        offset=level - drift * center,
        drift=drift,
        drift_error=drift_error,
        looks=tuple(looks),
    )
