"""Runs that torchrun and mpiexec start: they are joined, one launch each, into one run."""

import os
import shutil
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.multiprocess.program import BIN, SMALL_PLAN, Program, collmark, is_complete

from collmark.core.store import RunFolder

Start = Callable[..., Program]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
PLAN = (*SMALL_PLAN[:6], *SMALL_PLAN[8:])  # without --launches


def launcher(name: str) -> tuple[str, ...]:
    """Return the beginning of a command line that starts two ranks."""
    path = next((str(p) for p in (BIN / name, shutil.which(name)) if p and Path(p).exists()), "")
    if not path:
        remedy = {"mpiexec": "pip install -c constraints.txt mpich"}.get(name, "pip install torch")
        pytest.skip(f"{name} is not installed ({remedy})")
    if name == "torchrun":
        return path, "--nnodes", "1", "--nproc-per-node", "2", "--master-port", str(free_port()), "--no-python"
    return path, "-n", "2"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    return port


def ranks_of(program: Program) -> list[int]:
    """Return the pids of the two copies of collmark, rank 0 first."""
    from tests.multiprocess.program import processes_with

    found = {}
    for pid, command in processes_with(program.mark).items():
        if b"/collmark\0run" in command and not command.split(b"\0")[0].endswith((b"torchrun", b"mpiexec")):
            environ = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            rank = next((e for e in environ if e.startswith((b"PMI_RANK=", b"RANK=", b"OMPI_COMM_WORLD_RANK="))), b"")
            if rank:
                found[int(rank.split(b"=")[1])] = pid
    return [found[rank] for rank in sorted(found)]


@pytest.mark.parametrize("name", ["torchrun", "mpiexec"])
def test_two_process_sets_are_two_launches_of_one_run(start: Start, tmp_path: Path, name: str) -> None:
    command = (*launcher(name), *collmark("run", "--json", *PLAN, "--into", "joined"))
    for _launch in range(2):
        program = start(*command)
        assert program.end() == 0, program.errors
        program.wait_until_gone(5)
        assert len(program.events("start")) == len(program.events("end")) == 1
    run = RunFolder(tmp_path / "joined")
    launches = run.read_run().launches
    assert [launch.outcome for launch in launches] == ["complete", "complete"]
    assert {launch.launcher for launch in launches} == {name}
    assert is_complete(run)


@pytest.mark.parametrize("name", ["torchrun", "mpiexec"])
def test_several_launches_in_one_process_set_are_refused(start: Start, tmp_path: Path, name: str) -> None:
    program = start(*launcher(name), *collmark("run", *PLAN, "--launches", "3", "--into", "joined"))
    assert program.end() != 0
    assert f"--launches 3: ranks started by {name} are one launch; repeat" in program.errors
    assert not (tmp_path / "joined").exists()


@pytest.mark.parametrize("name", ["torchrun", "mpiexec"])
@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_rank_is_named_and_everybody_goes(start: Start, tmp_path: Path, name: str, victim: int) -> None:
    program = start(*launcher(name), *collmark("run", "--json", *PLAN, "--case-budget", "1 s", "--into", "joined"))
    program.wait_for_events("record", 2)
    os.kill(ranks_of(program)[victim], signal.SIGKILL)
    began = time.monotonic()
    assert program.end() != 0
    program.wait_until_gone(10)
    assert time.monotonic() - began < 15
    # mpiexec kills all others at once, and says so on stdout; else the ranks have the time to speak.
    if "BAD TERMINATION" not in "".join(program.lines):
        assert f"rank {victim}" in program.errors
        assert " is gone" in program.errors
    records = list(RunFolder(tmp_path / "joined").records())
    assert len(records) >= len(program.events("record")) >= 2


@pytest.mark.parametrize("name", ["torchrun", "mpiexec"])
def test_a_hung_rank_is_named_and_everybody_goes(start: Start, tmp_path: Path, name: str) -> None:
    program = start(*launcher(name), *collmark("run", "--json", *PLAN, "--case-budget", "1 s", "--into", "joined"))
    program.wait_for_events("record", 2)
    hung = ranks_of(program)[1]
    os.kill(hung, signal.SIGSTOP)
    program.wait_for("silent for 3 s", 15)
    assert "rank 1" in program.errors
    os.kill(hung, signal.SIGCONT)
    program.end()
    program.wait_until_gone(10)
    (launch,) = RunFolder(tmp_path / "joined").read_run().launches
    assert launch.outcome == "lost"
    assert "rank 1" in launch.reason


def test_an_interrupted_process_set_keeps_what_is_finished(start: Start, tmp_path: Path) -> None:
    program = start(
        *launcher("torchrun"), *collmark("run", "--json", *PLAN, "--case-budget", "1 s", "--into", "joined")
    )
    program.wait_for_events("record", 2)
    for pid in ranks_of(program):
        os.kill(pid, signal.SIGINT)  # as Ctrl-C reaches a whole terminal
    program.end()
    program.wait_until_gone(10)
    run = RunFolder(tmp_path / "joined")
    assert [launch.outcome for launch in run.read_run().launches] == ["interrupted"]
    assert len(list(run.records())) >= len(program.events("record")) >= 2
    assert "stopped by SIGINT" in program.errors


def test_ranks_do_not_wait_for_a_rank_0_that_cannot_begin(start: Start, tmp_path: Path) -> None:
    (tmp_path / "joined").write_text("in the way")
    words = collmark("run", *PLAN, "--into", "joined")
    began = time.monotonic()
    programs = [start(*words, PMI_RANK=str(rank), PMI_SIZE="3") for rank in range(3)]
    assert [program.end(30) for program in programs] == [2, 2, 2]
    assert time.monotonic() - began < 15
    assert "joined is not a run" in programs[0].errors
    assert errors_of(programs) == programs[0].words[-1:]  # said once


def errors_of(programs: list[Program]) -> list[str]:
    return [line for program in programs for line in program.words if "error:" in line]


ANOTHER = f"error: rank 2 ({socket.gethostname()}) was started with another plan: "
SAME = "; start all ranks with the same plan and options"


@pytest.mark.parametrize(
    ("rank", "words", "said"),
    [
        (2, ("--sizes", "16B"), f"{ANOTHER}sizes 16B (rank 0: 8B:2KiB:x16){SAME}"),
        (2, ("--precision", "1%", "--seed", "2"), f"{ANOTHER}precision 0.01 (rank 0: 0.05), seed 2 (rank 0: 1){SAME}"),
        (2, ("--sizes", "16X"), f"error: rank 2 ({socket.gethostname()}): --sizes 16X: "),
        (2, ("--bind", "core"), f"error: rank 2 ({socket.gethostname()}): --bind"),
        (0, ("--sizes", "16X"), "error: --sizes 16X: "),
    ],
)
def test_ranks_that_were_told_different_things_end_with_one_status_and_one_line(
    start: Start, rank: int, words: tuple[str, ...], said: str
) -> None:
    began = time.monotonic()
    programs = [
        start(
            *collmark("run", *PLAN, *(words if own == rank else ()), "--into", "joined"),
            PMI_RANK=str(own),
            PMI_SIZE="3",
        )
        for own in range(3)
    ]
    assert [program.end(40) for program in programs] == [2, 2, 2], errors_of(programs)
    (line,) = errors_of(programs)
    assert line.startswith(said)
    assert line in programs[0].words
    assert time.monotonic() - began < 20


def test_mpiexec_ends_ranks_of_different_plans_with_that_status(start: Start) -> None:
    one, other = (collmark("run", *PLAN, "--sizes", sizes, "--into", "joined") for sizes in ("8B", "16B"))
    mpiexec = launcher("mpiexec")[0]
    program = start(mpiexec, "-n", "1", *one, ":", "-n", "1", *other)
    assert program.end() == 2, program.errors
    assert program.errors.count("error:") == 1
    assert "was started with another plan: sizes 16B (rank 0: 8B)" in program.errors


@pytest.mark.manner(10)
@pytest.mark.parametrize("name", ["torchrun", "mpiexec"])
def test_a_wrong_word_on_every_rank_is_said_once_and_at_once(start: Start, name: str) -> None:
    program = start(*launcher(name), *collmark("run", *PLAN, "--sizes", "16X", "--into", "joined"))
    assert program.end() != 0
    assert program.errors.count("error: --sizes 16X") == 1
    assert "error: rank" not in program.errors


@pytest.mark.parametrize("more", [{}, {"MASTER_ADDR": "localhost", "MASTER_PORT": "29512"}])
def test_rank_and_world_size_are_enough_for_one_launch(start: Start, tmp_path: Path, more: dict[str, str]) -> None:
    words = collmark("run", *PLAN, "--into", "joined")
    programs = [start(*words, RANK=str(rank), WORLD_SIZE="2", **more) for rank in range(2)]
    assert [program.end() for program in programs] == [0, 0], [program.errors for program in programs]
    run = RunFolder(tmp_path / "joined")
    (launch,) = run.read_run().launches
    assert (launch.placement, launch.outcome) == ("1x2", "complete")
    assert is_complete(run, launches=1)
