"""SizeSweep: which message sizes to measure, as written on the command line.

A sweep is a comma list of sizes and ranges, "8B:1GiB:x2" or "1KiB,3000,1MiB". It holds
what was asked for; whole elements per rank are a matter of the case.
"""

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, pairwise

import msgspec

from collmark.core.errors import UsageError, excerpt
from collmark.core.units import NBytes, compact_nbytes, parse_nbytes

__all__ = ["MAX_SIZES", "SizeRange", "SizeSweep", "parse_sweep"]

MAX_SIZES = 10_000
"""More sizes than this are a slip of the pen, and would run for days."""

_EXAMPLES = "as in 8B:1GiB:x2 or 1KiB:1MiB:+64KiB"
_FACTOR_BELOW = f"the factor must be above 1, {_EXAMPLES}"
_STEP_BELOW = f"the step must be above 0, {_EXAMPLES}"
_TOO_MANY = f"more than {MAX_SIZES} sizes; take a larger factor or step, {_EXAMPLES}"
_NOT_POSITIVE = f"sizes must be above 0, {_EXAMPLES}"
_NUMBER = re.compile(r"-?(\d{1,400}(\.\d{1,400})?|\.\d{1,400})", re.ASCII)


class SizeRange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sizes from `first` up to `last`, by a factor or by a step.

    Raises
    ------
    UsageError
        If the range is empty, does not rise, has over `MAX_SIZES` sizes, or has not
        exactly one of factor and step.
    """

    # First size, bytes; always part of the range.
    first: NBytes
    # Upper limit, bytes; part of the range only if a step lands on it.
    last: NBytes
    # Ratio of neighbours, above 1.
    factor: float | None = None
    # Difference of neighbours, bytes.
    step: NBytes | None = None

    def __post_init__(self) -> None:
        """Check the invariants, also after decoding."""
        problem = self._problem()
        if problem:
            raise UsageError(problem)

    def _problem(self) -> str:
        if self.first <= 0:
            return _NOT_POSITIVE
        if self.last < self.first:
            return f"the last size must not be below the first, {_EXAMPLES}"
        if self.factor is not None and self.step is None:
            # Negated so that a factor that is not a number is caught as well.
            if not 1 < self.factor < math.inf:
                return _FACTOR_BELOW
            steps = math.log(self.last / self.first) / math.log(self.factor)
        elif self.step is not None and self.factor is None:
            if self.step <= 0:
                return _STEP_BELOW
            steps = (self.last - self.first) / self.step
        else:
            return f"a range needs either a factor or a step, {_EXAMPLES}"
        return _TOO_MANY if steps >= MAX_SIZES else ""

    def __iter__(self) -> Iterator[NBytes]:
        """Iterate over the sizes, strictly increasing.

        A factor gives first x factor^k, computed from the first size in exact
        arithmetic and rounded to whole bytes (halves up), so no error accumulates.
        Steps of less than a byte, as in 1:16:x1.2, round to one size.
        """
        if self.factor is None:
            yield from range(self.first, self.last + 1, self.step or 1)
            return
        # The shortest decimal that stands for the float is what the user wrote: 1.1
        # is meant as 11/10.
        ratio = Fraction(repr(self.factor))
        numerator, denominator, previous = self.first, 1, 0
        while (nbytes := (2 * numerator + denominator) // (2 * denominator)) <= self.last:
            if nbytes > previous:
                yield nbytes
            previous = nbytes
            numerator *= ratio.numerator
            denominator *= ratio.denominator

    def __str__(self) -> str:
        """Return the text that `parse_sweep` reads back as this range."""
        ends = f"{compact_nbytes(self.first)}:{compact_nbytes(self.last)}"
        if self.factor is None:
            return f"{ends}:+{compact_nbytes(self.step or 0)}"
        return f"{ends}:x{_plain_decimal(self.factor)}"


class SizeSweep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Message sizes: an ordered set of sizes and ranges of sizes.

    Iterating gives bytes, strictly increasing, whatever the order of the items. The
    last size of a range is included only if a step lands on it: 8B:100B:x2 ends at 64.

    Raises
    ------
    UsageError
        If there is no size, one is not positive, one occurs twice (within an item or
        between items), or there are over `MAX_SIZES`.

    Examples
    --------
    >>> sweep = parse_sweep("8B:64B:x2,3000")
    >>> list(sweep), len(sweep), str(sweep)
    ([8, 16, 32, 64, 3000], 5, '8B:64B:x2,3000B')
    """

    # Sizes in bytes, and ranges.
    items: tuple[NBytes | SizeRange, ...]

    def __post_init__(self) -> None:
        """Check the invariants, also after decoding."""
        sizes = list(self)
        if not sizes:
            raise UsageError(f"no sizes, {_EXAMPLES}")
        if sizes[0] <= 0:
            raise UsageError(_NOT_POSITIVE)
        if len(sizes) > MAX_SIZES:
            raise UsageError(_TOO_MANY)
        twice = sorted({low for low, high in pairwise(sizes) if low == high})
        if twice:
            named = excerpt(", ".join(map(compact_nbytes, twice)))
            raise UsageError(f"given more than once: {named}; name each size once")

    def __iter__(self) -> Iterator[NBytes]:
        """Iterate over the sizes in bytes, strictly increasing."""
        parts = (item if isinstance(item, SizeRange) else (item,) for item in self.items)
        return iter(sorted(chain.from_iterable(parts)))

    def __len__(self) -> int:
        """Return the number of sizes."""
        return sum(1 for _ in self)

    def __str__(self) -> str:
        """Return the text that `parse_sweep` reads back as this sweep."""
        return ",".join(str(item) if isinstance(item, SizeRange) else compact_nbytes(item) for item in self.items)


def parse_sweep(text: str) -> SizeSweep:
    """Read a sweep.

    Parameters
    ----------
    text
        A comma list of sizes ("3000", "1KiB") and ranges: FIRST:LAST:xFACTOR with a
        factor above 1, or FIRST:LAST:+STEP. Sizes as in `parse_nbytes`. A list may be
        in any order; a size given twice is refused.

    Returns
    -------
    SizeSweep
        Its items sorted by their first size.

    Raises
    ------
    UsageError
        In one line that starts with `text`: what is wrong and what is allowed.
    """
    try:
        items = [_parse_item(part.strip()) for part in text.split(",")]
        return SizeSweep(items=tuple(sorted(items, key=_first)))
    except UsageError as error:
        # The text ends up in a message, so an endless list must not fill the screen.
        raise UsageError(f"{excerpt(text.strip()) or '(empty)'}: {error}") from error


def _first(item: NBytes | SizeRange) -> NBytes:
    return item.first if isinstance(item, SizeRange) else item


def _parse_item(text: str) -> NBytes | SizeRange:
    parts = [part.strip() for part in text.split(":")]
    if not text:
        raise UsageError(f"a size is missing; give sizes or ranges, {_EXAMPLES}")
    if len(parts) == 1:
        return parse_nbytes(text)
    expected = ("first size", "last size", "factor or step")
    for name, part in zip(expected, [*parts, "", ""], strict=False):
        if not part:
            raise UsageError(f"the {name} is missing, {_EXAMPLES}")
    if len(parts) > len(expected):
        raise UsageError(f"too many parts in {excerpt(text)!r}, {_EXAMPLES}")
    first, last = parse_nbytes(parts[0]), parse_nbytes(parts[1])
    kind, amount = parts[2][0], parts[2][1:].strip()
    if kind in "xX" and _NUMBER.fullmatch(amount):
        return SizeRange(first=first, last=last, factor=float(amount))
    if kind == "+" and amount:
        return SizeRange(first=first, last=last, step=_parse_step(amount))
    raise UsageError(f"{excerpt(parts[2])!r} is neither xFACTOR nor +STEP, {_EXAMPLES}")


def _parse_step(text: str) -> NBytes:
    if text.startswith("-"):
        raise UsageError(_STEP_BELOW)
    return parse_nbytes(text)


def _plain_decimal(value: float) -> str:
    """Write a float so that it reads back equal, without an exponent."""
    fraction = Fraction(repr(value))
    if fraction.denominator == 1:
        return str(fraction.numerator)
    # A finite decimal: repr gave one, so its denominator divides a power of ten.
    digits = next(d for d in range(1, 400) if (fraction * 10**d).denominator == 1)
    scaled = str((fraction * 10**digits).numerator).rjust(digits + 1, "0")
    return f"{scaled[:-digits]}.{scaled[-digits:]}"
