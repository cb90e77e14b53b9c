"""Simulated ranks: the same rank code as for processes, on sessions that share one virtual world."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from collmark.bench.common_clock import CommonClock, one_clock
from collmark.bench.rank import Rank
from collmark.bench.rotation import slots_of
from collmark.bench.simulation.clocks import PlantedClocks
from collmark.bench.simulation.delivery import deliver
from collmark.bench.simulation.spec import Simulation
from collmark.bench.simulation.world import SECOND, World
from collmark.bench.stamps import Stamps
from collmark.bench.team import combined
from collmark.core.case import Case
from collmark.core.dtype import DTYPES
from collmark.core.errors import InterruptedRunError
from collmark.core.grouping import Group
from collmark.core.operation_table import OPERATIONS
from collmark.core.payload import Segment
from collmark.core.placement import Tier
from collmark.core.record import Check, Clock, Evidence
from collmark.kernels.addition import add
from collmark.kernels.buffer import Comparison, HostBuffer

LARGEST_MOVED = 64 * 2**20  # bytes over all ranks and buffers: beyond it only times are simulated
CACHE = 1  # byte: no cache is simulated, and as few buffers as may be are gone through


def is_too_large(case: Case) -> bool:
    """Whether a case's buffers would fill the memory of this one process."""
    return case.nbytes * case.placement.ranks * slots_of(case, CACHE) > LARGEST_MOVED


class SimulatedBound:
    """A case bound on one simulated rank."""

    program = None

    def __init__(self, session: SimulatedSession, send: HostBuffer | None, receive: Received | None) -> None:
        self.send = send
        self.receive = receive
        self.call: Callable[[], object] = session.queue if session.asynchronous else session.call_through
        self._session = session

    def overlapping(self, _compute: int) -> None:
        """No program."""

    def device_time(self) -> int:
        """Ns between the virtual device's stamps."""
        return self._session.world.device_time(self._session.rank)

    def release(self) -> None:
        """Free the buffers."""


class Received(HostBuffer):
    """A receive buffer that is filled when it is looked at."""

    def __init__(self, mail: Mail, place: int, count: int, case: Case) -> None:
        dtype = DTYPES[case.dtype]
        super().__init__(np.zeros(count, dtype.storage), dtype, reduction=case.reduction, ranks=case.placement.ranks)
        self._mail = mail
        self._place = place

    def compare(self, segments: Sequence[Segment], epoch: int) -> Comparison:
        """Compare every element with the payload of an epoch."""
        self._mail.deliver_to(self._place, self.array)
        return super().compare(segments, epoch)


class Mail:
    """Moves a case's data between its simulated ranks, and plants the wrong element."""

    def __init__(self, world: World, case: Case) -> None:
        self._world = world
        self._case = case
        self.sends: dict[int, HostBuffer] = {}
        self._delivered: tuple[int, list[NDArray[np.float64]]] = (-1, [])

    def deliver_to(self, place: int, receive: NDArray[np.generic]) -> None:
        """Fill the receive array of one of the case's ranks from what all of them send now."""
        dtype, plan = DTYPES[self._case.dtype], self._world.simulation
        if self._delivered[0] != self._world.calls:
            sends = [dtype.decode(self.sends[r].array) for r in range(self._case.placement.ranks)]
            self._delivered = (self._world.calls, deliver(self._case, sends))
        received = dtype.encode(self._delivered[1][place].astype(np.int64))
        receive[...] = received[: receive.size]
        if self._case.members[place] == plan.wrong_rank and self._world.calls > plan.wrong_after and receive.size:
            bits = receive.view(dtype.unsigned_storage)
            # Not the lowest bit: an average may be off by one unit in the last place.
            bits[plan.wrong_element % receive.size] ^= 2


class SimulatedSession:
    """A session of one simulated rank."""

    timer = None
    add = staticmethod(add)

    def __init__(self, world: World, rank: int, mails: dict[tuple[str, int], Mail]) -> None:
        self.world = world
        self.rank = rank
        self.asynchronous = world.simulation.asynchronous
        self._mails = mails

    def clock(self) -> int:
        """Virtual time in ns."""
        return self.world.clock(self.rank)

    def reserve(self, nbytes: int) -> None:
        """Nothing to allocate."""

    def arrange(self, group: Group) -> None:
        """A simulated group needs no communicator."""

    def bind(self, case: Case, slot: int) -> SimulatedBound:
        """Bind a case; buffers stay away where they would fill the memory."""
        if is_too_large(case):
            return SimulatedBound(self, None, None)
        mail = self._mails.setdefault((case.key, slot), Mail(self.world, case))
        place, operation, dtype = case.members.index(self.rank), OPERATIONS[case.operation], DTYPES[case.dtype]
        sent = sum(segment.count for segment in operation.sends(case.exchange, place))
        received = sum(segment.count for segment in operation.expects(case.exchange, place))
        send = HostBuffer(np.zeros(sent, dtype.storage), dtype, reduction=case.reduction, ranks=case.placement.ranks)
        mail.sends[place] = send
        return SimulatedBound(self, send, Received(mail, place, received, case))

    def call_through(self) -> None:
        """Call and wait."""
        self.world.finish(self.rank)

    def queue(self) -> None:
        """Queue only."""
        self.world.enqueue(self.rank)

    def synchronize(self) -> None:
        """Wait for what was queued."""
        self.world.finish(self.rank)

    def facts(self) -> Mapping[str, str]:
        """What is planted, as text."""
        return {"simulated": "virtual clock, no data on any link"}

    def evidence(self, *, one_host: bool) -> Evidence:
        """A simulation uses no link, within a host as between hosts."""
        _ = one_host
        return Evidence(tier=Tier.SIMULATED, because=["simulated: no link was used"])

    def close(self) -> None:
        """Nothing to give back."""


class SimulatedTeam:
    """All simulated ranks in this process.

    Parameters
    ----------
    simulation : Simulation
        What is planted.
    ranks, launch : int
        Number of ranks, id of the launch.
    timeout : float
        Virtual seconds after which a dead rank is given up.
    is_stopping : callable
        Whether somebody asked to stop; heard between ranks, since thousands take their time.
    nodes : int
        Hosts that the ranks lie on, equally many on each.
    """

    def __init__(
        self,
        simulation: Simulation,
        ranks: int,
        launch: int,
        timeout: float = 30.0,
        is_stopping: Callable[[], bool] = lambda: False,
        nodes: int = 1,
    ) -> None:
        self.ranks = ranks
        self._is_stopping = is_stopping
        self._world = World(simulation, ranks, launch)
        self._world.timeout = timeout
        self.common = one_clock(ranks)
        if simulation.has_clocks:
            self._plant_clocks(PlantedClocks(simulation, nodes, ranks // nodes, launch))
        self._mails: dict[tuple[str, int], Mail] = {}
        self._members = [
            Rank(rank, SimulatedSession(self._world, rank, self._mails), self._starter(rank)) for rank in range(ranks)
        ]
        self.evidence = self._members[0].evidence(one_host=nodes == 1)
        self._is_too_large = False
        self._batch = 1

    def _plant_clocks(self, clocks: PlantedClocks) -> None:
        """Give hosts clocks of their own."""
        world = self._world

        def ask(rank: int, count: int) -> NDArray[np.int64]:
            exchanges_E3 = clocks.exchanges(rank, world.now, count)
            world.pass_time(int(exchanges_E3[-1, 2]) - world.now)
            tick = max(1, round(world.simulation.tick * SECOND))
            return exchanges_E3 // tick * tick

        def starts(start: int) -> NDArray[np.int64]:
            readings = enumerate(self.common.readings(start))
            return np.array([clocks.moment(rank, reading) for rank, reading in readings])

        self.common = CommonClock(
            [str(host) for host in clocks.host_R],
            ask,
            now=lambda: world.clock(0),
            sleep=lambda seconds: world.pass_time(round(seconds * SECOND)),
        )
        world.read, world.starts = clocks.reading, starts

    @property
    def clock(self) -> Clock:
        """Which clocks the stamps come from."""
        return Clock.VIRTUAL if self.common.is_shared else Clock.MODELLED

    def _starter(self, rank: int) -> Callable[[float], None]:
        def await_start(_timeout: float) -> None:
            self._world.begin(rank)

        return await_start

    def now(self) -> float:
        """Return virtual seconds."""
        return self._world.now / SECOND

    def facts(self) -> Mapping[str, str]:
        """What the sessions say of themselves."""
        return self._members[0].session.facts()

    def _each(self) -> Iterator[Rank]:
        for member in self._members:
            if self._is_stopping():
                raise InterruptedRunError("stopped")
            yield member

    def reserve(self, nbytes: int, eviction: int) -> None:
        """Nothing to allocate."""

    def evidence_of(self, _case: Case) -> Evidence:
        """Return that no link was used."""
        return self.evidence

    def bind(self, cases: Sequence[Case], cache: int = CACHE) -> None:
        """Bind cases on groups of ranks that communicate at once."""
        self._is_too_large = is_too_large(cases[0])
        self._batch = cases[0].batch
        self._mails.clear()
        self._world.enter_cases(cases)
        for member in self._each():
            member.bind(cases, cache)

    def prepare(self, epoch: int, *, poison: bool, slot: int = 0) -> None:
        """Write the payload of an epoch on every rank."""
        for member in self._each():
            member.prepare(epoch, poison=poison, slot=slot)

    def neutralise(self) -> None:
        """Data is moved only when it is looked at: repeated calls cannot overflow."""

    def once(self, timeout: float, slot: int = 0) -> Stamps:
        """Time a single call on every rank."""
        layers_SRI = np.stack([member.once(timeout, slot) for member in self._each()], axis=1)
        return Stamps(layers_SRI=layers_SRI, starts_I=None, comparable=True)

    def block(self, count: int, timeout: float, compute: int = 0) -> Stamps:
        """Time `count` repetitions on every rank."""
        assert not compute, "nothing simulated is called in non-blocking form"
        self.common.attend()
        layers_SRI = np.stack([member.block(count, timeout) for member in self._each()], axis=1)
        layers_SRI = self.common.moments(layers_SRI)
        return Stamps(layers_SRI=layers_SRI, starts_I=None, comparable=True, error=self.common.error, batch=self._batch)

    def compare(self, epoch: int, slot: int, groups: Sequence[Sequence[int]]) -> list[Check]:
        """Compare what every rank received; return a check for each group of ranks."""
        comparisons_R = [member.compare(epoch, slot) for member in self._each()]
        if self._is_too_large:
            return [Check(checked=0, wrong=0, left_out="simulated: nothing was moved") for _members in groups]
        return [combined(comparisons_R, members) for members in groups]

    def count_threads(self) -> tuple[int, int]:
        """A virtual clock is not disturbed by threads."""
        return 0, 0

    def release(self) -> None:
        """Free the buffers."""
        for member in self._members:
            member.release()
