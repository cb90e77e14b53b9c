"""A gate: whether a change may pass, by the intervals of its ratios."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from collmark.analysis.compare.align import Unmatched
from collmark.analysis.compare.verdict import Comparison
from collmark.core.errors import UsageError, excerpt
from collmark.core.numeral import counted

PERCENT = re.compile(r"(?P<percent>\d+(\.\d+)?)\s*%")
GATE = re.compile(r"slower-than=(?P<percent>\d+(\.\d+)?)\s*%")


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """What may not happen.

    Attributes
    ----------
    effect : float
        By how much B may be slower, as 0.05.
    strict : bool
        Whether it must be shown to be no slower than that; else it must not be shown to be slower.
    """

    effect: float
    strict: bool = False


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """How a gate was passed, or was not.

    Attributes
    ----------
    passed : bool
        Whether it was.
    failing : tuple of Comparison
        What failed it, the worst first.
    reason : str
        Why it failed where no ratio did.
    """

    passed: bool
    failing: tuple[Comparison, ...] = ()
    reason: str = ""


def read_effect(text: str) -> float:
    """Read the smallest effect of interest, as ``5%``.

    Raises
    ------
    UsageError
        If it is no percentage in 0.1 to 100.
    """
    found = PERCENT.fullmatch(text.strip())
    if found is None or not 0.1 <= float(found["percent"]) <= 100:
        raise UsageError(f"--effect {excerpt(text)}: must be a percentage from 0.1% to 100%, as 5%")
    return float(found["percent"]) / 100


def read_gate(text: str, *, strict: bool) -> Gate:
    """Read ``slower-than=5%``.

    Raises
    ------
    UsageError
        If it is nothing of the kind.
    """
    found = GATE.fullmatch(text.strip())
    if found is None or not 0 < float(found["percent"]) <= 1000:
        raise UsageError(f"--gate {excerpt(text)}: must be slower-than=PERCENT, as slower-than=5%")
    return Gate(effect=float(found["percent"]) / 100, strict=strict)


def pass_gate(gate: Gate, comparisons: Sequence[Comparison], unmatched: Sequence[Unmatched]) -> Result:
    """Return whether B may pass: an improvement never fails, and a comparison that matched nothing never passes.

    Parameters
    ----------
    gate : Gate
        Fails where an interval lies wholly beyond its effect; a strict one, unless every interval lies wholly inside.
    comparisons : sequence of Comparison
        Of B with A.
    unmatched : sequence of Unmatched
        What is not compared: a result that was right in A and is wrong in B fails any gate, and a time of A that
        nothing of B can be compared with a strict one: no interval of it lies inside.
    """
    broken = sum(one.breaks for one in unmatched)
    if broken:
        return Result(passed=False, reason=f"{broken} of the cases of A give wrong results in B")
    if not any(one.estimate for one in comparisons):
        why = "no case has an interval: each side needs two launches" if comparisons else "no case of A was found in B"
        return Result(passed=False, reason=why)
    failing = [one for one in comparisons if _fails(gate, one)]
    lost = sum(one.lost for one in unmatched)
    if gate.strict and lost and not failing:
        return Result(passed=False, reason=f"{counted(lost, 'case')} of A cannot be compared (--list-unmatched)")
    worst = sorted(failing, key=lambda one: _end(gate, one), reverse=True)
    return Result(passed=not failing, failing=tuple(worst))


def _fails(gate: Gate, one: Comparison) -> bool:
    return gate.strict if one.estimate is None else _end(gate, one) > 1 + gate.effect


def _end(gate: Gate, one: Comparison) -> float:
    """Return the end of the interval that decides; the value where there is no interval."""
    if one.estimate is None:
        return one.value
    return one.estimate.upper if gate.strict else one.estimate.lower
