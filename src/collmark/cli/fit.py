"""``collmark fit``: latency and bandwidth of every curve, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from collmark.cli import options as opt
from collmark.cli.completion import runs
from collmark.cli.grammar import terminal_of, with_examples

with_examples("collmark fit", "collmark fit latest", "collmark fit two four six eight --predict 1M@16")


def fit(
    context: typer.Context,
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN...", help="Paths, labels or latest (the default).", autocompletion=runs),
    ] = None,
    expect: opt.Expect = None,
    include_unstable: opt.IncludeUnstable = False,
    predict: Annotated[
        list[str] | None,
        typer.Option("--predict", metavar="NBYTES@RANKS", help="T at another size and rank count; repeatable."),
    ] = None,
    prior: opt.Prior = None,
    output: opt.Output = None,
    as_json: opt.AsJson = False,
) -> None:
    """Fit latency and bandwidth to every curve of some runs: a line, or what describes it better."""
    from collmark.analysis.costs.prior import nothing_beside
    from collmark.cli.cost_table import print_costs
    from collmark.cli.fit_table import print_fits
    from collmark.cli.share_table import print_shares
    from collmark.core.store import LATEST
    from collmark.workflow.costs import explain
    from collmark.workflow.fit import expect_of_runs, fit_runs, load_runs

    terminal = terminal_of(context)
    results = load_runs(runs or [LATEST], Path(output) if output else None)
    fits, skews = fit_runs(results, include_unstable=include_unstable)
    shares = expect_of_runs(results, fits, expect or (), include_unstable=include_unstable)
    explained = explain(results, fits, wanted=predict or (), prior_name=prior, include_unstable=include_unstable)
    if prior and not explained.priors:
        terminal.warn(f"note: {nothing_beside(prior)}")
    if as_json:
        import msgspec

        words = [msgspec.to_builtins(one) for one in (fits, explained)]
        terminal.emit({**words[0], **words[1], "expected": msgspec.to_builtins(shares)})
        return
    print_fits(terminal, fits, skews)
    print_shares(terminal, shares, asked=bool(expect))
    print_costs(terminal, explained)
