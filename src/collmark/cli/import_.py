"""``collmark import``: other tools' logs, converted to the canonical quantities."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from collmark.cli import options as opt
from collmark.cli.completion import among, backends, dtypes, operations
from collmark.cli.faults import DONE, error_object, status_of
from collmark.cli.grammar import terminal_of, with_examples
from collmark.core.errors import CollmarkError, UsageError, VerificationError
from collmark.core.numeral import MOST_LISTED, counted, listed

if TYPE_CHECKING:
    from collmark.analysis.importers.read import Read
    from collmark.cli.console import Terminal
    from collmark.workflow.importing import Import

with_examples(
    "collmark import",
    "collmark import nccl.log --tier nvlink --nodes 1",
    "collmark import osu_allreduce.out --ranks 256 --nodes 16 --tier rdma:efa",
)

NAMED = 5
"""Lines of one kind that are named; --verbose names all."""

Operation = Annotated[
    str | None,
    typer.Option("--operation", metavar="NAME", help="The operation, likewise.", autocompletion=among(operations)),
]
Dtype = Annotated[
    str | None,
    typer.Option("--dtype", metavar="NAME", help="The element type, likewise.", autocompletion=among(dtypes)),
]
Backend = Annotated[
    str | None,
    typer.Option("--backend", metavar="NAME", help="What moved the bytes, likewise.", autocompletion=among(backends)),
]


def import_logs(
    context: typer.Context,
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Logs, also gzipped; - is stdin.")],
    ranks: Annotated[
        str | None, typer.Option("--ranks", metavar="N", help="Number of ranks, where a log does not tell it.")
    ] = None,
    nodes: Annotated[str | None, typer.Option("--nodes", metavar="N", help="Number of nodes, likewise.")] = None,
    tier: Annotated[
        str | None,
        typer.Option(
            "--tier", metavar="TIER", help="Slowest link between the ranks: nvlink, rdma:infiniband, tcp, ..."
        ),
    ] = None,
    operation: Operation = None,
    dtype: Dtype = None,
    device: Annotated[
        str | None, typer.Option("--device", metavar="cpu|cuda", help="Where the buffers lie, likewise.")
    ] = None,
    backend: Backend = None,
    as_launches: Annotated[
        bool, typer.Option("--as-launches", help="Several figures of one case are its launches: one run of all logs.")
    ] = False,
    label: opt.Label = None,
    output: opt.Output = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Rows and skipped lines as JSON on stdout; nothing is stored.")
    ] = False,
) -> None:
    """Read other tools' logs, and make runs of them for fit, claims and report."""
    from collmark.analysis.importers.records import Terms
    from collmark.workflow import importing

    terminal = terminal_of(context)
    facts = importing.facts_of(
        ranks=ranks, nodes=nodes, operation=operation, dtype=dtype, device=device, backend=backend
    )
    link, fabric = importing.tier_of(tier)
    reads, unknown = importing.read_files(files, facts)
    problem = _problem_of(reads, unknown, terminal)
    if as_json:
        _print_json(terminal, reads, problem)
        return
    for one in reads:
        _say_odd(terminal, one)
    found = importing.store(
        reads,
        output=Path(output) if output else None,
        label=label or "",
        as_launches=as_launches,
        terms=Terms(tier=link, fabric=fabric, read_at=importing.now()),
        command=["collmark", *sys.argv[1:]],
    )
    _conclude(terminal, found, unknown)
    if problem:
        raise problem


def _problem_of(reads: Sequence[Read], unknown: Sequence[str], terminal: Terminal) -> CollmarkError | None:
    """Return what ends the command, whatever was stored: wrong results before logs that nobody recognises."""
    from collmark.workflow.importing import supported

    names = listed(unknown, None if terminal.verbosity > 0 else MOST_LISTED)
    words = f"{names}: no tool's output was recognised; those read: {supported()}" if unknown else ""
    wrong = [row for one in reads for row in one.rows if row.wrong]
    if not wrong:
        return UsageError(words) if words else None
    first = f"{counted(len(wrong), 'figure')} with wrong results, {wrong[0].file}:{wrong[0].line} first"
    return VerificationError(f"{first}; {words}" if words else first)


def _print_json(terminal: Terminal, reads: Sequence[Read], problem: CollmarkError | None) -> None:
    """Write one JSON object: what was read, and the error where not all is well."""
    from collmark.workflow import importing

    if problem and not reads:
        raise problem
    status = status_of(problem) if problem else DONE
    terminal.out(
        importing.to_json(reads, error_object(str(problem), status, type(problem).__name__) if problem else {})
    )
    for one in reads:
        _say_odd(terminal, one)
    if problem:
        terminal.write_whole(f"error: {problem}")
        raise typer.Exit(status)  # raised, the error would be a second object


def _say_odd(terminal: Terminal, read: Read) -> None:
    """Name lines that could not be read, and figures that disagree."""
    for lines, words in (
        ([f"{one.file}:{one.line}: {one.reason}: {one.text.strip()}" for one in read.skipped], "more lines not read"),
        ([f"{one.file}:{one.line}: {one.text}" for one in read.warned], "more warnings"),
    ):
        shown = lines if terminal.verbosity > 0 else lines[:NAMED]
        for line in shown:
            terminal.warn_in_line(line)
        if len(lines) > len(shown):
            terminal.warn_in_line(f"{len(lines) - len(shown)} {words}: --verbose names them")


def _conclude(terminal: Terminal, found: Import, unknown: Sequence[str]) -> None:
    """Say what was stored and what was not; UsageError where nothing was, and no log is to blame."""
    if not found.runs and not unknown:
        raise UsageError(f"nothing was stored: {_why(found)}")
    for run in found.runs:
        launches = f", {counted(run.launches, 'launch')}" if run.launches > 1 else ""
        words = f"{counted(run.records, 'record')}{launches} of {', '.join(run.operations)} ({', '.join(run.tools)})"
        terminal.out(f"{run.label}: {words}, in {run.path}")
    if found.uneven:
        terminal.warn_in_line(f"note: {found.uneven}")
    if found.runs and found.missing:
        terminal.warn_in_line(f"not stored: {_why(found)}")


def _why(found: Import) -> str:
    """Return why rows were not stored: the first few reasons, operations that collmark has not in one."""
    from collmark.analysis.importers.records import NO_OPERATION

    foreign = [one.removesuffix(NO_OPERATION) for one in found.missing if one.endswith(NO_OPERATION)]
    reasons: Counter[str] = Counter()
    for one, rows in found.missing.items():
        reasons[f"no operation of collmark ({listed(foreign)})" if one.endswith(NO_OPERATION) else one] += rows
    words = [f"{counted(rows, 'row')}: {reason}" for reason, rows in reasons.items()]
    return f"{listed(words, separator='; ')}; --json prints all figures" if words else "no figure was found"
