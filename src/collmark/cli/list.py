"""``collmark list``: the runs of a results folder, or one run's table again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from collmark.cli import options as opt
from collmark.cli.completion import runs
from collmark.cli.console import Terminal
from collmark.cli.grammar import terminal_of, with_examples
from collmark.core.numeral import counted

if TYPE_CHECKING:
    from collmark.workflow.listing import Overview

NAMED = 3  # operations of a run that are named
NOTICES = 10  # that are shown; --verbose shows all

with_examples("collmark list", "collmark list", "collmark list latest")


def list_runs(
    context: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="A path, a label or latest: show its table.", autocompletion=runs),
    ] = None,
    output: opt.Output = None,
    as_json: opt.AsJson = False,
) -> None:
    """List runs, or show one run's table again."""
    terminal = terminal_of(context)
    root = Path(output) if output else None
    if run is not None:
        _show_run(run, root, terminal, as_json=as_json)
        return

    from collmark.workflow.listing import overviews
    from collmark.workflow.places import results_root

    found = overviews(results_root(root))
    if as_json:
        import msgspec

        terminal.emit({"root": str(results_root(root)), "runs": msgspec.to_builtins(found)})
        return
    _print_overviews(found, terminal)
    for overview in found:
        if overview.problem:
            terminal.warn(f"warning: {overview.problem}")
    if not found:
        terminal.say(f"no runs under {results_root(root)}; collmark demo makes one")


def _print_overviews(found: list[Overview], terminal: Terminal) -> None:
    from collmark.cli.layout import Align, Column, lay_out

    def statuses(overview: Overview) -> str:
        if overview.problem:
            return "unreadable"
        words = ", ".join(f"{count} {status}" for status, count in overview.statuses.items())
        return f"{overview.marker} {words}".strip() or "-"

    def operations(overview: Overview) -> str:
        names = ", ".join(overview.operations[:NAMED])
        more = len(overview.operations) - NAMED
        return f"{names} and {more} more" if more > 0 else names

    columns = [
        Column(name="run", cells=[overview.name for overview in found]),
        Column(name="label", cells=[overview.label or "-" for overview in found]),
        Column(name="created (UTC)", cells=[overview.created[:16].replace("T", " ") for overview in found]),
        Column(name="backend", cells=[",".join(overview.backends) for overview in found]),
        Column(name="ranks", cells=[",".join(map(str, overview.ranks)) for overview in found], align=Align.RIGHT),
        Column(name="records", cells=[f"{o.records}/{o.expected}" for o in found], align=Align.RIGHT),
        Column(name="statuses", cells=[statuses(overview) for overview in found]),
        Column(name="operations", cells=[operations(overview) for overview in found]),
    ]
    terminal.out("\n".join(lay_out(columns, terminal.width(), terminal.painter(sys.stdout))))


def _show_run(name: str, root: Path | None, terminal: Terminal, *, as_json: bool) -> None:
    from collmark.cli.conclusion import print_summary, print_table
    from collmark.workflow.places import find_run

    folder = find_run(name, root)
    run, records = folder.read_run(), list(folder.records())
    if as_json:
        import msgspec

        from collmark.cli.stream import record_object
        from collmark.core.lower_bound import of_bound
        from collmark.core.slowdown import slowdowns
        from collmark.workflow.listing import modes_of_run

        shown = {"run": msgspec.to_builtins(run), "records": [record_object(record) for record in records]}
        modes = modes_of_run(run, records, folder.path.name)
        derived = {"of_bound": of_bound(records), "slowdowns": slowdowns(records), "modes": modes}
        terminal.emit(shown | msgspec.to_builtins(derived))
        return
    terminal.say(f"{folder.path}: {run.created}, {' '.join(run.command)}")
    most = len(run.notices) if terminal.verbosity > 0 else NOTICES
    for notice in run.notices[:most]:
        terminal.warn(f"note: {notice}")
    if len(run.notices) > most:
        terminal.warn(f"note: {counted(len(run.notices) - most, 'more notice')}: --verbose shows them")
    print_table(terminal, run, records)
    print_summary(terminal, run, records, None)
