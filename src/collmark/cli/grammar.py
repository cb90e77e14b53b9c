"""How commands answer: help that starts with examples, and unknown names with the nearest choice."""

from __future__ import annotations

import inspect
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from collmark.cli.console import Terminal
from collmark.core.errors import UnknownNameError

if TYPE_CHECKING:
    from typer._click import Command as AnyCommand
    from typer._click import Context, HelpFormatter

EXAMPLES: dict[str, tuple[str, ...]] = {}
"""Two examples for each command, by its path."""

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}


def with_examples(path: str, *examples: str) -> None:
    """Say what a command's help starts with."""
    EXAMPLES[path] = examples


def program() -> str:
    """Return what to type for collmark: its path as it was typed, where it is not on the search path."""
    typed = sys.argv[0]
    if Path(typed).name != "collmark" or shutil.which("collmark"):
        return "collmark"
    return shlex.quote(typed)


def _write_examples(context: Context, formatter: HelpFormatter) -> None:
    formatter.width = max(40, Terminal().width() - 2)
    examples = EXAMPLES.get(context.command_path, ())
    if examples:
        formatter.write("Examples:\n")
        for example in examples:
            formatter.write(f"  {example}\n")
        formatter.write("\n")


class Command(TyperCommand):
    """A command whose help starts with examples."""

    def format_help(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write examples, usage, text and options."""
        _write_examples(ctx, formatter)
        super().format_help(ctx, formatter)


class Group(TyperGroup):
    """The commands, in the order of the index; an unknown one is answered with the nearest."""

    def format_help(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write examples, usage, text, options and commands."""
        _write_examples(ctx, formatter)
        super().format_help(ctx, formatter)

    def list_commands(self, ctx: Context) -> list[str]:
        """Return the names of the commands, most used first."""
        del ctx
        return list(self.commands)

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, AnyCommand | None, list[str]]:
        """Return the command that the arguments start with, or raise UnknownNameError."""
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            raise UnknownNameError("command", args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)


def terminal_of(context: typer.Context) -> Terminal:
    """Return the terminal that the program was started with."""
    return context.find_object(Terminal) or Terminal()


def summary(function: Callable[..., None]) -> str:
    """Return a function's docstring up to its first blank line, for its help."""
    return (inspect.getdoc(function) or "").split("\n\n")[0]
