"""The table of checks, and the judgement: facts in, findings out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from collmark.core.doctor.alike import ALIKE
from collmark.core.doctor.check import Check, NotTold, Seen, place
from collmark.core.doctor.facts import Facts
from collmark.core.doctor.finding import Diagnosis, Finding, Level
from collmark.core.doctor.gpus import GPUS
from collmark.core.doctor.launch import LAUNCH
from collmark.core.doctor.limits import LIMITS
from collmark.core.doctor.network import NETWORK
from collmark.core.doctor.processor import PROCESSOR
from collmark.core.errors import one_line

MOST_FINDINGS = 8
"""Of one check: thousands of hosts can each be wrong in a way of its own."""
CHECKS: dict[str, Check] = {**LAUNCH, **ALIKE, **NETWORK, **GPUS, **PROCESSOR, **LIMITS}
"""By the name that a finding has, in the order in which findings of one level are shown."""


def diagnose(facts: Facts, checks: Mapping[str, Check] = CHECKS) -> Diagnosis:
    """Return what is wrong, worst first, and what was good or could not be looked at.

    Parameters
    ----------
    facts : Facts
        What is known.
    checks : mapping of str to Check
        What to look at.
    """
    findings: list[Finding] = []
    good: list[str] = []
    unknown: dict[str, str] = {}
    for name, check in checks.items():
        if not check.applies(facts):
            continue
        alike: dict[tuple[str, ...], list[Seen]] = {}
        for seen in check.rule(facts):
            if isinstance(seen, NotTold):
                unknown[name] = seen.why
            else:
                alike.setdefault((seen.level, seen.found, seen.breaks, seen.mend), []).append(seen)
        findings += _findings(name, check, list(alike.values()))
        if not alike and name not in unknown:
            good.append(name)
    findings.sort(key=lambda finding: list(Level).index(finding.level))
    return Diagnosis(findings=findings, good=good, unknown=unknown)


def _findings(name: str, check: Check, groups: list[list[Seen]]) -> Iterator[Finding]:
    """Yield one finding for all places where the same was seen; the last says how many more there would be."""
    groups.sort(key=lambda group: list(Level).index(group[0].level))
    more = len(groups) - MOST_FINDINGS
    for position, group in enumerate(groups[:MOST_FINDINGS], start=1):
        seen = group[0]
        others = f" (and {more} more like it)" if more > 0 and position == MOST_FINDINGS else ""
        yield Finding(
            check=name,
            level=seen.level,
            where=one_line(place(group)),
            found=one_line(seen.found) + others,
            breaks=seen.breaks or check.breaks,
            mend=seen.mend or check.mend,
        )
