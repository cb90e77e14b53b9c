"""Axes that people can read: binary sizes, plain decades, ratios about 1, percentiles that count nines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from collmark.core.units import format_nbytes

MOST_TICKS = 7
FURTHEST = 300.0
"""Decades from 1 that an axis ends at."""
OCTAVES = (1, 2, 5, 10)
LEAST_PLAIN, MOST_PLAIN = 1e-9, 1e12
"""Between these a number is written without an exponent; nobody counts more zeros."""
BETWEEN = ((2.0, (1, 2, 5)), (3.5, (1, 3)), (math.inf, (1,)))
"""Decades spanned, and the steps inside each decade that are labelled up to there."""
DECADES = 100.0  # from end to end of an axis of ratios, from which on only powers of ten are labelled
RATIOS = (0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 2.0, 5.0, 10.0, 20.0, 50.0)
NINES = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999)


def plain(value: float) -> str:
    """Return a number without exponent, as short as it can be.

    Examples
    --------
    >>> [plain(value) for value in (0.001, 0.5, 1.0, 250.0, 100000.0)]
    ['0.001', '0.5', '1', '250', '100,000']
    """
    if value and not LEAST_PLAIN <= abs(value) < MOST_PLAIN:
        return f"{value:.0e}"
    return f"{value:,.10f}".rstrip("0").rstrip(".")


def _set_ticks(axis: Axis, places: Sequence[float], labels: Sequence[str]) -> None:
    axis.set_major_locator(FixedLocator(list(places)))
    axis.set_major_formatter(FixedFormatter(list(labels)))
    axis.set_minor_locator(NullLocator())


def size_axis(panel: Axes, first: float, last: float) -> None:
    """Make the x axis one of sizes from `first` to `last` bytes: log2, labelled in whole octaves."""
    panel.set_xscale("log", base=2)
    low, high = math.log2(first), math.log2(last)
    room = max(0.5, 0.05 * (high - low))
    panel.set_xlim(2 ** (low - room), 2 ** (high + room))
    step = next((step for step in OCTAVES if (high - low) / step <= MOST_TICKS - 1), OCTAVES[-1])
    powers = [power for power in range(math.ceil(low - room), math.floor(high + room) + 1) if power % step == 0]
    _set_ticks(
        panel.xaxis, [2.0**power for power in powers], [format_nbytes(2**power) for power in powers if power >= 0]
    )
    panel.set_xlabel("nbytes")


def decade_axis(axis: Axis, low: float, high: float) -> None:
    """Label a logarithmic axis from `low` to `high` in plain numbers: decades, and between them where there are few."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    spanned = math.log10(high) - math.log10(low)
    steps = next(steps for most, steps in BETWEEN if spanned < most)
    places = [step * 10.0**power for power in decades for step in steps if low <= step * 10.0**power <= high]
    every = max(1, math.ceil(len(places) / MOST_TICKS))
    _set_ticks(axis, places[::every], [plain(place) for place in places[::every]])


def ratio_axis(axis: Axis, most: float, least: float | None = None) -> None:
    """Label a logarithmic axis of ratios from `least`, else 1 / `most`, to `most`."""
    least = 1 / most if least is None else least
    if most / least > DECADES:
        decades = range(math.ceil(math.log10(least)), math.floor(math.log10(most)) + 1)
        _set_ticks(axis, [10.0**power for power in decades], [plain(10.0**power) for power in decades])
        return
    places = [ratio for ratio in RATIOS if least <= ratio <= most]
    # What lies near to 1 would be written over it where the axis spans much.
    most = max(most, 1 / least)
    crowded = {0.8, 1.25, 0.9, 1.1} if most > 3 else {0.9, 1.1} if most > 1.6 else set()
    places = [ratio for ratio in places if ratio not in crowded]
    _set_ticks(axis, places, [plain(ratio) for ratio in places])


def nines(share: float) -> float:
    """Return where a share of repetitions lies on an axis that counts nines."""
    return -math.log10(1 - share)


def nines_axis(panel: Axes, highest: float) -> None:
    """Make the y axis one of percentiles from 0 to the share `highest`: 90, 99 and 99.9 % at equal distances."""
    shares = [share for share in NINES if share <= highest]
    _set_ticks(panel.yaxis, [nines(share) for share in shares], [f"{plain(100 * share)} %" for share in shares])
    panel.set_ylim(0, nines(highest) + 0.1)


def limits(values: Iterable[float], below: float = 0.06, above: float = 0.06) -> tuple[float, float]:
    """Return limits of a logarithmic axis that hold all values, with shares of its length free at both ends."""
    logs = [math.log10(value) for value in values if value > 0 and math.isfinite(value)]
    low, high = (min(logs), max(logs)) if logs else (0.0, 0.0)
    length = max(high - low, 0.6)
    middle = (low + high) / 2
    low, high = min(low, middle - length / 2), max(high, middle + length / 2)
    whole = length / (1 - below - above)
    # No file is trusted so far as to overflow here.
    return 10 ** max(low - below * whole, -FURTHEST), 10 ** min(high + above * whole, FURTHEST)
