"""Traffic of expert parallelism: every token goes to the ranks of the experts that a router chooses for it.

Modelled is the dispatch of a mixture of experts by one all-to-all: experts lie evenly on the ranks, each token chooses
so many different ones, and each choice sends one copy of the token, also where two of them lie on one rank, and also
where that is its own. So do programs that dispatch by an all-to-all with counts (Megatron-Core's alltoall dispatcher);
libraries with kernels of their own that send a token once to each rank or node (DeepEP) exchange less than this.

Legend: R ranks, T tokens of one rank in a batch, K choices of one token.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import NDArray

from collmark.core.errors import UsageError
from collmark.core.popularity import random_words, zipf_weights

BATCH = 1024
"""Tokens of each rank whose choices are drawn; more repeat them, so that a large call costs no more than a small one
and is as uneven."""
TOKEN = 7168
"""Bytes of a token unless said otherwise: a hidden state of 7168 values of 8 bits (DeepSeek-V3; README of DeepEP)."""
MOST_EXPERTS, MOST_TOPK = 4096, 32


class Routing(msgspec.Struct, frozen=True, kw_only=True):
    """How tokens choose their experts.

    Attributes
    ----------
    experts, topk : int
        Experts in all, and the different ones that each token chooses.
    exponent : float
        Their popularity is Zipf's with this exponent, in a seeded order, and the same on all ranks; 0: all alike.
    seed : int
        Decides the order and every choice.
    token : int
        Bytes of one token.
    """

    experts: int
    topk: int
    exponent: float
    seed: int
    token: int

    own_nbytes = None

    def check(self, ranks: int, itemsize: int, /) -> None:
        """Raise UsageError where experts cannot lie evenly, or a token is no whole number of elements."""
        if self.experts % ranks:
            raise UsageError(f"{self.experts} experts do not lie evenly on {ranks} ranks: take a multiple of the ranks")
        if self.token % itemsize:
            raise UsageError(f"a token of {self.token} B holds no whole number of elements of {itemsize} B")

    def counts(self, nbytes: int, ranks: int, itemsize: int, /) -> tuple[tuple[int, ...], ...]:
        """Return the elements that every rank sends to every rank: those of as many tokens as fit into `nbytes`."""
        drawn = _draw(self.experts, self.topk, self.exponent, self.seed, ranks)
        batches, rest = drawn.tokens_within(nbytes // self.token)
        copies_RR = batches * drawn.pairs(BATCH) + drawn.pairs(rest)
        return tuple(map(tuple, (copies_RR * (self.token // itemsize)).tolist()))


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """The choices of one batch on every rank.

    Attributes
    ----------
    ranks_RTK : ndarray
        Where each choice of each token goes: a rank.
    received_TR : ndarray
        Copies that each rank receives of the first tokens of all ranks, row t those of t tokens, from 0 to the batch.
    """

    ranks_RTK: NDArray[np.int32]
    received_TR: NDArray[np.int64]

    def tokens_within(self, copies: int) -> tuple[int, int]:
        """Return the most tokens of each rank, as (batches, tokens beside them), for which no rank has more copies.

        All ranks send equally many, so that the heaviest is one that receives; and with each token what a rank receives
        does not fall, so that the most is found batch by batch first.
        """
        whole_R = self.received_TR[-1]
        batches = copies // int(whole_R.max())
        fits_T = (self.received_TR <= copies - batches * whole_R).all(axis=1)
        return batches, int(np.flatnonzero(fits_T)[-1])

    def pairs(self, tokens: int) -> NDArray[np.int64]:
        """Return the copies that every rank sends to every rank with its first tokens, shape (R, R)."""
        ranks = len(self.ranks_RTK)
        cells = np.arange(ranks)[:, None, None] * ranks + self.ranks_RTK[:, :tokens]
        return np.bincount(cells.ravel(), minlength=ranks**2).reshape(ranks, ranks)


@lru_cache(maxsize=8)
def _draw(experts: int, topk: int, exponent: float, seed: int, ranks: int) -> Drawn:
    words = random_words(seed, experts + topk * ranks * BATCH)
    weights = np.empty(experts, dtype=np.int64)
    weights[np.argsort(words[:experts], kind="stable")] = zipf_weights(experts, exponent)
    experts_KN = choose(weights, words[experts:].reshape(topk, ranks * BATCH))
    ranks_RTK = (experts_KN // (experts // ranks)).astype(np.int32).T.reshape(ranks, BATCH, topk)
    cells = np.arange(BATCH)[None, :, None] * ranks + ranks_RTK
    each_TR = np.bincount(cells.ravel(), minlength=BATCH * ranks).reshape(BATCH, ranks)
    received_TR = np.concatenate([np.zeros((1, ranks), dtype=np.int64), each_TR.cumsum(axis=0)])
    return Drawn(ranks_RTK=ranks_RTK, received_TR=received_TR)


def choose(weights: NDArray[np.int64], words_KN: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return different experts for each token, drawn one after the other by the weights of those that are left.

    Parameters
    ----------
    weights : ndarray
        Whole numbers above zero, of every expert; their sum is far below 2**64.
    words_KN : ndarray
        A random word for each choice (K) of each token (N).

    Returns
    -------
    ndarray
        Experts, shape (K, N).

    Notes
    -----
    Experts lie beside each other on a line, as long as their weights. A point is drawn on what is left of the line and
    moved to the right over each gap, from the left: whole numbers, and no retries however uneven the weights.
    """
    ends = weights.cumsum()
    starts = ends - weights
    chosen_KN = np.empty(words_KN.shape, dtype=np.int64)
    left = np.full(words_KN.shape[1], ends[-1])
    for position, words in enumerate(words_KN):
        point = (words % left.astype(np.uint64)).astype(np.int64)
        for taken in np.sort(chosen_KN[:position], axis=0):
            point += np.where(point >= starts[taken], weights[taken], 0)
        chosen_KN[position] = np.searchsorted(ends, point, side="right")
        left -= weights[chosen_KN[position]]
    return chosen_KN
