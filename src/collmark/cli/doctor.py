"""``collmark doctor``: what is wrong with ranks, hosts and libraries, before anything is timed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from collmark.cli import options as opt
from collmark.cli.console import write_error
from collmark.cli.faults import MISSING
from collmark.cli.grammar import terminal_of, with_examples
from collmark.cli.run import said_once
from collmark.core.errors import UnavailableError, UsageError

if TYPE_CHECKING:
    from collmark.workflow.doctor import Examination

with_examples("collmark doctor", "collmark doctor", "collmark doctor --backend nccl --ranks 8")

USED = {"backend": "--backend", "timeout": "--timeout", "mpi_library": "--mpi-library"}


def doctor(
    context: typer.Context,
    backend: opt.Backends = None,
    ranks: Annotated[
        str | None,
        typer.Option("--ranks", metavar="N", help="Local ranks; under a launcher, how many it was asked for."),
    ] = None,
    mpi_library: opt.MpiLibrary = None,
    timeout: opt.Timeout = None,
    as_json: opt.AsJson = False,
) -> None:
    """Look for what is wrong with ranks, hosts and libraries; status 3 where a run would stop."""
    terminal = terminal_of(context)
    found = _examine(opt.given(context.params, USED), ranks)
    if found is None:
        return
    status = MISSING if found.diagnosis.blocking else 0
    if as_json:
        import msgspec

        terminal.emit({**msgspec.to_builtins(found), "status": status})
    else:
        from collmark.cli.diagnosis_table import diagnosis_lines

        terminal.out("\n".join(diagnosis_lines(found.diagnosis, terminal)))
    raise typer.Exit(status)


def _examine(given: dict[str, list[str]], ranks: str | None) -> Examination | None:
    import os

    from collmark.bench.handshake import TurnedAwayError
    from collmark.bench.launchers.joined import detect, parent_name
    from collmark.workflow.doctor import examination_of, examine, without_ranks

    try:
        joined = detect(os.environ, parent_name())
    except UnavailableError as error:
        return without_ranks(str(error))
    try:
        job = examination_of(given, ranks, joined)
    except UsageError as error:
        raise said_once(error, joined) from error
    try:
        return examine(job, joined, on_fault=lambda text: write_error(f"error: {text}"))
    except TurnedAwayError as error:  # rank 0 has told the user
        raise typer.Exit(error.status) from error
