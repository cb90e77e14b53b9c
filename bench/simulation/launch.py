"""One launch of simulated ranks, in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from collmark.bench.event import LaunchEnded, LaunchStarted, PipedEvent
from collmark.bench.job import Job
from collmark.bench.lead import clock_seconds, describe_launch, measure_all
from collmark.bench.simulation.spec import read_simulation
from collmark.bench.simulation.team import CACHE, SimulatedTeam
from collmark.bench.stops import Stops
from collmark.core.errors import InterruptedRunError
from collmark.core.record import Host, Outcome, Timer
from collmark.core.store import RunFolder


def simulate_launch(
    job: Job,
    emit: Callable[[PipedEvent], None],
    is_stopping: Callable[[], bool],
    is_ending: Callable[[], bool] = lambda: False,
) -> None:
    """Carry out a launch in virtual time; budgets are virtual seconds."""
    simulation = read_simulation(job.plan.simulation)
    nodes, ranks = job.placement.nodes, job.placement.ranks
    team = SimulatedTeam(simulation, ranks, job.launch, job.plan.timeout, is_stopping, nodes)
    timer = Timer(name="virtual", tick=simulation.tick, cost=0.0, cost_p99=0.0, call_overhead=0.0, loop="python")
    # Whatever machine this runs on has no part in the figures.
    each = job.placement.ranks_per_node
    hosts = [
        Host(
            name="simulated" if nodes == 1 else f"simulated-{node}",
            ranks=list(range(node * each, (node + 1) * each)), cores=each, cpu="simulated", system="simulated",
            cache=CACHE,
        )
        for node in range(nodes)
    ]  # fmt: skip
    launch = describe_launch(job, hosts, dict(team.facts()), timer, start_seconds=0.0)
    folder = RunFolder(Path(job.folder))
    folder.put_launch(launch)
    emit(LaunchStarted(launch=launch, cases=len(job.cases)))
    team.common.settle(clock_seconds(job), simulation.tick)
    try:
        stops = Stops(now=is_stopping, after_case=is_ending)
        outcome = measure_all(team, job, folder, launch, budget=job.budget, emit=emit, stops=stops)
    except InterruptedRunError:
        emit(LaunchEnded(launch=job.launch, outcome=Outcome.INTERRUPTED))
        raise
    folder.put_launch(msgspec.structs.replace(launch, outcome=outcome))
    emit(LaunchEnded(launch=job.launch, outcome=outcome))
