"""collmark's loop and a hand-written one on one rank, in blocks that take turns.

Both run in the same process, on the same tensor, with the same agreed start before every repetition. All ranks
know the order of the blocks. Legend: S layers (enter, exit), R ranks, I repetitions.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from time import monotonic_ns
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from collmark.bench.backends.gloo import GlooSession
from collmark.bench.rank import Rank
from collmark.bench.stamps import NS, Stamps, repetition_times
from collmark.core.case import Binding, Case, Scheduling
from collmark.core.placement import Placement

if TYPE_CHECKING:
    from torch import Tensor

Layers = NDArray[np.int64]
Loop = Callable[[], Layers]

TIMEOUT = 120.0  # s, far above a whole launch
COLLMARK, HAND_1, HAND_2 = "collmark", "hand 1", "hand 2"
ORDERS = tuple(permutations((COLLMARK, HAND_1, HAND_2)))
IDLE_NBYTES = 4


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What is measured in a launch.

    Attributes
    ----------
    launch : int
        Index of the launch: decides which loop comes first.
    rounds : dict of int to int
        By message size in bytes, how often each loop has its turn.
    repetitions : int
        In one turn.
    idle_rounds, idle_repetitions : int
        The same with a call that does nothing.
    scheduling, binding : Scheduling, Binding
        As in collmark's own ranks.
    """

    launch: int
    rounds: dict[int, int]
    repetitions: int
    idle_rounds: int
    idle_repetitions: int
    scheduling: Scheduling
    binding: Binding


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """Medians of T in s over the repetitions of one launch; `hand` is over both of the hand loop's arms."""

    collmark: float
    hand: float
    hand_1: float
    hand_2: float


class Idle(msgspec.Struct, frozen=True, kw_only=True):
    """The timed region around a call that does nothing, in s, over all ranks."""

    collmark_median: float
    collmark_mean: float
    hand_median: float
    hand_mean: float


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One launch."""

    sizes: dict[int, Compared]
    idle: Idle
    facts: dict[str, str]


def hand_loop(
    count: int,
    await_start: Callable[[], None],
    all_reduce: Callable[[Any, Any], object],
    tensor: Tensor,
    reduce_op: object,
) -> Layers:
    """Time `count` calls as one would by hand; return enter and exit in ns, shape (2, count)."""
    enters = [0] * count
    exits = [0] * count
    for index in range(count):
        await_start()
        before = monotonic_ns()
        all_reduce(tensor, reduce_op)
        after = monotonic_ns()
        enters[index] = before
        exits[index] = after
    return np.array([enters, exits], dtype=np.int64)


def do_nothing(_tensor: object, _reduce_op: object) -> None:
    """Stand in for the library's function."""


class Contest:
    """Both loops on one rank.

    Parameters
    ----------
    terms : Terms
        What to measure.
    session : GlooSession
        Opened.
    await_start : callable
        (timeout in s) to nothing, the same for both loops.
    exchange : callable
        Turns this rank's stamps, shape (S, I), into those of all ranks on rank 0, shape (S, R, I).
    end_block : callable
        Told the entries of a block with agreed starts, shape (R, I); on rank 0 the starts follow how late ranks were.
    """

    def __init__(
        self,
        terms: Terms,
        session: GlooSession,
        await_start: Callable[[float], None],
        exchange: Callable[[Layers], Layers],
        end_block: Callable[[Layers], None],
    ) -> None:
        self._terms = terms
        self._session = session
        self._await_start = await_start
        self._exchange = exchange
        self._end_block = end_block

    def run(self) -> Result:
        """Measure everything; what is returned means something on rank 0 only."""
        self._session.reserve(max(self._terms.rounds))
        return Result(
            sizes={nbytes: self._compare(nbytes, rounds) for nbytes, rounds in self._terms.rounds.items()},
            idle=self._idle(),
            facts=dict(self._session.facts()),
        )

    def _compare(self, nbytes: int, rounds: int) -> Compared:
        case = self._case(nbytes)
        loops = self._loops(case)
        seconds: dict[str, list[NDArray[np.float64]]] = {name: [] for name in loops}
        for place in range(self._terms.launch, self._terms.launch + rounds):
            for name in ORDERS[place % len(ORDERS)]:
                stamps = Stamps(layers_SRI=self._timed(loops[name]), starts_I=None, comparable=True)
                seconds[name].append(repetition_times(stamps, case.estimand, case.messages))
        return Compared(
            collmark=float(np.median(np.concatenate(seconds[COLLMARK]))),
            hand=float(np.median(np.concatenate(seconds[HAND_1] + seconds[HAND_2]))),
            hand_1=float(np.median(np.concatenate(seconds[HAND_1]))),
            hand_2=float(np.median(np.concatenate(seconds[HAND_2]))),
        )

    def _loops(self, case: Case) -> dict[str, Loop]:
        """Bind the case, check one call's result, and warm every loop up."""
        count = self._terms.repetitions
        rank = Rank(self._session.world.rank, self._session, self._await_start)
        rank.bind([case])
        rank.prepare(1, poison=True)
        self._timed(lambda: rank.block(1, TIMEOUT))
        comparison = rank.compare(1)
        assert not comparison.wrong, comparison.first
        rank.neutralise()
        tensor, _host = self._session.view(0, case, case.count)
        all_reduce, reduce_op = self._session.dist.all_reduce, self._session.dist.ReduceOp.SUM

        def by_collmark() -> Layers:
            return rank.block(count, TIMEOUT)

        def by_hand() -> Layers:
            return hand_loop(count, lambda: self._await_start(TIMEOUT), all_reduce, tensor, reduce_op)

        loops: dict[str, Loop] = {COLLMARK: by_collmark, HAND_1: by_hand, HAND_2: by_hand}
        for loop in loops.values():
            self._timed(loop)
        return loops

    def _timed(self, loop: Loop) -> Layers:
        layers_SRI = self._exchange(loop())
        self._end_block(layers_SRI[0])
        return layers_SRI

    def _idle(self) -> Idle:
        """Bind as ever, but to a library whose all_reduce does nothing; starts are not agreed."""
        count, library = self._terms.idle_repetitions, self._session.dist
        case = self._case(IDLE_NBYTES)
        rank = Rank(self._session.world.rank, self._session, lambda _timeout: None)
        self._session.dist = _idle_library(library)
        rank.bind([case])
        self._session.dist = library
        tensor, _host = self._session.view(0, case, case.count)

        def by_collmark() -> Layers:
            return rank.block(count, TIMEOUT)

        def by_hand() -> Layers:
            return hand_loop(count, lambda: None, do_nothing, tensor, library.ReduceOp.SUM)

        seconds: dict[Loop, list[NDArray[np.float64]]] = {by_collmark: [], by_hand: []}
        for place in range(self._terms.launch, self._terms.launch + self._terms.idle_rounds):
            for loop in (by_collmark, by_hand) if place % 2 else (by_hand, by_collmark):
                layers_SRI = self._exchange(loop())
                seconds[loop].append(((layers_SRI[1] - layers_SRI[0]) * NS).ravel())
        collmark, hand = np.concatenate(seconds[by_collmark]), np.concatenate(seconds[by_hand])
        return Idle(
            collmark_median=float(np.median(collmark)),
            collmark_mean=float(collmark.mean()),
            hand_median=float(np.median(hand)),
            hand_mean=float(hand.mean()),
        )

    def _case(self, nbytes: int) -> Case:
        """Return an all_reduce in place, as a run of collmark would have it."""
        return Case(
            operation="all_reduce",
            backend="gloo",
            dtype="float32",
            placement=Placement(ranks_per_node=self._session.world.ranks),
            nbytes=nbytes,
            requested_nbytes=nbytes,
            reduction="sum",
            in_place=True,
            scheduling=self._terms.scheduling,
            binding=self._terms.binding,
        )


def _idle_library(library: ModuleType) -> ModuleType:
    idle = ModuleType("idle")
    vars(idle).update(all_reduce=do_nothing, ReduceOp=library.ReduceOp)
    return idle
