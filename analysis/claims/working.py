"""Findings of kinds S and W: figures worked out, each part judged, and every step kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from collmark.analysis.claims.arithmetic.index import ARITHMETIC
from collmark.analysis.claims.finding import Finding, Part, Verdict
from collmark.analysis.claims.predicate import Worked, figure_of, given
from collmark.analysis.claims.quantity import Quantity, natural_unit, scale_of
from collmark.analysis.claims.row import Aspect, Claim, Question
from collmark.analysis.claims.rule import decide_exactly
from collmark.analysis.claims.shape import Band
from collmark.core.errors import UsageError

OTHER_CONSTANTS = "other constants; no measurement changes arithmetic"


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    part: Part
    worked: Worked
    question: Question


def judge_arithmetic(claim: Claim, aspect: Aspect) -> Finding:
    """Return the finding of a kind that arithmetic decides: it fails where any of its parts fails.

    Raises
    ------
    UsageError
        If a row's figures have no sense together: units that differ, for one.
    """
    where = f"claim {claim.id!r}, {aspect.kind}"
    answers = [_answer(question, where) for question in aspect.questions]
    failed = [answer for answer in answers if answer.part.verdict is Verdict.FAILS]
    shown = (failed or answers)[0]
    many = len(answers) > 1
    by = shown.part.by
    if many:
        share = f"{len(failed)} of {len(answers)} parts" if failed else f"all {len(answers)} parts hold"
        by = f"{shown.part.says}: {by} ({share}{' fail' if failed else ''})"
    return Finding(
        claim=claim.id,
        sentence=claim.sentence,
        kind=aspect.kind,
        verdict=Verdict.FAILS if failed else Verdict.HOLDS,
        claimed=shown.part.claimed,
        found=shown.part.found,
        band=shown.part.band,
        by=by,
        steps=tuple(_steps(answers)),
        evidence=tuple(dict.fromkeys(source for answer in answers for source in _sources(answer.question))),
        rule="; ".join(dict.fromkeys(answer.part.rule for answer in answers)),
        would_change=aspect.would_change or OTHER_CONSTANTS,
        also=tuple(figure for answer in answers for figure in answer.worked.also),
        parts=tuple(answer.part for answer in answers) if many else (),
        notes=claim.notes,
    )


def _answer(question: Question, where: str) -> _Answer:
    claimed = question.claimed
    try:
        worked = ARITHMETIC[question.predicate].work(claimed, **question.parameters)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error
    if claimed is not None and claimed.unit != worked.unit:
        gives = worked.unit or "a number"
        raise UsageError(f"{where}: {question.predicate} gives {gives}, claimed {claimed.text!r} does not")
    band = question.rule.band(claimed)
    shown_in = unit_beside(worked.value, worked.unit, claimed)
    part = Part(
        says=question.says,
        verdict=decide_exactly(worked.value, band),
        claimed=question.cell,
        found=figure_of("found", worked.value, worked.unit, shown_in),
        band=band_in(band, shown_in),
        by=", ".join(filter(None, (worked.by, question.by))),
        rule=question.rule.words(),
    )
    return _Answer(part=part, worked=worked, question=question)


def unit_beside(value: float, unit: str, claimed: Quantity | None) -> str:
    """Return the unit to show a figure in: the claim's, unless the figure is less than one of it."""
    if claimed is None:
        return natural_unit(value, unit)
    small = unit and value < scale_of(claimed.shown_in)
    return natural_unit(value, unit) if small else claimed.shown_in


def band_in(band: Band, shown_in: str) -> tuple[float, float]:
    """Return the ends of a range in a unit."""
    scale = scale_of(shown_in)
    return band.lower / scale, band.upper / scale


def _steps(answers: Iterable[_Answer]) -> Iterator[str]:
    for answer in answers:
        if answer.part.says:
            yield f"{answer.part.says}:"
        for name, value in answer.question.parameters.items():
            for quantity in value if isinstance(value, list) else [value]:
                if isinstance(quantity, Quantity) and quantity.meaning:
                    yield f"{name} = {given(quantity)}"
        yield from answer.worked.steps


def _sources(question: Question) -> Iterator[str]:
    for value in question.parameters.values():
        for item in value if isinstance(value, list) else [value]:
            # A ratio shown beside is a name and two quantities.
            for part in item if isinstance(item, tuple) else [item]:
                if isinstance(part, Quantity) and part.source:
                    yield f"{part.meaning}: {part.source}"
