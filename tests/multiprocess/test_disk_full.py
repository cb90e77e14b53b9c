"""A disk that is full, cannot be written, or loses the run: one line, the right status, nothing finished lost."""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.multiprocess.program import Program, collmark, is_complete, only_run, small_run

from collmark.bench.event import Event, LaunchEnded
from collmark.bench.runner import Finished
from collmark.core.errors import MeasurementError
from collmark.core.plan import Plan
from collmark.core.store import RunFolder
from collmark.workflow.interruption import StopSignals
from collmark.workflow.prepare import prepare
from collmark.workflow.run import Sink, carry_out, create_run

Start = Callable[..., Program]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]
LIMITED = (
    "import resource, os, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size})); "
    "os.execv(sys.argv[1], sys.argv[1:])"
)


def limited(size: int) -> tuple[str, ...]:
    """Return the beginning of a command line whose files can grow to so many bytes: the portable full disk."""
    return sys.executable, "-c", LIMITED.format(size=size)


def assert_kept(program: Program, run: RunFolder) -> int:
    """Check that whatever was finished can be read, and return how much that is."""
    content = (run.path / "records.jsonl").read_bytes()
    assert content.endswith(b"\n") or not content
    records = list(run.records())  # a torn line would warn, and a warning is an error here
    assert len(records) == len(program.events("record"))
    assert not list(run.path.glob("*.new"))
    return len(records)


def test_a_record_that_does_not_fit_ends_the_run_with_all_others_kept(start: Start, tmp_path: Path) -> None:
    program = start(*limited(12_000), *small_run())
    assert program.end() == 4, program.errors
    run = only_run(tmp_path)
    assert assert_kept(program, run) >= 4
    assert "cannot write" in program.errors
    assert "records.jsonl: File too large; everything finished before is kept" in program.errors
    assert "resume with: collmark run --resume" in program.errors
    program.wait_until_gone(1)
    again = start(*collmark("run", "--json", "--resume", str(run.path)))
    assert again.end() == 0, again.errors
    assert is_complete(run)


def test_a_place_where_nothing_fits_is_wrong_use_and_leaves_nothing(start: Start, tmp_path: Path) -> None:
    program = start(*limited(1000), *small_run())
    assert program.end() == 2, program.errors
    assert "cannot write results to" in program.errors
    assert "File too large" in program.errors
    assert not list((tmp_path / "results").iterdir())


def test_a_place_that_is_no_folder_is_wrong_use(start: Start, tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file")
    program = start(*small_run())
    assert program.end() == 2
    assert "results" in program.errors


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Return a function that mounts a disk of its own with the given options."""
    place = tmp_path / "results"
    place.mkdir()

    def mount(options: str) -> Path:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "none", place], capture_output=True, text=True, check=False
        )
        if done.returncode:
            pytest.skip(f"cannot mount here: {done.stderr.strip()}")
        return place

    if not hasattr(os, "geteuid") or os.geteuid() or not sys.platform.startswith("linux"):
        pytest.skip("needs root on Linux to mount a disk")
    yield mount
    subprocess.run(["umount", "-l", place], capture_output=True, check=False)


@pytest.mark.root
def test_a_full_disk(start: Start, tmp_path: Path, small_disk: Callable[[str], Path]) -> None:
    place = small_disk("size=48k")  # pages: run.json, its successor, records, samples
    program = start(*small_run())
    assert program.end() == 4, program.errors
    run = only_run(tmp_path)
    assert_kept(program, run)
    assert "No space left on device" in program.errors
    assert "records kept, resume with: collmark run --resume" in program.errors
    subprocess.run(["mount", "-o", "remount,size=4m", place], check=True)
    again = start(*collmark("run", "--json", "--resume", str(run.path)))
    assert again.end() == 0, again.errors
    assert is_complete(run)


@pytest.mark.root
def test_a_read_only_folder_is_wrong_use(start: Start, small_disk: Callable[[str], Path]) -> None:
    place = small_disk("size=4m")
    subprocess.run(["mount", "-o", "remount,ro", place], check=True)
    program = start(*small_run())
    assert program.end() == 2
    assert "cannot write results to" in program.errors
    assert "Read-only file system; choose another place with --output" in program.errors


@pytest.mark.parametrize("what", ["", "run.json"])
def test_results_that_vanish_are_a_lost_measurement(start: Start, tmp_path: Path, what: str) -> None:
    program = start(*small_run())
    program.wait_for_events("record", 2)
    path = only_run(tmp_path).path
    moved = (path / what).rename(tmp_path / "moved away")
    assert program.end() == 4, program.errors
    vanished = f"results/{path.name}/{what}".rstrip("/")
    assert f"error: measurement lost: {vanished} vanished during the run; nothing is left to resume" in program.errors
    assert program.errors.count("error:") == 1
    program.wait_until_gone(1)
    assert moved.exists()


def test_results_that_vanish_between_two_launches_are_a_lost_measurement(tmp_path: Path) -> None:
    run = simulated_run(tmp_path)

    def emit(event: Event) -> None:
        if isinstance(event, LaunchEnded) and run.path.exists():
            shutil.rmtree(run.path)

    with pytest.raises(MeasurementError, match=f"measurement lost: {run.path} vanished during the run"):
        carry_out(run, Sink(emit=emit, on_fault=lambda _text: None), StopSignals(lambda _number: None))
    assert not run.path.exists()


def test_a_launch_whose_events_nobody_takes_is_noted_as_interrupted(tmp_path: Path) -> None:
    run = simulated_run(tmp_path)

    def emit(event: Event) -> None:
        if isinstance(event, Finished):
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    with pytest.raises(BrokenPipeError):
        carry_out(run, Sink(emit=emit, on_fault=lambda _text: None), StopSignals(lambda _number: None))
    (launch,) = run.read_run().launches
    assert launch.outcome == "interrupted"
    assert "Broken pipe" in launch.reason


def simulated_run(folder: Path) -> RunFolder:
    plan = Plan(operations=("all_reduce",), sizes="64B", backends=("simulated",), launches=2)
    prepared = prepare(plan, ranks=2, oversubscribe=True, joined=None)
    return create_run(prepared, output=None, label="", command=["collmark"], path=folder / "run")
