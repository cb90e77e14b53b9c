"""Arithmetic on published link rates, and on counts of GPUs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from collmark.analysis.claims.predicate import Worked, figure_of
from collmark.analysis.claims.quantity import Quantity, number, shown
from collmark.core.errors import UsageError


def figure(_claimed: Quantity | None, *, of: Quantity) -> Worked:
    """Take a published figure as it is."""
    if of.shown_in.endswith("b/s"):
        rate = shown(of.value, of.unit)
        return Worked(
            value=of.value,
            unit=of.unit,
            steps=(f"{of.text} / 8 bits per byte = {rate}",),
            by=f"{of.text} / 8",
        )
    return Worked(value=of.value, unit=of.unit, steps=(f"it is {of.text}",), by=of.meaning or of.text)


def ratio(
    _claimed: Quantity | None,
    *,
    over: Quantity,
    under: Quantity,
    beside: Sequence[tuple[str, Quantity, Quantity]] = (),
) -> Worked:
    """Divide one figure by another of the same unit.

    Parameters
    ----------
    over, under : Quantity
        The figures.
    beside : sequence of (str, Quantity, Quantity)
        Other ratios to show: name, over, under.
    """
    for one, other in ((over, under), *((a, b) for _name, a, b in beside)):
        if one.unit != other.unit:
            raise UsageError(f"{one.text} and {other.text} have no ratio: their units differ")
    value = over.value / under.value
    text = f"{_si(over)} / {_si(under)}"
    return Worked(
        value=value,
        steps=(f"{text} = {number(value)}",),
        by=text,
        also=tuple(figure_of(f"{name} ({_si(a)} / {_si(b)})", a.value / b.value) for name, a, b in beside),
    )


def _si(quantity: Quantity) -> str:
    """Return a quantity in bytes per second where it was written in bits, so that units cancel before one's eyes."""
    return shown(quantity.value, quantity.unit) if quantity.shown_in.endswith("b/s") else quantity.text


def link_total(_claimed: Quantity | None, *, links: Quantity, rate: Quantity, directions: Quantity) -> Worked:
    """Add up the links of one GPU: links x rate of one direction x directions.

    Parameters
    ----------
    links, directions : Quantity
        Counts.
    rate : Quantity
        Of one link in one direction, B/s.
    """
    value = links.value * rate.value * directions.value
    one_way = links.value * rate.value
    return Worked(
        value=value,
        unit=rate.unit,
        steps=(
            f"{links.text} links x {rate.text} x {directions.text} directions = {shown(value, rate.unit)}",
            f"one way: {links.text} links x {rate.text} = {shown(one_way, rate.unit)}",
        ),
        by=f"{links.text} x {rate.text} x {directions.text}",
        also=(figure_of("one way", one_way, rate.unit),),
    )


def island(_claimed: Quantity | None, *, gpus: Quantity, server: Quantity, heads: Sequence[Quantity]) -> Worked:
    """Compare two NVLink domains by their GPUs, and by the widest tensor parallelism that each allows.

    Parameters
    ----------
    gpus, server : Quantity
        GPUs of the larger and of the smaller domain.
    heads : sequence of Quantity
        Attention heads of models. Tensor parallelism gives every GPU whole heads, so that its degree divides them
        (Shoeybi et al. 2019, arXiv 1909.08053, section 3).
    """
    value = gpus.value / server.value
    widest = {h: max(d for d in range(1, gpus.whole + 1) if h.whole % d == 0) for h in heads}
    steps = [f"{gpus.text} GPUs / {server.text} GPUs = {number(value)}"]
    for head, degree in widest.items():
        fits = "divides" if head.whole % gpus.whole == 0 else "does not divide"
        steps.append(
            f"{gpus.text} {fits} {head.text} heads; the widest degree that does is {degree}: "
            f"{number(degree / server.value)} x {server.text} GPUs"
        )
    return Worked(
        value=value,
        steps=tuple(steps),
        by=f"{gpus.text} / {server.text} GPUs",
        also=tuple(
            figure_of(f"widest degree over a server, {h.text} heads", d / server.value) for h, d in widest.items()
        ),
    )


def product(_claimed: Quantity | None, *, factors: Sequence[Quantity]) -> Worked:
    """Multiply figures, of which one may have a unit."""
    units = [factor.unit for factor in factors if factor.unit]
    if len(units) > 1:
        raise UsageError(f"a product of {' and '.join(units)} has no unit that is known here")
    value = math.prod(factor.value for factor in factors)
    unit = units[0] if units else ""
    text = " x ".join(f.text for f in factors)
    return Worked(value=value, unit=unit, steps=(f"{text} = {shown(value, unit)}",), by=text)


def total(_claimed: Quantity | None, *, terms: Sequence[Quantity]) -> Worked:
    """Add figures of one unit."""
    unit = terms[0].unit
    if any(term.unit != unit for term in terms):
        raise UsageError(f"{' and '.join(term.text for term in terms)} have no sum: their units differ")
    value = sum(term.value for term in terms)
    text = " + ".join(term.text for term in terms)
    return Worked(value=value, unit=unit, steps=(f"{text} = {shown(value, unit)}",), by=text)
