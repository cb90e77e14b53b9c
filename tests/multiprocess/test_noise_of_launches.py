"""Every launch keeps how its host disturbed its ranks; simulated launches have no host to speak of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.multiprocess.program import Program, collmark, only_run

from collmark.bench.noise.short import WATCHED

Start = Callable[..., Program]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
PLAN = ("--operation", "barrier", "--case-budget", "50ms", "--launches", "2", "--output", "results")


def test_each_rank_of_each_launch_has_watched(start: Start, tmp_path: Path) -> None:
    program = start(*collmark("run", "--ranks", "2", *PLAN))
    assert program.end() == 0, program.errors
    launches = only_run(tmp_path).read_run().launches
    assert len(launches) == 2
    for launch in launches:
        (host,) = launch.hosts
        assert host.noise is not None
        assert len(host.noise.watched) == len(host.ranks) == 2
        assert all(seconds >= 0.99 * WATCHED for seconds in host.noise.watched)
        assert host.noise.summed is not None
        assert all(1e6 < rate < 1e13 for rate in host.noise.summed)
        assert all(lost <= seconds for lost, seconds in zip(host.noise.lost, host.noise.watched, strict=True))


def test_a_simulated_launch_says_nothing_of_this_machine(start: Start, tmp_path: Path) -> None:
    program = start(*collmark("run", "--backend", "simulated", "--ranks", "2", *PLAN))
    assert program.end() == 0, program.errors
    hosts = [host for launch in only_run(tmp_path).read_run().launches for host in launch.hosts]
    assert len(hosts) == 2
    assert all(host.noise is None for host in hosts)


def test_what_stops_a_rank_is_seen_by_its_launch(start: Start, tmp_path: Path) -> None:
    # More ranks than cores cannot all run at once: each has its core taken for a time that they count.
    program = start(*collmark("run", "--ranks", "4", "--oversubscribe", *PLAN[:-4], "--launches", "1", *PLAN[-2:]))
    assert program.end() == 0, program.errors
    (host,) = only_run(tmp_path).read_run().launches[0].hosts
    assert host.noise is not None
    if host.cores < 4:
        lost = sum(host.noise.lost) / sum(host.noise.watched)
        # While all watch, they share the cores; those that begin late or end early leave the others more.
        assert lost > 0
        assert sum(host.noise.long) > 0
