"""``collmark noise``: how much this machine disturbs a measurement."""

from __future__ import annotations

from typing import Annotated

import typer

from collmark.cli import options as opt
from collmark.cli.grammar import terminal_of, with_examples

with_examples("collmark noise", "collmark noise", "collmark noise --duration 30s --cores 0,2-3")


def noise(
    context: typer.Context,
    duration: Annotated[
        str | None, typer.Option("--duration", metavar="TIME", help="How long gaps are watched for (5 s).")
    ] = None,
    cores: Annotated[
        str | None, typer.Option("--cores", metavar="LIST", help="Cores to measure, as 0,2-3; all by default.")
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Measure how this machine disturbs measurements: clocks, gaps, latency between cores, steal, memory."""
    from collmark.cli.noise_table import print_noise
    from collmark.workflow.noise import noise_here

    terminal = terminal_of(context)
    found = noise_here(duration, cores, terminal.say)
    if as_json:
        import msgspec

        terminal.emit(msgspec.to_builtins(found))
        return
    print_noise(terminal, found)
