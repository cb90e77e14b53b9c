"""``collmark demo``: measure this machine, one command, a few minutes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from collmark.cli import options as opt
from collmark.cli.grammar import terminal_of, with_examples

with_examples("collmark demo", "collmark demo", "collmark demo --label laptop --budget 2min")


def demo(
    context: typer.Context,
    launches: opt.Launches = None,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="TIME", help="Most time for everything (4 min).")
    ] = None,
    label: opt.Label = None,
    output: opt.Output = None,
    as_json: opt.AsJson = False,
) -> None:
    """Measure this machine: six operations over gloo, 16 B to 16 MiB, in about four minutes."""
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
    Session(folder, terminal, joined=None, as_json=as_json).run()
