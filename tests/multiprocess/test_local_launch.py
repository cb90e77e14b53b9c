"""Launches of the local launcher that go wrong while they start, and one that a slow reader must not harm."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.multiprocess.program import Program, collmark, is_complete, only_run, small_run

from collmark.bench.backends.index import BACKENDS
from collmark.bench.event import PipedEvent
from collmark.bench.job import Job
from collmark.bench.launchers.local import LocalLaunch
from collmark.bench.runner import Finished
from collmark.core.errors import InterruptedRunError, MeasurementError, UsageError
from collmark.core.expansion import expand
from collmark.core.placement import Placement
from collmark.core.plan import Plan
from collmark.core.record import SCHEMA_VERSION, Run
from collmark.core.store import RunFolder

Start = Callable[..., Program]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]
TWO = Placement(ranks_per_node=2)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Return two cases on two ranks, their run's folder made."""
    plan = Plan(operations=("all_reduce",), sizes="8B,2KiB", case_budget=0.1, timeout=2.0, placements=(TWO,))
    cases = expand(plan, TWO, {"gloo": BACKENDS["gloo"].capability}).cases
    run = Run(
        schema_version=SCHEMA_VERSION,
        label="",
        created="",
        version="",
        command=[],
        plan=plan,
        cases=list(cases),
        notices=[],
    )
    folder = RunFolder.create(tmp_path / "run", run)
    return Job(
        folder=str(folder.path),
        launch=1,
        backend="gloo",
        placement=TWO,
        cases=cases,
        plan=plan,
        budget=60.0,
        samples_left=0,
        launcher="collmark",
    )


def launch_of(job: Job) -> LocalLaunch:
    return LocalLaunch(job, Path(job.folder) / "logs", ())


def assert_no_rank_is_left(launch: LocalLaunch) -> None:
    assert all(rank.status is not None for rank in launch._ranks)


def test_ranks_start_measure_and_go(job: Job) -> None:
    events: list[PipedEvent] = []
    launch = launch_of(job)
    launch.run(events.append, lambda: False)
    assert sum(isinstance(event, Finished) for event in events) == 5
    assert [rank.status for rank in launch._ranks] == [0, 0]


def test_a_screen_that_takes_nothing_for_longer_than_the_timeout_is_no_fault(job: Job) -> None:
    slept: list[PipedEvent] = []

    def emit(event: PipedEvent) -> None:
        if isinstance(event, Finished) and not slept:
            slept.append(event)
            time.sleep(2.5 * job.plan.timeout)

    launch_of(job).run(emit, lambda: False)
    assert slept


def test_an_error_of_whoever_shows_events_leaves_no_rank(job: Job) -> None:
    def emit(event: PipedEvent) -> None:
        if isinstance(event, Finished):
            raise BrokenPipeError

    launch = launch_of(job)
    with pytest.raises(BrokenPipeError):
        launch.run(emit, lambda: False)
    assert_no_rank_is_left(launch)


def test_a_stop_that_came_before_starts_nothing(job: Job) -> None:
    launch = launch_of(job)
    with pytest.raises(InterruptedRunError):
        launch.run(lambda _event: None, lambda: True)
    assert not launch._ranks


def test_logs_that_cannot_be_written_are_wrong_use(job: Job) -> None:
    logs = Path(job.folder) / "logs"
    logs.rmdir()
    logs.write_text("in the way")
    launch = launch_of(job)
    with pytest.raises(UsageError, match=r"cannot start the ranks of launch 1: .*logs"):
        launch.run(lambda _event: None, lambda: False)
    assert_no_rank_is_left(launch)


def test_an_interpreter_that_ends_at_once_is_told_with_its_last_line(
    job: Job, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho hello\necho no licence left >&2\nexit 9\n")
    broken.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(broken))
    launch = launch_of(job)
    with pytest.raises(MeasurementError, match="rank 0 ended with status 9 while starting: no licence left"):
        launch.run(lambda _event: None, lambda: False)
    assert_no_rank_is_left(launch)


def fake_torch(folder: Path, source: str) -> str:
    (folder / "fake" / "torch").mkdir(parents=True)
    (folder / "fake" / "torch" / "__init__.py").write_text(source)
    return str(folder / "fake")


def test_a_torch_that_cannot_be_imported_is_something_missing(start: Start, tmp_path: Path) -> None:
    path = fake_torch(tmp_path, "raise ImportError('libgomp.so.1: cannot open shared object file')\n")
    program = start(*small_run(), PYTHONPATH=path)
    assert program.end() == 3
    assert "gloo cannot be opened: ImportError: libgomp.so.1: cannot open shared object file" in program.errors
    assert "Traceback" not in program.errors


def test_a_torch_that_crashes_while_it_is_imported_is_a_killed_rank(start: Start, tmp_path: Path) -> None:
    path = fake_torch(tmp_path, "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    program = start(*small_run(), PYTHONPATH=path)
    assert program.end() == 4
    assert "killed by SIGSEGV while starting, launch 1; 0 of 12 records kept, resume with:" in program.errors


def test_an_interface_that_is_not_there_is_something_missing(start: Start) -> None:
    program = start(*small_run(), GLOO_SOCKET_IFNAME="no-such-interface")
    assert program.end() == 3
    assert "error: interface: ranks 0,1" in program.errors
    assert "GLOO_SOCKET_IFNAME=no-such-interface, and no such interface is up" in program.errors
    assert "0 of 12 records" not in program.errors  # nothing was begun


def test_more_ranks_than_cores_run_when_asked(start: Start, tmp_path: Path) -> None:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    ranks = cores + 1
    refused = start(*small_run(ranks=ranks))
    assert refused.end() == 2
    assert "--oversubscribe" in refused.errors
    program = start(*small_run("--oversubscribe", "--launches", "1", ranks=ranks))
    assert program.end() == 0, program.errors
    assert is_complete(only_run(tmp_path), launches=1)


def test_buffers_that_cannot_lie_in_memory_are_refused_before_anything_starts(start: Start, tmp_path: Path) -> None:
    program = start(*small_run("--sizes", "8B,500TiB"))
    assert program.end() == 2
    assert "needs 1000 TiB of memory on each host (send and receive buffers of 2 ranks)" in program.errors
    assert program.errors.startswith("error: all_reduce ")
    assert not (tmp_path / "results").exists()


def test_a_run_that_was_planned_elsewhere_is_refused_before_anything_starts(
    job: Job, start: Start, tmp_path: Path
) -> None:
    run = RunFolder(Path(job.folder))
    huge = msgspec.structs.replace(job.cases[0], nbytes=2**49, requested_nbytes=2**49)
    run.write_run(msgspec.structs.replace(run.read_run(), cases=[huge]))
    program = start(*collmark("run", "--resume", str(run.path)))
    assert program.end() == 2
    assert program.errors.startswith("error: all_reduce ")
    assert "needs 1024 TiB of memory on each host" in program.errors
    assert not list((tmp_path / "run" / "logs").iterdir())


def test_variables_of_a_launcher_that_is_over_do_not_reach_the_ranks(start: Start, tmp_path: Path) -> None:
    # As in a shell that srun --pty has opened.
    stale = {"SLURM_PROCID": "0", "SLURM_STEP_ID": str(0xFFFFFFFA), "SLURM_JOB_ID": "7", "SLURM_NTASKS": "4"}
    program = start(*small_run("--launches", "1"), **stale)
    assert program.end() == 0, program.errors
    (launch,) = only_run(tmp_path).read_run().launches
    assert (launch.launcher, launch.allocation) == ("collmark", "7")
