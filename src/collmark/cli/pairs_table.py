"""What is slow among pairs, as text."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from collmark.analysis.pairs.find import Finding, Kind
from collmark.analysis.pairs.name import named
from collmark.analysis.pairs.of_runs import Judged
from collmark.cli.console import Terminal
from collmark.core.numeral import counted, spans
from collmark.core.units import format_nbytes
from collmark.workflow.pairs import Pairs


def print_pairs(terminal: Terminal, found: Pairs, runs: Sequence[str]) -> None:
    """Show what is slow for each operation and size, and what to do next."""
    for one in found.judged:
        for line in _lines(one):
            terminal.out_folded(line)
    if any(one.sweep.suspects and not one.repeats for one in found.judged):
        names = " ".join(shlex.quote(name) for name in runs)
        terminal.say_whole(f"next: collmark pairs {names} --write-plan again.json")


def _lines(one: Judged) -> Iterator[str]:
    sweep, placement = one.sweep, one.sweep.layout.placement
    tiers = [tier for tier in (sweep.inside, sweep.between) if tier is not None]
    met = sum(len(tier.rest_M) for tier in tiers)
    total = placement.ranks * (placement.ranks - 1) // 2
    some = "all" if met == total else f"{met} of"
    mark = f"{one.marker.upper()} " if one.marker else ""
    scatter = ", ".join(f"{100 * tier.sigma:.1f} %" for tier in tiers)
    yield (
        f"{mark}{one.backend} {one.operation} {format_nbytes(one.nbytes)}: {some} {total} pairs of "
        f"{placement.nodes} x {placement.ranks_per_node} ranks, which scatter by {scatter} ({_where(one)})"
    )
    for finding in one.findings:
        yield f"  {words_of(finding, one)}"
    if one.findings:
        return
    suspects = counted(len(sweep.suspects), "suspect")
    if sweep.suspects and not one.repeats:
        yield f"  {suspects}, not measured again yet: nobody is named"
    else:
        why = f"{suspects} measured again in {counted(one.repeats, 'launch')}" if one.repeats else suspects
        yield f"  nothing is slow by {100 * (2.718281828**sweep.effect - 1):.3g} % or more ({why})"


def _where(one: Judged) -> str:
    inside, between = one.sweep.inside is not None, one.sweep.between is not None
    return "inside nodes, between them" if inside and between else "inside nodes" if inside else "between nodes"


def words_of(finding: Finding, one: Judged) -> str:
    """Return what is slow, by how much, how often that came again, and how sure that is."""
    ends = finding.interval
    interval = "" if ends is None else f" [{100 * _excess(ends.lower):.1f}, {100 * _excess(ends.upper):.1f}]"
    chance = f"p = {finding.chance:.1g}" if finding.chance > 1e-6 else "p < 1e-06"
    return (
        f"{name_of(finding, one)} takes {100 * _excess(finding.excess):.1f}{interval} % longer than usual "
        f"({'between nodes' if finding.suspect.is_between else 'inside its node'}; again in {finding.again} of "
        f"{finding.launches} launches, {chance}{'; 95 % over launches' if interval else ''})"
    )


def _excess(log: float) -> float:
    return float(2.718281828459045**log - 1)


def name_of(finding: Finding, one: Judged) -> str:
    """Return what a finding is about, with its ranks and hosts."""
    what, ranks = named(finding, one.sweep.layout), finding.suspect.ranks
    hosts = ", ".join(dict.fromkeys(filter(None, (one.hosts.get(rank, "") for rank in ranks))))
    where = f" ({hosts})" if hosts else ""
    if what.kind is Kind.PAIR:
        return f"pair {ranks[0]}-{ranks[1]}{where}"
    if what.kind is Kind.LINK:
        half = len(ranks) // 2
        return f"link of ranks {spans(ranks[:half])} and {spans(ranks[half:])}{where}"
    words = {Kind.NODE: "node of", Kind.NIC: "NIC of", Kind.RANK: ""}[what.kind]
    return f"{words} {'rank' if len(ranks) == 1 else 'ranks'} {spans(ranks)}{where}".strip()


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
                "lower": None if finding.interval is None else 1 + _excess(finding.interval.lower),
                "upper": None if finding.interval is None else 1 + _excess(finding.interval.upper),
                "launches": finding.launches,
                "again": finding.again,
                "p": finding.chance,
            }
            for finding in one.findings
        ],
    }
