"""``collmark demo``: measure this machine, one command, a few minutes."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from collmark.cli import options as opt
from collmark.cli.grammar import program, terminal_of, with_examples
from collmark.core.errors import InterruptedRunError, UsageError

if TYPE_CHECKING:
    from collmark.cli.console import Terminal
    from collmark.core.store import RunFolder

with_examples("collmark demo", "collmark demo --label laptop --budget 2min", "collmark demo --emulated-tiers")


def demo(
    context: typer.Context,
    launches: opt.Launches = None,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="TIME", help="Most time for everything (4 min).")
    ] = None,
    label: opt.Label = None,
    output: opt.Output = None,
    emulated_tiers: Annotated[
        bool,
        typer.Option(
            "--emulated-tiers",
            help="Show the ratio of two tiers, and a verdict, on two networks that are emulated (Linux, root; 1 min).",
        ),
    ] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Measure this machine: six operations over gloo and MPI, in about four minutes; fit, judge, report."""
    if emulated_tiers:
        if budget is not None:
            raise UsageError("--budget bounds what is measured on this machine; leave it away with --emulated-tiers")
        from collmark.cli.emulated import show_emulated_tiers

        show_emulated_tiers(terminal_of(context), launches, output=output, label=label, as_json=as_json)
        return
    from collmark.cli.measure import Session
    from collmark.core.plan import check_plan
    from collmark.workflow.demo import BUDGET, make_demo
    from collmark.workflow.planning import make_plan
    from collmark.workflow.prepare import prepare
    from collmark.workflow.run import create_run

    terminal = terminal_of(context)
    wanted = make_plan(None, opt.given(context.params, {"launches": "--launches", "budget": "--budget"}))
    check_plan(wanted)
    demo = make_demo(launches=wanted.launches, budget=wanted.budget or BUDGET)
    prepared = prepare(demo.plan, ranks=None, oversubscribe=demo.oversubscribe, joined=None)
    folder = create_run(
        prepared,
        output=Path(output) if output else None,
        label=label or "demo",
        command=["collmark", *sys.argv[1:]],
    )
    for remark in demo.remarks:
        terminal.warn(f"note: {remark}")
    Session(folder, terminal, joined=None, as_json=as_json, is_last=False).run()
    with stopped_in_words(folder):
        conclude(folder, terminal, as_json=as_json)


@contextmanager
def stopped_in_words(folder: RunFolder) -> Iterator[None]:
    """Answer a signal with what to do: everything was measured."""

    def stop(number: int, _frame: FrameType | None) -> None:
        words = f"stopped by {signal.Signals(number).name}; everything measured is kept"
        raise InterruptedRunError(f"{words}: {program()} report {shlex.quote(str(folder.path))}", number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def conclude(folder: RunFolder, terminal: Terminal, *, as_json: bool) -> None:
    """Fit, judge and report: the findings on stdout, the report in the run's folder."""
    from collmark.analysis.report.write import Format
    from collmark.cli.fit_table import print_fits
    from collmark.cli.output import write_whole
    from collmark.cli.verdicts import count_words
    from collmark.workflow.fit import load_runs
    from collmark.workflow.report import default_file, material_of, report_of

    results = load_runs([str(folder.path)])
    material, path = material_of(results), default_file(results)
    made = report_of(material, Format.HTML)
    write_whole(path, lambda place: place.write_text(made.text, encoding="utf-8"), force=True)
    if as_json:
        import msgspec

        terminal.emit({"event": "report", "file": str(path), "sentences": msgspec.to_builtins(made.sentences)})
        return
    terminal.out("")
    print_fits(terminal, material.fits, material.skews)
    name = shlex.quote(str(folder.path))
    terminal.out(f"\n{count_words(material.findings)}:\n  {program()} claims {name}\n")
    for words in (made.sentences.found, made.sentences.sure, made.sentences.next):
        terminal.out_folded(words)
    terminal.say_whole(f"report: {path}")
