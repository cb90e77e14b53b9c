"""What the doctor says as text: each finding under its level, what was not checked, what was good."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator

from collmark.cli.console import Terminal
from collmark.core.doctor.finding import Diagnosis, Level

WORDS = {Level.BLOCKING: ("FAIL", "bad"), Level.WARNING: ("WARN", "caution"), Level.HINT: ("hint", "muted")}
INDENT = "      "


def diagnosis_lines(diagnosis: Diagnosis, terminal: Terminal) -> Iterator[str]:
    """Yield each finding under its level, what was not checked, what was good, and how many of each there are."""
    width, paint = max(20, terminal.width() - len(INDENT)), terminal.painter(sys.stdout)

    def entry(word: str, style: str, text: str) -> Iterator[str]:
        first, *rest = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
        yield paint(f"{word:<{len(INDENT)}}", style) + first
        yield from (INDENT + line for line in rest)

    for finding in diagnosis.findings:
        yield from entry(*WORDS[finding.level], str(finding))
    for name, why in diagnosis.unknown.items():
        yield from entry("skip", "muted", f"{name}: {why}")
    if diagnosis.good:
        yield from entry("ok", "good", ", ".join(diagnosis.good))
    yield diagnosis.words() + ("; a run would stop here" if diagnosis.blocking else "")
