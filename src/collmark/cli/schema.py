"""``collmark schema``: what the files of a run mean."""

from __future__ import annotations

import typer

from collmark.cli import options as opt
from collmark.cli.grammar import terminal_of, with_examples

with_examples("collmark schema", "collmark schema", "collmark schema --json")


def schema(context: typer.Context, as_json: opt.AsJson = False) -> None:
    """Print what the files of a run and their fields mean."""
    from collmark.core.field_table import STORED, field_table
    from collmark.core.record import SCHEMA_VERSION
    from collmark.workflow.schema import schema_text

    terminal = terminal_of(context)
    if not as_json:
        terminal.out(schema_text().rstrip("\n"))
        return

    import msgspec

    tables = {struct.__name__: msgspec.to_builtins(list(field_table(struct))) for struct in STORED}
    terminal.emit({"schema_version": SCHEMA_VERSION, "fields": tables})
