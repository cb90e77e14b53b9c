"""Kill a process of a run at a random moment, look at what is left, and resume."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
import warnings
from pathlib import Path
from typing import Any

import msgspec
from tests.multiprocess.program import Program, collmark, is_complete, only_run, small_run

from collmark.core.case import Case
from collmark.core.store import RunFolder

VICTIMS = ("the launcher", "rank 0", "another rank", "all ranks")
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP)
KINDS = tuple((victim, number) for victim in VICTIMS for number in SIGNALS)
RANKS = 2
EMITTED = 18  # records of a whole run, the sentinels' included
LONGEST_START = 3.5  # s that the first launch takes to start
LONGEST_DELAY = 0.4  # s after a record: as long as a case takes
TIMEOUT = 3.0  # s, as in the plan
LONG_CASES = ("--case-budget", "700ms", "--precision", "0.1%")  # a launch must outlast the time-out
START_PATIENCE = 20.0  # s that ranks have to start at this time-out
SLACK = 6.0  # s for a busy machine
RESUME_SECONDS = 240.0  # far more than it takes: real-time work beside it may starve it for a minute
LAUNCHER_KILLED = 10.0  # s for the ranks to go


class Kill(msgspec.Struct, frozen=True, kw_only=True):
    """What is done to a run, `delay` seconds after it has emitted so many records."""

    victim: str
    number: signal.Signals
    records: int
    delay: float

    @property
    def stops_launcher(self) -> bool:
        """Whether the ranks go on for a while without a launcher."""
        return self.victim == "the launcher" and self.number == signal.SIGSTOP

    def __str__(self) -> str:
        return f"{self.number.name} to {self.victim} {self.delay:.2f} s after record {self.records}"


class Aftermath(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a run.

    Attributes
    ----------
    status : int
        Exit status of the launcher, minus the signal's number where one killed it.
    gone : float
        Seconds from the signal until every process was gone (for a stopped launcher, every other process).
    lost : int
        Records that were finished before, and are not there after the resume.
    kept : int
        Records on disk before the resume, the sentinel's included.
    was_complete : bool
        The run had come to its end all the same.
    resumed : bool
        The resume ended with status 0 and nothing is missing.
    words : str
        What the launcher said.
    """

    status: int
    gone: float
    lost: int
    kept: int
    was_complete: bool
    resumed: bool
    words: str


def draw(seed: int, count: int) -> list[Kill]:
    """Return kills of all kinds in turn, each at a moment of its own, a third of them while the first launch starts."""
    generator = random.Random(seed)
    order = [KINDS[position % len(KINDS)] for position in range(count)]
    generator.shuffle(order)
    kills = []
    for victim, number in order:
        records = max(0, generator.randrange(-EMITTED // 2, EMITTED))
        longest = LONGEST_DELAY if records else LONGEST_START
        kills.append(Kill(victim=victim, number=number, records=records, delay=generator.uniform(0.0, longest)))
    return kills


def inflict(kill: Kill, folder: Path) -> Aftermath:
    """Start a run, kill, wait until all is over, resume."""
    program = Program(*small_run(*(LONG_CASES if kill.stops_launcher else ())), folder=folder)
    try:
        program.wait_for_events("record", kill.records)
        time.sleep(kill.delay)
        struck = _strike(kill, program)
        gone, status = _await_end(kill, program, struck)
    finally:
        program.clean_up()
    finished = {_key(record["launch"], record["case"], record["sentinel"]) for record in program.events("record")}
    run = only_run(folder)
    before = _lines(run)
    was_complete = is_complete(run)
    resumed, resume_words = _resume(folder, run)
    after = _lines(run)
    there = {_key(line["launch"], line["case"], line.get("sentinel")) for line in after.values()}
    lost = len(finished - there) + sum(line not in after for line in before)
    return Aftermath(
        status=status,
        gone=gone,
        lost=lost,
        kept=len(before),
        was_complete=was_complete,
        resumed=resumed,
        words=program.errors + resume_words,
    )


def _strike(kill: Kill, program: Program) -> float:
    ranks = program.wait_for_ranks(RANKS)
    victims = {
        "rank 0": ranks[:1],
        "another rank": ranks[1:2],
        "all ranks": ranks,
        "the launcher": [program.process.pid],
    }[kill.victim]
    for pid in victims:
        try:
            os.kill(pid, kill.number)
        except ProcessLookupError:
            continue  # the run was over a moment before
    return time.monotonic()


def _await_end(kill: Kill, program: Program, struck: float) -> tuple[float, int]:
    if kill.stops_launcher:
        program.wait_until_gone(TIMEOUT + SLACK, but=program.process.pid)
        gone = time.monotonic() - struck
        program.process.send_signal(signal.SIGCONT)
        # Struck between two launches, there was no rank to give it up: it goes on to its end.
        return gone, program.end()
    patience = START_PATIENCE + TIMEOUT + SLACK if kill.number == signal.SIGSTOP else LAUNCHER_KILLED
    # Where the signal came too late, the run goes on to its end.
    program.wait_until_gone(patience + 10)
    return time.monotonic() - struck, program.end(SLACK)


def expected(kill: Kill) -> int:
    """Return the exit status that a kill must lead to, unless the run was complete by then."""
    if kill.victim != "the launcher" or kill.number == signal.SIGSTOP:
        return 4
    return {signal.SIGTERM: 143, signal.SIGKILL: -9}[kill.number]


def complaint(kill: Kill, aftermath: Aftermath) -> str:
    """Return what is wrong with an aftermath; empty where nothing is."""
    wrong = []
    if aftermath.lost:
        wrong.append(f"{aftermath.lost} finished records lost")
    if not aftermath.resumed:
        wrong.append("not resumed")
    if aftermath.status != expected(kill) and not (aftermath.was_complete and aftermath.status == 0):
        wrong.append(f"status {aftermath.status}, not {expected(kill)}")
    if kill.victim == "the launcher" and kill.number == signal.SIGKILL and aftermath.gone > LAUNCHER_KILLED:
        wrong.append(f"ranks gone only after {aftermath.gone:.1f} s")
    if aftermath.status == 4 and "error: " not in aftermath.words:
        wrong.append("no error line")
    return f"{kill}: {'; '.join(wrong)} (said: {aftermath.words[-600:]})" if wrong else ""


def _key(launch: int, case: dict[str, Any], sentinel: str | None) -> tuple[object, ...]:
    return launch, msgspec.convert(case, Case).key, sentinel


def _lines(run: RunFolder) -> dict[bytes, dict[str, Any]]:
    """Return the whole lines on disk, by their bytes; a torn last one is what a resume cuts off."""
    content = (run.path / "records.jsonl").read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    return {line: msgspec.json.decode(line) for line in whole.splitlines()}


def _resume(folder: Path, run: RunFolder) -> tuple[bool, str]:
    """Return whether nothing is missing afterwards, and where something is, what the resume said."""
    program = Program(*collmark("run", "--json", "--resume", str(run.path)), folder=folder)
    try:
        status = program.end(RESUME_SECONDS)
        program.wait_until_gone(5)
    except subprocess.TimeoutExpired:
        return False, f" RESUME still ran after {RESUME_SECONDS:g} s: {program.errors}"
    finally:
        program.clean_up()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        complete = status == 0 and is_complete(run)
    return complete, "" if complete else f" RESUME, status {status}: {program.errors}"
