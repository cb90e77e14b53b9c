"""Runs over MPI: every library through its own mpiexec, what goes wrong in them, and launchers of another MPI."""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.mpi_libraries import DEBIAN, OPEN_MPI_WHEEL, WHEEL, every_library, path_of
from tests.multiprocess.program import RECORDS, Program, collmark, is_complete, only_run, processes_with, small_run

from collmark.bench.backends.mpi_library import probe
from collmark.bench.job import Job
from collmark.bench.launchers.mpiexec import MpiexecLaunch
from collmark.core.errors import UnavailableError
from collmark.core.placement import Placement, Tier
from collmark.core.plan import Plan
from collmark.core.store import RunFolder

Start = Callable[..., Program]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
FAMILY = {WHEEL: "MPICH", OPEN_MPI_WHEEL: "Open MPI", DEBIAN: "Open MPI"}


def mpi_run(library: str, *more: str) -> tuple[str, ...]:
    return small_run("--backend", "mpi", "--mpi-library", path_of(library), *more)


def ranks_of(program: Program) -> dict[int, int]:
    """Return the pids of the ranks, by rank."""
    found = {}
    for pid, command in processes_with(program.mark).items():
        if b"collmark" in command and b"python" in command.split(b"\0")[0]:
            environ = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            said = [e for e in environ if e.startswith((b"PMI_RANK=", b"OMPI_COMM_WORLD_RANK="))]
            if said:
                found[int(said[0].split(b"=")[1])] = pid
    return found


@pytest.fixture
def shared_memory() -> set[Path]:
    """Return what lies in shared memory before a test."""
    return set(Path("/dev/shm").iterdir())


@every_library
def test_a_run_is_complete_and_says_what_ran(
    start: Start, tmp_path: Path, library: str, shared_memory: set[Path]
) -> None:
    program = start(*mpi_run(library))
    assert program.end(120) == 0, program.errors
    program.wait_until_gone(10)
    run = only_run(tmp_path)
    assert is_complete(run)
    launches = run.read_run().launches
    assert [launch.outcome for launch in launches] == ["complete", "complete"]
    noise = launches[0].hosts[0].noise
    assert noise is not None
    assert noise.summed is not None  # MPI_Reduce_local added, and right
    facts = launches[0].libraries
    assert facts["mpi"].startswith(FAMILY[library])
    assert facts["mpi_library"] == path_of(library)
    assert facts["thread_level"].startswith("funneled")
    assert facts["starts"] == "agreed on a shared page"
    assert (launches[0].launcher, launches[0].timer.loop) == ("collmark", "native")
    assert f"MPI is {FAMILY[library]}" in program.errors
    assert all(record.evidence.tier is Tier.SHARED_MEMORY for record in run.records())
    assert not {name for name in set(Path("/dev/shm").iterdir()) - shared_memory if "collmark" in name.name}


@pytest.mark.parametrize("library", [WHEEL, DEBIAN])
@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_rank_is_named_and_a_resumed_run_is_complete(
    start: Start, tmp_path: Path, library: str, victim: int
) -> None:
    program = start(*mpi_run(library, "--case-budget", "1 s"))
    program.wait_for_events("record", 2)
    os.kill(ranks_of(program)[victim], signal.SIGKILL)
    assert program.end() == 4
    program.wait_until_gone(10)
    assert f"rank {victim}" in program.errors
    assert "resume with" in program.errors
    resumed = start(*collmark("run", "--json", "--resume", str(only_run(tmp_path).path)))
    assert resumed.end(120) == 0, resumed.errors
    assert is_complete(only_run(tmp_path))


@pytest.mark.parametrize("library", [WHEEL, DEBIAN])
def test_a_stopped_rank_is_named_and_everybody_goes(start: Start, tmp_path: Path, library: str) -> None:
    program = start(*mpi_run(library, "--case-budget", "1 s"))
    program.wait_for_events("record", 2)
    os.kill(ranks_of(program)[1], signal.SIGSTOP)
    assert program.end() == 4
    program.wait_until_gone(10)
    assert "rank 1" in program.errors
    assert len(list(only_run(tmp_path).records())) >= 2


@pytest.mark.parametrize("library", [WHEEL, DEBIAN])
def test_ctrl_c_keeps_what_is_finished(start: Start, tmp_path: Path, library: str) -> None:
    program = start(*mpi_run(library, "--case-budget", "1 s"))
    program.wait_for_events("record", 2)
    program.process.send_signal(signal.SIGINT)
    assert program.end() == 130
    program.wait_until_gone(10)
    assert "stopped by SIGINT" in program.errors
    assert 2 <= len(list(only_run(tmp_path).records())) < RECORDS + 6


@pytest.mark.parametrize("library", [WHEEL, DEBIAN])
def test_nothing_outlives_a_killed_launcher(start: Start, library: str) -> None:
    program = start(*mpi_run(library, "--case-budget", "1 s"))
    program.wait_for_events("record", 1)
    program.process.kill()
    program.end()
    program.wait_until_gone(20)


@pytest.mark.parametrize(
    ("launcher", "library", "words"),
    [
        (DEBIAN, WHEEL, "the mpiexec of Open MPI has started these ranks, and the MPI library is MPICH"),
        (WHEEL, DEBIAN, "the mpiexec of MPICH has started these ranks, and the MPI library is Open MPI"),
        (OPEN_MPI_WHEEL, DEBIAN, "of Open MPI 5 has started these ranks, and the MPI library is Open MPI 4.1"),
        (DEBIAN, OPEN_MPI_WHEEL, "of Open MPI 4 has started these ranks, and the MPI library is Open MPI 5"),
    ],
)
def test_a_launcher_of_another_mpi_is_named_before_anything_is_timed(
    start: Start, tmp_path: Path, launcher: str, library: str, words: str
) -> None:
    mpiexec = probe(Path(path_of(launcher))).mpiexec
    began = time.monotonic()
    program = start(
        *(mpiexec, "-n", "2"),
        *collmark("run", "--backend", "mpi", "--mpi-library", path_of(library), "--into", "joined"),
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    )
    assert program.end() != 0
    assert words in program.errors
    assert "its own launcher is" in program.errors
    assert program.errors.count("error:") == 1
    assert "opal_init" not in program.errors
    assert time.monotonic() - began < 60
    assert not (tmp_path / "joined").exists()


@every_library
def test_ranks_that_mpiexec_has_started_join(start: Start, tmp_path: Path, library: str) -> None:
    mpiexec = probe(Path(path_of(library))).mpiexec
    program = start(
        *(mpiexec, "-n", "2"),
        *collmark("run", "--json", "--backend", "mpi", "--mpi-library", path_of(library)),
        *("--operation", "all_reduce", "--sizes", "8B", "--case-budget", "100ms", "--into", "joined"),
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    )
    assert program.end(90) == 0, program.errors
    (launch,) = RunFolder(tmp_path / "joined").read_run().launches
    assert (launch.launcher, launch.outcome) == ("mpiexec", "complete")


def test_torchrun_starts_no_mpi(start: Start) -> None:
    path_of(WHEEL)
    words = collmark("run", "--backend", "mpi", "--mpi-library", "environment", "--into", "joined")
    programs = [start(*words, RANK=str(rank), WORLD_SIZE="2") for rank in range(2)]
    assert [program.end() for program in programs] == [3, 3]
    assert "torchrun starts no MPI: every process would be rank 0 of MPICH" in programs[0].errors


def test_without_the_native_loop_python_times_and_the_record_says_so(start: Start, tmp_path: Path) -> None:
    # Stands in for an installation without a compiler: the module is not found.
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name.endswith('._loop') else find(name, *more)\n"
    )
    program = start(*mpi_run(WHEEL, "--launches", "1"), PYTHONPATH=str(tmp_path))
    assert program.end(120) == 0, program.errors
    (launch,) = only_run(tmp_path).read_run().launches
    assert launch.timer.loop == "python"
    assert launch.libraries["loop"] == "Python, MPI's functions through ctypes: the native loop was not built"
    assert is_complete(only_run(tmp_path), launches=1)


@pytest.mark.parametrize("level", ["single", "multiple"])
def test_the_thread_level_is_chosen_and_kept(start: Start, tmp_path: Path, level: str) -> None:
    program = start(*mpi_run(WHEEL, "--launches", "1", "--thread-level", level))
    assert program.end(120) == 0, program.errors
    run = only_run(tmp_path)
    assert run.read_run().launches[0].libraries["thread_level"].startswith(level)
    assert {record.case.thread_level for record in run.records()} == {level}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--operation", "all_to_all", "--dtype", "uint8", "--sizes", "2049MiB"),
            "counts above 2147483647: left out 1 case, since {} has no MPI_Alltoall_c: choose smaller --sizes",
        ),
        (
            ("--operation", "all_reduce", "--sizes", "8B", "--form", "persistent"),
            "persistent form: left out 1 case, since {} has no MPI_Allreduce_init: leave --form persistent away",
        ),
    ],
)
def test_what_is_of_mpi_4_is_refused_before_anything_starts_where_it_is_missing(
    start: Start, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    program = start(
        *collmark("run", "--json", "--ranks", "1", "--backend", "mpi", "--mpi-library", path_of(DEBIAN)),
        *(*words, "--launches", "1", "--output", "results"),
    )
    assert program.end(120) == 3
    version = probe(Path(path_of(DEBIAN))).version
    assert program.errors == f"error: {said.format(version)}, or choose a library of MPI 4 with --mpi-library"
    assert not (tmp_path / "results").exists()


def test_the_rest_is_measured_where_a_form_is_left_out(start: Start, tmp_path: Path) -> None:
    program = start(*mpi_run(DEBIAN, "--launches", "1", "--form", "blocking,persistent"))
    assert program.end(120) == 0, program.errors
    run = only_run(tmp_path)
    assert {record.case.form for record in run.records()} == {"blocking"}
    assert any("persistent form: left out 6 cases" in notice for notice in run.read_run().notices)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Return a launch of two ranks, its folder made."""
    (tmp_path / "logs").mkdir()
    plan = Plan(backends=("mpi",), timeout=2.0)
    return Job(
        folder=str(tmp_path),
        launch=1,
        backend="mpi",
        placement=Placement(ranks_per_node=2),
        cases=(),
        plan=plan,
        budget=60.0,
        samples_left=0,
        launcher="collmark",
    )


@pytest.mark.parametrize(
    ("does", "words"),
    [
        (
            "print('no licence left'); sys.exit(9)",
            "mpiexec ended with status 9 before 2 ranks were there: no licence left",
        ),
        # As a launcher of another MPI starts them: none is told its rank.
        ("os.execv(sys.argv[-6], sys.argv[-6:])", "mpiexec told a process no rank of 2: it belongs to another MPI"),
        (
            "os.environ['PMI_RANK'] = '0'; os.fork(); os.execv(sys.argv[-6], sys.argv[-6:])",
            "mpiexec told a process rank 0 a second time of 2: it belongs to another MPI",
        ),
    ],
)
def test_an_mpiexec_that_starts_no_ranks_is_told(job: Job, tmp_path: Path, does: str, words: str) -> None:
    broken = tmp_path / "mpiexec"
    version = "print('HYDRA build details'); sys.exit(0)"
    broken.write_text(f"#!{sys.executable}\nimport os, sys\nif '--version' in sys.argv:\n    {version}\n{does}\n")
    broken.chmod(0o755)
    launch = MpiexecLaunch(job, tmp_path / "logs", (), str(broken))
    with pytest.raises(UnavailableError) as caught:
        launch.run(lambda _event: None, lambda: False)
    assert words in str(caught.value)
    assert launch._process is not None
    assert launch._process.poll() is not None
