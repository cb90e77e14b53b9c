"""What is slow among pairs, as text and for machines."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from typing import Any

from collmark.analysis.pairs.name import named
from collmark.analysis.pairs.of_runs import Judged
from collmark.analysis.pairs.words import finding_words, head_words
from collmark.cli.console import Terminal
from collmark.workflow.pairs import Pairs


def print_pairs(terminal: Terminal, found: Pairs, runs: Sequence[str]) -> None:
    """Show what is slow for each operation and size, and what to do next."""
    for one in found.judged:
        terminal.out_folded(head_words(one))
        for words in finding_words(one):
            terminal.out_folded(f"  {words}")
    if any(one.sweep.suspects and not one.repeats for one in found.judged):
        names = " ".join(shlex.quote(name) for name in runs)
        terminal.say_whole(f"next: collmark pairs {names} --write-plan again.json")


def summary_of(one: Judged) -> dict[str, Any]:
    """Return what was found, for machines: SI units, and excesses as factors on T."""
    return {
        "backend": one.backend,
        "operation": one.operation,
        "nbytes": one.nbytes,
        "marker": one.marker,
        "nodes": one.sweep.layout.placement.nodes,
        "ranks_per_node": one.sweep.layout.placement.ranks_per_node,
        "suspects": len(one.sweep.suspects),
        "repeats": one.repeats,
        "findings": [
            {
                "kind": str(named(finding, one.sweep.layout).kind),
                "ranks": list(finding.suspect.ranks),
                "between_nodes": finding.suspect.is_between,
                "factor": finding.factor,
                "lower": None if finding.interval is None else math.exp(finding.interval.lower),
                "upper": None if finding.interval is None else math.exp(finding.interval.upper),
                "launches": finding.launches,
                "again": finding.again,
                "p": finding.chance,
            }
            for finding in one.findings
        ],
    }
