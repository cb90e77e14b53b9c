"""The table of checks, and the judgement: facts in, findings out."""

from __future__ import annotations

from collections.abc import Mapping

from collmark.core.doctor.alike import ALIKE
from collmark.core.doctor.check import Check, NotTold
from collmark.core.doctor.facts import Facts
from collmark.core.doctor.finding import Diagnosis, Finding, Level
from collmark.core.doctor.gpus import GPUS
from collmark.core.doctor.launch import LAUNCH
from collmark.core.doctor.limits import LIMITS
from collmark.core.doctor.network import NETWORK
from collmark.core.doctor.processor import PROCESSOR
from collmark.core.errors import one_line

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
        own = []
        for seen in check.rule(facts):
            if isinstance(seen, NotTold):
                unknown[name] = seen.why
                continue
            own.append(
                Finding(
                    check=name,
                    level=seen.level,
                    where=one_line(seen.where),
                    found=one_line(seen.found),
                    breaks=seen.breaks or check.breaks,
                    mend=seen.mend or check.mend,
                )
            )
        findings += own
        if not own and name not in unknown:
            good.append(name)
    findings.sort(key=lambda finding: list(Level).index(finding.level))
    return Diagnosis(findings=findings, good=good, unknown=unknown)
