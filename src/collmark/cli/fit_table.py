"""The table of fits: one row a curve, and below it what limits each."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from collmark.analysis.columns import Series
from collmark.analysis.figures.place import series_names
from collmark.analysis.models.constant import CONSTANT
from collmark.analysis.models.fit import MOST_RMS, Fit, Fits
from collmark.analysis.models.hockney import HOCKNEY
from collmark.analysis.models.quantity import Quantity
from collmark.analysis.skew import Skew, skew_words
from collmark.cli import figures
from collmark.cli.console import Terminal
from collmark.cli.layout import CONTINUED, Align, Column, lay_out
from collmark.core.marker import reported_words
from collmark.core.numeral import MOST_LISTED, listed
from collmark.core.operation import Estimand
from collmark.core.operation_table import OPERATIONS
from collmark.core.units import compact_nbytes, format_about_nbytes, format_gigabytes_per_second, format_microseconds

_PLAIN = {CONSTANT.name, HOCKNEY.name}  # goes without saying
SHARED = ("run", "backend", "device", "placement", "groups", "tier_words", "scheduling", "marker", "origin")
"""What stands above a table; what else differs between its rows is a column."""
VARYING = (
    "dtype",
    "reduction",
    "in_place",
    "traffic",
    "cadence",
    "buffers",
    "binding",
    "directions",
    "window",
    "root",
    "form",
    "thread_level",
    "group",
    "company",
    "estimand",
)


def print_fits(terminal: Terminal, fits: Fits, skews: Mapping[Series, Skew]) -> None:
    """Write the tables of fits to stdout, and to stderr what limits them and what was not fitted, alike notes once."""
    lines: list[str] = []
    for group in _sections(fits.fits):
        lines += [""] if lines else []
        lines += textwrap.wrap(_caption(group), terminal.width(), subsequent_indent=CONTINUED)
        lines += lay_out(_columns(group), terminal.width(), terminal.painter(sys.stdout))
    if lines:
        terminal.out("\n".join(lines))
    else:
        terminal.say("nothing to fit")
    names = series_names([*(fit.series for fit in fits.fits), *(one.series for one in fits.refused)])
    said = [(names[fit.series], *words) for fit in fits.fits for words in remarks(fit, skews.get(fit.series))]
    said += [(names[one.series], "no fit", one.reason) for one in fits.refused]
    for line in alike(said, most=None if terminal.verbosity > 0 else MOST_LISTED):
        terminal.warn(f"note: {line}")


def alike(said: Iterable[tuple[str, str, str]], most: int | None) -> list[str]:
    """Return notes (whom it concerns, what, and how far) as a line for each what; of alike ones the first `most`."""
    notes: dict[str, dict[str, list[str]]] = {}
    for name, what, how in said:
        notes.setdefault(what, {}).setdefault(how, []).append(name)
    return [
        f"{what}: "
        + listed([listed(names, most) + (f" ({how})" if how else "") for how, names in ways.items()], most, "; ")
        for what, ways in notes.items()
    ]


def remarks(fit: Fit, skew: Skew | None) -> Iterator[tuple[str, str]]:
    """Yield what limits a fit, and how far, in words; the latter may be empty."""
    if not fit.describes:
        yield f"no model describes it (rms misfit above {MOST_RMS:.0%})", f"{figures.percent(fit.rms)} %"
    if fit.breaks:
        yield "alpha is that of the first segment, 1/beta that of the last", fit.model_words
    if fit.series.estimand == Estimand.LONGEST_LOCAL:
        words = "T is D_max, skew included, as clocks could not be compared at every size and in every launch"
        yield words, skew_words(skew)
    for name, quantity in (("alpha", fit.alpha), ("beta", fit.beta)):
        if quantity is not None and quantity.weak:
            yield f"{name} is weak", quantity.weak
        if quantity is not None and quantity.below is not None:
            yield f"{name} is too small to tell from these sizes, its 95 % limit is shown", ""
    if fit.too_short:
        yield "launches not fitted, with too few sizes that have a usable time", str(fit.too_short)
    if fit.left_out:
        yield "records left out (unstable, wrong, failed, without a time, or a test)", str(fit.left_out)


def _sections(fits: Sequence[Fit]) -> list[list[Fit]]:
    groups: dict[tuple[object, ...], list[Fit]] = {}
    for fit in fits:
        groups.setdefault(tuple(getattr(fit.series, name) for name in SHARED), []).append(fit)
    return list(groups.values())


def _caption(fits: Sequence[Fit]) -> str:
    series, launches = fits[0].series, sorted({count for fit in fits for count in _counts(fit)})
    over = f"intervals: 95 % over {_range(launches)} launches" if launches else "one launch: no interval"
    grouped = f" (groups {series.groups})" if series.groups else ""
    scheduling = f", scheduling {series.scheduling}" if series.scheduling else ""
    words = (
        f"{series.run}: {series.backend}, {series.device}, {series.placement}{grouped}, {series.tier_words}"
        f"{scheduling}; {over}"
    )
    if series.origin:
        words += f"; T: {reported_words([series.origin])}"
    return f"{series.marker} {words}" if series.marker else words


def _counts(fit: Fit) -> set[int]:
    """Return over how many launches the intervals of a fit are; of the smallest size there may be fewer."""
    shown = (fit.alpha, fit.asymptote, fit.half_size, fit.smallest)
    return {quantity.estimate.count for quantity in shown if quantity is not None and quantity.estimate is not None}


def _range(counts: Sequence[int]) -> str:
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _columns(fits: Sequence[Fit]) -> list[Column]:
    def quantities(name: str, unit: str, write: Callable[[float], str], of: Callable[[Fit], Quantity | None]) -> Column:
        return Column(name=name, unit=unit, cells=[_cell(of(fit), write) for fit in fits])

    columns = [
        Column(name="operation", cells=[fit.series.operation for fit in fits]),
        *(
            Column(name=name.replace("_", "-"), cells=[str(getattr(fit.series, name) or "-") for fit in fits])
            for name in VARYING
            if _differs(fits, name)
        ),
        quantities("alpha", "(us)", format_microseconds, lambda fit: fit.alpha),
        quantities("1/beta", "(bus GB/s)", format_gigabytes_per_second, lambda fit: fit.asymptote),
        Column(name="n1/2", cells=[_size(fit.half_size) for fit in fits], align=Align.RIGHT),
        Column(name="T_min", unit="(us)", cells=[_smallest(fit.smallest) for fit in fits]),
        *([Column(name="model", cells=[fit.model for fit in fits])] if {fit.model for fit in fits} - _PLAIN else []),
        Column(name="misfit", unit="(rms, max)", cells=[_misfit(fit) for fit in fits], leads=True),
        Column(name="sizes", cells=[_valid(fit) for fit in fits]),
    ]
    marks = [_marks(fit) for fit in fits]
    if any(marks):
        columns.append(Column(name="note", cells=[mark or figures.ABSENT for mark in marks]))
    return columns


def _differs(fits: Sequence[Fit], name: str) -> bool:
    """Whether fits of one operation differ in a column; between operations it goes without saying."""
    found: dict[str, set[object]] = {}
    for fit in fits:
        found.setdefault(fit.series.operation, set()).add(getattr(fit.series, name))
    return any(len(values) > 1 for values in found.values())


def _marks(fit: Fit) -> str:
    if not fit.describes:
        return "not described"
    weak = [name for name, quantity in (("alpha", fit.alpha), ("beta", fit.beta)) if quantity and quantity.weak]
    return f"weak: {', '.join(weak)}" if weak else ""


def _cell(quantity: Quantity | None, write: Callable[[float], str]) -> str:
    if quantity is None:
        return figures.ABSENT
    if quantity.below is not None:
        return f"<{write(quantity.below)}"
    if quantity.above is not None:
        return f">{write(quantity.above)}"
    if quantity.value is None:
        return figures.ABSENT
    interval = quantity.estimate
    return write(quantity.value) + (f" [{write(interval.lower)}, {write(interval.upper)}]" if interval else "")


def _size(quantity: Quantity | None) -> str:
    if quantity is None or quantity.value is None:
        return figures.ABSENT
    return format_about_nbytes(quantity.value) + _arm(quantity)


def _smallest(quantity: Quantity) -> str:
    return figures.microseconds(quantity.value) + _arm(quantity)


def _arm(quantity: Quantity) -> str:
    """Return the longer arm of the interval in short."""
    return "" if quantity.estimate is None else f" ±{figures.percent(quantity.estimate.relative_half_width)}%"


def _misfit(fit: Fit) -> str:
    return f"{figures.percent(fit.rms)}, {figures.percent(abs(fit.worst))} %"


def _valid(fit: Fit) -> str:
    if not OPERATIONS[fit.series.operation].sized:
        return figures.ABSENT
    return f"{compact_nbytes(fit.first)}:{compact_nbytes(fit.last)}"
