"""``collmark pairs``: which rank, node, NIC, link or pair is slow."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from collmark.cli import options as opt
from collmark.cli.grammar import terminal_of, with_examples
from collmark.core.errors import UsageError

if TYPE_CHECKING:
    from collmark.cli.console import Terminal
    from collmark.core.plan import Plan
    from collmark.workflow.pairs import Pairs, Wanted
    from collmark.workflow.prepare import Prepared

with_examples(
    "collmark pairs", "collmark pairs --backend gloo --ranks 4 --oversubscribe", "collmark pairs sweep sweep-again"
)

WHERE = {"ranks": "--ranks", "rounds": "--rounds", "placement": "--placement"}
MEASURING = {
    "operation": "--operation", "sizes": "--sizes", "backend": "--backend", "case_budget": "--case-budget",
    "timeout": "--timeout", "scheduling": "--scheduling", "mpi_library": "--mpi-library", "seed": "--seed",
    "simulate": "--simulate",
}  # fmt: skip


Runs = Annotated[
    list[str] | None, typer.Argument(metavar="[RUN...]", help="Judge these, a sweep and its repeats; else measure.")
]
Rounds = Annotated[
    str | None,
    typer.Option("--rounds", metavar="N", help="Rounds between nodes, drawn at random: all up to 256 ranks."),
]
Again = Annotated[str | None, typer.Option("--launches", metavar="N", help="Launches that measure suspects again (5).")]
Effect = Annotated[str, typer.Option("--effect", metavar="PERCENT", help="Smallest excess of T that is of interest.")]
Nics = Annotated[
    str | None, typer.Option("--nics", metavar="N", help="NICs of each node, shared by its ranks in order.")
]
Nodes = Annotated[
    str | None,
    typer.Option("--placement", metavar="NODESxRANKS", help="With --write-plan: nodes, and ranks on each, as 16x8."),
]
WritePlan = Annotated[
    str | None,
    typer.Option("--write-plan", metavar="FILE", help="Write the plan of the sweep, or of suspects; measure nothing."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the plan's file.")]


def pairs(
    context: typer.Context,
    runs: Runs = None,
    operation: opt.Operations = None,
    sizes: opt.Sizes = None,
    backend: opt.Backends = None,
    ranks: opt.Ranks = None,
    rounds: Rounds = None,
    launches: Again = None,
    effect: Effect = "5%",
    nics: Nics = None,
    placement: Nodes = None,
    write_plan: WritePlan = None,
    case_budget: opt.CaseBudget = None,
    timeout: opt.Timeout = None,
    scheduling: opt.SchedulingClass = None,
    mpi_library: opt.MpiLibrary = None,
    seed: opt.Seed = None,
    simulate: opt.Simulate = None,
    oversubscribe: opt.Oversubscribe = False,
    label: opt.Label = None,
    output: opt.Output = None,
    force: Force = False,
    as_json: opt.AsJson = False,
) -> None:
    """Find what is slow: every pair of ranks once, as many at a time as there are; then suspects again."""
    from collmark.cli.pairs_table import print_pairs, summary_of
    from collmark.workflow.pairs import judge_runs, read_placement, sweep_plan
    from collmark.workflow.planning import read_ranks

    terminal, given = terminal_of(context), opt.given(context.params, MEASURING)
    wanted, folder = _wanted(effect, nics, rounds, launches), Path(output) if output else None
    used = [*given, *opt.given(context.params, WHERE)] if runs else []
    if used:
        raise UsageError(f"{' '.join(runs or ())}: runs are judged, not measured; leave away {', '.join(used)}")
    if write_plan:
        plan = _again(runs, folder, wanted) if runs else sweep_plan(given, read_placement(placement), wanted)
        _write_plan(plan, write_plan, terminal, force=force)
        return
    if placement:
        raise UsageError("--placement belongs to --write-plan: ranks on several nodes are started by Slurm or mpirun")
    if runs:
        found = judge_runs(runs, folder, wanted)
    else:
        measuring = Measuring(given, read_ranks(ranks), wanted, oversubscribe=oversubscribe, output=folder)
        found = measuring.judged(terminal, label or "pairs")
    if as_json:
        terminal.emit({"pairs": [summary_of(one) for one in found.judged]})
    else:
        print_pairs(terminal, found, runs or [])


def _again(runs: list[str], folder: Path | None, wanted: Wanted) -> Plan:
    from collmark.workflow.pairs import again_plan, judge_runs

    plan = again_plan(judge_runs(runs, folder, wanted), wanted)
    if plan is None:
        raise UsageError(f"{' '.join(runs)}: nobody is suspected: there is nothing to measure again")
    return plan


def _wanted(effect: str, nics: str | None, rounds: str | None, launches: str | None) -> Wanted:
    from collmark.analysis.compare.gate import read_effect
    from collmark.workflow.pairs import Wanted

    return Wanted(
        effect=read_effect(effect),
        nics=_whole(nics, "--nics") or 0,
        rounds=_whole(rounds, "--rounds"),
        launches=_whole(launches, "--launches"),
    )


def _whole(text: str | None, option: str) -> int | None:
    from collmark.core.numeral import parse_whole

    if text is None:
        return None
    number = parse_whole(text)
    if number < 1:
        raise UsageError(f"{option} {text}: at least 1")
    return number


def _write_plan(plan: Plan, file: str, terminal: Terminal, *, force: bool) -> None:
    from collmark.cli.output import STDOUT, write_whole
    from collmark.workflow.pairs import plan_text

    if file == STDOUT:
        terminal.out(plan_text(plan).rstrip())
        return
    write_whole(Path(file), lambda place: place.write_text(plan_text(plan), encoding="utf-8"), force=force)
    terminal.say_whole(f"wrote {file}")


class Measuring:
    """Two runs of ranks on this machine: all pairs once, then those that are suspected.

    Parameters
    ----------
    given : dict
        Options of the plan as they were written.
    ranks : int or None
        Local ranks.
    wanted : Wanted
        What else was asked for.
    oversubscribe : bool
        Allow more ranks than cores.
    output : Path or None
        Where runs lie.
    """

    def __init__(
        self,
        given: dict[str, list[str]],
        ranks: int | None,
        wanted: Wanted,
        *,
        oversubscribe: bool,
        output: Path | None,
    ) -> None:
        from collmark.bench.launchers.joined import detect, parent_name

        if (joined := detect(os.environ, parent_name())) is not None:
            raise UsageError(
                f"started by {joined.launcher}: pairs starts its own ranks; write a plan with --write-plan and "
                "--placement, measure it by collmark run PLAN --into RUN, and judge it by collmark pairs RUN"
            )
        self._given, self._ranks, self._wanted = given, ranks, wanted
        self._oversubscribe, self._output = oversubscribe, output

    def judged(self, terminal: Terminal, label: str) -> Pairs:
        """Measure, and return what was found."""
        from collmark.workflow.pairs import DEFAULTS, again_plan, judge_runs, sweep_plan
        from collmark.workflow.planning import make_plan

        # How many ranks there are, only the backend's machine says.
        plan = self._prepared(make_plan(None, {**DEFAULTS, **self._given})).plan
        names = [self._run(sweep_plan(self._given, plan.placements[0], self._wanted), terminal, label)]
        again = again_plan(judge_runs(names, None, self._wanted), self._wanted)
        if again is not None:
            names.append(self._run(again, terminal, f"{label}-again"))
        return judge_runs(names, None, self._wanted)

    def _prepared(self, plan: Plan) -> Prepared:
        from collmark.workflow.prepare import prepare

        return prepare(plan, ranks=self._ranks, oversubscribe=self._oversubscribe, joined=None)

    def _run(self, plan: Plan, terminal: Terminal, label: str) -> str:
        import msgspec

        from collmark.cli.measure import Session
        from collmark.workflow.run import create_run

        prepared = self._prepared(msgspec.structs.replace(plan, placements=()))
        folder = create_run(prepared, output=self._output, label=label, command=["collmark", *sys.argv[1:]])
        Session(folder, terminal, joined=None, as_json=False, is_last=False, has_table=False).run()
        return str(folder.path)
