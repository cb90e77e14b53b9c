"""``collmark slurm`` after submission: how far jobs are, what they came to, and an end to them."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from collmark.cli import options as opt
from collmark.cli.console import Terminal
from collmark.cli.grammar import terminal_of, with_examples

if TYPE_CHECKING:
    from collmark.workflow.slurm_status import Row, Status

PERIOD = 10.0
"""Seconds between two looks: a controller that many users ask more often slows down for all of them."""
Folder = Annotated[
    str | None,
    typer.Argument(
        metavar="FOLDER", help="Of results: what --output was; else results/slurm.", callback=opt.refuse_empty
    ),
]

with_examples("collmark slurm status", "collmark slurm status", "collmark slurm status results/ndr --watch")
with_examples("collmark slurm collect", "collmark slurm collect", "collmark slurm collect results/ndr")
with_examples("collmark slurm cancel", "collmark slurm cancel", "collmark slurm cancel results/ndr")
with_examples(
    "collmark slurm next",
    "collmark slurm next results/ndr/tier-a-nccl --launches 5",
    "collmark slurm next results/ndr/tier-b-nccl --launches 5 --json",
)


def results_of(name: str | None) -> Path:
    """Return the folder of results: the one named, else ``slurm`` below where runs lie."""
    from collmark.workflow.places import results_root

    return Path(name) if name is not None else results_root() / "slurm"


def status(
    context: typer.Context,
    folder: Folder = None,
    watch: Annotated[bool, typer.Option("--watch", help="Look again until all jobs have ended.")] = False,
    period: Annotated[
        float, typer.Option("--period", metavar="SECONDS", min=1, help="Between two looks, with --watch.")
    ] = PERIOD,
    as_json: opt.AsJson = False,
) -> None:
    """Show jobs and how many of their cases are measured."""
    from collmark.cli.display import Display
    from collmark.workflow.slurm_status import status_of

    terminal = terminal_of(context)
    results = results_of(folder)
    found = status_of(results)
    display = Display(terminal)
    if watch and not found.is_over and not as_json and terminal.can_redraw():
        display.start()
    try:
        while watch and not found.is_over:
            if display.is_there:
                display.draw(_lines(found, terminal))
            else:
                _print(found, terminal, as_json=as_json)
            time.sleep(period)
            found = status_of(results)
    finally:
        display.stop()
    _print(found, terminal, as_json=as_json)


def _print(found: Status, terminal: Terminal, *, as_json: bool) -> None:
    if as_json:
        import msgspec

        terminal.emit({**msgspec.to_builtins(found), "is_over": found.is_over})
        return
    terminal.out("\n".join(_lines(found, terminal)))
    for notice in found.notices:
        terminal.warn(f"note: {notice}")


def _lines(found: Status, terminal: Terminal) -> list[str]:
    from collmark.cli.layout import Align, Column, lay_out

    rows = found.rows
    columns = [
        Column(name="placement", cells=[row.name for row in rows]),
        Column(name="nodes x ranks", cells=[row.placement for row in rows]),
        Column(name="allocation", cells=[str(row.allocation) for row in rows], align=Align.RIGHT),
        Column(name="job", cells=[row.id or "-" for row in rows]),
        Column(name="state", cells=[_state(row) for row in rows], styles=[_style(row) for row in rows]),
        Column(name="records", cells=[f"{row.records}/{row.wanted}" for row in rows], align=Align.RIGHT),
        Column(name="time", cells=[row.queued.elapsed or "-" for row in rows], align=Align.RIGHT),
        Column(name="nodes", cells=[row.queued.nodes or "-" for row in rows]),
    ]
    if len({row.allocation for row in rows}) == 1:
        del columns[2]
    lines = lay_out(columns, terminal.width(), terminal.painter(sys.stdout))
    if found.collect:
        lines.append(f"collect: job {found.collect}, {found.collect_state.lower()}")
    if any(not row.queued.is_active and not row.is_done and row.id for row in rows):
        lines.append(f"what jobs said: {found.results}/slurm/*.out; collmark slurm submit goes on from there")
    return [*lines, f"report: {found.report}"] if found.report else lines


def _state(row: Row) -> str:
    """Return a job's state, and what it waits for or ended by where that is of use."""
    state, reason = row.queued.state.lower(), row.queued.reason
    if row.is_done and not row.queued.is_active:
        return "done"
    return f"{state} ({reason})" if reason not in ("", "None") and state != "running" else state


def _style(row: Row) -> str:
    if row.is_done:
        return "good"
    return "" if row.queued.is_active else "bad"


def collect(context: typer.Context, folder: Folder = None, as_json: opt.AsJson = False) -> None:
    """Fit, judge and report what the jobs have measured so far."""
    from collmark.workflow.slurm_collect import collect as collect_runs

    terminal = terminal_of(context)
    found = collect_runs(results_of(folder))
    for notice in found.notices:
        terminal.warn(f"note: {notice}")
    if as_json:
        import msgspec

        report = msgspec.structs.replace(found.report, text="")
        terminal.emit({**msgspec.to_builtins(found), "report": msgspec.to_builtins(report)})
        return
    said = found.report.sentences
    for words in (said.found, said.sure, said.next):
        terminal.out_folded(words)
    for file in found.files:
        terminal.say_whole(f"wrote {file}")


def cancel(context: typer.Context, folder: Folder = None, as_json: opt.AsJson = False) -> None:
    """Cancel the jobs that run or wait; everything finished is kept, and submit goes on from there."""
    from collmark.workflow.slurm_status import cancel_jobs

    terminal = terminal_of(context)
    ids = cancel_jobs(results_of(folder))
    if as_json:
        terminal.emit({"cancelled": ids})
    terminal.say(f"cancelled {', '.join(ids)}" if ids else "no job runs or waits")


def next_launch(
    context: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's folder.")],
    launches: Annotated[int, typer.Option("--launches", metavar="N", min=1, help="That the run is to have.")],
    as_json: opt.AsJson = False,
) -> None:
    """Print the first launch of a run that lacks a case, 0 where N launches have all: what job scripts go by."""
    from collmark.workflow.slurm_status import missing_launches

    terminal, launch = terminal_of(context), next(iter(missing_launches(Path(run), launches)), 0)
    if as_json:
        terminal.emit({"launch": launch})
    else:
        terminal.out(str(launch))
