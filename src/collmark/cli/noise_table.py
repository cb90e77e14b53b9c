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
from collmark.core.numeral import spans
from collmark.core.units import GIGA, NANOSECONDS_PER_SECOND, format_about_nbytes, format_duration
from collmark.workflow.noise import Noise

MOST_SHOWN = 12  # cores whose matrix fits into 80 columns
MOST_ROWS = 16  # cores in the table of gaps
WORDS = {Verdict.GOOD: "good", Verdict.WARN: "WARN"}
STYLES = {Verdict.GOOD: "good", Verdict.WARN: "caution"}
INDENT = "      "
SUM_WORDS = (
    "sums of one buffer into another by numpy's add, as a reduction does with what it receives; gamma: time for a byte"
)


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
    yield [*_folded(_gap_words(noise.gaps), width), *lay_out(_gaps(noise.gaps), width, paint)]
    if noise.latency is not None:
        yield _latency(noise.latency, width, paint)
    yield [*_folded(_copy_words(noise), width), *lay_out(_copies(noise), width, paint)]
    if noise.sums:
        yield [*_folded(SUM_WORDS, width), *lay_out(_sums(noise), width, paint)]


def _folded(words: str, width: int) -> list[str]:
    return textwrap.wrap(words, width, **FOLDING)


def _host_words(host: Host) -> str:
    told = (
        f"{host.name}: {host.cpu or 'processor unknown'}",
        f"cores {spans(host.cores)}",
        host.system,
        f"clock source {host.clock_source}" if host.clock_source else "",
        f"governor {host.governor}" if host.governor else "",
        f"{number(host.switches)} context switches a second" if host.switches is not None else "",
    )
    return ", ".join(filter(None, told)) + "; intervals: 95 % over windows, of p99 over gaps"


def _cell(estimate: Estimate | None, write: Callable[[float], str]) -> str:
    if estimate is None:
        return figures.ABSENT
    if estimate.upper == 0:
        return "0"
    return f"{write(estimate.value)} [{write(max(0.0, estimate.lower))}, {write(estimate.upper)}]"


def _nanoseconds(seconds: float) -> str:
    return number(seconds * NANOSECONDS_PER_SECOND)


def _clocks(noise: MachineNoise) -> list[Column]:
    clocks = noise.clocks
    return [
        Column(name="clock", cells=[clock.name for clock in clocks]),
        Column(name="step", unit="(ns)", cells=[_nanoseconds(clock.step) for clock in clocks], align=Align.POINT),
        Column(name="tick", unit="(ns)", cells=[_nanoseconds(clock.tick) for clock in clocks], align=Align.POINT),
        Column(name="read", unit="(ns)", cells=[_cell(clock.cost, _nanoseconds) for clock in clocks], leads=True),
        Column(name="p99", unit="(ns)", cells=[_cell(clock.cost_p99, _nanoseconds) for clock in clocks]),
        Column(name="backwards", cells=[f"{clock.backwards}" for clock in clocks], align=Align.RIGHT),
    ]


def _gap_words(gaps: Gaps) -> str:
    each = min(core.seconds for core in gaps.cores)
    how = "all at once" if gaps.at_once else "one after the other"
    left = len(gaps.cores) - MOST_ROWS
    worst = f"; the {MOST_ROWS} cores that lose most of {len(gaps.cores)}, all are in --json" if left > 0 else ""
    return (
        f"gaps of {format_duration(gaps.threshold)} and more, in a loop ({gaps.loop}) that only reads the clock; "
        f"{how}, {format_duration(each)} a core; long: {format_duration(gaps.long)} and more{worst}"
    )


def _gaps(gaps: Gaps) -> list[Column]:
    rows = list(enumerate(gaps.cores))
    if len(rows) > MOST_ROWS:
        rows.sort(key=lambda row: row[1].lost.value if row[1].lost else 0.0, reverse=True)
    cores = [core for _position, core in rows[:MOST_ROWS]]
    names = [f"{position if core.core is None else core.core}" for position, core in rows[:MOST_ROWS]]
    lost = ["0" if core.lost is None else _cell(core.lost, figures.percent) for core in cores]
    largest = [figures.microseconds(core.largest) for core in cores]
    preempted = [figures.ABSENT if core.preempted is None else f"{core.preempted}" for core in cores]
    gigahertz = [_cell(core.frequency, lambda hz: number(hz / GIGA)) for core in cores]
    columns = [
        Column(name="thread" if cores[0].core is None else "core", cells=names, align=Align.RIGHT),
        Column(name="time lost", unit="(%)", cells=lost),
        Column(name="gaps", unit="(1/s)", cells=[_cell(core.rate, number) for core in cores]),
        Column(name="long gaps", unit="(1/s)", cells=[_cell(core.long_rate, number) for core in cores]),
        Column(name="largest", unit="(us)", cells=largest, align=Align.POINT, leads=True),
        Column(name="p99", unit="(us)", cells=[_cell(core.p99, figures.microseconds) for core in cores]),
        Column(name="preempted", cells=preempted, align=Align.RIGHT),
        Column(name="steal", unit="(%)", cells=[_cell(core.steal, figures.percent) for core in cores]),
        Column(name="frequency", unit="(GHz)", cells=gigahertz),
    ]
    return [column for column in columns if set(column.cells) != {figures.ABSENT}]


def _latency(latency: Latency, width: int, paint: Paint) -> list[str]:
    words = "latency between cores, one way: half a round trip of a cache line, median over windows"
    columns = _pairs(latency)
    if len(latency.cores) > MOST_SHOWN:
        words += "; the whole matrix in --json"
    elif len(latency.cores) > 2:
        columns = _matrix(latency)
        words += "; intervals in --json"
    return [*_folded(words, width), *lay_out(columns, width, paint)]


def _matrix(latency: Latency) -> list[Column]:
    def column(position: int) -> Column:
        told = [row[position] for row in latency.one_way]
        cells = [figures.ABSENT if one is None else _nanoseconds(one.value) for one in told]
        return Column(name=f"{latency.cores[position]}", cells=cells, align=Align.POINT)

    names = Column(name="ns, core", cells=[f"{core}" for core in latency.cores], align=Align.RIGHT)
    return [names, *map(column, range(len(latency.cores)))]


def _pairs(latency: Latency) -> list[Column]:
    """Return the nearest, the middle and the furthest pair; of one pair that one."""
    ordered = sorted(latency.pairs().items(), key=lambda pair: pair[1].value)
    places = {"nearest": 0, "median": len(ordered) // 2, "furthest": len(ordered) - 1} if ordered else {}
    told = {place: name for name, place in reversed(places.items())}
    rows = [(name, *ordered[place]) for place, name in sorted(told.items())]
    columns = [
        Column(name="cores", cells=[f"{one}, {other}" for _name, (other, one), _estimate in rows]),
        Column(name="latency", unit="(ns)", cells=[_cell(estimate, _nanoseconds) for _name, _pair, estimate in rows]),
    ]
    names = Column(name=f"of {len(ordered)} pairs", cells=[name for name, _pair, _estimate in rows])
    return [names, *columns] if len(ordered) > 1 else columns


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


def _sums(noise: MachineNoise) -> list[Column]:
    sums = noise.sums
    gammas = [_cell(one.summed, figures.gigabytes) for one in sums]
    each = [number(one.cores / one.summed.value * NANOSECONDS_PER_SECOND) for one in sums]
    return [
        Column(name="in", cells=[one.place for one in sums]),
        Column(name="cores", cells=[f"{one.cores}" for one in sums], align=Align.RIGHT),
        Column(name="buffer", cells=[format_about_nbytes(one.nbytes) for one in sums], align=Align.RIGHT),
        Column(name="dtype", cells=[one.dtype for one in sums]),
        Column(name="summed", unit="(GB/s)", cells=gammas),
        Column(name="gamma", unit="(ns/B)", cells=each, align=Align.POINT),
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
