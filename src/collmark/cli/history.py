"""``collmark history``: every case over many runs, and where it changed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from collmark.cli import options as opt
from collmark.cli.completion import among, operations
from collmark.cli.completion import runs as complete_runs
from collmark.cli.grammar import terminal_of, with_examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from collmark.analysis.compare.history import Change, History, Point
    from collmark.cli.console import Terminal
    from collmark.cli.layout import Column

with_examples("collmark history", "collmark history", "collmark history nightly-* --operation all_reduce --each")

Runs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="RUN...",
        help="Paths or labels; all runs of the results folder where none is named.",
        autocompletion=complete_runs,
    ),
]
Operation = Annotated[
    str | None,
    typer.Option("--operation", metavar="NAME", help="Cases of this operation only.", autocompletion=among(operations)),
]
Each = Annotated[bool, typer.Option("--each", help="A row for each run of each case.")]


def history(
    context: typer.Context,
    runs: Runs = None,
    operation: Operation = None,
    each: Each = False,
    include_unstable: opt.IncludeUnstable = False,
    output: opt.Output = None,
    as_json: opt.AsJson = False,
) -> None:
    """Show each case over many runs, oldest first, and where its level changed."""
    from collmark.analysis.compare.history import LEAST_RUNS, histories
    from collmark.core.operation_table import OPERATIONS
    from collmark.workflow.compare import all_runs
    from collmark.workflow.fit import load_runs

    terminal = terminal_of(context)
    if operation is not None:
        OPERATIONS[operation]  # an unknown name is told
    root = Path(output) if output else None
    results = load_runs(runs, root) if runs else all_runs(root)
    found = [
        one
        for one in histories(results, include_unstable=include_unstable)
        if operation in (None, one.facts["operation"])
    ]
    if as_json:
        import msgspec

        terminal.emit({"runs": [one.name for one in results], "cases": msgspec.to_builtins(found)})
        return
    _print(terminal, found, each=each)
    if not found:
        terminal.say("no case was measured in two runs or more")
    elif all(len(one.points) < LEAST_RUNS for one in found):
        terminal.say(f"changes are looked for from {LEAST_RUNS} runs of a case on")


def _print(terminal: Terminal, found: Sequence[History], *, each: bool) -> None:
    from collmark.cli.layout import lay_out
    from collmark.core.numeral import counted

    if not found:
        return
    changed = sum(bool(one.changes) for one in found)
    head = (
        f"{counted(len(found), 'case')} in two runs or more; {changed} changed (ratios: T after over before, 95 % over "
        "runs; false discovery rate 5 % over cases)"
    )
    terminal.out_folded(head)
    columns = _each(found) if each else _cases(found)
    terminal.out("\n".join(lay_out(columns, terminal.width(), terminal.painter(sys.stdout))))


def _cases(found: Sequence[History]) -> list[Column]:
    from collmark.cli import figures
    from collmark.cli.layout import Align, Column

    return [
        *_names([one.facts for one in found]),
        Column(name="runs", cells=[str(len(one.points)) for one in found], align=Align.RIGHT),
        Column(
            name="latest",
            unit="(us)",
            cells=[figures.microseconds(one.points[-1].seconds) for one in found],
            align=Align.POINT,
        ),
        Column(
            name="changes", cells=["; ".join(_change(one, change) for change in one.changes) or "-" for one in found]
        ),
    ]


def _each(found: Sequence[History]) -> list[Column]:
    from collmark.cli import figures
    from collmark.cli.layout import Align, Column

    rows = [(one, at) for one in found for at in range(len(one.points))]
    halves = [point.estimate.relative_half_width if point.estimate else None for point in _points(rows)]
    changes = [next((change for change in one.changes if change.at == at), None) for one, at in rows]
    return [
        *_names([one.facts for one, _at in rows]),
        Column(name="run", cells=[point.label or point.run for point in _points(rows)]),
        Column(
            name="time",
            unit="(us)",
            cells=[figures.microseconds(point.seconds) for point in _points(rows)],
            align=Align.POINT,
        ),
        Column(name="95 %", unit="(+-%)", cells=[figures.percent(half) for half in halves], align=Align.POINT),
        Column(name="change", cells=["" if change is None else _ratio(change) for change in changes]),
    ]


def _points(rows: Sequence[tuple[History, int]]) -> list[Point]:
    return [one.points[at] for one, at in rows]


def _names(facts: Sequence[dict[str, object]]) -> list[Column]:
    from collmark.cli.layout import Align, Column
    from collmark.core.units import format_nbytes

    places = [" ".join(filter(None, (str(own["marker"]), str(own["backend"]), str(own["placement"])))) for own in facts]
    return [
        Column(name="operation", cells=[str(own["operation"]) for own in facts]),
        Column(name="nbytes", cells=[format_nbytes(int(str(own["nbytes"]))) for own in facts], align=Align.RIGHT),
        Column(name="where", cells=places),
    ]


def _change(one: History, change: Change) -> str:
    point = one.points[change.at]
    return f"{_ratio(change)} at {point.label or point.run} ({point.created[:10]})"


def _ratio(change: Change) -> str:
    if change.estimate is None:
        return f"x{change.ratio:#.3g}"
    return f"x{change.ratio:#.3g} [{change.estimate.lower:#.3g}, {change.estimate.upper:#.3g}]"
