"""Signals to a running collmark: what is finished is kept, and it is out in seconds."""

import contextlib
import os
import pty
import signal
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.multiprocess.program import (
    MARK,
    Program,
    clean_environment,
    is_complete,
    only_run,
    processes_with,
    small_run,
)

Start = Callable[..., Program]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]


def lines(folder: Path) -> list[bytes]:
    return (only_run(folder).path / "records.jsonl").read_bytes().splitlines()


@pytest.mark.manner(12)
@pytest.mark.manner(14)
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_keeps_what_is_finished_and_says_how_to_go_on(
    start: Start, tmp_path: Path, number: int, status: int
) -> None:
    program = start(*small_run())
    program.wait_for_events("record", 4)
    struck = time.monotonic()
    program.process.send_signal(number)
    program.wait_for("stopping after this repetition", 2)
    assert time.monotonic() - struck < 1
    assert program.end() == status
    assert time.monotonic() - struck < 5
    program.wait_until_gone(1)
    assert len(lines(tmp_path)) >= len(program.events("record")) >= 4
    assert "resume with: collmark run --resume results/" in program.errors
    (launch,) = only_run(tmp_path).read_run().launches
    assert launch.outcome == "interrupted"


@pytest.mark.parametrize("records", [0, 3])
@pytest.mark.parametrize("more", [(), ("--json",), ("--quiet",)])
def test_a_terminal_that_is_closed_ends_the_run_in_good_order(
    tmp_path: Path, more: tuple[str, ...], records: int
) -> None:
    words, mark = [word for word in small_run(*more) if word != "--json" or more == ("--json",)], uuid.uuid4().hex
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(tmp_path)
        os.execve(words[0], words, clean_environment(TERM="xterm", **{MARK: mark}))
    os.set_blocking(terminal, False)
    while not list(tmp_path.glob("results/*/logs/*")) or len(lines(tmp_path)) < records:
        with contextlib.suppress(BlockingIOError):
            os.read(terminal, 65536)
        time.sleep(0.01)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 129
    assert not processes_with(mark)
    assert len(lines(tmp_path)) >= records
    assert {launch.outcome for launch in only_run(tmp_path).read_run().launches} <= {"complete", "interrupted"}


def test_a_signal_while_ranks_start_ends_the_run_at_once(start: Start, tmp_path: Path) -> None:
    program = start(*small_run())
    assert program.wait_for_ranks(2)
    struck = time.monotonic()
    program.process.send_signal(signal.SIGTERM)
    assert program.end() == 143
    assert time.monotonic() - struck < 3
    program.wait_until_gone(1)
    assert not lines(tmp_path)


@pytest.mark.manner(12)
def test_a_second_signal_stops_even_where_the_first_is_not_obeyed(start: Start) -> None:
    program = start(*small_run())
    program.wait_for_events("record", 2)
    ranks = program.wait_for_ranks(2)
    for pid in ranks:
        os.kill(pid, signal.SIGSTOP)
    program.process.send_signal(signal.SIGINT)
    program.wait_for("stopping after this repetition", 2)
    struck = time.monotonic()
    program.process.send_signal(signal.SIGINT)
    assert program.end() == 130
    assert time.monotonic() - struck < 2.5  # the first signal alone takes 3 s
    program.wait_until_gone(1)


def test_ranks_that_do_not_stop_are_ended(start: Start) -> None:
    program = start(*small_run())
    program.wait_for_events("record", 2)
    for pid in program.wait_for_ranks(2):
        os.kill(pid, signal.SIGSTOP)
    struck = time.monotonic()
    program.process.send_signal(signal.SIGTERM)
    assert program.end() == 143
    assert time.monotonic() - struck < 5
    program.wait_until_gone(1)


def test_a_short_stop_of_the_launcher_is_no_fault(start: Start, tmp_path: Path) -> None:
    program = start(*small_run())
    program.wait_for_events("record", 2)
    program.process.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    program.process.send_signal(signal.SIGCONT)
    assert program.end() == 0
    assert is_complete(only_run(tmp_path))
