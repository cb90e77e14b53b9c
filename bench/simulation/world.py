"""The simulated world: virtual clocks of all ranks, and when each enters and leaves every call.

Legend: R ranks. Times are ns unless named otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from collmark.bench.simulation.spec import Simulation
from collmark.core.case import Case
from collmark.core.errors import MeasurementError
from collmark.core.operation import Estimand

LONGEST_CALL = 1e5  # s: beyond any time-out, and some 90,000 of them fit into int64 ns
SLACK = 20_000  # ns between the last exit and the next agreed start
EARLIEST_EXIT = 0.02  # ranks leave within the last 2 % of T
SECOND = 1e9


Times = NDArray[np.int64]


class Outcome:
    """One call: when every rank entered, had queued, and left, and how long its device worked."""

    __slots__ = ("device_R", "enter_R", "exit_R", "queued_R")

    def __init__(self, enter_R: Times, queued_R: Times, exit_R: Times, device_R: Times) -> None:
        self.enter_R = enter_R
        self.queued_R = queued_R
        self.exit_R = exit_R
        self.device_R = device_R


class _Draw:
    """T of one case, call by call: model x launch level x autoregressive noise x contamination x drift."""

    def __init__(self, plan: Simulation, case: Case, launch: int, random: np.random.Generator) -> None:
        self._plan = plan
        self._random = random
        self._seconds = plan.seconds(case)
        words = np.frombuffer(case.key.encode().ljust(-(-len(case.key) // 4) * 4), dtype=np.uint32)
        level = np.random.default_rng([plan.seed, launch, *words.tolist()])
        self._level = float(level.normal(0.0, plan.launch_sd)) if plan.launch_sd else 0.0
        self._noise = float(random.normal())

    def seconds(self, start: int) -> float:
        """Return T of the next call, which starts at a virtual time in ns, in s."""
        plan, rho = self._plan, self._plan.autocorrelation
        self._noise = rho * self._noise + float(np.sqrt(1 - rho * rho) * self._random.normal())
        seconds = self._seconds * float(np.exp(self._level + plan.within_cv * self._noise))
        if plan.contaminated and self._random.random() < plan.contaminated:
            seconds *= self._random.uniform(*plan.contamination)
        return min(max(0.0, seconds * (1 + plan.drift * start / SECOND)), LONGEST_CALL)


class World:
    """All ranks of one simulated launch.

    Parameters
    ----------
    simulation : Simulation
        What is planted.
    ranks, launch : int
        Number of ranks; id of the launch, which draws a level of its own for every case.
    """

    def __init__(self, simulation: Simulation, ranks: int, launch: int) -> None:
        self.simulation = simulation
        self.ranks = ranks
        self._launch = launch
        self._random = np.random.default_rng([simulation.seed, launch])
        self._cases: tuple[Case, ...] = ()
        self._draws: list[_Draw] = []
        self._outcomes: list[Outcome] = []
        self._position_R = [0] * ranks
        self._is_queued_R = [False] * ranks
        self._now_R = np.zeros(ranks, dtype=np.int64)
        self._device_R = np.zeros(ranks, dtype=np.int64)
        self.calls = 0
        self.timeout = 30.0
        self.read: Callable[[int, int], int] = lambda _rank, moment: moment
        """What the clock of a rank's host reads at a moment, ns."""
        self.starts: Callable[[int], Times] = lambda start: np.full(ranks, start)
        """When each rank starts, by its own clock, where rank 0 says when, ns."""

    @property
    def now(self) -> int:
        """Latest virtual time of all ranks."""
        return int(self._now_R.max())

    def pass_time(self, nanoseconds: int) -> None:
        """Let time go by between calls."""
        self._now_R += nanoseconds

    def enter_cases(self, cases: Sequence[Case]) -> None:
        """Start cases, each on a group of ranks: its level is drawn from the launch and the case alone."""
        # Ranks that waited for others have not come as far through the calls.
        self._outcomes.clear()
        self._position_R = [0] * self.ranks
        if tuple(cases) != self._cases:
            self._cases = tuple(cases)
            self._draws = [_Draw(self.simulation, case, self._launch, self._random) for case in cases]

    def begin(self, rank: int) -> None:
        """Bring a rank to its entry into the next call."""
        self._now_R[rank] = self._outcome(rank, agreed=True).enter_R[rank]

    def _outcome(self, rank: int, *, agreed: bool) -> Outcome:
        """Return a rank's next call, simulated when the first rank comes to it: at an agreed start, or back to back."""
        position = self._position_R[rank]
        if position == len(self._outcomes):
            self._outcomes.append(self._simulate(agreed=agreed))
        return self._outcomes[position]

    def clock(self, rank: int) -> int:
        """Return a rank's virtual time in ns, as coarse as its clock."""
        tick = self.simulation.tick * SECOND
        now = self.read(rank, int(self._now_R[rank]))
        return now if tick <= 1 else int(now // tick * tick)

    def enqueue(self, rank: int) -> None:
        """Queue a call on a rank's device, behind the one before where that was not waited for."""
        if self._is_queued_R[rank]:
            self._position_R[rank] += 1
        self._is_queued_R[rank] = True
        self._now_R[rank] = self._outcome(rank, agreed=False).queued_R[rank]

    def finish(self, rank: int) -> None:
        """Wait on a rank until the call is done."""
        outcome = self._outcome(rank, agreed=False)
        self._is_queued_R[rank] = False
        self._now_R[rank] = outcome.exit_R[rank]
        self._device_R[rank] = outcome.device_R[rank]
        self._position_R[rank] += 1
        if min(self._position_R) == len(self._outcomes):
            self._outcomes.clear()
            self._position_R = [0] * self.ranks

    def device_time(self, rank: int) -> int:
        """Return ns between entry into and exit from the last call, as a device would have stamped them."""
        return int(self._device_R[rank])

    def _simulate(self, *, agreed: bool) -> Outcome:
        plan = self.simulation
        assert self._cases, "cases are bound before they are called"
        self.calls += 1
        before = self._outcomes[-1] if self._outcomes else None
        before_R = before.exit_R if before else self._now_R
        start = int(before_R.max()) + SLACK
        if agreed:
            lag_R = np.abs(self._random.normal(0.0, plan.skew * SECOND, self.ranks)).astype(np.int64)
            enter_R = np.maximum(self.starts(start), before_R) + lag_R
            if 0 <= plan.straggler_rank < self.ranks:
                enter_R[plan.straggler_rank] += int(plan.straggler_delay * SECOND)
        else:
            enter_R = before_R
        if 0 <= plan.dead_rank < self.ranks and self.calls > plan.dead_after:
            self._now_R += int(self.timeout * SECOND)
            msg = f"rank {plan.dead_rank} (simulated) silent for {self.timeout:g} s in {self._cases[0]}"
            raise MeasurementError(msg)
        exit_R = enter_R + 1  # of ranks that wait for others
        for case, draw in zip(self._cases, self._draws, strict=True):
            members = list(case.members)
            exit_R[members] = self._exits(case, enter_R[members], draw.seconds(start) * SECOND, agreed=agreed)
        enqueue = round(plan.enqueue * SECOND)
        device_R = exit_R - enter_R
        queued_R = enter_R + enqueue
        if plan.asynchronous and agreed:
            exit_R = exit_R + enqueue
        elif plan.asynchronous and before:
            queued_R = before.queued_R + enqueue
        return Outcome(enter_R, queued_R, exit_R, device_R)

    def _exits(self, case: Case, enter_R: Times, nanoseconds: float, *, agreed: bool) -> Times:
        estimand = case.estimand
        if estimand in (Estimand.HALF_ROUND_TRIP, Estimand.PER_MESSAGE):
            times = 2 if estimand is Estimand.HALF_ROUND_TRIP else case.messages
            exit_R = enter_R + 1
            exit_R[:2] = enter_R[:2] + round(times * nanoseconds)
            return exit_R
        duration = round(nanoseconds)
        # Back to back, T of one call is what each adds to the last exit.
        waits = estimand is Estimand.LAST_IN_LAST_OUT or not agreed
        begin = enter_R.max() if waits else enter_R.min()
        ranks = len(enter_R)
        exit_R = begin + duration - (self._random.random(ranks) * EARLIEST_EXIT * duration).astype(np.int64)
        exit_R[self._random.integers(ranks)] = begin + duration
        # Nobody leaves before having entered, even where others need not wait for the last.
        return np.asarray(np.maximum(exit_R, enter_R + 1), dtype=np.int64)
