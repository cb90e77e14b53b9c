"""One clock for all ranks: rank 0's, onto which the clocks of other hosts are mapped.

One rank of each host, its leader, exchanges time stamps with rank 0 before and after every case, never inside a block.
What the two looks prove is the bound: whoever is off by no more at both ends is off by no more in between, if the rates
of the clocks hold that long.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from collmark.bench.clock_model import MOST_DRIFT, Line, Look, Times, envelope, line_through
from collmark.bench.rank import DEVICE
from collmark.core.record import ClockModel
from collmark.core.units import format_microseconds

NS = 1e-9
PINGS = 10  # exchanges of messages that one look takes
TRIES, POOR = 5, 2.0  # looks of which the best counts, while it is so many times as coarse as the best ever
FIRST_LOOKS, FIRST_SECONDS = 30, 1.0
MOST_LOOKS, LEAST_LOOKS = 50, 20  # that a line goes through
OLDEST = 30.0  # s: looks further back no longer count
LONGEST_AGE = 10.0  # s between two looks, in a case that lasts


class HostClock:
    """The clock of one other host, looked at through its leader.

    Parameters
    ----------
    leader : int
        Rank that answers.
    look : callable
        Takes one look at the clock of a rank.
    """

    def __init__(self, leader: int, look: Callable[[int], Look]) -> None:
        self.leader = leader
        self.line: Line | None = None
        self.proven = 0.0
        """Ns by which the line was off at most where it was looked at since it was fitted."""
        self._look = look
        self._looks: deque[Look] = deque(maxlen=MOST_LOOKS)
        self._finest = float("inf")
        self._has_left = False

    def look(self) -> float:
        """Look at the clock; return by how many ns it has left its line, beyond all bounds, and 0 ever after."""
        look, left = self._look(self.leader), 0.0
        for _again in range(TRIES - 1):
            if look.error > POOR * self._finest:
                look = min(look, self._look(self.leader), key=lambda one: one.error)
        self._finest = min(self._finest, look.error)
        if self.line is not None:
            self.proven = max(self.proven, self.line.distance(look) + look.error)
            beyond = self.line.distance(look) - look.error - self.line.error_at(look.moment)
            if beyond > 0 and not self._has_left:
                self._has_left, left = True, self.line.distance(look)
                self._looks.clear()
        self._looks.append(look)
        return left

    def forget(self, now: int) -> int:
        """Forget the looks that are too old, and return how many are left."""
        while self._looks and (now - self._looks[0].moment) * NS > OLDEST:
            self._looks.popleft()
        return len(self._looks)

    def fit(self, origin: int) -> None:
        """Draw the line anew, told from a moment on rank 0's clock, and see how far it is from the last look."""
        self.line, self._has_left = line_through(self._looks, origin), False
        self.proven = self.line.distance(self._looks[-1]) + self._looks[-1].error


class CommonClock:
    """Rank 0's clock as that of all ranks; nothing is asked or mapped where all read one clock.

    Parameters
    ----------
    claims : sequence of str
        What each rank says of its clock: equal words mean one clock, which is verified.
    ask : callable
        (rank, count) to (before, there, after): exchanges messages with a rank so often, ns.
    now, sleep : callable
        Rank 0's clock in ns; waits for so many seconds.
    """

    def __init__(
        self,
        claims: Sequence[str],
        ask: Callable[[int, int], Times],
        *,
        now: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._claims = claims
        self._ask = ask
        self._now = now
        self._sleep = sleep
        self._tick = 0.0
        self._seconds = FIRST_SECONDS
        self._host_R = [0] * len(claims)
        self._hosts: list[HostClock] = []
        self._looked: list[int] = []
        self._standing: list[str] = []
        self._notes: list[str] = []

    @property
    def is_shared(self) -> bool:
        """Whether all ranks read one clock."""
        return not self._hosts

    @property
    def error(self) -> float:
        """Bound in s of the error between the stamps of any two ranks."""
        return self.error_among(range(len(self._host_R)))

    def error_among(self, ranks: Sequence[int]) -> float:
        """Return the bound in s between the stamps of any two of some ranks: of two hosts, both may be off."""
        hosts = {self._host_R[rank] for rank in ranks}
        if len(hosts) == 1:
            return 0.0
        return sum(sorted(self._hosts[host - 1].proven for host in hosts if host)[-2:]) * NS

    def is_shared_among(self, ranks: Sequence[int]) -> bool:
        """Whether some ranks read one clock."""
        return self.is_shared or len({self._host_R[rank] for rank in ranks}) == 1

    def settle(self, seconds: float, tick: float) -> None:
        """Find out which ranks read one clock, and measure the others.

        Parameters
        ----------
        seconds : float
            Time to look at the clocks of other hosts for, at most `FIRST_SECONDS`.
        tick : float
            Step of the clocks in s.
        """
        self._seconds, self._tick = min(FIRST_SECONDS, seconds), tick / NS
        seen = [Look(moment=self._now(), ahead=0, error=0.0)]
        seen += [self._look_at(rank) for rank in range(1, len(self._claims))]
        leaders: list[int] = []
        for rank, look in enumerate(seen):
            claimed = [leader for leader in leaders if self._claims[leader] == self._claims[rank]]
            agreeing = [leader for leader in claimed if _agree(seen[leader], look)]
            if claimed and not agreeing:
                apart = format_microseconds(abs(seen[claimed[0]].ahead - look.ahead) * NS)
                self._standing.append(
                    f"rank {rank} says that it reads the clock of rank {claimed[0]}: {apart} us apart"
                )
            leaders += [] if agreeing else [rank]
            self._host_R[rank] = leaders.index(agreeing[0]) if agreeing else len(leaders) - 1
        self._hosts = [HostClock(leader, self._look_at) for leader in leaders[1:]]
        self._measure()

    def _look_at(self, rank: int) -> Look:
        return envelope(self._ask(rank, PINGS), self._tick)

    def _measure(self) -> None:
        for _look in range(FIRST_LOOKS if self._hosts else 0):
            self._look()
            self._sleep(self._seconds / FIRST_LOOKS)

    def _look(self) -> None:
        """Look at all clocks, and note where one has left its line."""
        for host in self._hosts:
            left = host.look()
            if left:
                self._notes.append(
                    f"the clock of rank {host.leader}'s host left its model by {format_microseconds(left * NS)} us: it "
                    "was set, its host slept, or its rate was changed"
                )
        self._looked.append(self._now())

    def prepare(self) -> None:
        """Look at the clocks before a case, and draw their lines anew."""
        if self.is_shared:
            return
        self._notes = []
        self._look()
        now = self._now()
        if min(host.forget(now) for host in self._hosts) < LEAST_LOOKS:
            self._measure()
        for host in self._hosts:
            host.fit(now)
        self._looked = self._looked[-1:]

    def attend(self) -> None:
        """Look at the clocks between two blocks, where the last look is long ago."""
        if self._hosts and (self._now() - self._looked[-1]) * NS > LONGEST_AGE:
            self._look()

    def conclude(self) -> None:
        """Look at the clocks after a case: from here on its bound is proven."""
        if self._hosts:
            self._look()

    def moments(self, layers_SRI: Times) -> Times:
        """Return the stamps of all ranks on rank 0's clock; a device's intervals stay as they are."""
        if self.is_shared:
            return layers_SRI
        mapped = layers_SRI.copy()
        host_R = np.array(self._host_R)
        for index, host in enumerate(self._hosts, start=1):
            if host.line is not None:
                mapped[:DEVICE, host_R == index] = host.line.moments(layers_SRI[:DEVICE, host_R == index])
        return mapped

    def readings(self, moment: int) -> list[int]:
        """Return what each rank's own clock reads at a moment of rank 0's, ns."""
        ahead_H = [0, *(0 if host.line is None else host.line.ahead(moment) for host in self._hosts)]
        return [moment + ahead_H[host] for host in self._host_R]

    def facts(self) -> ClockModel | None:
        """Return what a record keeps of the model; None where all ranks read one clock."""
        lines = [host.line for host in self._hosts if host.line is not None]
        if not lines:
            return None
        gaps = np.diff(self._looked) if len(self._looked) > 1 else np.zeros(1)
        return ClockModel(
            error=self.error,
            age=float(gaps.max()) * NS,
            at=lines[0].origin * NS,
            leaders=[host.leader for host in self._hosts],
            ahead=[(line.base + line.offset) * NS for line in lines],
            drift=[line.drift for line in lines],
            bound=[host.proven * NS for host in self._hosts],
            looks=min(len(line.looks) for line in lines),
            note="; ".join([*self._standing, *self._notes]),
        )


def one_clock(ranks: int) -> CommonClock:
    """Return the clock of ranks of which is known that they read one."""
    return CommonClock([""] * ranks, lambda _rank, _count: np.zeros((1, 3), dtype=np.int64))


def _agree(one: Look, other: Look) -> bool:
    """Whether two ranks may read one clock."""
    apart = abs(one.ahead - other.ahead)
    return apart <= one.error + other.error + MOST_DRIFT * abs(one.moment - other.moment)
