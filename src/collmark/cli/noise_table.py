"""The noise of a machine as text: a table for each part, and below them what they mean."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence

from collmark.cli import figures
from collmark.cli.console import FOLDING, Terminal
from collmark.cli.layout import Align, Column, Paint, lay_out
from collmark.core.estimate import Estimate
from collmark.core.noise import Gaps, Host, Latency, MachineNoise
from collmark.core.noise_judgement import Finding, Verdict, number
from collmark.core.units import GIGA, format_about_nbytes, format_duration, format_nanoseconds
from collmark.workflow.noise import Noise, core_list

MOST_SHOWN = 12  # cores whose matrix fits into 100 columns
WORDS = {Verdict.GOOD: "good", Verdict.WARN: "WARN"}
STYLES = {Verdict.GOOD: "good", Verdict.WARN: "caution"}
INDENT = "      "


def print_noise(terminal: Terminal, noise: Noise) -> None:
    """Write the tables and the findings to stdout, what was not measured to stderr."""
    width, paint = terminal.width(), terminal.painter(sys.stdout)
    blocks = [*_tables(noise.measured, width, paint), list(_findings(noise.findings, width, paint))]
    terminal.out("\n\n".join("\n".join(block) for block in blocks))
    for name, reason in noise.measured.absent.items():
        terminal.say(f"not measured: {name}: {reason}")


def _tables(noise: MachineNoise, width: int, paint: Paint) -> Iterator[list[str]]:
    yield _folded(_host_words(noise.host), width)
    yield [*_folded("clocks, read in a row; medians over windows", width), *lay_out(_clocks(noise), width, paint)]
    yield [*_folded(_gap_words(noise.gaps), width), *lay_out(_gaps(noise), width, paint)]
    if noise.latency is not None:
        yield _latency_lines(noise.latency, width, paint)
    yield [*_folded(_copy_words(noise), width), *lay_out(_copies(noise), width, paint)]


def _folded(words: str, width: int) -> list[str]:
    return textwrap.wrap(words, width, **FOLDING)


def _host_words(host: Host) -> str:
    told = (
        f"{host.name}: {host.cpu or 'processor unknown'}",
        f"cores {core_list(host.cores)}",
        host.system,
        f"clock source {host.clock_source}" if host.clock_source else "",
        f"governor {host.governor}" if host.governor else "",
        f"{number(host.switches)} context switches a second" if host.switches is not None else "",
    )
    return ", ".join(filter(None, told)) + "; intervals: 95 % over windows, of p99 over gaps"


def _cell(estimate: Estimate | None, write: Callable[[float], str]) -> str:
    if estimate is None:
        return figures.ABSENT
    return f"{write(estimate.value)} [{write(max(0.0, estimate.lower))}, {write(estimate.upper)}]"


def _value(estimate: Estimate | None) -> str:
    return figures.ABSENT if estimate is None else format_nanoseconds(estimate.value)


def _clocks(noise: MachineNoise) -> list[Column]:
    clocks = noise.clocks
    return [
        Column(name="clock", cells=[clock.name for clock in clocks]),
        Column(name="loop", cells=[clock.loop for clock in clocks]),
        Column(name="step", unit="(ns)", cells=[format_nanoseconds(clock.step) for clock in clocks], align=Align.POINT),
        Column(name="tick", unit="(ns)", cells=[format_nanoseconds(clock.tick) for clock in clocks], align=Align.POINT),
        Column(name="read", unit="(ns)", cells=[_cell(clock.cost, format_nanoseconds) for clock in clocks], leads=True),
        Column(name="p99", unit="(ns)", cells=[_cell(clock.cost_p99, format_nanoseconds) for clock in clocks]),
        Column(name="backwards", cells=[f"{clock.backwards}" for clock in clocks], align=Align.RIGHT),
    ]


def _gap_words(gaps: Gaps) -> str:
    each = min(core.seconds for core in gaps.cores)
    how = "all at once" if gaps.at_once else "one after the other"
    return (
        f"gaps of {format_duration(gaps.threshold)} and more, in a loop ({gaps.loop}) that only reads the clock; "
        f"{how}, {format_duration(each)} a core; long: {format_duration(gaps.long)} and more"
    )


def _gaps(noise: MachineNoise) -> list[Column]:
    cores = noise.gaps.cores
    names = [f"{position}" if core.core is None else f"{core.core}" for position, core in enumerate(cores)]
    columns = [
        Column(name="thread" if cores[0].core is None else "core", cells=names, align=Align.RIGHT),
        Column(
            name="time lost",
            unit="(%)",
            cells=["0" if c.lost is None else _cell(c.lost, figures.percent) for c in cores],
        ),
        Column(name="gaps", unit="(1/s)", cells=[_cell(core.rate, number) for core in cores]),
        Column(name="long gaps", unit="(1/s)", cells=[_cell(core.long_rate, number) for core in cores]),
        Column(
            name="largest",
            unit="(us)",
            cells=[figures.microseconds(core.largest) for core in cores],
            align=Align.POINT,
            leads=True,
        ),
        Column(name="p99", unit="(us)", cells=[_cell(core.p99, figures.microseconds) for core in cores]),
        Column(
            name="preempted",
            cells=[figures.ABSENT if c.preempted is None else f"{c.preempted}" for c in cores],
            align=Align.RIGHT,
        ),
        Column(name="steal", unit="(%)", cells=[_cell(core.steal, figures.percent) for core in cores]),
        Column(
            name="frequency",
            unit="(GHz)",
            cells=[_cell(core.frequency, lambda hz: number(hz / GIGA)) for core in cores],
        ),
    ]
    return [column for column in columns if set(column.cells) != {figures.ABSENT}]


def _latency_lines(latency: Latency, width: int, paint: Paint) -> list[str]:
    pairs = latency.pairs()
    caption = "latency between cores in ns, one way: half a round trip of a cache line, median over windows"
    if len(latency.cores) > MOST_SHOWN:
        ordered = sorted(pairs.items(), key=lambda pair: pair[1].value)
        told = {"least": ordered[0], "median": ordered[len(ordered) // 2], "largest": ordered[-1]} if ordered else {}
        columns = [
            Column(name=f"{len(pairs)} pairs", cells=list(told)),
            Column(name="cores", cells=[f"{one}, {other}" for (other, one), _estimate in told.values()]),
            Column(
                name="latency",
                unit="(ns)",
                cells=[_cell(estimate, format_nanoseconds) for _pair, estimate in told.values()],
            ),
        ]
        return [*_folded(f"{caption}; the whole matrix is in --json", width), *lay_out(columns, width, paint)]
    if len(latency.cores) == 2:
        words = "; ".join(
            f"cores {one} and {other}: {_cell(e, format_nanoseconds)}" for (other, one), e in pairs.items()
        )
        return _folded(f"{caption}; {words}", width)
    columns = [
        Column(name="core", cells=[f"{core}" for core in latency.cores], align=Align.RIGHT),
        *(
            Column(
                name=f"{core}",
                cells=[_value(row[column]) for row in latency.one_way],
                align=Align.POINT,
            )
            for column, core in enumerate(latency.cores)
        ),
    ]
    return [*_folded(f"{caption}; intervals are in --json", width), *lay_out(columns, width, paint)]


def _copy_words(noise: MachineNoise) -> str:
    host = noise.host
    sizes = [f"L2 {format_about_nbytes(host.l2)}"] if host.l2 else []
    sizes += [f"all last-level caches {format_about_nbytes(host.last_level)}"] if host.last_level else []
    words = f" ({', '.join(sizes)})" if sizes else ""
    return (
        f"copies by the C library's memcpy{words}; counted are bytes copied: reads plus writes, what the memory moves, "
        "are at least twice as many"
    )


def _copies(noise: MachineNoise) -> list[Column]:
    copies = noise.copies
    return [
        Column(name="in", cells=[copy.place for copy in copies]),
        Column(name="cores", cells=[f"{copy.cores}" for copy in copies], align=Align.RIGHT),
        Column(name="buffer", cells=[format_about_nbytes(copy.nbytes) for copy in copies], align=Align.RIGHT),
        Column(name="copied", unit="(GB/s)", cells=[_cell(copy.copied, figures.gigabytes) for copy in copies]),
    ]


def _findings(findings: Sequence[Finding], width: int, paint: Paint) -> Iterator[str]:
    """Yield each finding as a sentence under its verdict: what it breaks and how to mend it behind it."""
    for finding in findings:
        words = ": ".join(filter(None, (finding.found, finding.breaks)))
        mend = f" -> {finding.mend}" if finding.mend else ""
        first, *rest = textwrap.wrap(
            f"{finding.part}: {words}{mend}",
            max(20, width - len(INDENT)),
            break_long_words=False,
            break_on_hyphens=False,
        )
        yield paint(f"{WORDS[finding.verdict]:<{len(INDENT)}}", STYLES[finding.verdict]) + first
        yield from (INDENT + line for line in rest)
