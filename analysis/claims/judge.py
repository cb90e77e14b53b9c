"""Judge claims: a finding for each kind of each claim, none standing in for another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from collmark.analysis.claims.finding import Finding, Kind, Verdict
from collmark.analysis.claims.measurement import Records, Tiers, judge_measured
from collmark.analysis.claims.row import Aspect, Claim
from collmark.analysis.claims.rule import Rules
from collmark.analysis.claims.working import judge_arithmetic

if TYPE_CHECKING:
    import pandas as pd

    from collmark.analysis.models.fit import Fits
    from collmark.analysis.results import Results

NEEDS_LAYOUT = "needs a layout projection"
NEEDS_WORKLOAD = "needs a workload model"


def judge(
    claims: Iterable[Claim],
    rules: Rules,
    results: Sequence[Results] = (),
    *,
    tiers: Tiers | None = None,
    include_unstable: bool = False,
    unequal_ranks: bool = False,
    fits: Fits | None = None,
    table: pd.DataFrame | None = None,
) -> list[Finding]:
    """Return the findings of some claims, in their order; of each claim S, W, M, P as far as it has them.

    Parameters
    ----------
    claims : iterable of Claim
        Rows.
    rules : Rules
        For the levels of intervals; each row has its own rule.
    results : sequence of Results
        Runs; none is needed for arithmetic.
    tiers : Tiers or None
        Tiers in place of the rows' own.
    include_unstable, unequal_ranks : bool
        Let unstable records enter, and sides of unlike numbers of ranks be compared.
    fits : Fits or None
        Of all series of the runs, where they are known; they are worked out where not.
    table : DataFrame or None
        The frame of the runs, likewise.

    Returns
    -------
    list of Finding
        Simulated and emulated records give findings of their own with a marker, behind the claim's.
    """
    records = Records(results, include_unstable=include_unstable, unequal_ranks=unequal_ranks, fits=fits, table=table)
    chosen = tiers or Tiers()
    return [
        finding
        for claim in claims
        for aspect in claim.aspects
        for finding in _of(claim, aspect, rules, records, chosen)
    ]


def _of(claim: Claim, aspect: Aspect, rules: Rules, records: Records, tiers: Tiers) -> Iterator[Finding]:
    if aspect.kind is Kind.MEASURED:
        yield from judge_measured(claim, aspect, rules, records, tiers)
    elif aspect.kind is Kind.PROJECTED:
        yield _without_data(claim, aspect, NEEDS_LAYOUT, aspect.questions[0].needs)
    elif not aspect.closed_form:
        yield _without_data(claim, aspect, NEEDS_WORKLOAD, "")
    else:
        yield judge_arithmetic(claim, aspect)


def _without_data(claim: Claim, aspect: Aspect, by: str, needs: str) -> Finding:
    question = aspect.questions[0]
    return Finding(
        claim=claim.id,
        sentence=claim.sentence,
        kind=aspect.kind,
        verdict=Verdict.NO_DATA,
        claimed=question.cell,
        by=by,
        rule=question.rule.words(),
        would_change=f"a projection: {needs}" if needs else aspect.would_change,
        notes=claim.notes,
    )
