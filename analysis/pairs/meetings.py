"""Times of pairs, and what is usual among them. Legend: M meetings, R ranks, K rounds."""

from __future__ import annotations

from typing import TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from collmark.core.placement import Placement

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
Truths: TypeAlias = npt.NDArray[np.bool_]

MEDIAN_ERROR = 1.2533
"""Standard error of a median over that of a mean, of normal values: the root of pi / 2."""
NORMAL_MAD = 1.4826
"""Standard deviation of normal values over the median of their absolute deviations."""
_STEPS, _STILL = 40, 1e-5


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """Where ranks lie.

    Attributes
    ----------
    placement : Placement
        N nodes of g ranks; ranks of a node lie next to each other.
    nics : int
        NICs of each node, which its ranks share evenly in their order; 0 where that is unknown.
    """

    placement: Placement
    nics: int = 0

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.placement.ranks

    def node_of(self, rank_M: IntArray) -> IntArray:
        """Return the node of each rank."""
        return rank_M // self.placement.ranks_per_node

    def members(self, node: int) -> range:
        """Return the ranks of a node."""
        each = self.placement.ranks_per_node
        return range(node * each, (node + 1) * each)

    def nic_members(self, node: int, nic: int) -> list[int]:
        """Return the ranks that share a NIC."""
        ranks = self.members(node)
        return [rank for at, rank in enumerate(ranks) if at * self.nics // len(ranks) == nic]


class Meetings(msgspec.Struct, frozen=True, kw_only=True):
    """Pairs that were measured in a launch, each once.

    Attributes
    ----------
    one_M, two_M : ndarray of int
        Indices of their ranks.
    there_M, back_M : ndarray of float
        T in s of what `one` sends to `two`, and of what `two` sends back; positive.
    """

    one_M: IntArray
    two_M: IntArray
    there_M: FloatArray
    back_M: FloatArray

    @property
    def logs_M(self) -> FloatArray:
        """Mean of ln T over both directions."""
        found: FloatArray = (np.log(self.there_M) + np.log(self.back_M)) / 2
        return found

    def where(self, is_there_M: Truths) -> Meetings:
        """Return some of them."""
        fields = ("one_M", "two_M", "there_M", "back_M")
        return Meetings(**{name: getattr(self, name)[is_there_M] for name in fields})


class Usual(msgspec.Struct, frozen=True, kw_only=True):
    """What is usual among the pairs of one tier: ln T of a pair = level + excess of one + excess of the other + noise.

    Attributes
    ----------
    meetings : Meetings
        Of this tier.
    level : float
        ln T where nobody is slow.
    excess_R : ndarray
        By how much ln T of a rank's pairs is above that; its median is 0, since most ranks are as they should be. NaN
        for ranks that met nobody.
    rest_M : ndarray
        What neither explains.
    sigma : float
        Standard deviation of the noise, from the median of the absolute rest, or of how both directions differ where
        that is more.
    met_R : ndarray of int
        How many others a rank met.
    """

    meetings: Meetings
    level: float
    excess_R: FloatArray
    rest_M: FloatArray
    sigma: float
    met_R: IntArray

    def error(self, count: float | FloatArray) -> float | FloatArray:
        """Return the standard error of a median over so many pairs."""
        return MEDIAN_ERROR * self.sigma / np.sqrt(count)


def usual(meetings: Meetings, ranks: int, *, sides_R: IntArray | None = None) -> Usual | None:
    """Return what is usual among some pairs; None where there are none.

    Parameters
    ----------
    meetings : Meetings
        Of one tier, each pair once.
    ranks : int
        R.
    sides_R : ndarray or None
        Which of two nodes a rank is on, where there are only two: which of them is slow cannot be told then, and the
        median of each is taken as usual.

    Notes
    -----
    Rows and columns by medians, as Tukey's median polish (1977), on a symmetric table of which only those pairs are
    there that met; half a step at a time, since both ends of a pair move at once.
    """
    if not len(meetings.one_M):
        return None
    logs_M = meetings.logs_M
    place_RK, other_RK, sign_RK = _by_rank(meetings, ranks)
    logs_RK = np.where(sign_RK, logs_M[place_RK], np.nan)
    excess_R = np.zeros(ranks)
    level = float(np.median(logs_M))
    is_met_R: Truths = np.asarray(sign_RK.any(axis=1))
    median = np.median if sign_RK.all() else np.nanmedian  # five times as fast
    for _step in range(_STEPS):
        before_R = excess_R
        row_R = np.zeros(ranks)
        row_R[is_met_R] = median((logs_RK - level - excess_R[other_RK])[is_met_R], axis=1)
        excess_R = (excess_R + row_R) / 2
        excess_R = _centred(excess_R, is_met_R, sides_R)
        level = float(np.median(logs_M - excess_R[meetings.one_M] - excess_R[meetings.two_M]))
        if np.abs(excess_R - before_R).max() < _STILL:
            break
    rest_M = logs_M - level - excess_R[meetings.one_M] - excess_R[meetings.two_M]
    met_R = sign_RK.sum(axis=1)
    free = max(1.0, len(rest_M) - int(is_met_R.sum()))
    sigma = NORMAL_MAD * float(np.median(np.abs(rest_M))) * float(np.sqrt(len(rest_M) / free))
    # Of few pairs medians leave many with no rest at all; what both directions differ by, nothing was fitted to.
    differ_M = np.log(meetings.there_M / meetings.back_M) / 2
    sigma = max(sigma, NORMAL_MAD * float(np.median(np.abs(differ_M))))
    return Usual(
        meetings=meetings, level=level, excess_R=np.where(is_met_R, excess_R, np.nan), rest_M=rest_M, sigma=sigma,
        met_R=met_R,
    )  # fmt: skip


def _centred(excess_R: FloatArray, is_met_R: Truths, sides_R: IntArray | None) -> FloatArray:
    sides = np.zeros(len(excess_R), dtype=np.int64) if sides_R is None else sides_R
    centred_R = excess_R.copy()
    for side in np.unique(sides):
        own = is_met_R & (sides == side)
        if own.any():
            centred_R[own] -= np.median(excess_R[own])
    return centred_R


def _by_rank(meetings: Meetings, ranks: int) -> tuple[IntArray, IntArray, Truths]:
    """Return for each rank its meetings' places, whom it met, and whether there is such a one; shapes (R, K)."""
    rank_E = np.concatenate([meetings.one_M, meetings.two_M])
    other_E = np.concatenate([meetings.two_M, meetings.one_M])
    place_E = np.tile(np.arange(len(meetings.one_M)), 2)
    order = np.argsort(rank_E, kind="stable")
    counts_R = np.bincount(rank_E, minlength=ranks)
    column_E = np.arange(len(rank_E)) - np.repeat(np.cumsum(counts_R) - counts_R, counts_R)
    shape = (ranks, int(counts_R.max()))
    place_RK, other_RK = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    is_there_RK = np.zeros(shape, dtype=bool)
    at = (rank_E[order], column_E)
    place_RK[at], other_RK[at], is_there_RK[at] = place_E[order], other_E[order], True
    return place_RK, other_RK, is_there_RK
