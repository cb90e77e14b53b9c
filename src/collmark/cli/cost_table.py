"""Costs of messages and bytes, predictions and a prior as tables, cliffs as notes."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from collmark.analysis.columns import Series
from collmark.analysis.costs.nccl_tuning import WORDS
from collmark.analysis.costs.prediction import Prediction, Unpredicted
from collmark.analysis.costs.prior import PriorOf
from collmark.analysis.costs.scaling import Scaling
from collmark.analysis.models.quantity import Quantity
from collmark.cli import figures
from collmark.cli.console import Terminal
from collmark.cli.layout import CONTINUED, Align, Column, lay_out
from collmark.core.estimate import Estimate
from collmark.core.operation_table import OPERATIONS
from collmark.core.units import format_gigabytes_per_second, format_microseconds, format_nbytes
from collmark.workflow.costs import Explained

T = TypeVar("T", Scaling, Prediction)
MOST_CLIFFS = 3
NANO = 1e9


def print_costs(terminal: Terminal, explained: Explained) -> None:
    """Write what fits say beyond themselves: tables to stdout, limits and cliffs to stderr."""
    width, paint = terminal.width(), terminal.painter(sys.stdout)
    predicted = [one for one in explained.predictions if isinstance(one, Prediction)]
    tables = [(said + SCALING_WORDS, _scaling_columns(own)) for said, own in _marked(explained.scalings.scalings)]
    tables += [(said + PREDICTION_WORDS, _prediction_columns(own)) for said, own in _marked(predicted)]
    tables += [(_prior_words(one), _prior_columns(one)) for one in explained.priors]
    for words, columns in tables:
        caption = textwrap.wrap(words, width, subsequent_indent=CONTINUED)
        terminal.out("\n".join(["", *caption, *lay_out(columns, width, paint)]))
    for note in _notes(explained):
        terminal.warn(f"note: {note}")


SCALING_WORDS = (
    "cost of a message (alpha), of a byte over a link (beta) and of a byte added locally (gamma), from the fits at "
    "several rank counts; constant: what grows with neither; intervals: 95 % over launches"
)
PREDICTION_WORDS = (
    "predicted T, the mean over launches; 95 % intervals hold the scatter of launches, misfit and every algorithm that "
    "cannot be told apart"
)


def _marked(found: Sequence[T]) -> list[tuple[str, list[T]]]:
    """Return what stands in one table: measurements, and apart from them what is none, with the word for it."""
    groups: dict[str, list[T]] = {}
    for one in found:
        groups.setdefault(f"{one.series.marker} " if one.series.marker else "", []).append(one)
    return list(groups.items())


def _words(series: Series) -> str:
    return f"{series.marker or ''} {series.operation} {series.dtype} ({series.backend}, {series.tier_words})".strip()


def _scaling_columns(scalings: Sequence[Scaling]) -> list[Column]:
    bests = [one.best for one in scalings]
    rms = [(best.latency_rms, best.bandwidth_rms) for best in bests]
    return [
        Column(name="operation", cells=[one.series.operation for one in scalings]),
        Column(name="dtype", cells=[one.series.dtype for one in scalings]),
        Column(name="ranks", cells=[",".join(map(str, one.ranks)) for one in scalings]),
        Column(name="algorithm", cells=[best.words if best.describes else figures.ABSENT for best in bests]),
        Column(name="alpha", unit="(us/message)", cells=[_micro(best.alpha) for best in bests], leads=True),
        Column(name="1/beta", unit="(GB/s)", cells=[_rate(best.beta) for best in bests]),
        Column(name="gamma", unit="(ns/B)", cells=[_nano(one.gamma) for one in scalings]),
        Column(name="constant", unit="(us)", cells=[_micro(best.overhead) for best in bests]),
        Column(name="misfit", unit="(alpha, beta)", cells=[", ".join(map(figures.percent, two)) + " %" for two in rms]),
    ]


def _interval(interval: Estimate | None, write: Callable[[float], str]) -> str:
    return "" if interval is None else f" [{write(interval.lower)}, {write(interval.upper)}]"


def _micro(quantity: Quantity) -> str:
    if quantity.value is None:
        return figures.ABSENT
    return format_microseconds(quantity.value) + _interval(quantity.estimate, format_microseconds)


def _rate(quantity: Quantity) -> str:
    if quantity.value is None:
        return figures.ABSENT
    interval, write = quantity.estimate, format_gigabytes_per_second
    ends = "" if interval is None else f" [{write(1 / interval.upper)}, {write(1 / interval.lower)}]"
    return write(1 / quantity.value) + ends


def _nano(seconds: float | None) -> str:
    return figures.ABSENT if seconds is None else f"{seconds * NANO:.3g}"


def _prediction_columns(found: Sequence[Prediction]) -> list[Column]:
    def ends(one: Prediction) -> str:
        if one.lower is None or one.upper is None:
            return ""
        return f" [{format_microseconds(one.lower)}, {format_microseconds(one.upper)}]"

    return [
        Column(name="operation", cells=[one.series.operation for one in found]),
        Column(name="dtype", cells=[one.series.dtype for one in found]),
        Column(name="nbytes", cells=[_size(one) for one in found], align=Align.RIGHT),
        Column(name="ranks", cells=[f"{one.ranks}" for one in found], align=Align.RIGHT),
        Column(name="T", unit="(us)", cells=[format_microseconds(one.seconds) + ends(one) for one in found]),
        Column(name="from", cells=[one.basis for one in found], leads=True),
        Column(name="range", cells=["outside" if one.outside else "inside" for one in found]),
    ]


def _size(one: Prediction | Unpredicted) -> str:
    return format_nbytes(one.nbytes) if OPERATIONS[one.series.operation].sized else figures.ABSENT


def _prior_words(one: PriorOf) -> str:
    return f"{WORDS} ({one.name}), beside {_words(one.series)} {one.series.placement} of {one.series.run}"


def _prior_columns(one: PriorOf) -> list[Column]:
    points = one.points
    return [
        Column(name="nbytes", cells=[format_nbytes(point.nbytes) for point in points], align=Align.RIGHT),
        Column(
            name="T", unit="(us)", cells=[format_microseconds(point.seconds) for point in points], align=Align.POINT
        ),
        Column(
            name="prior", unit="(us)", cells=[format_microseconds(p.prior.seconds) for p in points], align=Align.POINT
        ),
        Column(name="T/prior", cells=[f"{p.seconds / p.prior.seconds:.3g}" for p in points], align=Align.POINT),
        Column(name="it would choose", cells=[f"{p.prior.algorithm}/{p.prior.protocol}" for p in points]),
    ]


def _notes(explained: Explained) -> Iterator[str]:
    for one in explained.scalings.scalings:
        yield from (f"{_words(one.series)}: {said}" for said in _remarks(one))
    for refused in explained.scalings.refused:
        counts = ", ".join(map(str, refused.ranks))
        yield f"{_words(refused.series)}: no cost of a message from {counts} ranks: {refused.reason}"
    for found in explained.cliffs:
        shown = [
            f"{format_nbytes(cliff.nbytes)} takes {cliff.ratio:.2g} times its model"
            + (" (left out of the fit)" if cliff.is_left_out else "")
            for cliff in found.cliffs[:MOST_CLIFFS]
        ]
        more = len(found.cliffs) - len(shown)
        words = "; ".join([*shown, *([f"{more} more in --json"] if more > 0 else [])])
        yield f"{_words(found.series)} {found.series.placement}: off the model by over 10 % and its interval: {words}"
    for place in explained.predictions:
        where = f"{_words(place.series)}, {_size(place)} at {place.ranks} ranks"
        if isinstance(place, Unpredicted):
            yield f"{where}: not predicted: {place.reason}"
        elif place.outside:
            yield f"{where}: {place.outside}"


def _remarks(one: Scaling) -> Iterator[str]:
    best = one.best
    if not best.describes:
        yield "no algorithm of the cost table describes how alpha and beta grow with ranks"
        return
    alike = [other.words for other in one.alike if other is not best]
    if alike:
        yield f"these ranks do not tell {best.words} from {', '.join(alike)}"
    if best.latency_rms is not None and not best.alpha.per_launch:
        yield "T of small sizes does not grow with ranks: nothing tells what a message costs"
    if best.latency != best.bandwidth:
        yield "no one algorithm has both: small and large sizes may take different ones"
    share = one.gamma_share
    if share and one.gamma is None:
        yield f"beta holds {share:.2g} gamma for each byte: the runs did not measure gamma"
    if share and one.gamma is not None and not best.beta.per_launch and best.bandwidth_rms is not None:
        yield f"no beta: {share:.2g} gamma a byte are more than its whole time, so reductions run beside messages"
    elif share and one.gamma is not None:
        yield f"beta is what {share:.2g} gamma for each byte leave, taken to come after the byte and not beside it"
    for cliff in one.cliffs:
        yield f"{cliff.parameter} at {cliff.ranks} ranks is {cliff.ratio:.2g} times what {best.words} says"
