"""The index of commands, one file each, and the options of the program itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from collmark import __version__
from collmark.cli.claims import claims
from collmark.cli.compare import compare
from collmark.cli.demo import demo
from collmark.cli.doctor import doctor
from collmark.cli.export import export
from collmark.cli.faults import STATUS_WORDS
from collmark.cli.fit import fit
from collmark.cli.grammar import SETTINGS, Command, Group, summary, terminal_of, with_examples
from collmark.cli.history import history
from collmark.cli.import_ import import_logs
from collmark.cli.list import list_runs
from collmark.cli.noise import noise
from collmark.cli.pairs import pairs
from collmark.cli.plan import plan
from collmark.cli.report import report
from collmark.cli.run import run
from collmark.cli.schema import schema
from collmark.cli.slurm import slurm
from collmark.core.errors import UnknownNameError

COLORS = ("auto", "always", "never")

COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo,
    "run": run,
    "plan": plan,
    "list": list_runs,
    "doctor": doctor,
    "noise": noise,
    "pairs": pairs,
    "import": import_logs,
    "fit": fit,
    "claims": claims,
    "compare": compare,
    "history": history,
    "report": report,
    "export": export,
    "schema": schema,
}

app = typer.Typer(
    cls=Group,
    context_settings=SETTINGS,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog=f"Exit status: {STATUS_WORDS}.",
)
with_examples("collmark", "collmark demo", "collmark run --operation all_reduce --sizes 8B:16MiB:x8 --ranks 2")


@app.callback(invoke_without_command=True)
def collmark(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="More words; also behind a command.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress; also behind a command.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")] = False,
    color: Annotated[str, typer.Option("--color", metavar="WHEN", help="auto, always or never.")] = "auto",
) -> None:
    """Measure collective communication, and say how well the figures are known."""
    del verbose, quiet, debug  # read by collmark.cli.main, before anything can fail
    if color not in COLORS:
        raise UnknownNameError("colour", color, COLORS)
    if version:
        terminal_of(context).out(f"collmark {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        terminal_of(context).out(context.get_help())


for _name, _function in COMMANDS.items():
    app.command(_name, cls=Command, context_settings=SETTINGS, help=summary(_function))(_function)
app.add_typer(slurm, name="slurm")
