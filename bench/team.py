"""The ranks as the runner sees them: one object that carries out a command on all of them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec
import numpy as np

from collmark.bench.common_clock import CommonClock
from collmark.bench.control import Hub
from collmark.bench.group import emulates_hosts
from collmark.bench.noise.short import RankNoise, host_noise
from collmark.bench.rank import (
    Bind,
    Block,
    Command,
    Compare,
    CountThreads,
    Listen,
    Neutralise,
    Once,
    Prepare,
    Rank,
    Release,
    Reserve,
    Testify,
)
from collmark.bench.stamps import Stamps
from collmark.bench.watchdog import Watchdog
from collmark.core.case import Case
from collmark.core.errors import UnavailableError
from collmark.core.host_noise import HostNoise
from collmark.core.record import Check, Clock, Evidence
from collmark.kernels.buffer import Comparison

LARGEST_SLACK = 5_000_000  # ns
SMALLEST_SLACK = 50_000  # ns: a message over loopback and the wake-up behind it
FIRST_SLACK = 300_000  # ns
LONGEST_WAIT = 10 * LARGEST_SLACK
UNTIMED_PATIENCE = 10


class Team(Protocol):
    """All ranks of a launch."""

    ranks: int
    common: CommonClock
    evidence: Evidence

    @property
    def clock(self) -> Clock:
        """Which clocks the stamps come from."""

    def now(self) -> float:
        """Return seconds on the clock that budgets are counted on."""

    def reserve(self, nbytes: int, eviction: int) -> None:
        """Allocate the largest buffers, and what drives them out of the caches, once and before all others."""

    def evidence_of(self, case: Case) -> Evidence:
        """Return which link the ranks of a case, which is bound, communicate over."""

    def bind(self, cases: Sequence[Case], cache: int) -> None:
        """Bind cases on groups of ranks that communicate at once; UnavailableError names the first rank that cannot."""

    def prepare(self, epoch: int, *, poison: bool, slot: int) -> None:
        """Write the payload of an epoch on every rank, into one pair of buffers."""

    def neutralise(self) -> None:
        """Make repeated calls harmless where they work in place."""

    def once(self, timeout: float, slot: int) -> Stamps:
        """Time a single call on every rank, on one pair of buffers."""

    def block(self, count: int, timeout: float, compute: int = 0) -> Stamps:
        """Time `count` repetitions on every rank; with `compute`, each computes for so many ns inside."""

    def compare(self, epoch: int, slot: int, groups: Sequence[Sequence[int]]) -> list[Check]:
        """Compare what every rank received in one pair of buffers; return a check for each group of ranks."""

    def count_threads(self) -> tuple[int, int]:
        """Return the threads that ran on the busiest host, and the cores they may run on."""

    def release(self) -> None:
        """Free the buffers."""


def combined(comparisons_R: Sequence[Comparison], members: Sequence[int]) -> Check:
    """Return the comparisons of some of all ranks as one check."""
    own = [(rank, comparisons_R[rank]) for rank in members]
    first = next((f"rank {rank}, {c.first}" for rank, c in own if c.wrong), "")
    return Check(checked=sum(c.checked for _rank, c in own), wrong=sum(c.wrong for _rank, c in own), first=first)


class Starts:
    """Agreed starts in the manner of Round-Time (ReproMPI): one agreement per repetition.

    Every rank says that it is ready, rank 0 answers with a time a little ahead, told to each by its own clock, all spin
    until then. The slack follows how late ranks really entered.
    """

    def __init__(self, hub: Hub, watchdog: Watchdog, common: CommonClock) -> None:
        self._hub = hub
        self._watchdog = watchdog
        self._common = common
        self._slack = FIRST_SLACK
        self.agreed: list[int] = []
        self.what = ""

    def await_start(self, timeout: float) -> None:
        """Agree on the next start and wait for it."""
        self.arm(timeout)
        self._hub.await_ready()
        start = time.monotonic_ns() + self._slack
        self._hub.send_starts(self._common.readings(start))
        self.agreed.append(start)
        spin_until(start)

    def arm(self, timeout: float) -> None:
        """Give what happens next so many seconds."""
        self._watchdog.arm(timeout, self.what)

    def disarm(self) -> None:
        """Nothing is waited for."""
        self._watchdog.disarm()

    def end(self, enter_RI: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> None:
        """End a block and follow its lateness: more slack when ranks came late, slowly less when they did not."""
        late = float(np.mean((enter_RI - np.array(self.agreed)).max(axis=0) > self._slack / 5))
        change = 1.5 if late > 0.1 else 0.95
        self._slack = int(min(LARGEST_SLACK, max(SMALLEST_SLACK, self._slack * change)))


def spin_until(nanoseconds: int) -> None:
    """Return when the monotonic clock shows `nanoseconds`; at once where a clock was set, and that is no start."""
    clock = time.monotonic_ns
    if nanoseconds - clock() < LONGEST_WAIT:
        while clock() < nanoseconds:
            pass


class ProcessTeam:
    """Ranks in processes of their own; this process is rank 0 and talks to the others over the control channel.

    Parameters
    ----------
    hub : Hub
        Control channel, all ranks joined.
    local : Rank
        Rank 0.
    starts : Starts
        Agreement on starts that `local` uses too.
    common : CommonClock
        Clock that stamps are mapped onto, as soon as it is settled.
    cores : int
        Cores that the ranks of one host may run on.
    timeout : float
        Least seconds before a call is given up; what is not timed, such as writing payloads, has ten times that.
    """

    def __init__(
        self, hub: Hub, local: Rank, starts: Starts, common: CommonClock, *, cores: int, timeout: float
    ) -> None:
        self.ranks = hub.ranks
        self.common = common
        self._hub = hub
        self._one_host = self._is_one_host(range(hub.ranks))
        self.evidence = self._marked(local.evidence(one_host=self._one_host), range(hub.ranks))
        self._evidence_of: dict[tuple[int, ...], Evidence] = {}
        self._local = local
        self._starts = starts
        self._cores = cores
        self._patience = UNTIMED_PATIENCE * timeout
        self._is_broken = False
        self._batch = 1

    @property
    def clock(self) -> Clock:
        """Which clocks the stamps come from."""
        return Clock.SHARED if self.common.is_shared else Clock.MODELLED

    def now(self) -> float:
        """Return seconds of the monotonic clock."""
        return time.monotonic()

    def reserve(self, nbytes: int, eviction: int) -> None:
        """Allocate the largest buffers, and what drives them out of the caches, on every rank."""
        self._everywhere(Reserve(nbytes=nbytes, eviction=eviction))

    def _is_one_host(self, members: Iterable[int]) -> bool:
        return len({self._hub.hellos[rank].network for rank in members}) == 1

    def _marked(self, evidence: Evidence, members: Iterable[int]) -> Evidence:
        """Return evidence that says so where one machine plays all the hosts."""
        if not emulates_hosts([self._hub.hellos[rank].network for rank in members]):
            return evidence
        because = [*evidence.because, "the hosts are network namespaces of one machine"]
        return msgspec.structs.replace(evidence, because=because, emulated=True)

    def evidence_of(self, case: Case) -> Evidence:
        """Return which link the ranks of a case, which is bound, communicate over."""
        members, one_host = tuple(case.members), self._is_one_host(case.members)
        if one_host == self._one_host:
            return self.evidence
        if members not in self._evidence_of:
            replies = self._everywhere(Testify(one_host=one_host))
            told = msgspec.msgpack.decode(replies[members[0]], type=Evidence)
            self._evidence_of[members] = self._marked(told, members)
        return self._evidence_of[members]

    def bind(self, cases: Sequence[Case], cache: int) -> None:
        """Bind cases on groups of ranks that communicate at once."""
        self._starts.what = str(cases[0])
        self._batch = cases[0].batch
        self._everywhere(Bind(cases=tuple(cases), cache=cache))

    def prepare(self, epoch: int, *, poison: bool, slot: int) -> None:
        """Write the payload of an epoch on every rank, into one pair of buffers."""
        self._everywhere(Prepare(epoch=epoch, poison=poison, slot=slot))

    def neutralise(self) -> None:
        """Make repeated calls harmless where they work in place."""
        self._everywhere(Neutralise())

    def once(self, timeout: float, slot: int) -> Stamps:
        """Time a single call on every rank, on one pair of buffers."""
        return self._stamped(Once(timeout=timeout, slot=slot), 1, batch=1)

    def block(self, count: int, timeout: float, compute: int = 0) -> Stamps:
        """Time `count` repetitions on every rank; with `compute`, each computes for so many ns inside."""
        command = Block(count=count, timeout=timeout, compute=compute)
        return self._stamped(command, count, batch=1 if compute else self._batch)

    def _stamped(self, command: Command, count: int, *, batch: int) -> Stamps:
        self.common.attend()
        self._starts.agreed = []
        replies = self._everywhere(command)
        layers_SRI = np.stack([np.frombuffer(reply, dtype=np.int64).reshape(-1, count) for reply in replies], axis=1)
        layers_SRI = self.common.moments(layers_SRI)
        starts = self._local.agreed_I
        if starts is None:
            self._starts.end(layers_SRI[0])
            starts = np.array(self._starts.agreed, dtype=np.int64)
        return Stamps(layers_SRI=layers_SRI, starts_I=starts, comparable=True, error=self.common.error, batch=batch)

    def compare(self, epoch: int, slot: int, groups: Sequence[Sequence[int]]) -> list[Check]:
        """Compare what every rank received in one pair of buffers; return a check for each group of ranks."""
        replies = self._everywhere(Compare(epoch=epoch, slot=slot))
        comparisons_R = [msgspec.msgpack.decode(reply, type=Comparison) for reply in replies]
        return [combined(comparisons_R, members) for members in groups]

    def count_threads(self) -> tuple[int, int]:
        """Return the threads that ran on the busiest host, and the cores they may run on."""
        counts = [int.from_bytes(reply, "little") for reply in self._everywhere(CountThreads())]
        by_host: dict[str, int] = {}
        for host, count in zip(self._hub.hosts, counts, strict=True):
            by_host[host] = by_host.get(host, 0) + count
        return max(by_host.values()), self._cores

    def listen(self) -> dict[str, HostNoise]:
        """Return how each host disturbs its ranks, which watch for a moment, all at once."""
        by_host: dict[str, list[RankNoise]] = {}
        for host, reply in zip(self._hub.hosts, self._everywhere(Listen()), strict=True):
            by_host.setdefault(host, []).append(msgspec.msgpack.decode(reply, type=RankNoise))
        return {host: host_noise(ranks) for host, ranks in by_host.items()}

    def release(self) -> None:
        """Free the buffers on every rank; after a fault nobody would answer, and the fault is what matters."""
        if not self._is_broken:
            self._everywhere(Release())

    def _everywhere(self, command: Command) -> list[bytes]:
        """Carry out a command on all ranks and return their replies in rank order."""
        self._is_broken = True
        self._starts.arm(self._patience)
        replies, refused = self._carry_out(command)
        self._starts.disarm()
        self._is_broken = False
        if refused:
            raise UnavailableError(refused[0])
        return replies

    def _carry_out(self, command: Command) -> tuple[list[bytes], list[str]]:
        self._hub.broadcast(msgspec.msgpack.encode(command))
        refused: list[str] = []
        replies = [b""]
        try:
            replies[0] = perform(self._local, command)
        except UnavailableError as error:
            refused.append(f"rank 0: {error}")
        for rank, reply in self._hub.gather():
            if reply[:1] == REFUSED:
                refused.append(f"rank {rank}: {reply[1:].decode()}")
            replies.append(reply[1:])
        return replies, refused


DONE, REFUSED = b"+", b"-"


def perform(rank: Rank, command: Command) -> bytes:
    """Carry out a command on one rank and return its reply as bytes."""
    match command:
        case Reserve(nbytes=nbytes, eviction=eviction):
            rank.reserve(nbytes, eviction)
        case Bind(cases=cases, cache=cache):
            rank.bind(cases, cache)
        case Prepare(epoch=epoch, poison=poison, slot=slot):
            rank.prepare(epoch, poison=poison, slot=slot)
        case Neutralise():
            rank.neutralise()
        case Release():
            rank.release()
        case _:
            return _found(rank, command)
    return b""


def _found(rank: Rank, command: Command) -> bytes:
    """Return what a command asks for."""
    reply: bytes = b""
    match command:
        case Block(count=count, timeout=timeout, compute=compute):
            reply = rank.block(count, timeout, compute).tobytes()
        case Once(timeout=timeout, slot=slot):
            reply = rank.once(timeout, slot).tobytes()
        case Compare(epoch=epoch, slot=slot):
            reply = msgspec.msgpack.encode(rank.compare(epoch, slot))
        case CountThreads():
            reply = rank.count_threads().to_bytes(4, "little")
        case Testify(one_host=one_host):
            reply = msgspec.msgpack.encode(rank.evidence(one_host=one_host))
        case Listen():
            reply = msgspec.msgpack.encode(rank.listen())
    return reply
