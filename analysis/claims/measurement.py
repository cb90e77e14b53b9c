"""Findings of kind M: what records say, and plainly nothing where they say nothing."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from collmark.analysis.claims.finding import Figure, Finding, Kind, Part, Verdict
from collmark.analysis.claims.measured.command import Need, command
from collmark.analysis.claims.measured.index import MEASURED
from collmark.analysis.claims.measured.selector import Selector
from collmark.analysis.claims.row import Aspect, Claim, Question
from collmark.analysis.claims.rule import Rules
from collmark.analysis.claims.working import band_in, unit_beside

if TYPE_CHECKING:
    import pandas as pd

    from collmark.analysis.claims.measured.material import Material
    from collmark.analysis.claims.measured.reading import Reading, Sample
    from collmark.analysis.models.fit import Fits
    from collmark.analysis.results import Results

NO_RECORDS = "no records of"
UNDECIDED = "no number of launches up to 1000"


class Tiers(msgspec.Struct, frozen=True, kw_only=True):
    """Tiers that stand in for those of the rows.

    Attributes
    ----------
    a, b : Selector or None
        In place of tier A and B.
    named : frozenset of str
        Ids of claims that they hold for in any case. In others they only narrow: a tier is replaced by one that takes
        nothing which the row's own does not take.
    """

    a: Selector | None = None
    b: Selector | None = None
    named: frozenset[str] = frozenset()

    def of(self, claim: Claim, question: Question) -> tuple[Selector, ...]:
        """Return the tiers that a claim is judged on."""
        given = (self.a, self.b)
        if claim.id in self.named:
            return tuple(mine or own for mine, own in zip(given, question.tiers, strict=False))
        if len(question.tiers) == 1:
            (own,) = question.tiers
            return (next((mine for mine in given if mine is not None and mine.narrows(own)), own),)
        return tuple(
            mine if mine is not None and mine.narrows(own) else own
            for mine, own in zip(given, question.tiers, strict=True)
        )


class Records:
    """Records to judge by, read into curves when first needed: pandas is loaded only then.

    Parameters
    ----------
    results : sequence of Results
        Runs, each with a name of its own.
    include_unstable, unequal_ranks : bool
        Let unstable records enter, and sides of unlike numbers of ranks be compared.
    fits : Fits or None
        Of all their series, where they are known.
    table : DataFrame or None
        Their frame, where there is one already.
    """

    def __init__(
        self,
        results: Sequence[Results],
        *,
        include_unstable: bool = False,
        unequal_ranks: bool = False,
        fits: Fits | None = None,
        table: pd.DataFrame | None = None,
    ) -> None:
        self._results = results
        self._include_unstable = include_unstable
        self._unequal_ranks = unequal_ranks
        self._fits = fits
        self._table = table

    def __bool__(self) -> bool:
        """Whether there is any run."""
        return bool(self._results)

    @cached_property
    def materials(self) -> dict[str, Material]:
        """What was measured as "", and what decides no claim by its marker."""
        from collmark.analysis.claims.measured.material import gather

        return gather(
            self._results,
            include_unstable=self._include_unstable,
            unequal_ranks=self._unequal_ranks,
            fits=self._fits,
            table=self._table,
        )


def commands_for(claims: Iterable[Claim], tiers: Tiers) -> tuple[str, ...]:
    """Return the commands that would decide kind M of some claims, those of one tier and size put together."""
    needs: dict[tuple[str, int, str, bool], tuple[Selector, list[str]]] = {}
    for claim in claims:
        for question in (one for aspect in claim.aspects if aspect.kind is Kind.MEASURED for one in aspect.questions):
            need = MEASURED[question.predicate].need(question.parameters)
            for tier in tiers.of(claim, question):
                key = (tier.text, need.ranks, need.sizes, need.pairs)
                needs.setdefault(key, (tier, []))[1].extend(need.operations)
    plans = Counter(text for text, *_rest in needs)
    return tuple(
        command(
            Need(operations=tuple(dict.fromkeys(names)), ranks=ranks, sizes=sizes, pairs=pairs),
            tier,
            "" if plans[text] == 1 else f"{ranks}-{names[0].replace('_', '-')}",
        ).line
        for (text, ranks, sizes, pairs), (tier, names) in needs.items()
    )


def judge_measured(claim: Claim, aspect: Aspect, rules: Rules, records: Records, tiers: Tiers) -> Iterator[Finding]:
    """Yield the finding of a kind that records decide, and marked ones of records that decide no claim."""
    question = aspect.questions[0]
    chosen = tiers.of(claim, question)
    judge = _Judge(claim=claim, question=question, rules=rules, tiers=chosen)
    if not records:
        yield judge.nothing(f"{NO_RECORDS} {', '.join(dict.fromkeys(tier.text for tier in chosen))}")
        return
    own, *others = (
        msgspec.structs.replace(judge.finding(material), marker=marker.lower())
        for marker, material in records.materials.items()
    )
    marked = [finding for finding in others if finding.verdict is not Verdict.NO_DATA]
    if marked and own.verdict is Verdict.NO_DATA:
        words = " and ".join(finding.marker for finding in marked)
        own = msgspec.structs.replace(own, by=f"{own.by}; {words} ones decide nothing")
    yield own
    yield from marked


class _Judge(msgspec.Struct, frozen=True, kw_only=True):
    claim: Claim
    question: Question
    rules: Rules
    tiers: tuple[Selector, ...]

    @property
    def rule_words(self) -> str:
        return f"{self.question.rule.words()}; {self.rules.levels.words()}"

    @property
    def notes(self) -> tuple[str, ...]:
        own = self.question.tiers
        if self.tiers == own:
            return self.claim.notes
        there, instead = (", ".join(tier.text for tier in tiers) for tiers in (own, self.tiers))
        return (f"judged on {instead} as asked for, where the claim speaks of {there}", *self.claim.notes)

    @property
    def need(self) -> Need:
        return MEASURED[self.question.predicate].need(self.question.parameters)

    @property
    def command(self) -> str:
        need = self.need
        lines = dict.fromkeys(command(need, tier, self.claim.id) for tier in self.tiers)
        runs = dict.fromkeys(run for one in lines for run in one.runs)
        file = f" --file {shlex.quote(self.claim.file)}" if self.claim.file else ""
        return " && ".join([*(one.line for one in lines), f"collmark claims{file} {self.claim.id} {' '.join(runs)}"])

    @property
    def _operations(self) -> str:
        """What decides; the family of a ratio stands beside it."""
        own = self.question.parameters
        return str(own["operation"]) if own.get("family") else " and ".join(self.need.operations)

    @property
    def _places(self) -> str:
        places = list(dict.fromkeys(tier.text for tier in self.tiers))
        return " and ".join(places) + (" that are alike in all else" if len(places) > 1 else "")

    def nothing(self, reason: str) -> Finding:
        labels = [tier.label for tier in self.tiers if tier.label]
        names = ", ".join(dict.fromkeys(tier.text for tier in self.tiers))
        label = f", labelled {', '.join(labels)} (placement, run or folder)" if labels else ""
        return Finding(
            claim=self.claim.id,
            sentence=self.claim.sentence,
            kind=Kind.MEASURED,
            verdict=Verdict.NO_DATA,
            claimed=self.question.cell,
            by=reason,
            problem="" if reason.startswith(f"{NO_RECORDS} {names}") else reason,
            rule=self.rule_words,
            would_change=f"records of {self._operations} over {self._places}{label}, measured or imported",
            command=self.command,
            notes=self.notes,
        )

    def finding(self, material: Material) -> Finding:
        from collmark.analysis.claims.measured.reading import Absent

        question = self.question
        found = MEASURED[question.predicate].read(material, self.tiers, **question.parameters)
        if isinstance(found, Absent):
            return self.nothing(found.reason)
        answers = [(sample, [self._part(reading) for reading in sample.readings]) for sample in found]
        verdicts = [_of_parts([part.verdict for part in parts]) for _sample, parts in answers]
        verdict = verdicts[0] if len(set(verdicts)) == 1 else Verdict.INCONCLUSIVE
        sample, parts = answers[0]
        shown = next((part for part in parts if part.verdict is verdicts[0]), parts[0])
        others = answers[1:]
        split = "; ".join(f"{word}: {one.condition}" for word, (one, _parts) in zip(verdicts, answers, strict=True))
        return Finding(
            claim=self.claim.id,
            sentence=self.claim.sentence,
            kind=Kind.MEASURED,
            verdict=verdict,
            claimed=question.cell,
            found=shown.found,
            band=shown.band,
            by=shown.by if verdict is verdicts[0] else f"conditions differ: {split}",
            steps=tuple(self._steps(found)),
            evidence=tuple(dict.fromkeys(line for one in found for line in one.evidence)),
            rule=self.rule_words,
            would_change=self._would_change(verdict, sample, parts),
            problem=shown.problem if verdict is verdicts[0] else f"conditions differ: {split}",
            also=(*sample.also, *_of_others(others)),
            missing=sample.missing,
            parts=tuple(parts) if len(parts) > 1 else (),
            notes=tuple(dict.fromkeys((*self._checked(found), *self._unusable(material), *sample.notes, *self.notes))),
            imported=any(one.imported for one in found),
        )

    def _unusable(self, material: Material) -> Iterator[str]:
        """Yield the curves of the claim's tiers and operation of which no record may enter."""
        for curve in material.curves:
            s = curve.series
            is_asked = s.operation == self.question.parameters.get("operation")
            if is_asked and not curve.times and any(tier.takes(s.tier, s.fabric, curve.labels) for tier in self.tiers):
                yield f"not used, {curve.words}"

    def _checked(self, samples: Sequence[Sample]) -> Iterator[str]:
        """Yield where Fieller's interval would give another verdict than Welch's, which decides."""
        from collmark.analysis.fieller import NOT_BOUNDED

        band = self.question.rule.band(self.question.claimed)
        for reading in (reading for sample in samples for reading in sample.readings):
            if reading.problem or reading.mean is None or reading.check is None:
                continue
            verdict, other = (self.rules.decide(one, band) for one in (reading.mean, reading.check))
            if verdict is not other:
                is_bounded = reading.check.interval(self.rules.levels.thresholds["outside"]) is not None
                why = "" if is_bounded else f" ({NOT_BOUNDED})"
                yield f"by Fieller's interval it would be {other}{why}: few launches, far apart"

    def _part(self, reading: Reading) -> Part:
        """Return one reading, judged."""
        from collmark.analysis.claims.measured.reading import figure

        claimed, rule = self.question.claimed, self.question.rule
        band = rule.band(claimed)
        verdict = Verdict.INCONCLUSIVE
        reason = reading.problem
        if not reason and reading.mean is not None:
            verdict = self.rules.decide(reading.mean, band)
            if verdict is Verdict.HOLDS and reading.can_only_fail:
                verdict, reason = Verdict.INCONCLUSIVE, reading.can_only_fail
        level = self.rules.levels.thresholds["inside" if verdict is Verdict.HOLDS else "outside"]
        estimate = reading.estimate(level)
        value = estimate.value if estimate is not None else reading.value
        shown_in = None if value is None else unit_beside(value, reading.unit, claimed)
        return Part(
            says=reading.says,
            verdict=verdict,
            claimed=self.question.cell,
            found=figure(reading.says, reading, shown_in, level),
            band=None if shown_in is None else band_in(band, shown_in),
            by=f"{reason} ({reading.by})" if reason else reading.by,
            rule=rule.words(),
            problem=reason,
        )

    def _steps(self, samples: Sequence[Sample]) -> Iterator[str]:
        for sample in samples:
            if len(samples) > 1:
                yield f"{sample.condition}:"
            for reading in sample.readings:
                yield from reading.steps

    def _would_change(self, verdict: Verdict, sample: Sample, parts: Sequence[Part]) -> str:
        if verdict is not Verdict.INCONCLUSIVE:
            part = next((part for part in parts if part.verdict is verdict), parts[0])
            side = "outside" if verdict is Verdict.HOLDS else "inside"
            unit = "" if part.found is None else part.found.unit
            return f"an interval {side} {_band_words(part.band, unit)}".rstrip()
        open_ones = [r for r, part in zip(sample.readings, parts, strict=True) if part.verdict is verdict]
        if not open_ones:
            return "one condition alone: name the runs, or label the placements"
        return "; ".join(dict.fromkeys(self._would_decide(reading) for reading in open_ones))

    def _would_decide(self, reading: Reading) -> str:
        from collmark.analysis.claims.measured.reading import ONE_LAUNCH
        from collmark.analysis.ratio import launches_to_decide

        if reading.problem == ONE_LAUNCH:
            return "more launches"
        if reading.problem or reading.mean is None:
            return f"records without this: {reading.problem}"
        if reading.can_only_fail:
            return "records of all pairs"
        band = self.question.rule.band(self.question.claimed)
        count = launches_to_decide(reading.mean, lambda mean: self.rules.decide(mean, band) is not Verdict.INCONCLUSIVE)
        return f"{UNDECIDED} would decide" if count is None else f"{count} launches on each side, if they scatter alike"


def _of_parts(verdicts: Sequence[Verdict]) -> Verdict:
    if Verdict.FAILS in verdicts:
        return Verdict.FAILS
    return Verdict.HOLDS if set(verdicts) == {Verdict.HOLDS} else Verdict.INCONCLUSIVE


def _of_others(answers: Sequence[tuple[Sample, list[Part]]]) -> Iterator[Figure]:
    for sample, parts in answers:
        for part in parts:
            if part.found is not None:
                yield msgspec.structs.replace(part.found, name=f"{part.verdict}: {part.says}, {sample.condition}")


def _band_words(band: tuple[float, float] | None, unit: str) -> str:
    """Return a range that may have one end only."""
    if band is None:
        return ""
    low, high = band
    if math.isinf(high):
        return f"all above {low:.3g} {unit}".rstrip()
    if math.isinf(low):
        return f"all below {high:.3g} {unit}".rstrip()
    return f"{low:.3g} to {high:.3g} {unit}".rstrip()
