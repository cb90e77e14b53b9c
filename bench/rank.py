"""One rank: carries out what the runner asks for, on a backend's session.

Everything the runner decides reaches the ranks as one of these few commands, so that rank 0 decides and all
follow; the same code runs for processes over a network and for simulated ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from collmark.bench.noise.short import RankNoise, watch_rank
from collmark.bench.rotation import eviction_nbytes, slots_of
from collmark.bench.session import Bound, Session
from collmark.bench.threads import ThreadMeter
from collmark.core.case import Case
from collmark.core.errors import MeasurementError, UnavailableError, one_line
from collmark.core.operation_table import OPERATIONS
from collmark.core.payload import Segment
from collmark.core.record import Evidence
from collmark.kernels.buffer import Comparison
from collmark.kernels.cache import Eviction
from collmark.kernels.loop import asynchronous_loop, back_to_back, blocking_loop
from collmark.kernels.native import Program

ENTER, EXIT, QUEUED, DEVICE = range(4)
"""Layers of a block's stamps; the last two only for asynchronous sessions."""


class Reserve(msgspec.Struct, frozen=True, tag=True):
    """Allocate the largest buffers, and what drives them out of the caches, once and before all others."""

    nbytes: int
    eviction: int = 0


class Bind(msgspec.Struct, frozen=True, tag=True):
    """Allocate buffers for cases on groups of ranks and choose the function; cold buffers exceed `cache` bytes.

    A rank takes part in one of the cases, or waits.
    """

    cases: tuple[Case, ...]
    cache: int = 0


class Prepare(msgspec.Struct, frozen=True, tag=True):
    """Write the payload of an epoch into a pair of buffers; with `poison`, overwrite the receive buffer as well."""

    epoch: int
    poison: bool
    slot: int = 0


class Neutralise(msgspec.Struct, frozen=True, tag=True):
    """Make repeated calls harmless where they work in place."""


class Once(msgspec.Struct, frozen=True, tag=True):
    """Time a single call on a pair of buffers, which may take `timeout` seconds."""

    timeout: float
    slot: int = 0


class Block(msgspec.Struct, frozen=True, tag=True):
    """Time `count` repetitions, each of which may take `timeout` seconds; with a computation of `compute` ns inside."""

    count: int
    timeout: float
    compute: int = 0


class Compare(msgspec.Struct, frozen=True, tag=True):
    """Compare a receive buffer with the payload of an epoch."""

    epoch: int
    slot: int = 0


class CountThreads(msgspec.Struct, frozen=True, tag=True):
    """Count the threads that ran since the case was bound."""


class TellTime(msgspec.Struct, frozen=True, tag=True):
    """Answer `count` times with what this rank's clock reads; over the control channel, not as a reply."""

    count: int


class Testify(msgspec.Struct, frozen=True, tag=True):
    """Tell which link a group of ranks, all of them on one host or not, communicates over."""

    one_host: bool


class Listen(msgspec.Struct, frozen=True, tag=True):
    """Watch for gaps for a moment, together with all other ranks."""


class Release(msgspec.Struct, frozen=True, tag=True):
    """Free the buffers."""


class Stop(msgspec.Struct, frozen=True, tag=True):
    """Leave."""


Command = (
    Reserve | Bind | Prepare | Neutralise | Once | Block | Compare | CountThreads | Testify | Listen | TellTime
    | Release | Stop
)  # fmt: skip


class Waiting:
    """What a rank is bound to while others communicate."""

    send = receive = None

    def __init__(self, program: Program | None) -> None:
        self.program = program

    def call(self) -> None:
        """Do nothing."""

    def overlapping(self, _compute: int) -> None:
        """No call, and nothing to overlap with."""

    def device_time(self) -> int:
        """No device works."""
        return 0

    def release(self) -> None:
        """No buffers."""


class Rank:
    """One rank's side of the measurement.

    Parameters
    ----------
    rank : int
        Its index.
    session : Session
        The backend, opened.
    await_start : callable
        (timeout in s) to nothing: returns when the next repetition may begin.
    arm : callable
        (timeout in s) to nothing: gives what comes that much time, where a session agrees on starts by itself.
    """

    def __init__(
        self,
        rank: int,
        session: Session,
        await_start: Callable[[float], None],
        arm: Callable[[float], None] = lambda _timeout: None,
    ) -> None:
        self.rank = rank
        self.session = session
        self.agreed_I: NDArray[np.int64] | None = None
        """Starts of the last block in ns, where the session's own timer agreed on them."""
        self._await_start = await_start
        self._arm = arm
        self._meter = ThreadMeter()
        self._case: Case | None = None
        self._batch = 1
        self._shift = 0
        self._bounds: list[Bound] = []
        self._calls: list[Callable[[], object]] = []
        self._program: Program | None = None
        self._turn = 0
        self._evict: Callable[[], None] = _nothing
        self._evicts = False
        self._sends: Sequence[Segment] = ()
        self._expects: Sequence[Segment] = ()

    def reserve(self, nbytes: int, eviction: int) -> None:
        """Allocate the largest buffers, and `eviction` bytes that drive them out of the caches."""
        self.session.reserve(nbytes)
        try:
            self._evict = Eviction(eviction) if eviction else _nothing
        except MemoryError as error:
            raise UnavailableError(f"{eviction} B to empty the caches with do not fit into memory") from error

    def bind(self, cases: Sequence[Case], cache: int = 0) -> None:
        """Allocate buffers for the one of `cases` that this rank takes part in, if any, and choose its function.

        `cache` bytes are to be emptied for cold buffers. The cases differ in their group alone: a rank that waits goes
        through as many turns as the others.
        """
        self.release()
        case = next((case for case in cases if self.rank in case.members), None)
        slots = range(slots_of(cases[0], cache))
        group = cases[0].group
        if group is not None:
            self.session.arrange(group)
        if case is None:
            idle = None if self.session.timer is None else Program([])
            self._bounds = [Waiting(idle) for _slot in slots]
        else:
            self._bounds = [self.session.bind(case, slot) for slot in slots]
        programs = [bound.program for bound in self._bounds if bound.program is not None]
        self._program = Program.in_turn(programs) if programs else None
        self._batch = cases[0].batch
        self._calls = back_to_back([bound.call for bound in self._bounds], self._batch)
        self._turn = 0
        self._evicts = eviction_nbytes(cases[0], cache) > 0
        self._case = case
        self._sends, self._expects = (), ()
        if case is not None:
            operation, place = OPERATIONS[case.operation], case.members.index(self.rank)
            self._sends = operation.sends(case.exchange, place)
            self._expects = operation.expects(case.exchange, place)
            # What comes from the same place in another group is wrong, and unlike what is of the epoch before.
            self._shift = 0 if case.group is None else 2 * case.group.index
        self._meter.start()

    def prepare(self, epoch: int, *, poison: bool, slot: int = 0) -> None:
        """Write the payload of `epoch` into a pair of buffers; poison what is about to be received first."""
        bound = self._bound(slot)
        if poison and bound.receive is not None:
            bound.receive.poison()
        if bound.send is not None and self._sends:
            bound.send.write(self._sends, epoch + self._shift)

    def neutralise(self) -> None:
        """Let reductions in place be repeated without overflow, and let none meet what other cases left behind."""
        case = self._case
        if case is None or not case.reduction or not (case.in_place or len(self._bounds) > 1):
            return
        for bound in self._bounds:
            if bound.send is not None:
                bound.send.write_neutral()

    def once(self, timeout: float, slot: int = 0) -> NDArray[np.int64]:
        """Time a single call on one pair of buffers; return stamps as :meth:`block` does."""
        bound = self._bound(slot)
        return self._timed(1, timeout, [bound.call], bound.program)

    def block(self, count: int, timeout: float, compute: int = 0) -> NDArray[np.int64]:
        """Time `count` repetitions; return stamps in ns, shape (2, count), or (4, count) if asynchronous.

        With `compute`, every rank computes for so many ns between a non-blocking call and its wait; UnavailableError
        where the case is none.
        """
        if compute:
            program = self._bound(0).overlapping(compute)
            if program is None or self.session.timer is None:
                raise UnavailableError("overlap is measured by the native loop, in non-blocking form")
            return self._timed(count, timeout, [], program)
        parts, starts = [], []
        for first, part in self._turns(count):
            parts.append(self._timed(part, timeout, self._calls, self._program, batch=self._batch, first=first))
            starts.append(self.agreed_I)
        self.agreed_I = None if starts[0] is None else np.concatenate([one for one in starts if one is not None])
        return np.concatenate(parts, axis=1)

    def _turns(self, count: int) -> Iterator[tuple[int, int]]:
        """Yield the turn that comes next and the repetitions to make from there on, the caches emptied in between."""
        cycle = len(self._calls)
        while count:
            if self._evicts and self._turn == 0:
                self._evict()
            part = min(count, cycle - self._turn) if self._evicts else count
            yield self._turn, part
            self._turn = (self._turn + part) % cycle
            count -= part

    def _timed(
        self,
        count: int,
        timeout: float,
        calls: Sequence[Callable[[], object]],
        program: Program | None,
        *,
        batch: int = 1,
        first: int = 0,
    ) -> NDArray[np.int64]:
        session = self.session

        def await_start() -> None:
            self._await_start(timeout)

        self.agreed_I = None
        try:
            if session.timer is not None and program is not None:
                stamps = session.timer.block(
                    program, count, arm=lambda: self._arm(timeout), await_start=await_start, batch=batch, first=first
                )
                self.agreed_I = stamps[0] if session.timer.agrees else None
                return stamps[1:]
            calls = [*calls[first:], *calls[:first]]
            if not session.asynchronous:
                return np.stack(blocking_loop(count, await_start, session.clock, calls))
            device_time = self._bounds[0].device_time
            enter, queued, left, device = asynchronous_loop(
                count, await_start, session.clock, calls, session.synchronize, device_time
            )
        except (RuntimeError, OSError) as error:
            # What a library raises in the middle of a call, most often because a peer is gone.
            msg = one_line(f"rank {self.rank} in {self._case}: {error}")
            raise MeasurementError(msg) from error
        return np.stack([enter, left, queued, device])

    def compare(self, epoch: int, slot: int = 0) -> Comparison:
        """Compare what was received in one pair of buffers with the payload of `epoch`."""
        bound = self._bound(slot)
        if bound.receive is None or not self._expects:
            return Comparison(checked=0, wrong=0)
        return bound.receive.compare(self._expects, epoch + self._shift)

    def count_threads(self) -> int:
        """Return the threads that ran since the case was bound; 0 where the system does not tell."""
        return self._meter.busy()

    def release(self) -> None:
        """Free the buffers."""
        for bound in self._bounds:
            bound.release()
        self._bounds = []
        self._case = self._program = None

    def listen(self) -> RankNoise:
        """Watch for a moment how this rank is disturbed, and how fast it adds."""
        return watch_rank(self.session.add)

    def evidence(self, *, one_host: bool) -> Evidence:
        """Return which link this rank and its peers, all of them on one host or not, communicate over."""
        return self.session.evidence(one_host=one_host)

    def _bound(self, slot: int) -> Bound:
        assert self._bounds, "a case is bound before it is used"
        return self._bounds[slot]


def _nothing() -> None:
    pass
