"""``collmark run``: measure a plan, or what is missing in a run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from collmark.cli import options as opt
from collmark.cli.console import Terminal, write_error
from collmark.cli.grammar import terminal_of, with_examples
from collmark.core.errors import UnavailableError, UsageError

if TYPE_CHECKING:
    from collmark.bench.launchers.joined import Joined
    from collmark.core.store import RunFolder
    from collmark.workflow.prepare import Prepared

with_examples(
    "collmark run",
    "collmark run --operation all_reduce,all_to_all --sizes 8B:16MiB:x8 --ranks 2",
    "collmark run plan.toml --launches auto --precision 2%",
)


def run(
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
    oversubscribe: opt.Oversubscribe = False,
    label: opt.Label = None,
    output: opt.Output = None,
    into: opt.Into = None,
    launch: opt.Launch = None,
    resume: opt.Resume = None,
    as_json: opt.AsJson = False,
) -> None:
    """Measure a plan: every case in every launch, each record on disk before the next case."""
    terminal = terminal_of(context)
    given = opt.given(context.params, opt.PLAN_OPTIONS)
    if resume is not None:
        others = {"plan": "PLAN.toml", "ranks": "--ranks", "label": "--label", "into": "--into", "launch": "--launch"}
        used = [*given, *opt.given(context.params, others), *(["--oversubscribe"] if oversubscribe else [])]
        _resume(resume, output, used, terminal, as_json=as_json)
        return
    joined = _joined()
    try:
        if into is not None and (output or label):
            raise UsageError("--into names the folder of the run; leave --output and --label away")  # noqa: TRY301
        if launch is not None and into is None:
            raise UsageError("--launch says which launch of a run this is: name the run with --into")  # noqa: TRY301
        prepared = _prepare(plan, given, ranks, joined, oversubscribe=oversubscribe)
    except (UsageError, UnavailableError) as error:
        raise said_once(error, joined) from error
    if joined is not None and joined.rank:
        _be_follower(prepared, joined)
        return
    folder = _folder(prepared, joined, into=into, output=output, label=label or "")
    _session(folder, terminal, joined, as_json=as_json, launch=launch)


def _joined() -> Joined | None:
    import os

    from collmark.bench.launchers.joined import detect, parent_name

    return detect(os.environ, parent_name())


def _prepare(
    file: str | None, given: dict[str, list[str]], ranks: str | None, joined: Joined | None, *, oversubscribe: bool
) -> Prepared:
    from collmark.workflow.planning import make_plan, ranks_of, read_ranks
    from collmark.workflow.prepare import prepare
    from collmark.workflow.run import check_joined_launches
    from collmark.workflow.settings import read_settings

    settings = read_settings()
    plan = make_plan(None if file is None else Path(file), given, settings)
    if joined is not None:
        plan = check_joined_launches(plan, joined, asked="--launches" in given)
        return prepare(plan, ranks=read_ranks(ranks), oversubscribe=oversubscribe, joined=joined)
    return prepare(plan, ranks=ranks_of(ranks, plan, settings), oversubscribe=oversubscribe, joined=None)


def said_once(error: UsageError | UnavailableError, joined: Joined | None) -> Exception:
    """Return what to raise so that rank 0 says what is wrong, on whichever ranks, and all end with one status."""
    from collmark.bench.launchers.seating import own_up, status_of, turn_away

    if joined is None:
        return error
    if joined.rank == 0:
        turn_away(joined, error)
        return error
    status = own_up(joined, error)
    if not status:
        write_error(f"error: rank {joined.rank}: {error}")
    return typer.Exit(status or status_of(error))


def _folder(
    prepared: Prepared, joined: Joined | None, *, into: str | None, output: str | None, label: str
) -> RunFolder:
    from collmark.workflow.prepare import SIMULATED
    from collmark.workflow.run import create_run, open_into, telling_others

    command = ["collmark", *sys.argv[1:]]
    with telling_others(None if SIMULATED in prepared.plan.backends else joined):
        if into is not None:
            return open_into(Path(into), prepared, command)
        return create_run(prepared, output=Path(output) if output else None, label=label, command=command)


def _session(
    folder: RunFolder, terminal: Terminal, joined: Joined | None, *, as_json: bool, launch: int | None = None
) -> None:
    from collmark.cli.measure import Session

    Session(folder, terminal, joined=joined, as_json=as_json, launch=launch).run()


def _be_follower(prepared: Prepared, joined: Joined) -> None:
    from collmark.bench.handshake import TurnedAwayError
    from collmark.cli.measure import be_follower

    try:
        be_follower(prepared, joined)
    except TurnedAwayError as error:  # rank 0 has told the user
        raise typer.Exit(error.status) from error


def _resume(name: str, output: str | None, used: list[str], terminal: Terminal, *, as_json: bool) -> None:
    from collmark.workflow.places import find_run

    if used:
        raise UsageError(f"--resume goes on with the plan of the run: leave away {', '.join(used)}")
    joined = _joined()
    if joined is not None:
        msg = f"--resume: ranks started by {joined.launcher} are one more launch; use --into {name}"
        raise said_once(UsageError(msg), joined)
    folder = find_run(name, Path(output) if output else None)
    folder.read_run()
    _session(folder, terminal, None, as_json=as_json)
