"""Units: reading sizes and times that people write, and writing them for people.

Inside collmark everything is in SI units and bytes: seconds, bytes, bytes per second,
and int64 nanoseconds for raw samples. This is the only file that knows 1024 or 1e9.
Importers, figures and the command line call it; it imports only `errors` and `numeral`.
"""

import math
import re
from fractions import Fraction
from typing import Final, TypeAlias

from collmark.core.errors import UsageError, excerpt
from collmark.core.numeral import MAX_DIGITS

__all__ = [
    "GIB",
    "GIGA",
    "KIB",
    "MAX_NBYTES",
    "MIB",
    "NANOSECONDS_PER_SECOND",
    "TIB",
    "BytesPerSecond",
    "NBytes",
    "Nanoseconds",
    "Seconds",
    "compact_nbytes",
    "format_about_nbytes",
    "format_duration",
    "format_gigabytes_per_second",
    "format_microseconds",
    "format_nbytes",
    "parse_nbytes",
    "parse_seconds",
]

Seconds: TypeAlias = float
NBytes: TypeAlias = int
BytesPerSecond: TypeAlias = float
Nanoseconds: TypeAlias = int

KIB: Final = 1024
MIB: Final = KIB**2
GIB: Final = KIB**3
TIB: Final = KIB**4
GIGA: Final = 1_000_000_000
NANOSECONDS_PER_SECOND: Final = 1_000_000_000
MICROSECONDS_PER_SECOND: Final = 1_000_000

MAX_NBYTES: Final = 2**63 - 1
"""The largest size that parses: sizes are stored in int64 columns."""

# Bare letters are binary because nccl-tests reads them so (src/common.cu, parsesize).
_NBYTES_PER_UNIT: Final = {
    "": 1,
    "b": 1,
    "k": KIB,
    "m": MIB,
    "g": GIB,
    "t": TIB,
    "kib": KIB,
    "mib": MIB,
    "gib": GIB,
    "tib": TIB,
    "kb": 1000,
    "mb": 1000**2,
    "gb": 1000**3,
    "tb": 1000**4,
}
_BINARY_UNITS: Final = (("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB))
_SIZES_ALLOWED: Final = "a number with B, K M G T or KiB MiB GiB TiB (binary), KB MB GB TB (decimal)"

_SECONDS_PER_UNIT: Final = {
    "": Fraction(1),
    "s": Fraction(1),
    "h": Fraction(3600),
    "min": Fraction(60),
    "ms": Fraction(1, 1000),
    "us": Fraction(1, 1000**2),
    "ns": Fraction(1, 1000**3),
}
_TIMES_ALLOWED: Final = "a number above 0 with h, min, s (or none), ms, us, ns"

_QUANTITY: Final = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*([a-z]*)", re.ASCII | re.IGNORECASE)
_SIGNIFICANT_DIGITS: Final = 3
# Below this a fixed-point number is a row of zeros that nobody can count.
_SMALLEST_FIXED: Final = 1e-9


def parse_nbytes(text: str) -> NBytes:
    """Read a size.

    A bare number and B are bytes; K, M, G, T are binary as in nccl-tests, as are KiB,
    MiB, GiB, TiB; KB, MB, GB, TB are decimal. Letter case does not count, except that
    a small b behind a capital (Gb, Mb) is refused: it means bits to most readers.

    Parameters
    ----------
    text
        Such as "8", "4KiB", "1.5 MiB", "1G".

    Returns
    -------
    int
        Bytes, from 0 to `MAX_NBYTES`.

    Raises
    ------
    UsageError
        If `text` is not a size or not a whole number of bytes.

    Examples
    --------
    >>> parse_nbytes("4K"), parse_nbytes("4KB"), parse_nbytes("1.5MiB")
    (4096, 4000, 1572864)
    """
    problem, number, unit = _split_quantity(text)
    scale = _NBYTES_PER_UNIT.get(unit.lower(), 0)
    if not problem and not scale:
        problem = f"unknown unit {excerpt(unit, 12)!r}"
    if not problem and unit.endswith("b") and not unit.islower():
        problem = f"{unit!r} reads as bits, and sizes are in bytes"
    nbytes = number * scale
    if not problem and nbytes.denominator != 1:
        problem = "not a whole number of bytes"
    if not problem and nbytes > MAX_NBYTES:
        problem = f"above {MAX_NBYTES} bytes"
    if problem:
        raise UsageError(f"{excerpt(text)!r} is not a size: {problem}; allowed: {_SIZES_ALLOWED}")
    return int(nbytes)


def parse_seconds(text: str) -> Seconds:
    """Read a length of time.

    Parameters
    ----------
    text
        A number with h, min, s, ms, us or ns; a bare number is in seconds.

    Returns
    -------
    float
        Seconds, positive and finite.

    Raises
    ------
    UsageError
        If `text` is not a length of time, or zero.

    Examples
    --------
    >>> parse_seconds("4min"), parse_seconds("500ms"), parse_seconds("1.5")
    (240.0, 0.5, 1.5)
    """
    problem, number, unit = _split_quantity(text)
    scale = _SECONDS_PER_UNIT.get(unit.lower())
    if not problem and scale is None:
        problem = f"unknown unit {excerpt(unit, 12)!r}"
    if not problem and number == 0:
        problem = "it must be above 0"
    if problem or scale is None:
        raise UsageError(f"{excerpt(text)!r} is not a time: {problem}; allowed: {_TIMES_ALLOWED}")
    return float(number * scale)


def _split_quantity(text: str) -> tuple[str, Fraction, str]:
    """Return (problem or "", number, unit as written) of "1.5 MiB"."""
    stripped = text.strip()
    match = _QUANTITY.fullmatch(stripped)
    if match and len(match[1]) <= MAX_DIGITS:
        # Exact, so that 1.1K is refused and 0.3 of something is not off by one.
        return "", Fraction(match[1]), match[2]
    if match:
        problem = f"over {MAX_DIGITS} digits"
    elif not stripped:
        problem = "it is empty"
    elif stripped.startswith("-") and _QUANTITY.fullmatch(stripped[1:].lstrip()):
        problem = "it is negative"
    else:
        problem = "it is not a number and a unit"
    return problem, Fraction(0), ""


def format_nbytes(nbytes: NBytes) -> str:
    """Write a size exactly, in the largest binary unit that takes at most one decimal.

    Other sizes are written in bytes. A half is used only below 1024 of its unit, so
    that 1 GB reads 1000000000 B and not 976562.5 KiB.

    Raises
    ------
    ValueError
        If `nbytes` is negative.

    Examples
    --------
    >>> [format_nbytes(n) for n in (8, 1536, 3000, 4096, 1 << 30)]
    ['8 B', '1.5 KiB', '3000 B', '4 KiB', '1 GiB']
    """
    if nbytes < 0:
        raise ValueError(f"a size cannot be negative: {nbytes}")
    for name, scale in _BINARY_UNITS:
        whole, rest = divmod(nbytes, scale)
        if whole and rest == 0:
            return f"{whole} {name}"
        # Of all one-decimal fractions of a power of two only the half is whole bytes.
        if 0 < whole < KIB and rest * 2 == scale:
            return f"{whole}.5 {name}"
    return f"{nbytes} B"


def format_about_nbytes(nbytes: float) -> str:
    """Write a size that is only known about, to 3 significant digits, in the largest binary unit below it.

    Raises
    ------
    ValueError
        If `nbytes` is negative or not finite.

    Examples
    --------
    >>> [format_about_nbytes(n) for n in (0.4, 1000, 153_600.0, 1023.99 * 1024)]
    ['0.400 B', '1000 B', '150 KiB', '1.00 MiB']
    """
    if not 0 <= nbytes < math.inf:
        raise ValueError(f"a size must be finite and not negative: {nbytes}")
    # Each limit is where the smaller unit would round up into the next.
    scales = ((name, scale) for name, scale in _BINARY_UNITS if nbytes >= scale * (1 - 0.5 / KIB))
    name, scale = next(scales, ("B", 1))
    return f"{_significant(nbytes / scale)} {name}"


def compact_nbytes(nbytes: NBytes) -> str:
    """Write a size for a command line: as `format_nbytes`, without the space.

    `parse_nbytes` reads it back unchanged.

    Examples
    --------
    >>> compact_nbytes(4096)
    '4KiB'
    """
    return format_nbytes(nbytes).replace(" ", "")


def format_duration(seconds: Seconds) -> str:
    """Write a length of time for a person, to two units at most.

    Raises
    ------
    ValueError
        If `seconds` is negative or not finite.

    Examples
    --------
    >>> [format_duration(s) for s in (0.0002, 0.4, 42, 184, 3725)]
    ['200 us', '0.4 s', '42 s', '3 min 04 s', '1 h 02 min']
    """
    if not 0 <= seconds < math.inf:
        raise ValueError(f"a duration must be finite and not negative: {seconds}")
    # Rounded first, so that 59.7 s is a minute and not 60 s.
    whole, minutes = round(seconds), round(seconds / 60)
    if whole >= 3600:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    if whole >= 60:
        return f"{whole // 60} min {whole % 60:02d} s"
    return _format_under_a_minute(seconds)


def _format_under_a_minute(seconds: Seconds) -> str:
    # Each limit is where the smaller unit would round up into the next.
    if seconds >= 9.95 or seconds == 0:
        return f"{seconds:.0f} s"
    if seconds >= 0.995:
        return f"{seconds:.1f} s"
    if seconds >= 0.09995:
        return f"{seconds:.2g} s"
    if seconds >= 0.9995e-3:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds * MICROSECONDS_PER_SECOND:.3g} us"


def format_microseconds(seconds: Seconds) -> str:
    """Write `seconds` in microseconds, without the unit, to 3 significant digits.

    Examples
    --------
    >>> [format_microseconds(s) for s in (1.234e-6, 12.345678, 5.62e-11)]
    ['1.23', '12345678', '0.0000562']
    """
    return _significant(seconds * MICROSECONDS_PER_SECOND)


def format_gigabytes_per_second(bytes_per_second: BytesPerSecond) -> str:
    """Write a bandwidth in GB/s (1e9), without the unit, to 3 significant digits.

    Examples
    --------
    >>> [format_gigabytes_per_second(b) for b in (482.4e9, 9.996e9, 56_200.0)]
    ['482', '10.0', '0.0000562']
    """
    return _significant(bytes_per_second / GIGA)


def _significant(value: float) -> str:
    """Write a number to 3 significant digits, more where its integer part has more."""
    if value == 0:
        return "0"
    scientific = f"{value:.{_SIGNIFICANT_DIGITS - 1}e}"
    if not _SMALLEST_FIXED <= abs(value) < math.inf:
        return scientific  # also "nan" and "inf"
    # The exponent after rounding, so that 9.996 becomes 10.0 and not 10.00.
    exponent = int(scientific.partition("e")[2])
    return f"{value:.{max(0, _SIGNIFICANT_DIGITS - 1 - exponent)}f}"
