"""Quantities as claims write them: ``900 GB/s``, ``2 to 4 GB``, ``1/64``; SI inside, and how far each is rounded."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import msgspec

from collmark.core.errors import UsageError, excerpt

# Prefixes are decimal: link rates, memory and model sizes are quoted so. KiB, MiB and GiB are binary.
_PREFIXES = {"": 0, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12, "P": 15}
_SMALL = {"": 0, "m": -3, "u": -6, "n": -9}
_UNITS: dict[str, tuple[str, Fraction]] = {
    "": ("", Fraction(1)),
    "%": ("", Fraction(1, 100)),
    "min": ("s", Fraction(60)),
    "h": ("s", Fraction(3600)),
    "d": ("s", Fraction(86400)),
    **{f"{prefix}s": ("s", Fraction(10) ** power) for prefix, power in _SMALL.items()},
    **{
        f"{prefix}{unit}": (unit, Fraction(10) ** power)
        for prefix, power in _PREFIXES.items()
        for unit in ("B", "B/s", "FLOP", "FLOP/s")
    },
    **{f"{prefix}b/s": ("B/s", Fraction(10) ** power / 8) for prefix, power in _PREFIXES.items()},
    **{f"{prefix}iB": ("B", Fraction(2) ** (10 * n)) for n, prefix in enumerate("KMGT", start=1)},
}
UNITS = tuple(unit for unit in _UNITS if unit)
"""Every unit that can be written."""
_NUMBER = r"\d{1,20}(?:\.\d{1,20})?(?:[eE][+-]?\d{1,2})?"
_WRITTEN = re.compile(rf"({_NUMBER})(?:/({_NUMBER}))?(?:\s+to\s+({_NUMBER}))?\s*([A-Za-z%/]*)", re.ASCII)
_ALLOWED = 'a number and a unit such as GB, GB/s, Gb/s, us, ms, s, h, d, TFLOP/s, %, or none; "2 to 4 GB", "1/64"'
_MOST = Fraction(10) ** 30
_DIGITS = 4
_LONGEST = 10  # digits of an integer part, beyond which nobody counts them


class Quantity(msgspec.Struct, frozen=True, kw_only=True):
    """A number or a range with a unit.

    Attributes
    ----------
    low, high : float
        In `unit`; equal unless it is a range.
    unit : str
        ``B``, ``B/s``, ``s``, ``FLOP``, ``FLOP/s``, or empty for a number.
    text, shown_in : str
        As written, and the unit it was written in.
    rounding : float
        Half a unit of the last digit written, in `unit`: how far the true figure may lie.
    meaning, key, source : str
        What it is of, which figure of that, and where it is from; empty for a bare figure.
    """

    low: float
    high: float
    unit: str
    text: str
    shown_in: str
    rounding: float
    meaning: str = ""
    key: str = ""
    source: str = ""

    @property
    def value(self) -> float:
        """The number, in `unit`; of a range its lower end."""
        return self.low

    @property
    def whole(self) -> int:
        """The number, rounded to a whole one: counts of ranks, layers, GPUs."""
        return round(self.low)

    def __str__(self) -> str:
        return self.text


def read_quantity(written: object) -> Quantity:
    """Read a quantity from a value of a TOML file.

    Parameters
    ----------
    written : str, int or float
        A bare number has no unit.

    Raises
    ------
    UsageError
        If it is no quantity.

    Examples
    --------
    >>> ndr = read_quantity("400 Gb/s")
    >>> ndr.value, ndr.unit, ndr.text
    (50000000000.0, 'B/s', '400 Gb/s')
    >>> read_quantity("2.8 s").rounding, read_quantity("2 to 4 GB").high
    (0.05, 4000000000.0)
    """
    # TOML's true is a number to Python.
    text = str(written).strip() if isinstance(written, str | int | float) and not isinstance(written, bool) else ""
    match = _WRITTEN.fullmatch(text)
    if match is None or match[4] not in _UNITS or (match[2] and (match[3] or not Fraction(match[2]))):
        raise UsageError(f"{excerpt(repr(written), 40)} is no quantity; allowed: {_ALLOWED}")
    unit, scale = _UNITS[match[4]]
    low = Fraction(match[1]) / Fraction(match[2] or 1) * scale
    high = Fraction(match[3]) * scale if match[3] else low
    if high > _MOST or (low and low < 1 / _MOST):
        raise UsageError(f"{excerpt(repr(written), 40)} lies beyond what is ever claimed: 1e-30 to 1e30")
    if high < low:
        raise UsageError(f"{excerpt(repr(written), 40)}: the range ends below its start")
    # A fraction is exact, and so is the number in it.
    rounding = Fraction(0) if match[2] else max(_half_digit(match[1]), _half_digit(match[3] or "0e-99")) * scale
    return Quantity(low=float(low), high=float(high), unit=unit, text=text, shown_in=match[4], rounding=float(rounding))


def _half_digit(number: str) -> Fraction:
    mantissa, _e, exponent = number.lower().partition("e")
    return Fraction(10) ** (int(exponent or 0) - len(mantissa.partition(".")[2])) / 2


def scale_of(shown_in: str) -> float:
    """Return how many SI units one of a unit is: 1e9 for GB/s."""
    return float(_UNITS[shown_in][1])


def si_unit(shown_in: str) -> str:
    """Return the SI unit behind a unit: B/s for GB/s."""
    return _UNITS[shown_in][0]


def natural_unit(value: float, unit: str) -> str:
    """Return the largest prefixed unit in which a value is at least one.

    Examples
    --------
    >>> natural_unit(1.5e9, "B/s"), natural_unit(4e-4, "s"), natural_unit(7, "")
    ('GB/s', 'us', '')
    """
    if not unit or not 0 < value < math.inf:
        return unit
    prefixes = _SMALL if unit == "s" else {prefix: power for prefix, power in _PREFIXES.items() if prefix != "K"}
    fitting = [(power, prefix) for prefix, power in prefixes.items() if float(Fraction(10) ** power) <= value]
    return f"{max(fitting)[1] if fitting else ''}{unit}"


def number(value: float, digits: int = _DIGITS) -> str:
    """Write a number to some significant digits, the integer part in full, without zeros at the end.

    Examples
    --------
    >>> [number(x) for x in (9, 5.5125, 134.4, 36954.6, 0.0156, 1e-7, 3.7908e25)]
    ['9', '5.513', '134.4', '36955', '0.0156', '1e-07', '3.791e+25']
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    if not -digits <= exponent < _LONGEST:
        return f"{value:.{digits}g}"
    text = f"{value:.{max(0, digits - 1 - exponent)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def shown(value: float, unit: str, shown_in: str | None = None, digits: int = _DIGITS) -> str:
    """Write a value in SI units for people, in a unit of one's choice or the natural one.

    Examples
    --------
    >>> shown(134217728, "B"), shown(0.08, "s"), shown(1120e9, "B", "GB"), shown(9, "")
    ('134.2 MB', '80 ms', '1120 GB', '9')
    """
    chosen = natural_unit(value, unit) if shown_in is None else shown_in
    text = number(value / scale_of(chosen), digits)
    return text if not chosen else f"{text} %" if chosen == "%" else f"{text} {chosen}"
