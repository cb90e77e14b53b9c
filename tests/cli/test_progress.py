"""What is said while a run runs: on a terminal, in a pipe, and when it is interrupted."""

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from collmark.bench.event import Event, LaunchStarted, RunStarted
from collmark.bench.runner import Finished
from collmark.cli.console import Terminal
from collmark.cli.progress import Course, Narrator, header_lines
from collmark.core.store import RunFolder
from collmark.core.units import format_duration
from collmark.workflow.interruption import StopSignals
from collmark.workflow.planning import make_plan
from collmark.workflow.prepare import prepare
from collmark.workflow.run import Sink, carry_out, create_run

SIMULATED = ("--backend", "simulated", "--operation", "all_reduce", "--sizes", "64B:4KiB:x8", "--ranks", "2")
CURSOR_UP = re.compile(rb"\x1b\[\d*A")


def on_terminal(*words: str, **variables: str) -> tuple[int, bytes, float]:
    """Run the program on a terminal of its own; return status, all that it wrote, and when the first word came."""
    process, terminal = pty.fork()
    if process == 0:
        os.environ.update({"TERM": "xterm", "COLUMNS": "100", "LINES": "30"} | variables)
        os.execv(sys.executable, [sys.executable, "-m", "collmark", *words])
    began, first, said = time.monotonic(), None, b""
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        first = first or time.monotonic() - began
        said += data
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), said, first or 0.0


@pytest.mark.manner(9)
@pytest.mark.manner(18)
def test_terminal_shows_a_display_and_then_the_table_once() -> None:
    status, said, _first = on_terminal("run", *SIMULATED, "--launches", "8")
    assert status == 0
    assert said.startswith(b"reading the plan ...")
    assert CURSOR_UP.search(said)
    assert b"launch 1 of 8" in said
    end = said[list(CURSOR_UP.finditer(said))[-1].end() :]
    assert end.count(b"operation ") == 1
    assert end.rstrip().splitlines()[-1].startswith(b"next: collmark report ")


def test_redraws_are_rare() -> None:
    began = time.monotonic()
    _status, said, _first = on_terminal("run", *SIMULATED, "--launches", "12")
    frames = said.count(b"%") and len(re.findall(rb"\[[#-]{30}\]", said))
    assert 2 <= frames <= 12 + 10 * (time.monotonic() - began)


@pytest.mark.manner(7)
@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {"NO_COLOR": "1"}])
def test_plain_terminals_get_no_colour(variables: dict[str, str]) -> None:
    status, said, _first = on_terminal("run", *SIMULATED, "--launches", "2", **variables)
    assert status == 0
    assert not re.search(rb"\x1b\[[0-9;]*[1-9][0-9;]*m", said)
    assert bool(CURSOR_UP.search(said)) == ("TERM" not in variables)


@pytest.mark.manner(7)
def test_empty_no_color_means_colour() -> None:
    _status, said, _first = on_terminal("run", *SIMULATED, "--launches", "2", NO_COLOR="")
    assert re.search(rb"\x1b\[[0-9;]*m", said)


@pytest.mark.manner(12)
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signal_keeps_what_is_finished_and_says_how_to_resume(workplace: Path, number: int, status: int) -> None:
    words = [sys.executable, "-m", "collmark", "run", *SIMULATED, "--launches", "1000"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while not process.stderr.readline().startswith("launch 2 of 1000 complete"):
            assert process.poll() is None
        asked = time.monotonic()
        process.send_signal(number)
        lines = [line for line in process.stderr if not line.startswith("launch ")]
        assert process.wait(10) == status
    assert time.monotonic() - asked < 5
    assert re.match(r"stopping after this repetition, \d+ records? kept; Ctrl-C again stops at once", lines[0])
    found = re.fullmatch(r"stopped by SIG\w+; (\d+) of 3000 records kept, resume with: (.+)\n", lines[-1])
    assert found, lines
    (folder,) = (workplace / "results").iterdir()
    kept = [record for record in RunFolder(folder).records() if record.sentinel is None]
    assert len(kept) == int(found[1]) >= 6
    assert shlex.split(found[2])[:3] == ["collmark", "run", "--resume"]


def test_resume_makes_only_what_is_missing(cli: Callable[..., Any], measured: str) -> None:
    run = Path(measured)
    lines = (run / "records.jsonl").read_bytes().splitlines(keepends=True)
    (run / "records.jsonl").write_bytes(b"".join(lines[:-3]))
    before = [record for record in RunFolder(run).records() if record.sentinel is None]
    result = cli("run", "--resume", "small")
    after = [record for record in RunFolder(run).records() if record.sentinel is None]
    assert result.status == 0, result.err
    assert f"{len(before)} records kept, {6 - len(before)} to make" in result.err
    assert after[: len(before)] == before
    assert len(after) == 6


def test_words_can_be_more_or_fewer(cli: Callable[..., Any]) -> None:
    plain = cli("run", *SIMULATED, "--launches", "2").err.splitlines()
    more = cli("run", *SIMULATED, "--launches", "2", "-v").err.splitlines()
    assert len(more) == len(plain) + 2 * (3 + 3)
    assert any(re.fullmatch(r"all_reduce 64 B float32: [\d.]+ us ±.+ % in \d+ repetitions, \w+", line) for line in more)


@pytest.mark.manner(10)
def test_other_ranks_say_nothing(workplace: Path) -> None:
    del workplace
    words = [sys.executable, "-m", "collmark", "run", *SIMULATED[:-2], "--into", "joined"]
    ranks = [
        subprocess.run(
            words,
            env=os.environ | {"RANK": rank, "WORLD_SIZE": "2", "LOCAL_RANK": rank},
            capture_output=True,
            text=True,
            check=False,
        )
        for rank in ("0", "1")
    ]
    assert [done.returncode for done in ranks] == [0, 0], ranks
    assert "next: collmark report joined" in ranks[0].stderr
    assert (ranks[1].stdout, ranks[1].stderr) == ("", "")


def events_of(tmp_path: Path) -> list[Event]:
    given = {"--backend": ["simulated"], "--launches": ["4"], "--sizes": ["8B:4KiB:x4"]}
    prepared = prepare(make_plan(None, given), ranks=2, oversubscribe=False, joined=None)
    events: list[Event] = []
    with StopSignals(lambda _number: None) as signals:
        folder = create_run(prepared, output=tmp_path / "course", label="", command=[])
        carry_out(folder, Sink(emit=events.append, on_fault=lambda _text: None), signals)
    return events


@pytest.mark.manner(11)
def test_time_left_is_right_within_a_factor_of_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 0.0
    monkeypatch.setattr("collmark.cli.progress.time.monotonic", lambda: clock)
    events = events_of(tmp_path)
    durations = [event.record.wall if isinstance(event, Finished) else 0.0 for event in events]
    course = Course([])
    total = sum(durations)
    for event, seconds in zip(events, durations, strict=True):
        clock += seconds
        course.take(event)
        left = course.left()
        if total / 3 < clock < 0.9 * total:
            assert left is not None
            assert (total - clock) / 2 <= left <= 2 * (total - clock)
    assert course.share == 1
    assert course.left() == 0


def test_rows_of_a_course_are_those_of_its_records(tmp_path: Path) -> None:
    course = Course([])
    for event in events_of(tmp_path):
        course.take(event)
        again = Course(list(course.records))
        again.cases = course.cases
        assert course.rows() == again.rows()


WATCHED = """
import json, os, sys
os.isatty = lambda descriptor: True
class Watch:
    def __init__(self, stream):
        self.stream, self.words, self.modules = stream, "", None
    def write(self, words):
        if self.modules is None:
            self.words, self.modules = words, sorted(sys.modules)
    def __getattr__(self, name):
        return getattr(self.stream, name)
before, sys.stderr = set(sys.modules), Watch(sys.stderr)
from collmark.cli.main import main
try:
    main(["run", "--operation", "nonsense"])
except SystemExit:
    new = [name for name in sys.stderr.modules if name not in before]
    print(json.dumps([sys.stderr.words, new]), file=sys.__stdout__)
"""


@pytest.mark.manner(9)
def test_on_a_terminal_the_first_word_stands_before_any_library_is_loaded(workplace: Path) -> None:
    del workplace
    words = [sys.executable, "-c", WATCHED]
    done = subprocess.run(words, env=os.environ | {"TERM": "xterm"}, capture_output=True, text=True, check=True)
    said, modules = json.loads(done.stdout.splitlines()[-1])
    assert said == "reading the plan ..."
    own = {name for name in modules if name.partition(".")[0] not in sys.stdlib_module_names}
    assert own == {"collmark", "collmark.cli", "collmark.cli.main"}


@pytest.mark.manner(9)
def test_where_nothing_is_drawn_what_and_where_is_said_before_ranks_are_started(tmp_path: Path) -> None:
    lines: list[str] = []
    terminal = Terminal()
    terminal.divert = lines.append
    narrator = Narrator(terminal, [], redraws=False, is_rank=True)
    first, second, *_rest = events_of(tmp_path)
    assert isinstance(first, RunStarted)
    assert isinstance(second, LaunchStarted)  # said by ranks that are there
    narrator.take(first)
    assert lines[0].startswith("SIMULATED simulated, cpu, 1 node x 2 ranks; ")
    assert lines[-1] == f"results in {first.folder}", "whole, however long it is: it is there to be pasted"


class Clock:
    """Time that passes only while somebody waits for it."""

    def __init__(self, until: float) -> None:
        self.now, self.until = 0.0, until

    def monotonic(self) -> float:
        return self.now

    def wait(self, seconds: float) -> bool:
        """Return whether it is over."""
        self.now += max(seconds, 1e-3)
        return self.now >= self.until


@pytest.mark.manner(9)
@pytest.mark.parametrize("said_last", [0.0, 0.5, 1.0, 12.0, 24.9])
@pytest.mark.parametrize("is_rank", [False, True])
def test_it_is_never_silent_for_over_30_seconds(
    said_last: float,
    is_rank: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run that says nothing of itself for five minutes, wherever in a heartbeat its last word fell."""
    clock, times = Clock(300.0), [said_last]
    monkeypatch.setattr("collmark.cli.progress.time", clock)
    terminal = Terminal()
    terminal.divert = lambda _line: times.append(clock.now)
    narrator = Narrator(terminal, [], redraws=False, is_rank=is_rank)
    narrator.course.total = 1
    narrator._said_at = said_last
    monkeypatch.setattr(narrator, "_over", clock)
    narrator._keep_talking()
    assert len(times) > 8
    assert max(after - before for before, after in pairwise([*times, 300.0])) <= 30


@pytest.mark.manner(11)
def test_the_bound_that_is_said_before_the_start_holds(tmp_path: Path) -> None:
    started, *rest = events_of(tmp_path)
    assert isinstance(started, RunStarted)
    assert f"at most {format_duration(started.at_most)}" in " ".join(header_lines(started))
    took = sum(event.record.wall for event in rest if isinstance(event, Finished))
    assert 0 < took <= started.at_most
