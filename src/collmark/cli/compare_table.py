"""A comparison as text: what differs, the counts, and a row a case with its interval drawn on one axis."""

from __future__ import annotations

import math
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from collmark.analysis.compare.align import Unmatched
from collmark.analysis.compare.compare import Against, Compared
from collmark.analysis.compare.gate import Gate, Result
from collmark.analysis.compare.side import Side
from collmark.analysis.compare.verdict import Comparison, Verdict
from collmark.analysis.ratio import MOST_LAUNCHES
from collmark.cli.console import Terminal
from collmark.cli.layout import CONTINUED, Align, Column, Paint, lay_out
from collmark.core.numeral import counted
from collmark.core.units import format_nbytes

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
STYLES = {
    Verdict.SLOWER: "bad",
    Verdict.FASTER: "good",
    Verdict.NO_EVIDENCE: "muted",
    Verdict.CANNOT_TELL: "caution",
}
AXIS = 25
"""Characters of the drawn axis: odd, so that 1 has one of them."""
WIDE = 100
"""Columns of a terminal below which intervals are not drawn."""
MOST_DIFFERENCES = 8


def print_compared(terminal: Terminal, compared: Compared, *, list_unmatched: bool) -> None:
    """Print a comparison: on each other side a block."""
    paint, width = terminal.painter(sys.stdout), terminal.width()
    blocks = [
        "\n".join(_block(compared, one, LETTERS[1 + at % 25], width, paint, list_unmatched=list_unmatched))
        for at, one in enumerate(compared.others)
    ]
    terminal.out("\n\n".join(blocks))


def gate_words(gate: Gate, result: Result, one: Against) -> str:
    """Return how a gate was passed, or what failed it worst."""
    head = f"gate slower-than={100 * gate.effect:g}%{' strict' if gate.strict else ''}"
    if result.passed:
        lost = sum(row.lost for row in one.unmatched)
        rest = f", {lost} of A not (--list-unmatched)" if lost else ""
        return f"{head}: passed by {one.side.name}, {counted(len(one.comparisons), 'case')} compared{rest}"
    if not result.failing:
        return f"{head}: FAILED, {result.reason}"
    worst = result.failing[0]
    what = f"{counted(len(result.failing), 'case')} of {one.side.name}; the worst, {_case_words(worst)},"
    if worst.estimate is None:
        return f"{head}: FAILED by {what} has one launch and no interval"
    if gate.strict:
        return f"{head}: FAILED by {what} may be slower by {100 * (worst.estimate.upper - 1):.2g} %"
    return f"{head}: FAILED by {what} is slower by at least {100 * (worst.estimate.lower - 1):.2g} %"


def _block(
    compared: Compared, one: Against, letter: str, width: int, paint: Paint, *, list_unmatched: bool
) -> Iterator[str]:
    for name, side in (("A", compared.base), (letter, one.side)):
        yield from textwrap.wrap(f"{name} {_side_words(side)}", width, subsequent_indent=CONTINUED)
    yield from textwrap.wrap(_difference_words(one), width, subsequent_indent=CONTINUED)
    yield from textwrap.wrap(_count_words(compared, one), width, subsequent_indent=CONTINUED)
    if one.comparisons:
        counts = {verdict: sum(row.verdict is verdict for row in one.comparisons) for verdict in Verdict}
        yield paint(", ".join(f"{count} {verdict}" for verdict, count in counts.items()), "bold")
        yield from _summary_lines(one, width, paint)
        yield ""
        rows = sorted(one.comparisons, key=lambda row: list(Verdict).index(row.verdict))
        yield from _table(rows, letter, compared.effect, width, paint)
    if list_unmatched or not one.comparisons:
        for text in _unmatched_words(one.unmatched, letter, each=list_unmatched):
            yield from textwrap.wrap(f"not compared: {text}", width, subsequent_indent=CONTINUED)


def _unmatched_words(rows: Sequence[Unmatched], letter: str, *, each: bool) -> Iterator[str]:
    """Yield what is not compared and why: each case, or how many there are of each reason."""
    counts: Counter[str] = Counter()
    for row in rows:
        facts = row.facts
        which = f" {format_nbytes(int(str(facts['nbytes'])))} {facts['dtype']}" if each else ""
        where = f"in A and {letter}" if row.where == "both" else f"only in {row.where.replace('B', letter)}"
        counts[f"{facts['operation']}{which}, {where}: {row.reason}"] += 1
    for text, count in counts.items():
        yield text if each else f"{counted(count, 'case')} of {text}"


def _side_words(side: Side) -> str:
    dates = sorted({one.run.created[:10] for one in side.results})
    runs = "" if len(side.results) == 1 else f"{len(side.results)} runs, "
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    markers = sorted({str(record.marker) for one in side.results for record in one.records if record.marker})
    return f"{''.join(f'{marker} ' for marker in markers)}{side.name}, {runs}{counted(side.launches, 'launch')}, {when}"


def _difference_words(one: Against) -> str:
    if not one.differences:
        return "differs: nothing that was recorded"
    more = len(one.differences) - MOST_DIFFERENCES
    found = "; ".join(difference.words for difference in one.differences[:MOST_DIFFERENCES])
    return f"differs: {found}" + (f"; {more} more (--json)" if more > 0 else "")


def _count_words(compared: Compared, one: Against) -> str:
    words = f"{counted(len(one.comparisons), 'case')} matched, {len(one.unmatched)} not (--list-unmatched)"
    words += f"; smallest effect of interest {100 * compared.effect:g} %"
    words += f"; false discovery rate {100 * compared.rate:g} %"
    if compared.floor is not None:
        words += (
            f"; runs of one side lie within {100 * (compared.floor.factor - 1):.2g} % of each other in 95 % of "
            f"{counted(compared.floor.comparisons, 'comparison')}: nothing smaller is called slower or faster"
        )
    return words


def _summary_lines(one: Against, width: int, paint: Paint) -> list[str]:
    rows = one.summary
    return lay_out(
        [
            Column(name="operation", cells=[row.operation for row in rows]),
            Column(name="nbytes", cells=[row.sizes for row in rows]),
            *(
                Column(name=str(verdict), cells=[str(row.counts[verdict]) for row in rows], align=Align.RIGHT)
                for verdict in Verdict
            ),
            Column(name="ratios", cells=[f"{row.least:#.3g} to {row.most:#.3g}" for row in rows]),
        ],
        width,
        paint,
    )


def _table(rows: Sequence[Comparison], letter: str, effect: float, width: int, paint: Paint) -> list[str]:
    ends = [end for row in rows if row.estimate for end in (row.estimate.lower, row.estimate.upper)]
    most = max([1 + 3 * effect, *ends, *(1 / end for end in ends)])
    notes = [", ".join(filter(None, ("read off a model" * row.pair.b.fitted, row.pair.differs))) for row in rows]
    noted = [Column(name="note", cells=notes)] if any(notes) else []
    several = len({_where(row) for row in rows}) > 1
    place = [Column(name="where", cells=[_where(row) for row in rows])] if several else []
    needed = [_needed(row) for row in rows]
    told = [Column(name="launches", unit="needed", cells=needed, align=Align.RIGHT)] if any(needed) else []
    axis = [Column(name=axis_words(most, effect), cells=[axis_cell(row, most, effect) for row in rows])]
    columns = [
        Column(name="operation", cells=[str(row.pair.a.facts["operation"]) for row in rows]),
        Column(
            name="nbytes",
            cells=[format_nbytes(int(str(row.pair.a.facts["nbytes"]))) for row in rows],
            align=Align.RIGHT,
        ),
        *place,
        Column(name=f"time {letter}/A, 95 %", cells=[_ratio_words(row) for row in rows]),
        *(axis if width >= WIDE else ()),
        Column(
            name="verdict",
            cells=[str(row.verdict) for row in rows],
            styles=[STYLES[row.verdict] for row in rows],
        ),
        *told,
        *noted,
    ]
    return lay_out(columns, width, paint)


def _where(row: Comparison) -> str:
    facts = row.pair.a.facts
    return f"{facts['backend']} {facts['placement']}"


def _needed(row: Comparison) -> str:
    if row.verdict is not Verdict.CANNOT_TELL:
        return ""
    return (f">{MOST_LAUNCHES}" if row.estimate else "2 or more") if row.needed is None else str(row.needed)


def _ratio_words(row: Comparison) -> str:
    if row.estimate is None:
        return f"{row.value:#.3g} (one launch)"
    return f"{row.value:#.3g} [{row.estimate.lower:#.3g}, {row.estimate.upper:#.3g}]"


def axis_words(most: float, effect: float) -> str:
    """Return the head of the drawn axis: its ends, and 1 in the middle."""
    left, right = f"{1 / most:.2g}", f"{most:.3g}"
    middle = f"1 +-{100 * effect:g}%"
    gap = AXIS - len(left) - len(right) - len(middle)
    return f"{left}{' ' * (gap // 2)}{middle}{' ' * (gap - gap // 2)}{right}"


def axis_cell(row: Comparison, most: float, effect: float) -> str:
    """Return an interval drawn between 1 / `most` and `most`, logarithmic: band as colons, 1 as a bar, value a star."""

    def at(ratio: float) -> int:
        share = math.log(ratio) / math.log(most)
        return round((AXIS - 1) / 2 * (1 + max(-1.0, min(1.0, share))))

    cells = [" "] * AXIS
    if row.estimate is not None:
        first, last = at(row.estimate.lower), at(row.estimate.upper)
        cells[first : last + 1] = ["-"] * (last + 1 - first)
        cells[first], cells[last] = "[", "]"
    for ratio, mark in ((1 / (1 + effect), ":"), (1 + effect, ":"), (1.0, "|")):
        cells[at(ratio)] = mark
    cells[at(row.value)] = "*"
    return "".join(cells)


def _case_words(row: Comparison) -> str:
    facts = row.pair.a.facts
    return f"{facts['operation']} {format_nbytes(int(str(facts['nbytes'])))} ({_where(row)})"
