"""Runs and rows to findings: what to judge, on what, and whether a gate lets it pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from collmark.analysis.claims.finding import Finding, Kind, Verdict
from collmark.analysis.claims.judge import judge
from collmark.analysis.claims.measured.selector import read_selector
from collmark.analysis.claims.measurement import Tiers, commands_for
from collmark.analysis.claims.row import Claim, Question
from collmark.analysis.claims.rule import INTERVAL, Rule
from collmark.analysis.claims.si import in_si_units
from collmark.analysis.claims.table import OutOfScope, Table, load_table
from collmark.core.errors import UsageError, excerpt, nearest
from collmark.core.store import LATEST
from collmark.workflow.places import find_run, results_root, run_folders

if TYPE_CHECKING:
    from collmark.analysis.results import Results


RECORDED = (Kind.MEASURED, Kind.PROJECTED)
"""The kinds that records decide."""
NO_RUN = "no run named, so that no record was looked at; collmark claims latest judges by the newest run"


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for, as words.

    Attributes
    ----------
    words : sequence of str
        Ids of claims, and runs: paths, labels or ``latest``.
    runs : sequence of str
        Runs, whatever claims are called.
    files : sequence of Path
        Claims of one's own.
    settings : sequence of str
        ``RULE.THRESHOLD=VALUE``.
    tier_a, tier_b : str or None
        In place of those of the rows.
    kinds : sequence of str
        Kinds to judge, S, W, M, P; all where empty.
    output : Path or None
        Where runs lie.
    include_unstable, unequal_ranks : bool
        Let unstable records enter, and sides of unlike numbers of ranks be compared.
    """

    words: Sequence[str] = ()
    runs: Sequence[str] = ()
    files: Sequence[Path] = ()
    settings: Sequence[str] = ()
    tier_a: str | None = None
    tier_b: str | None = None
    kinds: Sequence[str] = ()
    output: Path | None = None
    include_unstable: bool = False
    unequal_ranks: bool = False


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """Findings, and what they rest on.

    Attributes
    ----------
    findings : tuple of Finding
        Simulated and emulated ones, with a marker, behind those of the claim.
    claims : tuple of Claim
        The rows judged.
    named : tuple of str
        Ids that were asked for by name; empty for all.
    runs : tuple of str
        Names of the runs whose records were looked at.
    rules : dict of str to Rule
        The rules used.
    out_of_scope : tuple of OutOfScope
        What is left alone.
    commands : tuple of str
        What would decide the rows of kind M that have no data.
    kinds : tuple of Kind
        Kinds that were asked for by name; empty for all.
    remarks, warnings : tuple of str
        What was not looked at, and what was asked for in vain.
    """

    findings: tuple[Finding, ...]
    claims: tuple[Claim, ...]
    named: tuple[str, ...]
    kinds: tuple[Kind, ...] = ()
    runs: tuple[str, ...]
    rules: dict[str, Rule]
    out_of_scope: tuple[OutOfScope, ...]
    commands: tuple[str, ...]
    remarks: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many findings have each verdict, marked ones apart."""
        return counts_of(self.findings)

    def of(self, claim: str) -> tuple[Finding, ...]:
        """Return the findings of one claim."""
        return tuple(finding for finding in self.findings if finding.claim == claim)


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """Whether findings pass.

    Attributes
    ----------
    passed : bool
        If not, the exit status is 1.
    words : str
        Why, in one line.
    """

    passed: bool
    words: str


def judge_claims(wanted: Wanted) -> Judgement:
    """Judge claims by arithmetic, and by the records of the runs that are named.

    Raises
    ------
    UsageError
        If a file of claims, a setting, a tier, a kind or a word makes no sense.
    """
    table = load_table(wanted.files, wanted.settings)
    kinds = _kinds(wanted.kinds)
    named, runs = _sort(wanted.words, table, wanted.output)
    claims = _with_kinds(table.of(named), kinds)
    if not claims:
        raise UsageError(f"none of {', '.join(named) or 'the claims'} has kind {', '.join(kinds)}; leave --kind away")
    tiers = Tiers(a=_tier("--tier-a", wanted.tier_a), b=_tier("--tier-b", wanted.tier_b), named=frozenset(named))
    results = _load([*runs, *wanted.runs], wanted.output)
    findings = judge(
        claims,
        table.rules,
        results,
        tiers=tiers,
        include_unstable=wanted.include_unstable,
        unequal_ranks=wanted.unequal_ranks,
    )
    without = {f.claim for f in findings if f.kind is Kind.MEASURED and f.verdict is Verdict.NO_DATA and not f.marker}
    return Judgement(
        findings=tuple(findings),
        claims=claims,
        named=named,
        kinds=kinds,
        runs=tuple(one.name for one in results),
        rules=_rules_used(claims, table),
        out_of_scope=table.out_of_scope,
        commands=commands_for([claim for claim in claims if claim.id in without], tiers),
        remarks=() if results or not _measured(claims) else (NO_RUN,),
        warnings=tuple(_vain_tiers(claims, tiers)),
    )


def counts_of(findings: Iterable[Finding]) -> dict[Verdict, int]:
    """Return how many findings have each verdict, simulated ones apart."""
    found = Counter(finding.verdict for finding in findings if not finding.marker)
    return {verdict: found[verdict] for verdict in Verdict}


def gate(judgement: Judgement) -> Gate:
    """Return whether findings pass a gate.

    Without names, arithmetic that comes with collmark is left out unless its kind was asked for: no record changes it.
    A claim that fails never passes. What is not decided (no data, inconclusive) does not pass either where its claim
    was asked for by name; without names it is counted aloud. Where nothing was decided nothing passes.
    """
    theirs = {claim.id for claim in judgement.claims if claim.file}
    is_chosen = bool(judgement.named or judgement.kinds)
    own = [
        finding
        for finding in judgement.findings
        if not finding.marker and (is_chosen or finding.kind in RECORDED or finding.claim in theirs)
    ]
    failing = [f"{f.claim} {f.kind}" for f in own if f.verdict is Verdict.FAILS]
    undecided = [f"{f.claim} {f.kind}" for f in own if f.verdict in (Verdict.NO_DATA, Verdict.INCONCLUSIVE)]
    holding = len(own) - len(failing) - len(undecided)
    if failing:
        return Gate(passed=False, words=f"FAILED, {len(failing)} fail: {', '.join(failing)}")
    if undecided and judgement.named:
        return Gate(passed=False, words=f"FAILED, asked for and not decided: {', '.join(undecided)}")
    if not holding:
        return Gate(passed=False, words="FAILED, nothing was decided")
    aside = f"; {len(undecided)} not decided, and so not checked" if undecided else ""
    return Gate(passed=True, words=f"passed, {holding} hold{aside}")


def as_object(judgement: Judgement, *, scope: bool, result: Gate | None) -> dict[str, Any]:
    """Return a judgement for machines: keys are field names, figures in SI units, an open end of a band is null."""
    found: dict[str, Any] = {
        "claims": len(judgement.claims),
        "verdicts": {str(verdict): count for verdict, count in judgement.counts.items()},
        "runs": list(judgement.runs),
        "findings": [in_si_units(finding) for finding in judgement.findings],
        "rules": {name: msgspec.to_builtins(rule) for name, rule in judgement.rules.items()},
        "commands": list(judgement.commands),
        "remarks": [*judgement.remarks, *judgement.warnings],
    }
    if scope:
        found["out_of_scope"] = msgspec.to_builtins(judgement.out_of_scope)
    if result is not None:
        found["gate"] = msgspec.to_builtins(result)
    return found


def _kinds(words: Sequence[str]) -> tuple[Kind, ...]:
    names = [name.strip() for word in words for name in word.split(",")]
    for name in names:
        if name not in set(Kind):
            raise UsageError(f"--kind {excerpt(name)!r}: allowed: {', '.join(Kind)}, or several as S,W")
    return tuple(Kind(name) for name in dict.fromkeys(names))


def _with_kinds(claims: Iterable[Claim], kinds: Sequence[Kind]) -> tuple[Claim, ...]:
    if not kinds:
        return tuple(claims)
    kept = (
        msgspec.structs.replace(claim, aspects=tuple(aspect for aspect in claim.aspects if aspect.kind in kinds))
        for claim in claims
    )
    return tuple(claim for claim in kept if claim.aspects)


def _tier(option: str, text: str | None) -> Any:  # noqa: ANN401 - a Selector or None
    if text is None:
        return None
    try:
        return read_selector(text)
    except UsageError as error:
        raise UsageError(f"{option} {excerpt(text)}: {error}") from error


def _sort(words: Sequence[str], table: Table, output: Path | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words that are ids of claims, and those that are runs.

    Raises
    ------
    UsageError
        If a word is neither; the nearest of both is named.
    """
    ids = table.ids()
    named = tuple(dict.fromkeys(word for word in words if word in ids))
    runs = tuple(word for word in words if word not in ids)
    for word in runs:
        try:
            find_run(word, output)
        except UsageError as error:
            root = results_root(output)
            there = list(run_folders(root)) if root.is_dir() else []
            labels = [name for folder, run in there for name in (run.label, folder.path.name) if name]
            close = nearest(word, (*ids, *([LATEST] if there else []), *labels))
            if word == LATEST or not word.strip() or close is None:
                raise UsageError(f"{excerpt(word)!r} is no claim, and as a run: {error}") from error
            raise UsageError(f"no claim and no run {excerpt(word)!r}; did you mean {close!r}?") from error
    return named, runs


def _load(runs: Sequence[str], output: Path | None) -> list[Results]:
    if not runs:
        return []
    from collmark.workflow.fit import load_runs

    return load_runs(runs, output)


def _rules_used(claims: Iterable[Claim], table: Table) -> dict[str, Rule]:
    rules = {q.rule.name: q.rule for claim in claims for aspect in claim.aspects for q in aspect.questions}
    return {**rules, INTERVAL: table.rules.levels}


def _measured(claims: Iterable[Claim]) -> list[tuple[Claim, Question]]:
    return [
        (claim, question)
        for claim in claims
        for aspect in claim.aspects
        if aspect.kind is Kind.MEASURED
        for question in aspect.questions
    ]


def _vain_tiers(claims: Sequence[Claim], tiers: Tiers) -> Iterator[str]:
    for option, tier in (("--tier-a", tiers.a), ("--tier-b", tiers.b)):
        if tier is not None and not any(tier in tiers.of(*one) for one in _measured(claims)):
            yield f"{option} {tier.text} was used for no claim: it narrows no row's own tier; name the claims it is for"
