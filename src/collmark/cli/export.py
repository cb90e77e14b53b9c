"""``collmark export``: a run's records as a flat file."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from collmark.cli import options as opt
from collmark.cli.completion import runs
from collmark.cli.grammar import terminal_of, with_examples
from collmark.cli.output import STDOUT, check_free, write_whole
from collmark.core.errors import UsageError

if TYPE_CHECKING:
    from collmark.core.store import RunFolder

with_examples("collmark export", "collmark export latest --format csv", "collmark export latest -o latest.parquet")


def export(
    context: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="A path, a label or latest.", autocompletion=runs)],
    format_: Annotated[str | None, typer.Option("--format", metavar="csv|parquet", help="csv by default.")] = None,
    file: Annotated[
        str | None,
        typer.Option(
            "-o", "--file", metavar="FILE", help="Where to; - is stdout (csv only).", callback=opt.refuse_empty
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    output: opt.Output = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="The rows as a JSON array on stdout, instead of a format.")
    ] = False,
) -> None:
    """Write one row per record: every field, SI units, and the bandwidths."""
    from collmark.workflow.export import Format, read_format, rows
    from collmark.workflow.places import find_run

    terminal = terminal_of(context)
    kind = read_format(format_, file)
    if as_json and (format_ is not None or file is not None):
        raise UsageError("--json writes to stdout; leave --format and -o away")
    if kind is Format.PARQUET and file in (None, STDOUT):
        raise UsageError("parquet is not text: name a file, as -o run.parquet")
    if file is not None and file != STDOUT:
        check_free(Path(file), force=force)
    folder = find_run(run, Path(output) if output else None)
    if as_json:
        terminal.emit({"rows": list(rows(folder))})
    elif file is None or file == STDOUT:
        terminal.out(_csv(folder).rstrip("\n"))
    else:
        write_whole(Path(file), lambda path: _write(folder, path, parquet=kind is Format.PARQUET), force=force)
        terminal.say(f"wrote {file}")


def _csv(folder: RunFolder) -> str:
    from collmark.workflow.export import rows, write_csv

    text = io.StringIO()
    write_csv(rows(folder), text)
    return text.getvalue()


def _write(folder: RunFolder, path: Path, *, parquet: bool) -> None:
    if parquet:
        from collmark.analysis.parquet import write_parquet
        from collmark.workflow.export import columns, rows

        write_parquet(columns(), rows(folder), path)
    else:
        path.write_text(_csv(folder), encoding="utf-8")
