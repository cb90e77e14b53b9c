"""Numbers and captions in words, as pictures and tables say them."""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd

from collmark.core.marker import Marker, reported_words
from collmark.core.units import format_about_nbytes, format_gigabytes_per_second, format_microseconds

ABSENT = "-"
ALPHA, BETA = "\N{GREEK SMALL LETTER ALPHA}", "\N{GREEK SMALL LETTER BETA}"
ASYMPTOTE = f"1/{BETA}"
N_HALF = "n\N{VULGAR FRACTION ONE HALF}"
"""The size at which half of the asymptote is reached."""
BEYOND = "arrow at an edge: goes on beyond it"
MOST_DIGITS = 12
MOST_PERCENT = 2.0
"""Ratio from which on a difference in per cent would mislead."""


def microseconds(seconds: float | None) -> str:
    """Return a time in us, without the unit."""
    return _plain(format_microseconds, seconds)


def gigabytes(bytes_per_second: float | None) -> str:
    """Return a bandwidth in GB/s of 1e9 bytes, without the unit."""
    return _plain(format_gigabytes_per_second, bytes_per_second)


def _plain(write: Callable[[float], str], value: float | None) -> str:
    """Return a number as it is written, but no row of digits that nobody can count: few launches may scatter so far."""
    if value is None or not math.isfinite(value):
        return ABSENT
    text = write(value)
    return text if len(text) <= MOST_DIGITS else f"{float(text):.2e}"


def about_nbytes(nbytes: float | None) -> str:
    """Return a size that was estimated, with its unit."""
    return ABSENT if nbytes is None or not math.isfinite(nbytes) else format_about_nbytes(nbytes)


def percent(share: float | None) -> str:
    """Return a share in per cent to two digits, without the sign.

    Examples
    --------
    >>> [percent(share) for share in (0.014, 0.123, 0.0001, 0, 2.5, None)]
    ['1.4', '12', '<0.1', '0', '250', '-']
    """
    if share is None or not math.isfinite(share):
        return ABSENT
    value = 100 * share
    if value == 0:
        return "0"
    if abs(value) < 0.05:
        return "<0.1"
    return f"{value:.1f}" if abs(value) < 9.95 else f"{value:.0f}"


def interval_words(write: Callable[[float], str], value: float, lower: float, upper: float) -> str:
    """Return a value with its interval in brackets, or alone where it has none.

    Examples
    --------
    >>> interval_words(gigabytes, 2.2e9, 2e9, 2.4e9), interval_words(gigabytes, 2.2e9, math.nan, math.nan)
    ('2.20 [2.00, 2.40]', '2.20')
    """
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return write(value)
    return f"{write(value)} [{write(lower)}, {write(upper)}]"


def nbytes_interval(lower: float, upper: float) -> str:
    """Return an interval of sizes, its unit once where both ends have the same.

    Examples
    --------
    >>> nbytes_interval(223_000.0, 507_000.0), nbytes_interval(1000.0, 5000.0)
    ('[218, 495] KiB', '[1000 B, 4.88 KiB]')
    """
    (low, unit), (high, same) = (about_nbytes(end).split(" ") for end in (lower, upper))
    return f"[{low}, {high}] {unit}" if unit == same else f"[{low} {unit}, {high} {same}]"


def nbytes_words(value: float, lower: float, upper: float) -> str:
    """Return a size with its interval in brackets, or alone where it has none.

    Examples
    --------
    >>> nbytes_words(337_000.0, 223_000.0, 507_000.0), nbytes_words(2000.0, 1000.0, 5000.0)
    ('329 [218, 495] KiB', '1.95 KiB [1000 B, 4.88 KiB]')
    """
    alone = about_nbytes(value)
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return alone
    interval, (number, unit) = nbytes_interval(lower, upper), alone.split(" ")
    return f"{number} {interval}" if interval.endswith(f"] {unit}") else f"{alone} {interval}"


def range_words(rows: pd.DataFrame, column: str, write: Callable[[float], str]) -> str:
    """Return the least and the largest value of a column, with the curves that they are from."""
    ends = (rows.loc[rows[column].idxmin()], rows.loc[rows[column].idxmax()])
    if len({write(one[column]) for one in ends}) == 1:
        return write(ends[0][column])
    is_panel_enough = rows.groupby("panel")["curve"].nunique().max() == 1
    names = [one["panel"] if is_panel_enough else f"{one['panel']}, {one['curve']}" for one in ends]
    least, most = (f"{write(one[column])} ({name})" for one, name in zip(ends, names, strict=True))
    return f"{least} to {most}"


def slower_words(ratio: float) -> str:
    """Return how a time compares to another, as people say it.

    Examples
    --------
    >>> slower_words(1.35), slower_words(0.82), slower_words(5.99), slower_words(0.002)
    ('35 % slower', '18 % faster', '5.99 times as slow', '500 times as fast')
    """
    if ratio >= MOST_PERCENT:
        return f"{ratio:.3g} times as slow"
    if ratio <= 1 / MOST_PERCENT:
        return f"{1 / ratio:.3g} times as fast"
    return f"{percent(abs(ratio - 1))} % {'slower' if ratio > 1 else 'faster'}"


def count_words(counts: pd.Series) -> str:
    """Return how many launches some estimates are over."""
    some = counts[counts > 0]
    if some.empty:
        return "no launch has a time"
    least, most = int(some.min()), int(some.max())
    if most == 1:
        return "one launch: no interval"
    if least == most:
        return f"95 % over {most} launches"
    return f"95 % over {least} to {most} launches" if least > 1 else f"95 % over up to {most} launches, none for one"


def curve_caption(rows: pd.DataFrame) -> str:
    """Return what the marks of a curve are, as far as they are there."""
    cases = rows.drop_duplicates("case")
    several = bool((cases["launches"] > 1).any())
    is_imported = cases["marker"].eq(Marker.IMPORTED.value).all()
    reported = reported_words(cases["origin"])
    one = f"what the log says, {reported}" if is_imported else "median of the repetitions"
    many = f"of what logs say, {reported}" if is_imported else "of the medians"
    words = [f"Dot: geometric mean over launches {many}" if several else f"Dot: {one}"]
    words.append(f"whisker: {count_words(cases['launches'])}" if several else count_words(cases["launches"]))
    words.append(BEYOND)
    if several:
        words.append(f"pale dots: {'figure' if is_imported else 'median'} of each launch")
    if cases["case_status"].isin(["budget", "unstable"]).any():
        words.append("hollow: time ran out, or unstable, in a launch")
    if cases["case_status"].eq("wrong").any():
        words.append("cross: wrong result, so no figure")
    if rows["fitted"].any():
        words.append("line: fitted model, dashed outside the sizes fitted")
    if (rows["fitted"] & ~rows["describes"]).any():
        words.append("grey dashes: a model that does not describe the times")
    return "; ".join(words) + "."
