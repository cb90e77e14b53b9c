"""A resume does only what is missing."""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.multiprocess.program import RECORDS, Program, collmark, is_complete, only_run, small_run

Start = Callable[..., Program]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def interrupted(start: Start, records: int) -> Program:
    program = start(*small_run())
    program.wait_for_events("record", records)
    program.process.send_signal(signal.SIGTERM)
    assert program.end() == 143
    return program


def test_only_missing_cases_are_measured_in_launches_of_their_own(start: Start, tmp_path: Path) -> None:
    interrupted(start, 13)
    run = only_run(tmp_path)
    before = (run.path / "records.jsonl").read_bytes()
    plain = [record for record in run.records() if record.sentinel is None]
    again = start(*collmark("run", "--json", "--resume", str(run.path)))
    assert again.end() == 0, again.errors
    assert (run.path / "records.jsonl").read_bytes().startswith(before)
    assert is_complete(run)
    made = [event for event in again.events("record") if event["sentinel"] is None]
    assert len(plain) + len(made) == RECORDS
    assert {event["launch"] for event in made}.isdisjoint({record.launch for record in plain})
    there = Counter(record.case.key for record in run.records() if record.sentinel is None)
    assert set(there.values()) == {2}
    (end,) = again.events("end")
    assert end["missing"] == 0


def test_a_complete_run_starts_nothing(start: Start, tmp_path: Path) -> None:
    assert start(*small_run("--launches", "1")).end() == 0
    run = only_run(tmp_path)
    before = (run.path / "records.jsonl").read_bytes()
    again = start(*collmark("run", "--json", "--resume", str(run.path)))
    assert again.end() == 0
    assert (run.path / "records.jsonl").read_bytes() == before
    assert len(run.read_run().launches) == 1


@pytest.mark.parametrize("is_whole", [False, True])
def test_a_torn_last_line_is_measured_again_and_a_whole_one_is_kept(
    start: Start, tmp_path: Path, *, is_whole: bool
) -> None:
    words = ("run", "--json", "--backend", "simulated", "--operation", "all_reduce", "--sizes", "8B:2KiB:x16")
    assert start(*collmark(*words, "--launches", "2", "--output", "results")).end() == 0
    run = only_run(tmp_path)
    path = run.path / "records.jsonl"
    lines = path.read_bytes().splitlines()[:4]
    path.write_bytes(b"\n".join([*lines[:-1], lines[-1] if is_whole else lines[-1][:200]]))
    again = start(*collmark("run", "--json", "--resume", str(run.path)))
    assert again.end() == 0, again.errors
    now = path.read_bytes().splitlines()
    assert now[:3] == lines[:3]
    assert (now[3] == lines[3]) is is_whole
    assert is_complete(run)


def test_a_run_that_is_being_written_cannot_be_resumed(start: Start, tmp_path: Path) -> None:
    program = start(*small_run())
    program.wait_for_events("record", 1)
    run = only_run(tmp_path)
    other = start(*collmark("run", "--json", "--resume", str(run.path)))
    assert other.end() == 2
    assert "is being written by another collmark" in other.errors
    program.process.send_signal(signal.SIGTERM)
    program.end()


def test_rank_0_holds_the_run_until_it_has_gone(start: Start, tmp_path: Path) -> None:
    program = start(*small_run())
    program.wait_for_events("record", 1)
    ranks = program.wait_for_ranks(2)
    run = only_run(tmp_path)
    os.kill(ranks[0], signal.SIGSTOP)
    program.process.send_signal(signal.SIGKILL)
    program.end()
    program.wait_until_gone(10)  # the stopped rank too
    deadline = time.monotonic() + 10
    again = start(*collmark("run", "--json", "--resume", str(run.path)))
    # A process that is ending gives its memory back, by which it is known here, a moment before its files.
    while again.end() == 2 and "is being written" in again.errors and time.monotonic() < deadline:
        again = start(*collmark("run", "--json", "--resume", str(run.path)))
    assert again.end() == 0, again.errors
