"""Clocks of simulated hosts: what each reads, and how long messages on the control channel take."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from collmark.bench.simulation.spec import Simulation

STREAM = 7  # of random numbers, apart from those of the calls
BACK = 1.5  # x the way there: routes and wake-ups are not alike, and half the round trip is not the offset
JITTER = 0.3  # mean of the exponential part of a way, over its shortest
SECOND = 1e9


class PlantedClocks:
    """One clock a host; the first host's is the true one.

    Parameters
    ----------
    simulation : Simulation
        What is planted.
    nodes, ranks_per_node : int
        Ranks fill one host after the other.
    launch : int
        Id of the launch, which draws clocks of its own.
    """

    def __init__(self, simulation: Simulation, nodes: int, ranks_per_node: int, launch: int) -> None:
        self._plan = simulation
        self._random = np.random.default_rng([simulation.seed, launch, STREAM])
        self.host_R = np.arange(nodes * ranks_per_node) // ranks_per_node
        self._ahead_H = self._random.uniform(-1, 1, nodes) * simulation.clock_offset * SECOND
        self._drift_H = self._random.uniform(-1, 1, nodes) * simulation.clock_drift
        self._ahead_H[0] = self._drift_H[0] = 0.0

    def reading(self, rank: int, moment: int) -> int:
        """Return what the clock of a rank's host reads at a true moment, ns."""
        host = self.host_R[rank]
        jump = self._jump(rank) if moment >= self._plan.clock_jump_at * SECOND else 0.0
        return moment + round(float(self._ahead_H[host] + self._drift_H[host] * moment + jump))

    def moment(self, rank: int, reading: int) -> int:
        """Return the true moment from which on a rank's clock shows a reading or more, ns."""
        host, set_at = self.host_R[rank], self._plan.clock_jump_at * SECOND
        jump = self._jump(rank)
        before, after = (
            float((reading - self._ahead_H[host] - forward) / (1 + self._drift_H[host])) for forward in (0.0, jump)
        )
        return round(before if before < set_at else max(set_at, after))

    def _jump(self, rank: int) -> float:
        """Return by how much a rank's clock is set forward, ns: that of the last host, and never rank 0's."""
        host = self.host_R[rank]
        return self._plan.clock_jump * SECOND if host and host == self.host_R[-1] else 0.0

    def exchanges(self, rank: int, begin: int, count: int) -> NDArray[np.int64]:
        """Return what rank 0 and another read while they exchange so many messages, ns, shape (count, 3)."""
        shortest = self._plan.clock_delay * SECOND
        ways_E2 = shortest * np.array([1.0, BACK]) * (1 + self._random.exponential(JITTER, (count, 2)))
        ends_E = begin + np.cumsum(ways_E2.sum(axis=1))
        rows = [
            (round(end - there - back), self.reading(rank, round(end - back)), round(end))
            for (there, back), end in zip(ways_E2.tolist(), ends_E.tolist(), strict=True)
        ]
        return np.array(rows, dtype=np.int64)
