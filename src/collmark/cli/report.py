"""``collmark report``: one file with pictures, fits, verdicts and warnings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from collmark.cli import options as opt
from collmark.cli.completion import runs as complete_runs
from collmark.cli.grammar import terminal_of, with_examples
from collmark.cli.output import STDOUT, check_folder, check_free, write_all, write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from collmark.cli.console import Terminal
    from collmark.workflow.report import Report

with_examples(
    "collmark report", "collmark report latest -o report.html", "collmark report before after --figures slides"
)


def report(
    context: typer.Context,
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN...", help="Paths, labels or latest (the default).", autocompletion=complete_runs),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            "-o", "--file", metavar="FILE", help="Where to; - is stdout. Else report.html in the run's folder."
        ),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="html|md", help="html by default; md is a summary, on stdout unless -o."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    figures: Annotated[
        str | None,
        typer.Option(
            "--figures",
            metavar="FOLDER",
            help="Also every picture as SVG and PNG, for a slide or a paper; the folder is made.",
            callback=opt.refuse_empty,
        ),
    ] = None,
    expect: opt.Expect = None,
    include_unstable: opt.IncludeUnstable = False,
    prior: opt.Prior = None,
    output: opt.Output = None,
    as_json: opt.AsJson = False,
) -> None:
    """Write one file that needs nothing else: what was found, how sure it is, pictures, fits, verdicts, warnings."""
    from collmark.analysis.costs.prior import nothing_beside
    from collmark.core.store import LATEST
    from collmark.workflow.fit import load_runs
    from collmark.workflow.report import default_file, figures_of, is_summary, material_of, read_format, report_of

    terminal = terminal_of(context)
    kind = read_format(format_, file)
    if file is not None and file != STDOUT:
        check_free(Path(file), force=force)
    if figures is not None:
        check_folder(Path(figures))
    results = load_runs(runs or [LATEST], Path(output) if output else None)
    is_on_stdout = file == STDOUT or (file is None and is_summary(kind))
    path = None if is_on_stdout else Path(file) if file is not None else default_file(results)
    if path is not None:
        check_free(path, force=force)
    material = material_of(results, expect or (), include_unstable=include_unstable, prior=prior or "")
    made = report_of(material, kind)
    drawn = [] if figures is None else write_all(Path(figures), figures_of(material), force=force)
    if path is not None:
        write_whole(path, lambda place: place.write_text(made.text, encoding="utf-8"), force=force)
    _tell(terminal, made, path, drawn, as_json=as_json)
    if figures is not None and not drawn:
        terminal.warn(f"note: --figures {figures}: the report has no picture")
    if prior and "prior" not in made.sections:
        why = f"--prior {prior}: only HTML shows it" if is_summary(kind) else nothing_beside(prior)
        terminal.warn(f"note: {why}")


def _tell(terminal: Terminal, made: Report, path: Path | None, drawn: Sequence[Path], *, as_json: bool) -> None:
    if as_json:
        terminal.emit({**_as_object(made, path), "figures": [str(one) for one in drawn]})
    elif path is None:
        terminal.out(made.text.rstrip("\n"))
    else:
        for words in (made.sentences.found, made.sentences.sure, made.sentences.next):
            terminal.say(words)
    for one in (*([] if path is None else [path]), *drawn):
        terminal.say_whole(f"wrote {one}")


def _as_object(made: Report, path: Path | None) -> dict[str, Any]:
    import msgspec

    told: dict[str, Any] = msgspec.to_builtins(made)
    text = told.pop("text")
    return {
        **told,
        "file": None if path is None else str(path),
        "bytes": len(text.encode()),
        "text": None if path else text,
    }
