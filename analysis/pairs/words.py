"""What is slow among pairs, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from collmark.analysis.pairs.find import Finding, Kind, visible
from collmark.analysis.pairs.name import named
from collmark.analysis.pairs.of_runs import Judged
from collmark.core.marker import said_before
from collmark.core.numeral import counted, spans
from collmark.core.units import format_nbytes

SMALLEST_SHOWN = 1e-6  # p


def head_words(one: Judged) -> str:
    """Return which pairs were measured with what, and how they scatter."""
    sweep, placement = one.sweep, one.sweep.layout.placement
    tiers = {"inside nodes": sweep.inside, "between nodes": sweep.between}
    known = {name: tier for name, tier in tiers.items() if tier is not None}
    met, total = sum(len(tier.rest_M) for tier in known.values()), placement.ranks * (placement.ranks - 1) // 2
    scatter = ", ".join(f"{100 * tier.sigma:.1f} % {name}" for name, tier in known.items())
    return (
        f"{said_before(one.marker)}{one.backend} {one.operation} {format_nbytes(one.nbytes)}: "
        f"{'all' if met == total else f'{met:,} of'} {total:,} pairs of {counted(placement.nodes, 'node')} x "
        f"{counted(placement.ranks_per_node, 'rank')}, which scatter by {scatter}"
    )


def short_words(one: Judged) -> str:
    """Return what is slow, or that nobody is named, without how sure that is."""
    return f"{said_before(one.marker)}{one.backend} {one.operation} {format_nbytes(one.nbytes)}: {what_words(one)}"


def what_words(one: Judged) -> str:
    """Return the same without what was measured."""
    return "; ".join(words.partition(" (again")[0] for words in finding_words(one))


def finding_words(one: Judged) -> Iterator[str]:
    """Yield what is slow, or why nobody is named."""
    yield from (slow_words(finding, one) for finding in one.findings)
    if one.findings:
        return
    suspects = counted(len(one.sweep.suspects), "suspect")
    if one.sweep.suspects and not one.repeats:
        yield f"{suspects}, not measured again yet: nobody is named"
    else:
        again = f"{suspects} measured again in {counted(one.repeats, 'launch')}" if one.repeats else suspects
        tier = one.sweep.between or one.sweep.inside
        assert tier is not None, "pairs were measured"
        pair, rank = (visible(tier, one.sweep.effect, pairs) for pairs in (1, max(1, int(np.median(tier.met_R)))))
        yield (
            f"nothing is named ({again}); nine times in ten a pair would be suspected from {_about(pair)} % on, a rank "
            f"from {_about(rank)} %"
        )


def slow_words(finding: Finding, one: Judged) -> str:
    """Return what is slow, by how much, how often that came again, and how sure that is."""
    ends = finding.interval
    interval = "" if ends is None else f" [{_percent(ends.lower)}, {_percent(ends.upper)}]"
    level = "" if ends is None else f"; 95 % over {counted(ends.count, 'launch')}"
    chance = f"p = {finding.chance:.1g}" if finding.chance >= SMALLEST_SHOWN else f"p < {SMALLEST_SHOWN:.0e}"
    where = "between nodes" if finding.suspect.is_between else "inside its node"
    return (
        f"{name_of(finding, one)} takes {_percent(finding.excess)}{interval} % longer than usual {where} (again in "
        f"{finding.again} of {finding.launches} launches, {chance}{level})"
    )


def _about(log: float) -> str:
    return f"{100 * math.expm1(log):.2g}" if math.expm1(log) < 1 else f"{100 * math.expm1(log):.0f}"


def _percent(log: float) -> str:
    return f"{100 * math.expm1(log):.1f}"


def name_of(finding: Finding, one: Judged) -> str:
    """Return what a finding is about, with its ranks and hosts."""
    kind, ranks = named(finding, one.sweep.layout).kind, finding.suspect.ranks
    hosts = ", ".join(dict.fromkeys(filter(None, (one.hosts.get(rank, "") for rank in ranks))))
    where = f" ({hosts})" if hosts else ""
    if kind is Kind.PAIR:
        return f"pair {ranks[0]}-{ranks[1]}{where}"
    if kind is Kind.LINK:
        half = len(ranks) // 2
        return f"link of ranks {spans(ranks[:half])} and {spans(ranks[half:])}{where}"
    words = {Kind.NODE: "node of ", Kind.NIC: "NIC of ", Kind.RANK: ""}[kind]
    return f"{words}{'rank' if len(ranks) == 1 else 'ranks'} {spans(ranks)}{where}"


def sure_words(found: Sequence[Judged]) -> str:
    """Return how sure it is that somebody is slow, or that nobody is."""
    repeats, effect = max(one.repeats for one in found), math.expm1(found[0].sweep.effect)
    if not repeats:
        return "One launch: it makes suspects, and nobody is named before they are measured again."
    return (
        f"Named is what is slow again in new launches ({repeats} here) more often than chance explains (0.5 % over all "
        f"suspects of a tier), by {100 * effect:.3g} % of T or more; what is not named was not ruled out below that."
    )


def next_words(found: Sequence[Judged]) -> str:
    """Return what to do."""
    if any(one.sweep.suspects and not one.repeats for one in found):
        return "Measure the suspects again: collmark pairs RUN --write-plan again.json."
    slow = [(one, finding) for one in found for finding in one.findings]
    if not slow:
        return "Nothing: no rank, node or link stands out."
    one, finding = slow[0]
    return f"Look at {name_of(finding, one)} first: take it out, and measure again."
