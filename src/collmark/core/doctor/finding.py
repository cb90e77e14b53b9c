"""What the doctor says: findings, each with what it breaks and how to mend it, and what was good or not told."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Annotated

import msgspec

from collmark.core.numeral import counted
from collmark.core.stored import meaning


class Level(StrEnum):
    """How bad a finding is."""

    BLOCKING = "blocking"
    """The launch would fail, hang, or measure something else than it says: nothing is timed."""
    WARNING = "warning"
    """Figures are not those of the machine as it could be."""
    HINT = "hint"
    """Worth knowing where a figure looks odd."""


class Finding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that is wrong."""

    check: Annotated[str, meaning("check that found it, as in docs/doctor.md")]
    level: Annotated[Level, meaning("how bad it is: blocking, warning, hint")]
    where: Annotated[str, meaning("hosts or ranks; empty where it is the launch as a whole")]
    found: Annotated[str, meaning("what was seen")]
    breaks: Annotated[str, meaning("what it breaks")]
    mend: Annotated[str, meaning("how to mend it")]

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        return f"{self.check}: {where}{self.found}: {self.breaks} -> {self.mend}"


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was checked before anything was timed, and what was found."""

    findings: Annotated[list[Finding], meaning("what is wrong, worst first")]
    good: Annotated[list[str], meaning("checks that found nothing")]
    unknown: Annotated[dict[str, str], meaning("checks that could not be made, and why")]

    @property
    def blocking(self) -> list[Finding]:
        """Findings with which nothing may be timed."""
        return [finding for finding in self.findings if finding.level is Level.BLOCKING]

    @property
    def notable(self) -> list[Finding]:
        """Findings that are more than hints."""
        return [finding for finding in self.findings if finding.level is not Level.HINT]

    def words(self) -> str:
        """Return how many of each there are."""
        counts = Counter(finding.level for finding in self.findings)
        parts = [
            *(counted(counts[level], noun) for level, noun in NOUNS.items() if counts[level]),
            *([f"{len(self.unknown)} not checked"] if self.unknown else []),
            f"{len(self.good)} good",
        ]
        return ", ".join(parts)


NOUNS = {Level.BLOCKING: "failure", Level.WARNING: "warning", Level.HINT: "hint"}
