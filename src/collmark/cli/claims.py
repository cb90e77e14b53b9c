"""``collmark claims``: what the claims come to, and what decided each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from collmark.cli import options as opt
from collmark.cli.completion import claims_or_runs, runs
from collmark.cli.faults import WRONG
from collmark.cli.grammar import terminal_of, with_examples

if TYPE_CHECKING:
    from collmark.cli.console import Terminal
    from collmark.workflow.claims import Gate, Judgement

with_examples("collmark claims", "collmark claims latest", "collmark claims gap-18x --set about.tolerance=1.3")


Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="ID|RUN",
        help="Ids of claims are explained; all else are runs to judge by: paths, labels or latest.",
        autocompletion=claims_or_runs,
    ),
]
Runs = Annotated[
    list[str] | None,
    typer.Option(
        "--run",
        metavar="RUN",
        help="A run to judge by, even where a claim has its name; repeatable.",
        autocompletion=runs,
    ),
]
UnequalRanks = Annotated[
    bool, typer.Option("--unequal-ranks", help="Compare sides of unlike numbers of ranks too; the finding says so.")
]
TierA = Annotated[
    str | None,
    typer.Option(
        "--tier-a",
        metavar="TIER[:FABRIC][@LABEL]",
        help="Tier A of the claims named; of all others only where it narrows theirs.",
    ),
]
TierB = Annotated[str | None, typer.Option("--tier-b", metavar="TIER[:FABRIC][@LABEL]", help="Tier B, likewise.")]
Kinds = Annotated[list[str] | None, typer.Option("--kind", metavar="S|W|M|P", help="Judge these kinds only, as S,W.")]
Files = Annotated[
    list[str] | None, typer.Option("--file", metavar="CLAIMS.toml", help="Claims of your own; repeatable.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="RULE.THRESHOLD=VALUE", help="Set a threshold of a decision rule; repeatable."),
]
Scope = Annotated[bool, typer.Option("--all", help="Also what is out of scope, and why.")]
AsGate = Annotated[
    bool,
    typer.Option(
        "--gate",
        help="Status 1 if a row that records decide, or one of your own, fails, or none is decided; of ids and kinds "
        "named, any that fails or (ids) is not decided.",
    ),
]


def claims(
    context: typer.Context,
    words: Words = None,
    run: Runs = None,
    tier_a: TierA = None,
    tier_b: TierB = None,
    kind: Kinds = None,
    file: Files = None,
    setting: Settings = None,
    scope: Scope = False,
    gate: AsGate = False,
    include_unstable: opt.IncludeUnstable = False,
    unequal_ranks: UnequalRanks = False,
    output: opt.Output = None,
    as_json: opt.AsJson = False,
) -> None:
    """Judge claims by arithmetic and by records: holds, fails, inconclusive or no data, one verdict for each kind."""
    from collmark.workflow.claims import Wanted, as_object, judge_claims
    from collmark.workflow.claims import gate as pass_gate

    terminal = terminal_of(context)
    judgement = judge_claims(
        Wanted(
            words=words or (),
            runs=run or (),
            files=[Path(name) for name in file or ()],
            settings=setting or (),
            tier_a=tier_a,
            tier_b=tier_b,
            kinds=kind or (),
            output=Path(output) if output else None,
            include_unstable=include_unstable,
            unequal_ranks=unequal_ranks,
        )
    )
    result = pass_gate(judgement) if gate else None
    if as_json:
        terminal.emit(as_object(judgement, scope=scope, result=result))
    else:
        _print(terminal, judgement, scope=scope)
    if result is not None:
        _conclude(terminal, result)


def _print(terminal: Terminal, judgement: Judgement, *, scope: bool) -> None:
    from collmark.cli.verdicts import print_explanations, print_scope, print_verdicts

    if judgement.named:
        print_explanations(terminal, judgement)
    else:
        print_verdicts(terminal, judgement)
    if scope:
        print_scope(terminal, judgement)
    for warning in judgement.warnings:
        terminal.warn(f"warning: {warning}")
    for remark in judgement.remarks:
        terminal.say(f"note: {remark}")
    if judgement.named:
        return
    if judgement.commands:
        terminal.say("to decide rows of kind M that have no data:")
        for command in judgement.commands:
            terminal.say_whole(f"  {command}")
    terminal.say_whole(f"explain one: collmark claims {judgement.claims[0].id}")


def _conclude(terminal: Terminal, result: Gate) -> None:
    terminal.warn(f"gate: {result.words}")
    if not result.passed:
        raise typer.Exit(WRONG)
