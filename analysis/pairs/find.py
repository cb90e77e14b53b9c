"""Who is slow: suspects from one sweep over all pairs, and which of them stay so when they are measured again.

Suspicion is cheap and errs on the side of asking; a verdict needs new measurements, in launches of their own, in which
an excess comes again more often than it does among pairs that nobody suspected.
Legend: M meetings, R ranks, L launches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

import msgspec
import numpy as np
import pandas as pd
from scipy import special, stats

from collmark.analysis.pairs.meetings import MEDIAN_ERROR, FloatArray, Layout, Meetings, Truths, Usual, usual
from collmark.core.estimate import Estimate
from collmark.core.pairing import Pair, Round, packed
from collmark.core.statistics import t_interval

SUSPICIOUS = (1.3, 3.0)
"""Standard errors above what is usual, at least and at most: between them so many that some are asked in vain."""
IN_VAIN = 30
"""Suspects by chance in a tier: to ask so many again costs little beside the sweep."""
AGAIN = 2.0
"""Standard errors above what is usual, from which on an excess has come again."""
EFFECT = 0.05
"""Smallest excess of T that is of interest."""
ONE_IN_TEN = 1.28  # standard errors below which one normal value in ten lies
CHANCE = 0.005
"""Chance that a clean run names anybody, over all suspects of a tier."""
PEERS = 8
"""Others that a suspected rank is measured with again, in each launch; pairs of a suspected link."""
CONTROLS = 2
"""Rounds of each tier, drawn at random, that are measured again beside the suspects."""
LEAST_PEERS = 3
"""Others that a rank must have met: with fewer it cannot be told from a pair."""


class Kind(StrEnum):
    """What is slow."""

    NODE = "node"
    NIC = "nic"
    RANK = "rank"
    LINK = "link"
    """All pairs between two nodes."""
    PAIR = "pair"


class Suspect(msgspec.Struct, frozen=True, kw_only=True):
    """Something that took longer than usual in the sweep.

    Attributes
    ----------
    kind : Kind
        What it is.
    ranks : tuple of int
        Its ranks; of a link those of one node, then those of the other; the two of a pair.
    is_between : bool
        Whether it was seen between nodes, or inside one.
    excess : float
        ln of T over what is usual, and over what something coarser explains.
    explained : float
        That part.
    """

    kind: Kind
    ranks: tuple[int, ...]
    is_between: bool
    excess: float
    explained: float = 0.0

    def holds(self, meetings: Meetings, nodes: Layout) -> Truths:
        """Return which meetings are its own."""
        one_M, two_M = meetings.one_M, meetings.two_M
        here_R = np.zeros(nodes.ranks, dtype=bool)
        if self.kind in (Kind.PAIR, Kind.LINK):
            half = len(self.ranks) // 2
            there_R = here_R.copy()
            here_R[list(self.ranks[:half])] = there_R[list(self.ranks[half:])] = True
            is_met: Truths = (here_R[one_M] & there_R[two_M]) | (there_R[one_M] & here_R[two_M])
            return is_met
        here_R[list(self.ranks)] = True
        is_own: Truths = here_R[one_M] ^ here_R[two_M]
        between = nodes.node_of(one_M) != nodes.node_of(two_M)
        its_own: Truths = is_own & (between == self.is_between)
        return its_own


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """All pairs, once.

    Attributes
    ----------
    layout : Layout
        Where ranks lie.
    inside, between : Usual or None
        What is usual inside nodes and between them; None where no such pair was measured.
    suspects : tuple of Suspect
        From coarse to fine: what a node explains its ranks are not suspected of.
    effect : float
        Smallest excess of interest, ln of T.
    """

    layout: Layout
    inside: Usual | None
    between: Usual | None
    suspects: tuple[Suspect, ...]
    effect: float

    def tier(self, *, is_between: bool) -> Usual:
        """Return what is usual in a tier that was measured."""
        found = self.between if is_between else self.inside
        assert found is not None, "a suspect was seen there"
        return found


def sweep(meetings: Meetings, layout: Layout, effect: float = EFFECT) -> Sweep:
    """Return what is usual, and who is suspected.

    Parameters
    ----------
    meetings : Meetings
        Of one launch.
    layout : Layout
        Where ranks lie.
    effect : float
        Smallest relative excess of T that is of interest.
    """
    is_between_M = layout.node_of(meetings.one_M) != layout.node_of(meetings.two_M)
    sides = layout.node_of(np.arange(layout.ranks)) if layout.placement.nodes == 2 else None
    inside = usual(meetings.where(~is_between_M), layout.ranks)
    between = usual(meetings.where(is_between_M), layout.ranks, sides_R=sides)
    log_effect = math.log1p(effect)
    found = [
        suspect
        for tier, is_between in ((between, True), (inside, False))
        if tier is not None
        for suspect in _suspects(tier, layout, log_effect, is_between=is_between)
    ]
    return Sweep(layout=layout, inside=inside, between=between, suspects=tuple(found), effect=log_effect)


def suspicion(tier: Usual) -> float:
    """Return the standard errors above what is usual from which on something is suspected in a tier."""
    return float(np.clip(stats.norm.isf(min(0.5, IN_VAIN / len(tier.rest_M))), *SUSPICIOUS))


def visible(tier: Usual, effect: float, pairs: int = 1) -> float:
    """Return the excess, ln of T, that nine of ten sweeps suspect in something that has so many pairs.

    It must exceed both the effect of interest and, by 1.28 standard errors, what makes a suspect. Of a single pair the
    excess of both its ranks takes a part, which moves by 1.25 sigma / K where one of K others takes longer.
    """
    if pairs > 1:
        return max(effect, (suspicion(tier) + ONE_IN_TEN) * float(tier.error(pairs)))
    met = max(1.0, float(np.median(tier.met_R)))
    spread = math.sqrt(1 + 2 * MEDIAN_ERROR**2 / met)
    return max(effect, (suspicion(tier) + 2 * MEDIAN_ERROR / met + ONE_IN_TEN * spread) * tier.sigma)


def _suspects(tier: Usual, layout: Layout, effect: float, *, is_between: bool) -> Iterator[Suspect]:
    errors = suspicion(tier)

    def bar(count: float) -> float:
        return max(errors * float(tier.error(max(count, 1.0))), effect / 2)

    explained_R = np.zeros(layout.ranks)
    many_R = np.where(tier.met_R >= LEAST_PEERS, tier.excess_R, -np.inf)
    for kind, ranks in _groups(layout) if is_between else ():
        own = many_R[ranks] - explained_R[ranks]
        excess = float(np.median(own))
        # A median of two halves may lie anywhere: what holds for the whole holds for each part.
        if math.isfinite(excess) and excess > bar(float(tier.met_R[ranks].min())) and own.min() > excess / 2:
            explained = float(explained_R[ranks].max())
            yield Suspect(kind=kind, ranks=tuple(ranks), is_between=True, excess=excess, explained=explained)
            explained_R[ranks] += excess
    rest_R = many_R - explained_R
    for rank in np.flatnonzero(np.isfinite(rest_R)):
        if rest_R[rank] > bar(float(tier.met_R[rank])):
            yield Suspect(
                kind=Kind.RANK, ranks=(int(rank),), is_between=is_between, excess=float(rest_R[rank]),
                explained=float(explained_R[rank]),
            )  # fmt: skip
    explained_M = np.zeros(len(tier.rest_M))
    if is_between and layout.placement.ranks_per_node > 1:
        for suspect in _links(tier, layout, bar):
            yield suspect
            explained_M[suspect.holds(tier.meetings, layout)] += suspect.excess
    rest_M = tier.rest_M - explained_M
    for place in np.flatnonzero(rest_M > max(errors * tier.sigma, effect / 2)):
        yield Suspect(
            kind=Kind.PAIR, ranks=(int(tier.meetings.one_M[place]), int(tier.meetings.two_M[place])),
            is_between=is_between, excess=float(rest_M[place]), explained=float(explained_M[place]),
        )  # fmt: skip


def _groups(layout: Layout) -> Iterator[tuple[Kind, list[int]]]:
    """Yield nodes and NICs of several ranks: what can be told from its ranks, and from all other nodes."""
    each, nodes = layout.placement.ranks_per_node, layout.placement.nodes
    if nodes <= 2 or each == 1:
        return
    for node in range(nodes):
        yield Kind.NODE, list(layout.members(node))
    if 1 < layout.nics < each:
        for node in range(nodes):
            yield from ((Kind.NIC, layout.nic_members(node, nic)) for nic in range(layout.nics))


def _links(tier: Usual, layout: Layout, bar: Callable[[float], float]) -> Iterator[Suspect]:
    """Yield pairs of nodes between which all pairs of ranks take longer."""
    one_M, two_M = (layout.node_of(ranks) for ranks in (tier.meetings.one_M, tier.meetings.two_M))
    low_M, high_M = np.minimum(one_M, two_M), np.maximum(one_M, two_M)
    grouped = pd.Series(tier.rest_M).groupby(low_M * layout.placement.nodes + high_M)
    found = pd.DataFrame({"low": grouped.quantile(0.25), "middle": grouped.median(), "count": grouped.size()})
    bars = found["count"].map({count: bar(count) for count in found["count"].unique()})
    is_whole = found["low"] > found["middle"] / 2
    for key, row in found[(found["middle"] > bars) & is_whole & (found["count"] > 1)].iterrows():
        low, high = divmod(int(str(key)), layout.placement.nodes)
        ranks = (*layout.members(low), *layout.members(high))
        yield Suspect(kind=Kind.LINK, ranks=ranks, is_between=True, excess=float(row["middle"]))


def again(found: Sweep, rounds: Sequence[Round], seed: int) -> list[list[Pair]]:
    """Return the rounds of a launch that measures the suspects again, beside pairs drawn at random.

    Parameters
    ----------
    found : Sweep
        With its suspects; without any there is nothing to measure again.
    rounds : sequence of Round
        Those of the sweep.
    seed : int
        Another one in each launch.
    """
    if not found.suspects:
        return []
    random = np.random.default_rng(seed)
    controls = []
    for is_between in {suspect.is_between for suspect in found.suspects}:
        own = [one for one in rounds if one.is_between == is_between]
        controls += [list(own[at].pairs) for at in random.permutation(len(own))[:CONTROLS]]
    accused = {rank for suspect in found.suspects if suspect.kind is not Kind.PAIR for rank in suspect.ranks}
    asked: dict[Pair, None] = {}
    for suspect in found.suspects:
        for one, two in _asked(suspect, found, accused, random):
            asked[min(one, two), max(one, two)] = None
    return [*controls, *packed(list(asked))]


def _asked(suspect: Suspect, found: Sweep, accused: set[int], random: np.random.Generator) -> Iterator[Pair]:
    """Yield the pairs that tell of a suspect."""
    if suspect.kind is Kind.PAIR:
        yield suspect.ranks[0], suspect.ranks[1]
        return
    tier, layout = found.tier(is_between=suspect.is_between).meetings, found.layout
    own = np.flatnonzero(suspect.holds(tier, layout))
    pairs = list(zip(tier.one_M[own].tolist(), tier.two_M[own].tolist(), strict=True))
    if suspect.kind is Kind.LINK:
        yield from (pairs[at] for at in random.permutation(len(pairs))[:PEERS])
        return
    for rank in suspect.ranks:
        others = [(one, two) for one, two in pairs if rank in (one, two)]
        clear = [pair for pair in others if len(accused.intersection(pair)) == 1]
        some = clear if len(clear) >= LEAST_PEERS else others
        yield from (some[at] for at in random.permutation(len(some))[:PEERS])


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A suspect that took longer again.

    Attributes
    ----------
    suspect : Suspect
        Who.
    excess : float
        Median over launches of ln T over what is usual.
    interval : Estimate or None
        95 % over launches of the mean; None for one launch.
    launches, again : int
        Launches that asked again, and those in which the excess came again.
    chance : float
        That it would come again so often, had it been as usual, over all suspects of its tier.
    inside : float or None
        Of what was seen between nodes: the excess inside the node, which tells a rank from its NIC; None where nobody
        was met there.
    """

    suspect: Suspect
    excess: float
    interval: Estimate | None
    launches: int
    again: int
    chance: float
    inside: float | None = None

    @property
    def factor(self) -> float:
        """T over what is usual."""
        return math.exp(self.excess)


def confirmed(found: Sweep, repeats: Sequence[Meetings]) -> list[Finding]:
    """Return the suspects that are slow in new launches as well, by at least the effect of interest.

    Parameters
    ----------
    found : Sweep
        With its suspects.
    repeats : sequence of Meetings
        One for each launch that measured :func:`again`.
    """
    verdicts = []
    for is_between in (True, False):
        suspects = [one for one in found.suspects if one.is_between == is_between]
        if not suspects or not repeats:
            continue
        rests = [_rest(found, meetings, suspects, is_between=is_between) for meetings in repeats]
        clear = np.concatenate([rest_M[is_clear_M] for _own, rest_M, _bare, is_clear_M in rests])
        for suspect in suspects:
            finding = _judged(found, suspect, rests, clear, len(suspects))
            if finding.chance <= CHANCE and finding.excess >= found.effect:
                verdicts.append(finding)
    return [one for one in verdicts if not any(_is_part(one, other) for other in verdicts)]


def _is_part(one: Finding, other: Finding) -> bool:
    """Whether that a whole node or rank is slow says already what was seen inside its node."""
    is_whole = other.suspect.is_between and other.inside is not None and other.inside > other.excess / 2
    return is_whole and not one.suspect.is_between and set(one.suspect.ranks) <= set(other.suspect.ranks)


_Rest = tuple[Meetings, FloatArray, FloatArray, Truths]


def _rest(found: Sweep, meetings: Meetings, suspects: Sequence[Suspect], *, is_between: bool) -> _Rest:
    """Return the pairs of a tier in a launch, what is above the usual of both ranks, above the level, and who is clear.

    The level is that of this launch, from pairs that nobody suspects.
    """
    layout, tier = found.layout, found.tier(is_between=is_between)
    own = meetings.where((layout.node_of(meetings.one_M) != layout.node_of(meetings.two_M)) == is_between)
    expected_M = np.nan_to_num(tier.excess_R)[own.one_M] + np.nan_to_num(tier.excess_R)[own.two_M]
    is_clear_M = np.ones(len(own.one_M), dtype=bool)
    for suspect in suspects:
        is_clear_M &= ~suspect.holds(own, layout)
    rest_M = own.logs_M - expected_M
    level = float(np.median(rest_M[is_clear_M] if is_clear_M.any() else rest_M))
    return own, rest_M - level, own.logs_M - level, is_clear_M


def _judged(found: Sweep, suspect: Suspect, rests: Sequence[_Rest], clear: FloatArray, suspects: int) -> Finding:
    tier = found.tier(is_between=suspect.is_between)
    sigma = tier.sigma
    values: list[float] = []
    errors: list[float] = []
    for own, rest_M, bare_M, _is_clear_M in rests:
        is_own_M = suspect.holds(own, found.layout)
        if not is_own_M.any():
            continue
        if suspect.kind in (Kind.PAIR, Kind.LINK):
            values.append(float(np.median(rest_M[is_own_M])) - suspect.explained)
        else:
            accused = np.isin(own.one_M[is_own_M], suspect.ranks)
            other_M = np.where(accused, own.two_M[is_own_M], own.one_M[is_own_M])
            own_M = bare_M[is_own_M] - np.nan_to_num(tier.excess_R)[other_M]
            values.append(float(np.median(own_M)) - suspect.explained)
        count = int(is_own_M.sum())
        errors.append(sigma if count == 1 else MEDIAN_ERROR * sigma / math.sqrt(count))
    limits = [max(AGAIN * error, found.effect / 2) for error in errors]
    above = sum(value > limit for value, limit in zip(values, limits, strict=True))
    # What comes again among those that nobody suspects is more than a normal distribution says, where tails are heavy.
    rare = 1 / (1 + clear.size)
    tails = [float(special.ndtr(-limit / error)) for limit, error in zip(limits, errors, strict=True)]
    if suspect.kind is Kind.PAIR and limits:
        rare = (1 + int((clear > limits[0]).sum())) / (1 + clear.size)
    tail = max([rare, *tails])
    chance = min(1.0, suspects * float(stats.binom.sf(above - 1, len(values), tail))) if values else 1.0
    return Finding(
        suspect=suspect,
        excess=float(np.median(values)) if values else 0.0,
        interval=t_interval(values) if len(values) > 1 else None,
        launches=len(values),
        again=above,
        chance=chance,
        inside=_inside(found, suspect) if suspect.is_between and suspect.kind not in (Kind.PAIR, Kind.LINK) else None,
    )


def _inside(found: Sweep, suspect: Suspect) -> float | None:
    """Return how much longer than usual its ranks took with others of their node."""
    if found.inside is None:
        return None
    own = found.inside
    is_own_M = np.isin(own.meetings.one_M, suspect.ranks) | np.isin(own.meetings.two_M, suspect.ranks)
    return float(np.median(own.meetings.logs_M[is_own_M] - own.level)) if is_own_M.any() else None
