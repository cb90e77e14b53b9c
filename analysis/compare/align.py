"""Cases of two sides, one beside the other: what is alike is compared, and what is not says why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import numpy as np
import pandas as pd

from collmark.analysis.columns import SERIES
from collmark.analysis.compare.side import LONGEST, NO_PART_OF_KEY, Times
from collmark.analysis.models.fit import Fit, fit_frame
from collmark.analysis.points import measured
from collmark.core.units import format_nbytes

EVIDENCE = ("tier", "fabric")
"""What a change may change: said beside the ratio, and no reason not to compare."""
APART = ("run", "label", *EVIDENCE, "estimand")
SAME = [name for name in SERIES if name not in APART]


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """A case that both sides measured.

    Attributes
    ----------
    a, b : Times
        Of the two sides, of one estimand.
    differs : str
        What of the evidence differs, in words.
    """

    a: Times
    b: Times
    differs: str = ""


class Unmatched(msgspec.Struct, frozen=True, kw_only=True):
    """A case that is not compared.

    Attributes
    ----------
    facts : dict
        The columns of its series and size.
    where : str
        A, B or both: which side has it.
    reason : str
        Why it is not compared.
    breaks : bool
        Whether A has a right result and B a wrong one.
    lost : bool
        Whether A has a time, and nothing of B to compare it with.
    """

    facts: dict[str, object]
    where: str
    reason: str
    breaks: bool = False
    lost: bool = False


def align(
    a: Mapping[str, Times], b: Mapping[str, Times], fits_of_b: Iterable[Fit] = ()
) -> tuple[list[Pair], list[Unmatched]]:
    """Return the pairs of two sides by key, and what has none.

    Parameters
    ----------
    a, b : mapping of str to Times
        Of each side, by the key of the case.
    fits_of_b : iterable of Fit
        Models by which B is read at sizes of A between those that it measured; none: only equal sizes are compared.
    """
    curves = {tuple(getattr(fit.series, name) for name in SAME): fit for fit in fits_of_b}
    pairs: list[Pair] = []
    unmatched: list[Unmatched] = []
    for key, one in a.items():
        other = b.get(key) or _read_off(one, curves)
        if other is None:
            where, reason = "A", _nearest(one, b.values())
        elif one.reason or other.reason:
            where = "both"
            reason = "; ".join(f"{name} {x.reason}" for name, x in (("A", one), ("B", other)) if x.reason)
        else:
            found = _paired(one, other)
            if isinstance(found, Pair):
                pairs.append(found)
                continue
            where, reason = "both", found
        breaks = not one.is_wrong and other is not None and other.is_wrong
        lost = not one.reason
        unmatched.append(Unmatched(facts=one.facts, where=where, reason=reason, breaks=breaks, lost=lost))
    unmatched += [
        Unmatched(facts=other.facts, where="B", reason=_nearest(other, a.values()))
        for key, other in b.items()
        if key not in a
    ]
    return pairs, unmatched


def fits_of(table: pd.DataFrame, *, include_unstable: bool = False) -> tuple[Fit, ...]:
    """Return the models of a side that has one run, to read it off at other sizes."""
    return fit_frame(measured(table), include_unstable=include_unstable).fits


def _paired(one: Times, other: Times) -> Pair | str:
    for name in NO_PART_OF_KEY:
        if one.facts[name] != other.facts[name]:
            return f"{name} {_word(one.facts[name])} against {_word(other.facts[name])}"
    if one.facts["estimand"] != other.facts["estimand"]:
        if LONGEST not in (one.facts["estimand"], other.facts["estimand"]) or not (one.longest and other.longest):
            return f"T is {one.facts['estimand']} against {other.facts['estimand']}"
        one, other = one.by_longest(), other.by_longest()
    differs = [
        f"{name} {_word(one.facts[name])} -> {_word(other.facts[name])}"
        for name in EVIDENCE
        if one.facts[name] != other.facts[name]
    ]
    return Pair(a=one, b=other, differs=", ".join(differs))


def _word(value: object) -> str:
    return "-" if value in ("", None) else str(value)


def _read_off(one: Times, curves: Mapping[tuple[object, ...], Fit]) -> Times | None:
    fit = curves.get(tuple(one.facts[name] for name in SAME))
    nbytes = one.facts["nbytes"]
    if fit is None or not isinstance(nbytes, int) or not fit.describes or not fit.first <= nbytes <= fit.last:
        return None
    seconds_L = fit.predict_each(np.array([one.facts["bus_nbytes"]]))[:, 0]
    facts = {**one.facts, **{name: getattr(fit.series, name) for name in APART if name in SERIES}}
    return Times(facts=facts, seconds={fit.series.run: tuple(map(float, seconds_L))}, fitted=True)


def _nearest(one: Times, others: Iterable[Times]) -> str:
    """Return what hinders a case from being compared, by the case of the other side that differs in the least."""
    alike = [other for other in others if other.facts["operation"] == one.facts["operation"]]
    if not alike:
        return f"no {one.facts['operation']} there"
    columns = [*SAME, "nbytes"]

    def unlike(other: Times) -> list[str]:
        return [name for name in columns if other.facts[name] != one.facts[name]]

    nearest = min(alike, key=lambda other: ("nbytes" in unlike(other), len(unlike(other))))
    differing = unlike(nearest)
    words = [f"{name} {_word(one.facts[name])} against {_word(nearest.facts[name])}" for name in differing]
    return f"no {format_nbytes(int(str(one.facts['nbytes'])))} there" if differing == ["nbytes"] else ", ".join(words)
