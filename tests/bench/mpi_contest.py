"""One rank of a launch of bench_mpi.py: ``python -m tests.bench.mpi_contest FILE``, started by an MPI's own mpiexec.

collmark's loop, twice one in C (peer.c), and mpi4py's own call take turns in blocks, in the same process, on the same
communicator and buffers, with starts agreed on the same page. Legend: S layers (enter, exit), R ranks, I repetitions.
"""

from __future__ import annotations

import ctypes
import functools
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic_ns
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from collmark.bench import scheduling
from collmark.bench.backends.mpi import TYPES, MpiSession
from collmark.bench.group import Group
from collmark.bench.rank import Rank
from collmark.bench.stamps import Stamps, repetition_times
from collmark.bench.start_page import BlockTimer
from collmark.core.case import Binding, Case, Scheduling
from collmark.core.dtype import DTYPES
from collmark.core.placement import Placement
from collmark.core.plan import Plan

Layers = NDArray[np.int64]
Arm = Callable[[int, int], Layers]
"""(repetitions, batch) to stamps in ns, shape (S, I)."""

OURS, PEER_1, PEER_2, OWN_CALL = "collmark", "C 1", "C 2", "mpi4py"
OPERATIONS = ("all_reduce", "all_gather", "all_to_all", "broadcast", "ping_pong")
"""In the order of peer.c."""
FEW_TICKS = 100  # below so many, calls are timed in batches
BATCH_TICKS = 2000
PILOT = 60
PATIENCE = 60  # s for one turn of an arm


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What a launch measures: sizes in bytes by operation, turns of each arm, ns that a turn should last."""

    launch: int
    sizes: dict[str, list[int]]
    rounds: int
    turn_ns: int
    scheduling: Scheduling
    binding: Binding


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What a rank is told."""

    library: str
    peer: str
    result: str
    terms: Terms


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One size of one operation in one launch: midmeans of T in s by arm, and calls between two stamps."""

    operation: str
    nbytes: int
    batch: int
    repetitions: int
    seconds: dict[str, float]


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One launch."""

    cells: list[Cell]
    facts: dict[str, str]
    tick: float


def midmean(values: NDArray[np.float64]) -> float:
    """Return the mean of the middle half: as robust as a median here, and not quantised by the clock's tick."""
    ordered = np.sort(values)
    return float(ordered[len(ordered) // 4 : len(ordered) - len(ordered) // 4].mean())


class Contest:
    """All arms on one rank."""

    def __init__(self, task: Task, session: MpiSession) -> None:
        self._terms = task.terms
        self._session = session
        timer = session.timer
        assert timer is not None, "the native loop was not built"
        assert timer.agrees, "the ranks do not share a page"
        self._timer: BlockTimer = timer
        peer = ctypes.CDLL(task.peer).peer_time
        peer.restype = None
        number, pointer = ctypes.c_int64, ctypes.c_void_p
        peer.argtypes = (ctypes.c_int, ctypes.c_int, pointer, pointer, ctypes.c_int, number, number, *[pointer] * 3)
        self._peer = peer
        self.tick = timer.calibrate().tick

    def run(self) -> list[Cell]:
        """Measure every cell, in an order that all ranks know; what is returned means something on rank 0 only."""
        cells = [(name, nbytes) for name, sizes in self._terms.sizes.items() for nbytes in sizes]
        random.Random(self._terms.launch).shuffle(cells)
        self._session.reserve(max(nbytes for _name, nbytes in cells))
        return [self._compare(name, nbytes) for name, nbytes in cells]

    def _compare(self, operation: str, nbytes: int) -> Cell:
        case = case_of(operation, nbytes, self._terms)
        arms = self._arms(case)
        batch, repetitions = self._scale(case, arms[OURS])
        seconds: dict[str, list[NDArray[np.float64]]] = {name: [] for name in arms}
        order = list(arms)
        shuffle = random.Random(f"{self._terms.launch}/{operation}/{nbytes}").shuffle
        for turn in range(self._terms.rounds + 1):
            shuffle(order)
            for name in order:
                times = self._times(case, arms[name](repetitions, batch)) / batch
                if turn:  # the first of each warms up
                    seconds[name].append(times)
        return Cell(
            operation=operation,
            nbytes=nbytes,
            batch=batch,
            repetitions=repetitions * self._terms.rounds,
            seconds={name: midmean(np.concatenate(parts)) for name, parts in seconds.items()},
        )

    def _scale(self, case: Case, arm: Arm) -> tuple[int, int]:
        """Return calls between two stamps, and repetitions in a turn, from a pilot; rank 0 decides."""
        arm(PILOT, 1)
        call_ns = float(np.median(self._times(case, arm(PILOT, 1)))) * 1e9
        ticks = call_ns * 1e-9 / self.tick
        batch = 1 if ticks >= FEW_TICKS else int(BATCH_TICKS / max(1.0, ticks)) + 1
        repetitions = int(self._terms.turn_ns / (call_ns * batch + 3000)) + 4
        found = np.array([batch, min(repetitions, 2000)], dtype=np.int64)
        self._session.comm.Bcast(found, 0)
        return int(found[0]), int(found[1])

    def _times(self, case: Case, layers_SI: Layers) -> NDArray[np.float64]:
        """Return T of each repetition in s, from the stamps of all ranks."""
        comm = self._session.comm
        everybodys = np.empty((comm.Get_size(), *layers_SI.shape), dtype=np.int64)
        comm.Allgather(np.ascontiguousarray(layers_SI), everybodys)
        layers_SRI = np.moveaxis(everybodys, 0, 1)
        return repetition_times(Stamps(layers_SRI=layers_SRI, starts_I=None, comparable=True), case.estimand, 1)

    def _arms(self, case: Case) -> dict[str, Arm]:
        """Bind the case, check one call's result, and return every arm."""
        session, timer = self._session, self._timer
        rank = Rank(session.world.rank, session, lambda _timeout: None)
        rank.bind([case])
        rank.prepare(1, poison=True)
        rank.once(PATIENCE)
        comparison = rank.compare(1)
        assert not comparison.wrong, comparison.first
        bound = rank._bound(0)
        program, block = bound.program, case.exchange.block
        assert program is not None, "mpi binds programs"
        (send, _), (receive, _) = session.view(0, case, 0), session.view(1, case, 0)
        place, start = ctypes.addressof(timer.place), timer.loop.start_address
        index, handle = OPERATIONS.index(case.operation), session.comm.py2f()

        def ours(count: int, batch: int) -> Layers:
            return timer.block(program, count, arm=_alarm, await_start=_alarm, batch=batch)[1:]

        def peer(count: int, batch: int) -> Layers:
            _alarm()
            stamps = np.empty((2, count), dtype=np.int64)
            self._peer(index, handle, send, receive, block, batch, count, start, place, stamps.ctypes.data)
            return stamps

        own_call = self._own_call(case)

        def own(count: int, batch: int) -> Layers:
            _alarm()
            stamps = np.empty((2, count), dtype=np.int64)
            for repetition in range(count):
                timer.loop.start(place)
                enter = monotonic_ns()
                for _ in range(batch):
                    own_call()
                stamps[:, repetition] = enter, monotonic_ns()
            return stamps

        return {OURS: ours, PEER_1: peer, PEER_2: peer, OWN_CALL: own}

    def _own_call(self, case: Case) -> Callable[[], object]:
        """Return mpi4py's own call, its buffers described beforehand."""
        session, count = self._session, case.exchange.block
        element = getattr(session.mpi, TYPES[case.dtype])
        divides = case.operation in ("all_gather", "all_to_all")
        total = count * (session.world.ranks if divides else 1)
        send, receive = (session.view(pool, case, total)[1].array for pool in (0, 1))
        comm = session.comm
        if case.operation == "ping_pong":
            return _ping_pong(comm, session.world.rank, [send, count, element], [receive, count, element])
        words: dict[str, tuple[Any, ...]] = {
            "all_reduce": (comm.Allreduce, [send, count, element], [receive, count, element]),
            "all_gather": (comm.Allgather, [send[:count], count, element], [receive, count, element]),
            "all_to_all": (comm.Alltoall, [send, count, element], [receive, count, element]),
            "broadcast": (comm.Bcast, [send, count, element], 0),
        }
        call, *arguments = words[case.operation]
        return functools.partial(call, *arguments)


def _ping_pong(comm: Any, rank: int, send: Any, receive: Any) -> Callable[[], object]:  # noqa: ANN401 - mpi4py's
    def there_and_back() -> None:
        comm.Send(send, 1, 7)
        comm.Recv(receive, 1, 7)

    def back() -> None:
        comm.Recv(receive, 0, 7)
        comm.Send(send, 0, 7)

    return there_and_back if rank == 0 else back


def _alarm() -> None:
    """End this process where a turn does not: the other rank is gone."""
    signal.alarm(PATIENCE)


def case_of(operation: str, nbytes: int, terms: Terms) -> Case:
    """Return a case as a run of collmark would have it."""
    reduces = operation == "all_reduce"
    dtype = "float32" if reduces else "uint8"
    assert nbytes % DTYPES[dtype].itemsize == 0, "whole elements"
    return Case(
        operation=operation,
        backend="mpi",
        dtype=dtype,
        placement=Placement(ranks_per_node=2),
        nbytes=nbytes,
        requested_nbytes=nbytes,
        reduction="sum" if reduces else "",
        in_place=operation == "broadcast",
        scheduling=terms.scheduling,
        binding=terms.binding,
        thread_level="funneled",
    )


def main() -> int:
    """Be one rank."""
    task = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Task)
    rank = int(os.environ.get("PMI_RANK") or os.environ["OMPI_COMM_WORLD_RANK"])
    scheduling.bind(task.terms.binding, rank, 2)
    scheduling.apply(task.terms.scheduling)

    def share(value: bytes) -> bytes:
        from mpi4py import MPI

        return bytes(MPI.COMM_WORLD.bcast(value))

    group = Group(
        rank=rank,
        ranks=2,
        local_rank=rank,
        one_host=True,
        host="127.0.0.1",
        address="127.0.0.1",
        timeout=PATIENCE,
        hand_over=share,
        plan=Plan(mpi_library=task.library),
    )
    session = MpiSession(group)
    contest = Contest(task, session)
    result = Result(cells=contest.run(), facts=dict(session.facts()), tick=contest.tick)
    if rank == 0:
        Path(task.result).write_bytes(msgspec.json.encode(result))
    session.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
