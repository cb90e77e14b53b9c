"""``collmark demo --emulated-tiers``: two networks of a known ratio, from their making to a marked verdict."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import msgspec

from collmark.cli.grammar import program
from collmark.core.errors import InterruptedRunError, UsageError

if TYPE_CHECKING:
    from collmark.cli.console import Terminal
    from collmark.workflow.emulated import TierRatio

LAUNCHES = 2
HOSTS = 2
CLAIM = "gap-18x"
EMULATED = "EMULATED: no figure here is one of a network; the hosts are namespaces of this machine"


def show_emulated_tiers(
    terminal: Terminal, launches: str | None, *, output: str | None, label: str | None, as_json: bool
) -> None:
    """Make two networks, measure over both, and show fits, ratio, verdict and a report; nothing of them is left."""
    from collmark.bench.emulated.hosts import emulated_hosts
    from collmark.core.plan import check_plan
    from collmark.workflow import emulated
    from collmark.workflow.places import new_run_path
    from collmark.workflow.planning import make_plan

    wanted = make_plan(None, {"--launches": [launches or str(LAUNCHES)]})
    check_plan(wanted)
    if isinstance(wanted.launches, str):
        raise UsageError(f"--launches {wanted.launches}: with --emulated-tiers a whole number")
    networks, root = emulated.two_networks(), Path(output) if output else None
    folders = {one.name: new_run_path(root, f"{label or 'emulated'}-{one.name}") for one in networks}
    plans = {one.name: emulated.streams_plan("gloo", one.link) for one in networks}
    with _stopped_in_words(folders):
        with emulated_hosts(HOSTS, networks) as hosts:
            rates = ", ".join(f"{one.name} {8e-6 * one.link.rate:g} Mbit/s" for one in networks)
            terminal.say(f"{EMULATED}: {HOSTS} hosts, networks {rates}, about a minute")
            emulated.measure_over(hosts, plans, folders, launches=wanted.launches, told=terminal.say)
            for name, plan in plans.items():
                terminal.say(f"raw TCP over {name}")
                emulated.keep_raw(hosts, name, emulated.sizes_of(plan), folders[name])
        _conclude(terminal, folders, as_json=as_json)


@contextmanager
def _stopped_in_words(folders: dict[str, Path]) -> Iterator[None]:
    """Answer a signal by taking the networks away, and say what is kept."""

    def stop(number: int, _frame: FrameType | None) -> None:
        kept = [shlex.quote(str(path)) for path in folders.values() if path.exists()]
        words = f"kept: {' '.join(kept)}" if kept else "nothing was finished"
        raise InterruptedRunError(f"stopped by {signal.Signals(number).name}; {words}", number)

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _conclude(terminal: Terminal, folders: dict[str, Path], *, as_json: bool) -> None:
    from collmark.analysis.report.material import gather
    from collmark.analysis.report.write import Format
    from collmark.cli.fit_table import print_fits
    from collmark.cli.output import write_whole
    from collmark.cli.verdicts import print_verdicts
    from collmark.workflow import emulated
    from collmark.workflow.claims import as_object
    from collmark.workflow.fit import load_runs
    from collmark.workflow.report import default_file, report_of

    fast, slow = folders.values()
    results = load_runs([str(fast), str(slow)])
    judgement, found = emulated.verdicts(fast, slow, [CLAIM]), emulated.ratio_of(fast, slow)
    material, path = gather(results, judgement.findings), default_file(results)
    made = report_of(material, Format.HTML)
    write_whole(path, lambda place: place.write_text(made.text, encoding="utf-8"), force=True)
    if as_json:
        told = {"folders": [str(fast), str(slow)], "file": str(path), "ratio": msgspec.to_builtins(found)}
        judged = as_object(judgement, scope=False, result=None)
        terminal.emit({"event": "emulated", "marker": "EMULATED", **told, "findings": judged["findings"]})
        return
    print_fits(terminal, material.fits, material.skews)
    terminal.out(f"\n{ratio_words(found)}\n")
    print_verdicts(terminal, judgement)
    where = f"--tier-a tcp@{emulated.FAST} --tier-b tcp@{emulated.SLOW}"
    runs = " ".join(shlex.quote(str(folder)) for folder in (fast, slow))
    terminal.say_whole(f"explain it: {program()} claims {CLAIM} {where} {runs}")
    terminal.say_whole(f"report: {path}")


def ratio_words(found: TierRatio) -> str:
    """Return the ratio of two emulated networks, by raw TCP and by the fits."""
    fitted = found.fitted
    interval = (
        "too few launches: no interval"
        if fitted is None
        else f"{fitted.value:.2f} [{fitted.lower:.2f}, {fitted.upper:.2f}], 95 % over {fitted.count} launches"
    )
    return f"EMULATED fast over slow: raw TCP {found.raw:.2f}; asymptotes of stream {interval}"
