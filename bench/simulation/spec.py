"""What a simulation plants."""

from __future__ import annotations

import math
from typing import Annotated, Any

import msgspec

from collmark.bench.clock_model import MOST_DRIFT
from collmark.core.bounds import LARGEST, Count, Share
from collmark.core.case import Buffers, Cadence, Case
from collmark.core.decoding import decoded, unknown_key
from collmark.core.errors import PlanError, UsageError
from collmark.core.grouping import Company
from collmark.core.operation import Estimand
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Placement

LONGEST = 3600.0  # s; virtual time is kept in int64 ns
Duration = Annotated[float, msgspec.Meta(ge=0, le=LONGEST)]
PerByte = Annotated[float, msgspec.Meta(ge=0, le=1)]
Spread = Annotated[float, msgspec.Meta(ge=0, le=10)]  # of log T: beyond it every float overflows soon
Factor = Annotated[float, msgspec.Meta(gt=0, le=1e6)]
Drift = Annotated[float, msgspec.Meta(ge=-1e3, le=1e3)]
ClockDrift = Annotated[float, msgspec.Meta(ge=0, le=MOST_DRIFT / 2)]
RankOrNone = Annotated[int, msgspec.Meta(ge=-1, le=LARGEST)]


class Simulation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Truths and disturbances; times in s, beta in s/B of bus bytes.

    Attributes
    ----------
    alpha, beta : float
        T = alpha + (bus factor x nbytes) x beta; point-to-point without factor, ragged by the busiest rank's bytes.
    switch_at, alpha_after, beta_after : int, float, float
        From this nbytes on, other parameters hold; 0 for no switch.
    launch_sd, within_cv : float
        Standard deviation of log T between launches, and between repetitions of one launch.
    autocorrelation : float
        Of successive repetitions (first-order autoregressive).
    contaminated, contamination : float, (float, float)
        Share of repetitions that take longer, and between which factors.
    pipelined : float
        Share of T that calls back to back save.
    cold : float
        Factor on T where buffers rotate.
    contention : float
        Factor on T where several groups of ranks communicate at once.
    skew : float
        Standard deviation of the ranks' entries around the agreed start.
    slow_rank, slow_other, slow_factor : int, int, float
        Groups that hold the rank, and the other one where it is given, take so many times as long; -1 for none.
    straggler_rank, straggler_delay : int, float
        A rank that enters later by so many seconds; -1 for none.
    drift : float
        Relative change of T per second of virtual time.
    dead_rank, dead_after : int, int
        A rank that never returns from this call on; -1 for none.
    wrong_rank, wrong_element, wrong_after : int
        A rank that receives one wrong element from this call on; -1 for none.
    asynchronous, enqueue : bool, float
        Calls only queue work, which takes so many seconds on the host.
    tick : float
        Step of the virtual clock.
    clock_offset, clock_drift : float, float
        By how much the clock of each host but the first is off at most, and by how many seconds a second it gains or
        loses at most; drawn for each launch.
    clock_jump, clock_jump_at : float, float
        By how much the last host's clock is set forward, and when.
    clock_delay : float
        Least time that a message between hosts takes on the control channel; the way back takes half as long again.
    seed : int
        Seeds everything.
    """

    alpha: Duration = 20e-6
    beta: PerByte = 1e-10
    switch_at: Count = 0
    alpha_after: Duration = 20e-6
    beta_after: PerByte = 1e-10
    launch_sd: Spread = 0.02
    within_cv: Spread = 0.05
    autocorrelation: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.0
    contaminated: Share = 0.0
    contamination: tuple[Factor, Factor] = (1.5, 4.0)
    pipelined: Share = 0.0
    cold: Factor = 1.0
    contention: Factor = 1.0
    skew: Duration = 1e-6
    slow_rank: RankOrNone = -1
    slow_other: RankOrNone = -1
    slow_factor: Factor = 1.0
    straggler_rank: RankOrNone = -1
    straggler_delay: Duration = 0.0
    drift: Drift = 0.0
    dead_rank: RankOrNone = -1
    dead_after: Count = 0
    wrong_rank: RankOrNone = -1
    wrong_element: Count = 0
    wrong_after: Count = 0
    asynchronous: bool = False
    enqueue: Duration = 5e-6
    tick: Annotated[float, msgspec.Meta(gt=0, le=1)] = 1e-9
    clock_offset: Duration = 0.0
    clock_drift: ClockDrift = 0.0
    clock_jump: Annotated[float, msgspec.Meta(ge=-LONGEST, le=LONGEST)] = 0.0
    clock_jump_at: Duration = 0.0
    clock_delay: Duration = 10e-6
    seed: Count = 0

    @property
    def has_clocks(self) -> bool:
        """Whether hosts have clocks of their own."""
        return bool(self.clock_offset or self.clock_drift or self.clock_jump)

    def seconds(self, case: Case) -> float:
        """Return T of a case without noise, that of one call."""
        changed = self.cold if case.buffers is Buffers.ROTATED else 1.0
        if case.cadence is Cadence.STREAMING:
            changed *= 1 - self.pipelined
        if case.group is not None and case.group.company is Company.TOGETHER:
            changed *= self.contention
        if self.slow_rank in case.members and (self.slow_other < 0 or self.slow_other in case.members):
            changed *= self.slow_factor
        return changed * self._plain_seconds(case)

    def _plain_seconds(self, case: Case) -> float:
        switched = self.switch_at and case.nbytes >= self.switch_at
        alpha, beta = (self.alpha_after, self.beta_after) if switched else (self.alpha, self.beta)
        operation = OPERATIONS[case.operation]
        if operation.estimand is Estimand.PER_MESSAGE:
            return alpha / case.messages + case.nbytes * beta
        return alpha + operation.model_nbytes(case.exchange) * beta


def read_simulation(table: dict[str, Any]) -> Simulation:
    """Turn a plan's ``[simulation]`` table into a Simulation; PlanError names what is wrong in it."""
    allowed = Simulation.__struct_fields__
    problems = [f"simulation: {unknown_key(key, allowed)}" for key in table if key not in allowed]
    problems += [
        f"simulation: {key} must be finite"
        for key, value in table.items()
        if isinstance(value, float) and not math.isfinite(value)
    ]
    if problems:
        raise PlanError(problems)
    try:
        simulation = decoded(table, Simulation, "simulation")
    except UsageError as error:
        raise PlanError([str(error)]) from error
    low, high = simulation.contamination
    if low > high:
        raise PlanError([f"simulation: contamination: write the smaller factor first, not {low:g} to {high:g}"])
    return simulation


def check_place_of(simulation: Simulation, placement: Placement) -> None:
    """Raise PlanError where something is planted on a rank or a host that is not there: it would never show."""
    problems = [
        f"simulation: {name} = {rank}: there are ranks 0 to {placement.ranks - 1}"
        for name in ("straggler_rank", "dead_rank", "wrong_rank")
        if (rank := getattr(simulation, name)) >= placement.ranks
    ]
    if simulation.has_clocks and placement.nodes == 1:
        problems.append("simulation: clocks of other hosts: one node has one clock; give placements of several nodes")
    if problems:
        raise PlanError(problems)
