"""One rank: carries out what the runner asks for, on a backend's session.

Everything the runner decides reaches the ranks as one of these few commands, so that rank 0 decides and all
follow; the same code runs for processes over a network and for simulated ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from collmark.bench.session import Bound, Session
from collmark.bench.start_page import BlockTimer
from collmark.bench.threads import ThreadMeter
from collmark.core.case import Case
from collmark.core.errors import MeasurementError, UnavailableError, one_line
from collmark.core.operation_table import OPERATIONS
from collmark.core.payload import Segment
from collmark.kernels.buffer import Comparison
from collmark.kernels.loop import asynchronous_loop, blocking_loop
from collmark.kernels.native import Program

ENTER, EXIT, QUEUED, DEVICE = range(4)
"""Layers of a block's stamps; the last two only for asynchronous sessions."""


class Reserve(msgspec.Struct, frozen=True, tag=True):
    """Allocate the largest buffers, once and before all others."""

    nbytes: int


class Bind(msgspec.Struct, frozen=True, tag=True):
    """Allocate buffers for a case and choose its function."""

    case: Case


class Prepare(msgspec.Struct, frozen=True, tag=True):
    """Write the payload of an epoch; with `poison`, overwrite the receive buffer as well."""

    epoch: int
    poison: bool


class Neutralise(msgspec.Struct, frozen=True, tag=True):
    """Make repeated calls harmless where they work in place."""


class Block(msgspec.Struct, frozen=True, tag=True):
    """Time `count` repetitions, each of which may take `timeout` seconds; with a computation of `compute` ns inside."""

    count: int
    timeout: float
    compute: int = 0


class Compare(msgspec.Struct, frozen=True, tag=True):
    """Compare the receive buffer with the payload of an epoch."""

    epoch: int


class CountThreads(msgspec.Struct, frozen=True, tag=True):
    """Count the threads that ran since the case was bound."""


class Listen(msgspec.Struct, frozen=True, tag=True):
    """Watch for gaps for a moment, together with all other ranks."""


class Release(msgspec.Struct, frozen=True, tag=True):
    """Free the buffers."""


class Stop(msgspec.Struct, frozen=True, tag=True):
    """Leave."""


Command = Reserve | Bind | Prepare | Neutralise | Block | Compare | CountThreads | Listen | Release | Stop


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
        self._bound: Bound | None = None
        self._sends: Sequence[Segment] = ()
        self._expects: Sequence[Segment] = ()

    def bind(self, case: Case) -> None:
        """Allocate buffers for `case` and choose its function."""
        self.release()
        operation = OPERATIONS[case.operation]
        self._bound = self.session.bind(case)
        self._case = case
        self._sends = operation.sends(case.exchange, self.rank)
        self._expects = operation.expects(case.exchange, self.rank)
        self._meter.start()

    def prepare(self, epoch: int, *, poison: bool) -> None:
        """Write the payload of `epoch`; poison what is about to be received first."""
        bound = self._require()
        if poison and bound.receive is not None:
            bound.receive.poison()
        if bound.send is not None and self._sends:
            bound.send.write(self._sends, epoch)

    def neutralise(self) -> None:
        """Let reductions in place be repeated without overflow; other payloads stay as they are."""
        bound, case = self._require(), self._case
        if case is not None and case.in_place and case.reduction and bound.send is not None:
            bound.send.write_neutral()

    def block(self, count: int, timeout: float, compute: int = 0) -> NDArray[np.int64]:
        """Time `count` repetitions; return stamps in ns, shape (2, count), or (4, count) if asynchronous.

        With `compute`, every rank computes for so many ns between a non-blocking call and its wait; UnavailableError
        where the case is none.
        """
        bound, session = self._require(), self.session

        def await_start() -> None:
            self._await_start(timeout)

        self.agreed_I = None
        try:
            program = bound.overlapping(compute) if compute else bound.program
            if session.timer is not None and program is not None:
                return self._timed_block(session.timer, program, count, timeout)
            if compute:
                raise UnavailableError("overlap is measured by the native loop, in non-blocking form")
            if not session.asynchronous:
                return np.stack(blocking_loop(count, await_start, session.clock, bound.call))
            enter, queued, left, device = asynchronous_loop(
                count, await_start, session.clock, bound.call, session.synchronize, bound.device_time
            )
        except (RuntimeError, OSError) as error:
            # What a library raises in the middle of a call, most often because a peer is gone.
            msg = one_line(f"rank {self.rank} in {self._case}: {error}")
            raise MeasurementError(msg) from error
        return np.stack([enter, left, queued, device])

    def _timed_block(self, timer: BlockTimer, program: Program, count: int, timeout: float) -> NDArray[np.int64]:
        stamps = timer.block(
            program, count, arm=lambda: self._arm(timeout), await_start=lambda: self._await_start(timeout)
        )
        self.agreed_I = stamps[0] if timer.agrees else None
        return stamps[1:]

    def compare(self, epoch: int) -> Comparison:
        """Compare what was received with the payload of `epoch`."""
        bound = self._require()
        if bound.receive is None or not self._expects:
            return Comparison(checked=0, wrong=0)
        return bound.receive.compare(self._expects, epoch)

    def count_threads(self) -> int:
        """Return the threads that ran since the case was bound; 0 where the system does not tell."""
        return self._meter.busy()

    def release(self) -> None:
        """Free the buffers."""
        if self._bound is not None:
            self._bound.release()
        self._bound = self._case = None

    def _require(self) -> Bound:
        assert self._bound is not None, "a case is bound before it is used"
        return self._bound
