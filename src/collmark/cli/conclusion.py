"""What is said after a run: the table, what became of the records, what disturbed them, and what to do next."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from collmark.cli import figures
from collmark.cli.console import Terminal
from collmark.cli.grammar import program
from collmark.cli.table import result_lines
from collmark.core.case import Scheduling
from collmark.core.disturbance import clock_words, findings
from collmark.core.lower_bound import of_bound, reason_words
from collmark.core.marker import NO_MEASUREMENT, Marker, banner, by_marker, markers_of, measured_words, said_before
from collmark.core.numeral import counted
from collmark.core.record import Record, Run, Status
from collmark.core.slowdown import slowdown_words
from collmark.core.start_up import start_up_words
from collmark.core.straggler import absence_words
from collmark.core.units import format_duration
from collmark.core.variance import typical, variances_of
from collmark.workflow.listing import (
    OURS,
    busiest,
    count_statuses,
    expected_records,
    modes_of_run,
    skewed_share,
    summarise,
)

ALWAYS_COUNTED = (Status.CONVERGED, Status.BUDGET, Status.UNSTABLE, Status.WRONG)
NAMED = 3  # cases of one kind that are named


def print_table(terminal: Terminal, run: Run, records: Sequence[Record]) -> None:
    """Write the table of a run to stdout."""
    rows = summarise(run.cases, records)
    marker = markers_of(records)
    lines = result_lines(rows, marker=marker, width=terminal.width(), paint=terminal.painter(sys.stdout))
    terminal.out("\n".join(lines))


def print_summary(terminal: Terminal, run: Run, records: Sequence[Record], seconds: float | None) -> None:
    """Write what became of the records and what disturbed them to stderr; warnings come last."""
    for line in summary_lines(run, records, seconds):
        terminal.say(line)
    for line in warning_lines(run, records):
        terminal.warn(line)
    if words := start_up_words([launch.start_up for launch in run.launches if launch.start_up]):
        terminal.warn(words)


def summary_lines(run: Run, records: Sequence[Record], seconds: float | None) -> list[str]:
    """Return counts, variation and disturbances."""
    lines = [count_words(records, seconds)]
    for marker, own in by_marker(records).items():
        if variances := list(variances_of(own).values()):
            case = typical(variances)
            lines.append(
                f"{said_before(marker)}launches differ by {figures.percent(case.between)} %, repetitions inside one "
                f"launch by {figures.percent(case.inside)} % (standard deviations, median over cases)"
            )
    if several := modes_of_run(run, records):
        from collmark.analysis.modes import modes_words

        lines.append(modes_words(several))
    skewed = skewed_share(records)
    if skewed is not None:
        lines.append(f"ranks entered more than 10 % of T apart in {figures.percent(skewed)} % of repetitions")
    unknown = reason_words(of_bound(records), records)
    more = [f"{len(unknown) - NAMED} more reasons stand in the report"] if len(unknown) > NAMED else []
    lines += unknown[:NAMED] + more
    lines += slowdown_words(records)
    lines += clock_words(record for record in records if record.sentinel is None)
    absent = absence_words(run, records)
    return lines + findings(run, records) + ([absent] if absent else [])


def count_words(records: Sequence[Record], seconds: float | None) -> str:
    """Return how many records there are of each status."""
    counts = count_statuses(records)
    total = sum(counts.values())
    words = [f"{counts.get(status, 0)} {status}" for status in ALWAYS_COUNTED]
    words += [f"{counts[status]} {status}" for status in (Status.IMPORTED, Status.FAILED) if counts.get(status)]
    took = "" if seconds is None else f" in {format_duration(seconds)}"
    return f"{counted(total, 'record')}{took}: {', '.join(words)}"


def warning_lines(run: Run, records: Sequence[Record]) -> list[str]:
    """Return what the user should know before believing the figures."""
    lines = []
    over = busiest(record for record in records if record.sentinel is None)
    if over is not None:
        threads, cores = over
        words = f"up to {counted(threads, 'busy thread')} on {counted(cores, 'core')}"
        if run.plan.scheduling is Scheduling.FIFO:
            lines.append(f"note: {words}, run at SCHED_FIFO")
        else:
            lines.append(f"warning: {words}: these figures are a scheduler test")
    markers = dict.fromkeys(record.marker for record in records)
    some = "some figures above were not" if None in markers else "no figure above was"
    return lines + [
        banner([m]) if m == Marker.IMPORTED else f"{m}: {some} {measured_words(m)} ({NO_MEASUREMENT[m]})"
        for m in markers
        if m
    ]


def wrong_words(records: Sequence[Record], status: Status) -> str:
    """Return the cases of a bad status in words, the first few with what happened."""
    bad = [record for record in records if record.status is status and record.sentinel is None]
    named = [f"{record.case}, launch {record.launch}: {record.check.first or record.error}" for record in bad[:NAMED]]
    more = f"; and {len(bad) - NAMED} more" if len(bad) > NAMED else ""
    return "; ".join(named) + more


def missing_records(run: Run, records: Sequence[Record]) -> int:
    """Return the records that the plan asks for and that are not there."""
    return max(0, expected_records(run) - sum(record.sentinel is None for record in records))


def resume_command(path: Path | str) -> str:
    """Return the command that measures what is missing."""
    return f"{program()} run --resume {shlex.quote(str(path))}"


def next_command(path: Path | str, run: Run, records: Sequence[Record]) -> str:
    """Return a command that makes sense now."""
    if missing_records(run, records) and not any(launch.launcher != OURS for launch in run.launches):
        return resume_command(path)
    return f"{program()} report {shlex.quote(str(path))}"
