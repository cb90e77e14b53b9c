"""``collmark compare``: did anything change, case by case."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from collmark.cli import options as opt
from collmark.cli.completion import runs as complete_runs
from collmark.cli.faults import WRONG
from collmark.cli.grammar import terminal_of, with_examples

with_examples(
    "collmark compare",
    "collmark compare before after --gate slower-than=5%",
    "collmark compare latest --baseline nccl-2.27",
)

Runs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="A B...",
        help="Paths, labels or latest; a folder of runs of one thing is one side. All others are compared with A.",
        autocompletion=complete_runs,
    ),
]
Baseline = Annotated[
    str | None,
    typer.Option("--baseline", metavar="NAME", help="A is this folder below baselines/ of the results, or a path."),
]
Effect = Annotated[str, typer.Option("--effect", metavar="PERCENT", help="Smallest effect of interest.")]
AsGate = Annotated[
    str | None,
    typer.Option("--gate", metavar="slower-than=PERCENT", help="Status 1 if an interval lies wholly beyond."),
]
Strict = Annotated[
    bool, typer.Option("--gate-strict", help="Status 1 unless every interval lies wholly inside the gate.")
]
Interpolate = Annotated[
    bool, typer.Option("--interpolate", help="Read models of B at sizes that only A measured, inside B's range.")
]
ListUnmatched = Annotated[bool, typer.Option("--list-unmatched", help="Name each case that is not compared, and why.")]


def compare(
    context: typer.Context,
    runs: Runs = None,
    baseline: Baseline = None,
    effect: Effect = "5%",
    gate: AsGate = None,
    gate_strict: Strict = False,
    interpolate: Interpolate = False,
    list_unmatched: ListUnmatched = False,
    include_unstable: opt.IncludeUnstable = False,
    output: opt.Output = None,
    as_json: opt.AsJson = False,
) -> None:
    """Compare runs case by case: slower, faster, no evidence or cannot tell, with intervals over launches."""
    from collmark.analysis.compare.compare import compare as compare_sides
    from collmark.analysis.compare.gate import read_effect, read_gate
    from collmark.cli.compare_table import gate_words, print_compared
    from collmark.core.errors import UsageError
    from collmark.workflow.compare import as_object, find_sides, gate_runs

    terminal = terminal_of(context)
    if gate_strict and gate is None:
        raise UsageError("--gate-strict needs --gate, as --gate slower-than=5%")
    wanted = None if gate is None else read_gate(gate, strict=gate_strict)
    smallest = read_effect(effect)
    sides = find_sides(runs or (), baseline, Path(output) if output else None)
    compared = compare_sides(
        sides[0], sides[1:], effect=smallest, interpolate=interpolate, include_unstable=include_unstable
    )
    results = gate_runs(compared, wanted)
    if as_json:
        terminal.emit(as_object(compared, results))
    else:
        print_compared(terminal, compared, list_unmatched=list_unmatched)
    if wanted is None:
        return
    for result, one in zip(results, compared.others, strict=True):
        terminal.warn(gate_words(wanted, result, one))
    if not all(result.passed for result in results):
        raise typer.Exit(WRONG)
