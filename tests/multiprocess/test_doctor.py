"""``collmark doctor`` with real ranks: alone, under launchers, on two hosts, and at the start of a run."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.multiprocess.program import Program, collmark
from tests.multiprocess.test_joined_run import free_port, launcher
from tests.multiprocess.two_hosts import ADDRESSES, Hosts, two_hosts

from collmark.core.store import RunFolder

Start = Callable[..., Program]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
OF_THIS_MACHINE = {"governor", "clock source", "cores", "memory"}
"""What may well be so on a machine that tests run on."""


def diagnosis_of(program: Program) -> dict[str, Any]:
    (line,) = [line for line in program.lines if line.startswith("{")]
    found: dict[str, Any] = json.loads(line)
    return found


def checks_of(found: dict[str, Any]) -> set[str]:
    return {one["check"] for one in found["diagnosis"]["findings"]} - OF_THIS_MACHINE


@pytest.mark.parametrize("backend", ["gloo", "mpi"])
def test_ranks_of_this_machine_are_well(start: Start, tmp_path: Path, backend: str) -> None:
    if backend == "mpi":
        launcher("mpiexec")
    words = ("--backend", "mpi", "--mpi-library", "environment") if backend == "mpi" else ()
    program = start(*collmark("doctor", "--json", "--ranks", "2", *words))
    assert program.end() == 0, program.errors
    found = diagnosis_of(program)
    assert not checks_of(found)
    assert {"world", "ranks", "placement", "backend", "versions", "nofile"} <= set(found["diagnosis"]["good"])
    assert list(tmp_path.iterdir()) == []
    program.wait_until_gone(5)


@pytest.mark.parametrize("name", ["torchrun", "mpiexec"])
def test_ranks_of_a_launcher_are_counted(start: Start, name: str) -> None:
    program = start(*launcher(name), *collmark("doctor", "--json", "--ranks", "2"))
    assert program.end() == 0, program.errors
    assert not checks_of(diagnosis_of(program))
    program = start(*launcher(name), *collmark("doctor", "--json", "--ranks", "4"))
    assert program.end() != 0
    found = diagnosis_of(program)
    assert checks_of(found) == {"world"}
    assert found["status"] == 3
    assert f"4 ranks were asked for, 2 were started by {name}" in found["diagnosis"]["findings"][0]["found"]


def test_copies_of_rank_0_are_found(start: Start) -> None:
    variables = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_PORT": str(free_port())}
    programs = [start(*collmark("doctor", "--json", "--timeout", "3 s"), **variables) for _copy in range(2)]
    statuses = [program.end() for program in programs]
    assert statuses == [3, 3], [program.errors for program in programs]
    for program in programs:
        found = diagnosis_of(program)
        assert checks_of(found) == {"ranks"}
    assert any("two processes are rank 0" in "".join(program.lines) for program in programs)


def test_an_interface_that_is_not_there_is_found(start: Start) -> None:
    program = start(*collmark("doctor", "--json", "--ranks", "2"), GLOO_SOCKET_IFNAME="nope0")
    assert program.end() == 3
    assert checks_of(diagnosis_of(program)) == {"interface"}


def test_a_low_limit_of_open_files_is_found(start: Start) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 200:
        pytest.skip("the limit is low already")
    shell = ("sh", "-c", 'ulimit -n 120; exec "$@"', "sh")
    program = start(*shell, *collmark("doctor", "--json", "--ranks", "2"))
    assert program.end() == 3, (program.errors, soft)
    assert checks_of(diagnosis_of(program)) == {"nofile"}


def test_a_run_keeps_what_was_looked_at(start: Start, tmp_path: Path) -> None:
    words = ("--operation", "all_reduce", "--sizes", "8B", "--case-budget", "50ms", "--launches", "1")
    program = start(*collmark("run", *words, "--into", "run"))
    assert program.end() == 0, program.errors
    (launch,) = RunFolder(tmp_path / "run").read_run().launches
    assert launch.doctor is not None
    assert {"world", "ranks", "settings", "versions"} <= set(launch.doctor.good)
    assert not launch.doctor.blocking


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    with two_hosts(tmp_path) as made:
        yield made


@pytest.mark.root
def test_two_hosts_are_well_until_a_variable_differs(start: Start, hosts: Hosts) -> None:
    variables = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": ADDRESSES[0], "MASTER_PORT": "29517"}

    def examine(**own: str) -> dict[str, Any]:
        words = collmark("doctor", "--json", "--timeout", "20 s")
        ranks = [
            start(*hosts.words(rank, 0), *words, RANK=str(rank), **variables, **(own if rank else {}))
            for rank in range(2)
        ]
        statuses = [rank.end() for rank in ranks]
        assert statuses[1] == 0, ranks[1].errors
        return diagnosis_of(ranks[0])

    found = examine()
    assert not checks_of(found)
    assert {"interface", "mtu", "wall clock"} <= set(found["diagnosis"]["good"])
    found = examine(GLOO_SOCKET_IFNAME="lo")
    assert checks_of(found) == {"interface"}
    assert found["status"] == 3
    levels = {one["check"]: (one["level"], one["where"]) for one in found["diagnosis"]["findings"]}
    assert levels["interface"] == ("blocking", f"rank 1 ({os.uname().nodename}#2)")
