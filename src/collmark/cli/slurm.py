"""``collmark slurm``: from a login node to a report."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from collmark.cli import options as opt
from collmark.cli.console import Terminal
from collmark.cli.grammar import SETTINGS, Command, Group, summary, terminal_of, with_examples
from collmark.cli.output import STDOUT, write_whole
from collmark.cli.slurm_status import cancel, collect, next_launch, results_of, status

if TYPE_CHECKING:
    from collmark.bench.cluster.profile import Profile
    from collmark.workflow.slurm_jobs import Laid

DEFAULT_PROFILE = "site.toml"
SITE = Annotated[
    str,
    typer.Option("--profile", metavar="SITE.toml", help="The site's profile.", callback=opt.refuse_empty),
]
Allocations = Annotated[
    int,
    typer.Option("--allocations", metavar="N", min=1, max=100, help="Repeat all of it in so many jobs."),
]

with_examples("collmark slurm", "collmark slurm init site.toml", "collmark slurm submit plan.toml --profile site.toml")
with_examples("collmark slurm init", "collmark slurm init", "collmark slurm init gpu.toml --partition gpu")
with_examples(
    "collmark slurm render",
    "collmark slurm render plan.toml --output results/ndr",
    "collmark slurm render --profile gpu.toml --allocations 3",
)
with_examples(
    "collmark slurm submit",
    "collmark slurm submit plan.toml --dry-run",
    "collmark slurm submit --backend nccl --output results/ndr --allocations 3",
)


def init(
    context: typer.Context,
    profile: Annotated[
        str, typer.Argument(metavar="SITE.toml", help=f"Where to ({DEFAULT_PROFILE}); - is stdout.")
    ] = DEFAULT_PROFILE,
    partition: Annotated[
        str | None, typer.Option("--partition", metavar="NAME", help="Of this partition; else the default one.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Write a site's profile from what sinfo and scontrol say."""
    from collmark.bench.cluster.site import profile_of_site

    terminal = terminal_of(context)
    text = profile_of_site(partition, sys.executable)
    if profile == STDOUT:
        if as_json:
            terminal.emit({"profile": text})
        else:
            terminal.out(text.rstrip("\n"))
        return
    write_whole(Path(profile), lambda path: path.write_text(text, encoding="utf-8"), force=force)
    if as_json:
        terminal.emit({"file": profile})
    terminal.say(f"wrote {profile}")
    terminal.say_whole(f"next: collmark slurm submit --profile {profile} --dry-run")


def render(
    context: typer.Context,
    plan: opt.PlanFile = None,
    profile: SITE = DEFAULT_PROFILE,
    allocations: Allocations = 1,
    output: opt.Output = None,
    as_json: opt.AsJson = False,
) -> None:
    """Write the job scripts of a plan, to be looked at, changed and submitted by hand."""
    from collmark.workflow.planning import make_plan
    from collmark.workflow.settings import read_settings
    from collmark.workflow.slurm_jobs import lay_jobs, write_scripts

    terminal = terminal_of(context)
    made = make_plan(None if plan is None else Path(plan), {}, read_settings())
    laid = lay_jobs(made, _profile(profile), results_of(output), allocations=allocations)
    _tell(terminal, laid)
    paths = [str(path) for path in write_scripts(laid)]
    if as_json:
        terminal.emit({"results": str(laid.results), "scripts": paths})
    else:
        terminal.out("\n".join(paths))


def submit(
    context: typer.Context,
    plan: opt.PlanFile = None,
    operation: opt.Operations = None,
    sizes: opt.Sizes = None,
    dtype: opt.Dtypes = None,
    reduction: opt.Reductions = None,
    backend: opt.Backends = None,
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
    profile: SITE = DEFAULT_PROFILE,
    allocations: Allocations = 1,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the scripts; nothing is written.")] = False,
    output: opt.Output = None,
    as_json: opt.AsJson = False,
) -> None:
    """Submit what a plan wants and the results folder lacks: a job for each placement, and one that reports."""
    from collmark.workflow.planning import make_plan
    from collmark.workflow.settings import read_settings
    from collmark.workflow.slurm_jobs import lay_jobs
    from collmark.workflow.slurm_submit import submit_jobs

    terminal = terminal_of(context)
    given = opt.given(context.params, opt.PLAN_OPTIONS)
    made = make_plan(None if plan is None else Path(plan), given, read_settings())
    laid = lay_jobs(made, _profile(profile), results_of(output), allocations=allocations)
    _tell(terminal, laid)
    if dry_run:
        _print_scripts(terminal, laid, as_json=as_json)
        return
    outcomes = []
    for outcome in submit_jobs(laid):
        outcomes.append(outcome)
        which = f", allocation {outcome.allocation}" if allocations > 1 and outcome.name != "collect" else ""
        terminal.say(f"{outcome.name}{which}: {outcome.words}{f' as job {outcome.id}' if outcome.id else ''}")
    if as_json:
        import msgspec

        terminal.emit({"results": str(laid.results), "jobs": msgspec.to_builtins(outcomes)})
    done = not any(outcome.id for outcome in outcomes)
    verb, more = ("collect", "") if done else ("status", " --watch")
    terminal.say_whole(f"next: collmark slurm {verb} {results_of(output)}{more}")


def _profile(name: str) -> Profile:
    from collmark.bench.cluster.profile import load_profile

    return load_profile(Path(name))


def _tell(terminal: Terminal, laid: Laid) -> None:
    """Say what the jobs are, for how long and why, and what was left out."""
    from collmark.bench.cluster.slurm_time import format_limit
    from collmark.core.numeral import counted
    from collmark.workflow.slurm_jobs import time_words

    for job in laid.jobs:
        if job.allocation == 1:
            places = ", ".join(str(entry.placement) for entry in job.entries)
            terminal.say(
                f"{job.script.name}: {places}; --time={format_limit(job.entries[0].seconds)}: {time_words(job)}"
            )
    for notice in laid.notices:
        terminal.warn(f"note: {notice}")
    cases = sum(sum(entry.runs.values()) for job in laid.jobs for entry in job.entries)
    records = counted(cases * laid.plan.first_launches, "record")
    terminal.say(f"{counted(len(laid.jobs), 'job')}, {records}, in {laid.results}")


def _print_scripts(terminal: Terminal, laid: Laid, *, as_json: bool) -> None:
    import msgspec

    scripts = [*(job.script for job in laid.jobs), laid.collect]
    if as_json:
        terminal.emit({"results": str(laid.results), "scripts": msgspec.to_builtins(scripts)})
        return
    terminal.out("\n".join(f"### {script.name}.sbatch\n{script.text}" for script in scripts).rstrip("\n"))


COMMANDS: dict[str, Callable[..., None]] = {
    "init": init,
    "render": render,
    "submit": submit,
    "status": status,
    "collect": collect,
    "cancel": cancel,
    "next": next_launch,
}

slurm = typer.Typer(cls=Group, context_settings=SETTINGS, rich_markup_mode=None, help="Submit, watch and collect jobs.")
for _name, _function in COMMANDS.items():
    _hidden = _name == "next"
    slurm.command(_name, cls=Command, context_settings=SETTINGS, help=summary(_function), hidden=_hidden)(_function)
