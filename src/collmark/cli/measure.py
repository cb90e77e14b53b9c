"""Carry out a run before the eyes of a user: signals, progress, table, and what went wrong."""

from __future__ import annotations

import contextlib
import os
import signal
import time

import typer

from collmark.bench.event import Event
from collmark.bench.launchers.joined import Joined
from collmark.cli.conclusion import (
    missing_records,
    next_command,
    print_summary,
    print_table,
    resume_command,
    wrong_words,
)
from collmark.cli.console import Terminal, abandon_stdout, write_error
from collmark.cli.faults import LOST, error_object, is_output_fault, words_of
from collmark.cli.progress import Narrator
from collmark.cli.stream import write_end, write_event
from collmark.core.errors import (
    CollmarkError,
    InterruptedRunError,
    MeasurementError,
    UnavailableError,
    VerificationError,
)
from collmark.core.numeral import counted
from collmark.core.record import Record, Run, Status
from collmark.core.store import RUN_FILE, RunFolder
from collmark.workflow.interruption import AFTER_CASE, StopSignals
from collmark.workflow.prepare import SIMULATED, Prepared
from collmark.workflow.run import Sink, carry_out, follow


class Session:
    """One run, carried out.

    Parameters
    ----------
    folder : RunFolder
        The run.
    terminal : Terminal
        Where to show it.
    joined : Joined or None
        The launcher that started this process, if any.
    as_json : bool
        Write events to stdout instead of a table.
    is_last : bool
        Nothing follows: say what to do next.
    launch : int or None
        The launch of the run that the ranks are, of which only what is missing is measured.
    has_table : bool
        Show a table of all cases at the end, and what they say.
    """

    def __init__(
        self,
        folder: RunFolder,
        terminal: Terminal,
        *,
        joined: Joined | None,
        as_json: bool,
        is_last: bool = True,
        launch: int | None = None,
        has_table: bool = True,
    ) -> None:
        self._folder = folder
        self._has_table = has_table
        self._terminal = terminal
        self._joined = joined
        self._as_json = as_json
        self._is_last = is_last
        self._launch = launch
        redraws = terminal.can_redraw() and not (as_json and os.isatty(1))
        kept = list(folder.records())
        self._narrator = Narrator(terminal, kept, redraws=redraws, is_rank=joined is not None)

    def run(self) -> None:
        """Measure what is missing, then show it.

        Raises
        ------
        CollmarkError
            If anything went wrong; everything finished is kept, and was shown.
        """
        began = time.monotonic()
        sink = Sink(emit=self._take, on_fault=self._on_fault)
        signals = StopSignals(self._on_first)
        try:
            with self._narrator, signals:
                carry_out(self._folder, sink, signals, self._joined, self._launch)
        except MeasurementError as error:
            raise MeasurementError(f"{error}; {self._kept_words()}") from error
        except (InterruptedRunError, KeyboardInterrupt) as error:
            with contextlib.suppress(OSError):  # a terminal that was closed shows nothing
                self._show(time.monotonic() - began, is_over=False)
            raise self._stopped_by(getattr(error, "signal_number", signal.SIGINT)) from error
        except OSError as error:
            if not is_output_fault(error):
                raise
            raise self._unseen(error, signals.received) from error
        self._show(time.monotonic() - began, is_over=True)

    def _stopped_by(self, number: int) -> InterruptedRunError:
        return InterruptedRunError(f"stopped by {signal.Signals(number).name}; {self._kept_words()}", number)

    def _unseen(self, error: OSError, received: int) -> CollmarkError:
        """Return what it means that stdout takes no more events."""
        abandon_stdout()
        if received:  # a terminal that is closed refuses what is written, and says so with SIGHUP as well
            return self._stopped_by(received)
        if isinstance(error, BrokenPipeError):
            words = f"stopped, since nobody reads stdout any more; {self._kept_words()}"
            return InterruptedRunError(words, signal.SIGPIPE)
        return MeasurementError(f"{words_of(error)}; {self._kept_words()}")

    def _take(self, event: Event) -> None:
        self._narrator.take(event)  # first: a record is kept even where it cannot be shown
        if self._as_json:
            write_event(self._terminal, event)

    def _on_first(self, number: int) -> None:
        when = "this case" if number == AFTER_CASE else "this repetition"
        kept = sum(record.sentinel is None for record in self._narrator.course.records)
        self._terminal.warn(
            f"stopping after {when}, {counted(kept, 'record')} kept; Ctrl-C {'' if number == AFTER_CASE else 'again '}"
            "stops at once"
        )

    def _on_fault(self, text: str) -> None:
        """Say why this process is about to end: it is a rank, and another one has gone."""
        words = f"{text}; {self._kept_words()}"
        self._terminal.divert = None
        write_error(f"error: {words}")
        if self._as_json:
            with contextlib.suppress(OSError):
                self._terminal.emit(error_object(words, LOST, MeasurementError.__name__))

    def _kept_words(self) -> str:
        if not (self._folder.path / RUN_FILE).exists():
            return "nothing is left to resume"
        course = self._narrator.course
        kept = sum(record.sentinel is None for record in course.records)
        total = max(kept, len(course.records) and kept + course.total - course.done)
        words = f"{kept} of {counted(total or course.total, 'record')} kept"
        if self._joined:
            again = "the rest" if self._launch else "another launch"
            return f"{words} in {self._folder.path}; for {again} repeat the whole command with --into"
        return f"{words}, resume with: {resume_command(self._folder.path)}"

    def _show(self, seconds: float, *, is_over: bool) -> None:
        run, records = self._folder.read_run(), list(self._folder.records())
        if self._as_json:
            if is_over:
                write_end(self._terminal, self._folder.path, run, records, seconds)
        elif self._has_table and any(record.sentinel is None for record in records):
            print_table(self._terminal, run, records)
        if self._has_table:
            print_summary(self._terminal, run, records, seconds)
        if is_over:
            self._finish(run, records)

    def _finish(self, run: Run, records: list[Record]) -> None:
        """Say what to do next, or raise what is wrong with the results."""
        self._terminal.say_whole(f"results in {self._folder.path}")
        if self._joined and len(run.launches) == 1:
            self._terminal.say(f"for another launch, and so an interval, repeat it with --into {self._folder.path}")
        if self._is_last or missing_records(run, records):
            self._terminal.say_whole(f"next: {next_command(self._folder.path, run, records)}")
        statuses = {record.status for record in records}
        if Status.WRONG in statuses:
            raise VerificationError(
                f"wrong results: {wrong_words(records, Status.WRONG)}; no bandwidth is shown for them"
            )
        if Status.FAILED in statuses:
            raise UnavailableError(f"cases failed: {wrong_words(records, Status.FAILED)}")


def be_follower(prepared: Prepared, joined: Joined) -> None:
    """Be a rank that shows nothing, unless it is the first to know of a fault."""
    if SIMULATED in prepared.plan.backends:
        return  # rank 0 plays all the others

    def on_fault(text: str) -> None:
        write_error(f"error: rank {joined.rank} gives up: {text}")

    try:
        with StopSignals(lambda _number: None) as signals:
            follow(prepared, joined, Sink(emit=lambda _event: None, on_fault=on_fault), signals)
    except MeasurementError as error:
        if joined.speaks_up:
            raise
        raise typer.Exit(LOST) from error
