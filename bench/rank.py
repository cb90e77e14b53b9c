"""One rank: carries out what the runner asks for, on a backend's session.

Everything the runner decides reaches the ranks as one of these few commands, so that rank 0 decides and all
follow; the same code runs for processes over a network and for simulated ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from collmark.bench.rotation import eviction_nbytes, slots_of
from collmark.bench.session import Bound, Session
from collmark.bench.threads import ThreadMeter
from collmark.core.case import Case
from collmark.core.errors import MeasurementError, UnavailableError, one_line
from collmark.core.operation_table import OPERATIONS
from collmark.core.payload import Segment
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
    """Allocate buffers for a case and choose its function; cold buffers are those that `cache` bytes do not hold."""

    case: Case
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


class Listen(msgspec.Struct, frozen=True, tag=True):
    """Watch for gaps for a moment, together with all other ranks."""


class Release(msgspec.Struct, frozen=True, tag=True):
    """Free the buffers."""


class Stop(msgspec.Struct, frozen=True, tag=True):
    """Leave."""


Command = (
    Reserve | Bind | Prepare | Neutralise | Once | Block | Compare | CountThreads | Listen | TellTime | Release | Stop
)


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

    def bind(self, case: Case, cache: int = 0) -> None:
        """Allocate buffers for `case` and choose its function; `cache` bytes are to be emptied for cold buffers."""
        self.release()
        operation = OPERATIONS[case.operation]
        self._bounds = [self.session.bind(case, slot) for slot in range(slots_of(case, cache))]
        programs = [bound.program for bound in self._bounds if bound.program is not None]
        self._program = Program.in_turn(programs) if programs else None
        self._calls = back_to_back([bound.call for bound in self._bounds], case.batch)
        self._turn = 0
        self._evicts = eviction_nbytes(case, cache) > 0
        self._case = case
        self._sends = operation.sends(case.exchange, self.rank)
        self._expects = operation.expects(case.exchange, self.rank)
        self._meter.start()

    def prepare(self, epoch: int, *, poison: bool, slot: int = 0) -> None:
        """Write the payload of `epoch` into a pair of buffers; poison what is about to be received first."""
        bound = self._bound(slot)
        if poison and bound.receive is not None:
            bound.receive.poison()
        if bound.send is not None and self._sends:
            bound.send.write(self._sends, epoch)

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
        case = self._case
        assert case is not None, "a case is bound before it is used"
        if compute:
            program = self._bound(0).overlapping(compute)
            if program is None or self.session.timer is None:
                raise UnavailableError("overlap is measured by the native loop, in non-blocking form")
            return self._timed(count, timeout, [], program)
        parts, starts = [], []
        for first, part in self._turns(count):
            parts.append(self._timed(part, timeout, self._calls, self._program, batch=case.batch, first=first))
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
        return bound.receive.compare(self._expects, epoch)

    def count_threads(self) -> int:
        """Return the threads that ran since the case was bound; 0 where the system does not tell."""
        return self._meter.busy()

    def release(self) -> None:
        """Free the buffers."""
        for bound in self._bounds:
            bound.release()
        self._bounds = []
        self._case = self._program = None

    def _bound(self, slot: int) -> Bound:
        assert self._bounds, "a case is bound before it is used"
        return self._bounds[slot]


def _nothing() -> None:
    pass
