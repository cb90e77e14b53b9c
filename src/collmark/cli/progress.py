"""What a run says while it runs: where it stands, and how long it will take.

On a terminal the table so far and a bar are drawn over and over on stderr; anywhere else a line per launch, and one
at least every 30 s. Nothing is drawn more often than twice a second.
"""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Self

from collmark.bench.event import Event, LaunchEnded, LaunchStarted, RunStarted
from collmark.bench.measurement import Progress
from collmark.bench.runner import BudgetSpent, Finished
from collmark.cli import figures
from collmark.cli.console import Terminal
from collmark.cli.display import Display
from collmark.cli.table import result_lines
from collmark.core.case import Binding, Case, Scheduling
from collmark.core.doctor.finding import Diagnosis
from collmark.core.marker import Marker, markers_of
from collmark.core.numeral import counted
from collmark.core.plan import AUTO
from collmark.core.record import Outcome, Record
from collmark.core.units import format_duration
from collmark.workflow.listing import Row, summarise
from collmark.workflow.planning import placement_words
from collmark.workflow.prepare import SIMULATED

HEARTBEAT = 25.0  # s without a word after which one is due
TICK = 1.0  # s between redraws that nothing but the time asks for
LEAST_BETWEEN_DRAWS = 0.5  # s: drawing takes time on cores that are being measured
BAR = 30  # letters
AROUND_TABLE = 7  # lines on the screen that are not rows
OUTCOMES = {
    Outcome.COMPLETE: "complete",
    Outcome.BUDGET: "out of time",
    Outcome.INTERRUPTED: "stopped",
    Outcome.LOST: "lost",
}


class Course:
    """Where a run stands, from its events."""

    def __init__(self, kept: list[Record]) -> None:
        self.records = kept
        self.cases: list[Case] = []
        self.total = self.done = self.skipped = 0
        self.launch = self.launches = 0
        self.at_most = 0.0
        self.simulated = False
        self.current: Progress | None = None
        self.latest: list[str] = []
        self._rows: dict[str, Row] = {}
        self._began = time.monotonic()

    def take(self, event: Event) -> None:
        """Follow one event."""
        match event:
            case RunStarted():
                self.cases, self.total, self.at_most = list(event.run.cases), event.records, event.at_most
                self.simulated = SIMULATED in event.run.plan.backends
                groups = {(case.backend, case.world) for case in self.cases}
                self.launches = 0 if event.kept else event.run.plan.first_launches * len(groups)
            case LaunchStarted():
                self.launch += 1
                self.total = max(self.total, self.done + self.skipped + event.cases)
            case Progress():
                self.current = event
            case Finished():
                self.records.append(event.record)
                self._rows.pop(event.record.case.key, None)
                if event.record.sentinel is None:
                    self.done += 1
                    self.latest.append(event.record.case.key)
            case BudgetSpent():
                self.skipped += event.cases
            case LaunchEnded():
                self.current = None

    def rows(self) -> list[Row]:
        """Return a row for each case that has a record; only those that changed are computed anew."""
        stale = [case for case in self.cases if case.key not in self._rows]
        if stale:
            self._rows.update({row.case.key: row for row in summarise(stale, tuple(self.records))})
        return [row for row in map(self._rows.__getitem__, (c.key for c in self.cases)) if row.status is not None]

    @property
    def share(self) -> float:
        """Share of the records that are done."""
        return min(1.0, (self.done + self.skipped) / self.total) if self.total else 1.0

    def left(self) -> float | None:
        """Return the seconds that are left, from the pace so far; None before there is one."""
        if not self.done:
            return None
        elapsed = time.monotonic() - self._began
        left = elapsed * (1 - self.share) / max(self.share, 1e-9)
        return left if self.simulated else min(left, max(0.0, self.at_most - elapsed))

    def launch_words(self) -> str:
        """Return which launch it is."""
        return f"launch {self.launch}" + (f" of {self.launches}" if self.launches >= self.launch else "")

    def current_words(self) -> str:
        """Return which case it is, and how far."""
        if self.current is None:
            return "starting the ranks" if self.share < 1 else "ending the ranks"
        words = f"{self.current.case}"
        if self.current.repetitions:
            words += f", repetition {self.current.repetitions}"
        if self.current.half_width is not None:
            words += f", ±{figures.percent(self.current.half_width)} %"
        return words

    def left_words(self) -> str:
        """Return how long it will take."""
        left = self.left()
        return "" if left is None else f"{format_duration(round(left))} left"


class Narrator:
    """Tells the course of a run on stderr; use it in a ``with`` block.

    Parameters
    ----------
    terminal : Terminal
        Where to.
    kept : list of Record
        Records from before a resume.
    redraws : bool
        Draw a display; otherwise write lines.
    is_rank : bool
        This process is a rank itself: nothing is drawn but at events.
    """

    def __init__(self, terminal: Terminal, kept: list[Record], *, redraws: bool, is_rank: bool) -> None:
        self.course = Course(kept)
        self._terminal = terminal
        self._redraws = redraws
        self._ticks = redraws and not is_rank
        self._display = Display(terminal)
        self._drawn_at = self._said_at = time.monotonic()
        self._over = threading.Event()
        self._lock = threading.RLock()
        self._said_findings: set[str] = set()
        self._thread = threading.Thread(target=self._keep_talking, name="narrator", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(timeout=1)
        self._display.stop()

    def take(self, event: Event) -> None:
        """Follow one event, and say or draw what is new."""
        with self._lock:
            self._take(event)

    def _take(self, event: Event) -> None:
        self.course.take(event)
        if isinstance(event, LaunchStarted) and event.launch.doctor is not None:
            self._say_findings(event.launch.doctor)
        match event:
            case RunStarted():
                self._announce(event)
                if self._redraws:
                    self._display.start()
            case LaunchStarted() if not self._redraws:
                facts = ", ".join(f"{name} {value}" for name, value in event.launch.libraries.items())
                self._say(
                    f"{self.course.launch_words()}: {counted(event.cases, 'case')}" + (f" ({facts})" if facts else "")
                )
            case Finished() if self._terminal.verbosity > 0:
                self._terminal.say(record_words(event.record))
            case LaunchEnded() if not self._redraws:
                done = f"{self.course.done} of {self.course.total} records"
                words = f"{self.course.launch_words()} {OUTCOMES[event.outcome]}: {done}"
                left = "" if event.outcome is Outcome.INTERRUPTED else self.course.left_words()
                self._say(words + (f", {left}" if left and self.course.share < 1 else ""))
        if self._redraws:
            self._draw(force=isinstance(event, LaunchEnded))
        elif time.monotonic() - self._said_at > HEARTBEAT:
            self._beat()

    def _announce(self, event: RunStarted) -> None:
        words, place = header_lines(event)
        self._say(words)
        self._terminal.say_whole(place)
        for warning in event.warnings:
            self._terminal.warn(f"note: {warning}")
        plan = event.run.plan
        settings = [
            *(["at SCHED_FIFO 1"] if plan.scheduling is Scheduling.FIFO else []),
            *(["each on its share of the cores"] if plan.binding is Binding.CORES else []),
        ]
        if settings and not self.course.simulated:
            self._say(f"ranks run {', '.join(settings)}")

    def _say_findings(self, diagnosis: Diagnosis) -> None:
        """Say what the doctor found, each thing once a run; hints only to who wants more words."""
        for finding in diagnosis.findings if self._terminal.verbosity > 0 else diagnosis.notable:
            if str(finding) not in self._said_findings:
                self._said_findings.add(str(finding))
                self._terminal.warn(f"doctor: {finding}")

    def _say(self, line: str) -> None:
        self._said_at = time.monotonic()
        self._terminal.say(line)

    def _beat(self) -> None:
        parts = (f"{self.course.share:4.0%}  {self.course.current_words()}", self.course.left_words())
        self._say("; ".join(part for part in parts if part))

    def _keep_talking(self) -> None:
        while not self._over.wait(self._pause()):
            with self._lock:
                if self._redraws:
                    self._draw(force=False)
                elif time.monotonic() - self._said_at >= HEARTBEAT:
                    self._beat()

    def _pause(self) -> float:
        """Return the seconds until something may have to be said: where lines are, a whole heartbeat behind the last.

        Looking once a heartbeat would leave up to two of them between two words.
        """
        if self._ticks:
            return TICK
        return HEARTBEAT if self._redraws else max(0.0, self._said_at + HEARTBEAT - time.monotonic())

    def _draw(self, *, force: bool) -> None:
        now = time.monotonic()
        if not self._display.is_there or (not force and now - self._drawn_at < LEAST_BETWEEN_DRAWS):
            return
        self._drawn_at = now
        self._display.draw(self._screen())

    def _screen(self) -> list[str]:
        width, height = self._display.size
        rows, latest = self.course.rows(), list(self.course.latest)
        room = max(1, height - AROUND_TABLE)
        hidden = len(rows) - room
        if hidden > 0:
            recent = set(list(dict.fromkeys(latest[::-1]))[:room])
            rows = [row for row in rows if row.case.key in recent]
        lines = []
        if rows:
            painter = self._terminal.painter(sys.stderr)
            lines = result_lines(rows, marker=markers_of(self.course.records), width=width - 1, paint=painter)
            lines = lines[: height - 3]
        if hidden > 0:
            lines.append(f"... and {hidden} more cases")
        return [*lines, *self._bar(width)]

    def _bar(self, width: int) -> list[str]:
        share = self.course.share
        filled = round(BAR * share)
        bar = f"{share:4.0%} [{'#' * filled}{'-' * (BAR - filled)}] {self.course.launch_words()}"
        left = self.course.left_words()
        tail = f"     {self.course.current_words()}"
        return [f"{bar}   {left}"[: width - 1], tail[: width - 1]]


def record_words(record: Record) -> str:
    """Return one record as a line."""
    again = f" (sentinel, {record.sentinel})" if record.sentinel else ""
    if record.timing is None:
        return f"{record.case}{again}: {record.status}"
    half = ""
    if record.timing.lower is not None and record.timing.upper is not None:
        width = max(record.timing.upper - record.timing.median, record.timing.median - record.timing.lower)
        half = f" ±{figures.percent(width / record.timing.median)} %"
    words = f"{figures.microseconds(record.timing.median)} us{half} in {record.timing.repetitions} repetitions"
    return f"{record.case}{again}: {words}, {record.status}"


def header_lines(event: RunStarted) -> list[str]:
    """Return what is said before anything starts: what, where, how much, at most how long."""
    plan = event.run.plan
    simulated = SIMULATED in plan.backends
    places = ", ".join(placement_words(placement) for placement in plan.placements)
    devices = ", ".join(dict.fromkeys(case.device for case in event.run.cases))
    sets = {(case.backend, case.world) for case in event.run.cases}
    cases = len(event.run.cases)
    words = f"{', '.join(plan.backends)}, {devices}, {places}; {cases} case{'s' if cases > 1 else ''}"
    words += f" x {plan.first_launches}{' or more' if plan.launches == AUTO else ''} "
    words += "launch" if plan.launches == 1 else "launches"
    if len(sets) > 1:
        words += f" on each of {len(sets)} sets of ranks"
    if event.kept:
        words += f", {counted(event.kept, 'record')} kept, {event.records} to make"
    bound = f"at most {format_duration(event.at_most)}"
    words += f", {bound} of virtual time" if simulated else f", {bound}"
    return [f"{Marker.SIMULATED} {words}" if simulated else words, f"results in {event.folder}"]
