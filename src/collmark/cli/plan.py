"""``collmark plan``: what a plan would do, and a plan file to start from."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from collmark.cli import options as opt
from collmark.cli.console import Terminal
from collmark.cli.grammar import terminal_of, with_examples
from collmark.cli.output import STDOUT, write_whole
from collmark.core.errors import UsageError

if TYPE_CHECKING:
    from collmark.workflow.planning import Preview

DEFAULT_FILE = "plan.toml"

with_examples(
    "collmark plan",
    "collmark plan --init plan.toml",
    "collmark plan plan.toml --operation all_to_all --ranks 8",
)

Init = Annotated[
    bool, typer.Option("--init", help=f"Write a commented plan to PLAN.toml ({DEFAULT_FILE}; - is stdout).")
]
Explain = Annotated[
    bool, typer.Option("--explain", help="Show each value and where it comes from, instead of the cases.")
]


def plan(
    context: typer.Context,
    plan: opt.PlanFile = None,
    operation: opt.Operations = None,
    sizes: opt.Sizes = None,
    dtype: opt.Dtypes = None,
    reduction: opt.Reductions = None,
    backend: opt.Backends = None,
    ranks: opt.Ranks = None,
    launches: opt.Launches = None,
    precision: opt.Precision = None,
    case_budget: opt.CaseBudget = None,
    budget: opt.Budget = None,
    timeout: opt.Timeout = None,
    scheduling: opt.SchedulingClass = None,
    bind: opt.Bind = None,
    cadence: opt.Cadences = None,
    buffers: opt.Temperatures = None,
    in_place: opt.InPlaces = None,
    batch: opt.Batch = None,
    groups: opt.Groups = None,
    form: opt.Forms = None,
    mpi_library: opt.MpiLibrary = None,
    thread_level: opt.Threads = None,
    messages: opt.Messages = None,
    traffic: opt.Traffic = None,
    seed: opt.Seed = None,
    samples: opt.Samples = None,
    simulate: opt.Simulate = None,
    init: Init = False,
    force: Annotated[bool, typer.Option("--force", help="With --init: overwrite.")] = False,
    explain: Explain = False,
    as_json: opt.AsJson = False,
) -> None:
    """Show the cases of a plan, their bytes and an upper bound of the time; nothing is started."""
    terminal = terminal_of(context)
    given = opt.given(context.params, opt.PLAN_OPTIONS)
    if init:
        if given or ranks is not None:
            raise UsageError(
                f"--init writes the defaults, to be edited: leave away {', '.join([*given] or ['--ranks'])}"
            )
        _write_template(plan or DEFAULT_FILE, terminal, force=force, as_json=as_json)
        return

    file = None if plan is None else Path(plan)
    if explain:
        _explain(file, given, ranks, terminal, as_json=as_json)
        return

    from collmark.workflow.planning import make_plan, preview, ranks_of
    from collmark.workflow.settings import read_settings

    settings = read_settings()
    made = make_plan(file, given, settings)
    found = preview(made, ranks_of(ranks, made, settings))
    if as_json:
        _print_json(found, terminal)
    else:
        _print_table(found, terminal)


def _explain(
    file: Path | None, given: dict[str, list[str]], ranks: str | None, terminal: Terminal, *, as_json: bool
) -> None:
    from collmark.cli.explain import print_explained
    from collmark.workflow.explaining import explain

    rows = explain(file, given, ranks)
    if as_json:
        import msgspec

        terminal.emit({"settings": msgspec.to_builtins(rows)})
    else:
        print_explained(terminal, rows)


def _write_template(name: str, terminal: Terminal, *, force: bool, as_json: bool) -> None:
    from collmark.core.plan import plan_template

    text = plan_template()
    if name == STDOUT:
        if as_json:
            terminal.emit({"plan": text})
        else:
            terminal.out(text.rstrip("\n"))
        return
    write_whole(Path(name), lambda path: path.write_text(text, encoding="utf-8"), force=force)
    if as_json:
        terminal.emit({"file": name})
    terminal.say(f"wrote {name}")
    terminal.say_whole(f"next: collmark plan {name}")


def _print_table(found: Preview, terminal: Terminal) -> None:
    from collmark.cli.layout import CONTINUED, Align, Column, lay_out
    from collmark.cli.table import case_columns, place_words, sections
    from collmark.core.numeral import counted
    from collmark.core.units import format_duration, format_nbytes
    from collmark.workflow.listing import summarise
    from collmark.workflow.planning import bytes_on_links

    lines: list[str] = []
    for rows in sections(summarise(found.cases, [])):
        case = rows[0].case
        on_links = [format_nbytes(round(bytes_on_links(row.case))) for row in rows]
        backends = Column(name="backend", cells=[row.case.backend for row in rows])
        columns = [*case_columns(rows), Column(name="on links", cells=on_links, align=Align.RIGHT)]
        columns.insert(1, backends)
        lines += [""] if lines else []
        caption = f"{case.backend}, {case.device}, {place_words(case)}; bytes on links for one call"
        lines += textwrap.wrap(caption, terminal.width(), subsequent_indent=CONTINUED)
        lines += lay_out(columns, terminal.width(), terminal.painter(sys.stdout))
    terminal.out("\n".join(lines))
    for notice in found.notices:
        terminal.warn(f"note: {notice}")
    cases, launches = counted(len(found.cases), "case"), counted(found.plan.first_launches, "launch")
    records = counted(found.records, "record")
    terminal.say(f"{cases} x {launches} = {records}, at most {format_duration(found.at_most)}")


def _print_json(found: Preview, terminal: Terminal) -> None:
    import msgspec

    from collmark.workflow.planning import bytes_on_links

    cases = [
        {**msgspec.to_builtins(case), "count": case.count, "bytes_on_links": bytes_on_links(case)}
        for case in found.cases
    ]
    terminal.emit({**msgspec.to_builtins(found), "cases": cases})
