"""Findings as text: the table of verdicts, and one claim explained."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from collmark.analysis.claims.finding import Figure, Finding, Verdict
from collmark.analysis.claims.quantity import number
from collmark.analysis.claims.rule import INTERVAL
from collmark.cli.console import Terminal
from collmark.cli.layout import Column, Paint, lay_out
from collmark.core.numeral import counted
from collmark.workflow.claims import Judgement, counts_of

ABSENT = "-"
WORDS = {Verdict.HOLDS: "holds", Verdict.FAILS: "FAILS"}
STYLES = {Verdict.HOLDS: "good", Verdict.FAILS: "bad", Verdict.INCONCLUSIVE: "caution", Verdict.NO_DATA: "muted"}
KINDS = "kind: S arithmetic on link rates, W on a workload; M decided by records; P by a layout projection"
USUAL = 0.95
"""The level of ratios that decide nothing."""
LEAST_WIDE = 20
"""Columns below which the last column is not folded any further."""
INDENT = 16
_DIGITS = 3
_FOLD: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}


def verdict_word(finding: Finding) -> str:
    """Return a verdict as one word, and what marks its figures."""
    word = WORDS.get(finding.verdict, str(finding.verdict))
    return f"{finding.mark} {word}".strip()


def figure_words(figure: Figure | None, *, name: bool = False, with_level: bool = False) -> str:
    """Return a figure: value, unit, and its interval; with its name, or as asked, level and count of that."""
    if figure is None:
        return ABSENT
    estimate = figure.estimate
    digits = 4 if estimate is None else _DIGITS
    text = f"{number(figure.value, digits)} {figure.unit}".strip()
    if estimate is not None:
        lower, upper = (number(end, _DIGITS) for end in (estimate.lower, estimate.upper))
        text = f"{number(figure.value, digits)} [{lower}, {upper}] {figure.unit}".strip()
        if name or with_level:
            text += f" ({100 * estimate.level:g} % over {estimate.count} {estimate.over})"
    return f"{figure.name}: {text}" if name else text


def count_words(findings: Sequence[Finding]) -> str:
    """Return how many claims there are, and how many verdicts of each kind."""
    counts, words = counts_of(findings), ("hold", "fail", "inconclusive", "no data")
    total = ", ".join(f"{count} {word}" for count, word in zip(counts.values(), words, strict=True))
    return f"{counted(len({f.claim for f in findings}), 'claim')}, {counted(sum(counts.values()), 'verdict')}: {total}"


def print_verdicts(terminal: Terminal, judgement: Judgement) -> None:
    """Print the count of each verdict and a row for each finding."""
    lines = [
        line
        for text in (count_words(judgement.findings), KINDS, *_interval_words(judgement))
        for line in textwrap.wrap(text, terminal.width(), **_FOLD)
    ]
    lines += _table(judgement.findings, terminal.width(), terminal.painter(sys.stdout))
    terminal.out("\n".join(lines))


def _interval_words(judgement: Judgement) -> Iterator[str]:
    """Yield at which levels the intervals of a table are, where it has any."""
    if any(one.found is not None and one.found.estimate is not None for one in judgement.findings):
        inside, outside = (100 * judgement.rules[INTERVAL].thresholds[key] for key in ("inside", "outside"))
        yield f"[...]: the interval that decides, {inside:g} % where the claim holds, {outside:g} % elsewhere"


def _table(findings: Sequence[Finding], width: int, paint: Paint) -> list[str]:
    cells = [
        (
            finding.claim,
            str(finding.kind),
            verdict_word(finding),
            finding.claimed,
            figure_words(finding.found),
            finding.by,
        )
        for finding in findings
    ]
    names = ("claim", "kind", "verdict", "claimed", "found", "by")
    used = sum(max(len(name), *(len(row[n]) for row in cells)) + 2 for n, name in enumerate(names[:-1]))
    room = max(LEAST_WIDE, width - used)
    rows: list[tuple[str, ...]] = []
    styles: list[str] = []
    for previous, row, finding in zip((None, *findings), cells, findings, strict=False):
        first, *rest = textwrap.wrap(row[-1], room, **_FOLD) or [""]
        same = previous is not None and previous.claim == finding.claim
        rows.append(("" if same else row[0], *row[1:-1], first))
        rows += [("", "", "", "", "", line) for line in rest]
        styles += [STYLES[finding.verdict], *([""] * len(rest))]
    columns = [
        Column(name=name, cells=[row[n] for row in rows], styles=styles if name == "verdict" else [])
        for n, name in enumerate(names)
    ]
    return lay_out(columns, width, paint)


def print_explanations(terminal: Terminal, judgement: Judgement) -> None:
    """Print everything about each claim that was asked for by name."""
    paint, width = terminal.painter(sys.stdout), terminal.width()
    blocks: list[str] = []
    for claim in judgement.claims:
        lines = textwrap.wrap(f"{claim.id}: {claim.sentence}", width, subsequent_indent="    ", **_FOLD)
        given = "; ".join(filter(None, (claim.figures, claim.source)))
        head = [*_entries("given", [given], width), *_entries("note", claim.notes, width)]
        blocks.append("\n".join([*(paint(line, "bold") for line in lines), *head]))
        blocks += ["\n".join(_explained(f, claim.notes, width, paint)) for f in judgement.of(claim.id)]
    terminal.out("\n\n".join(blocks))


def _explained(finding: Finding, known: Sequence[str], width: int, paint: Paint) -> Iterator[str]:
    word = paint(verdict_word(finding), STYLES[finding.verdict])
    yield f"{finding.kind}  {word}  claimed {finding.claimed}, found {figure_words(finding.found, with_level=True)}"
    parts = [
        f"{part.says}: {WORDS.get(part.verdict, str(part.verdict))}, claimed {part.claimed}, found "
        f"{figure_words(part.found, with_level=True)}"
        for part in finding.parts
    ]
    yield from _entries("by", [finding.by], width)
    yield from _entries("parts", parts, width)
    yield from _entries("worked", finding.steps, width)
    yield from _entries("rule", [finding.rule], width)
    if finding.band is not None and finding.found is not None:
        yield from _entries("holds", [_range(finding.band, finding.found.unit)], width)
    others = [figure for figure in finding.also if not figure.over]
    yield from _entries("beside", [figure_words(figure, name=True) for figure in others], width)
    yield from _ratios(finding, width, paint)
    yield from _entries("missing", [f"{one.name}: {one.reason}" for one in finding.missing], width)
    yield from _entries("note", [note for note in finding.notes if note not in known], width)
    yield from _entries("evidence", finding.evidence, width)
    yield from _entries("would change", [finding.would_change], width)
    # To be pasted: broken only where a shell goes on with the next line.
    for position, line in enumerate(finding.command.replace(" && ", " &&\n").splitlines()):
        yield f"{'' if position else '  to decide':<{INDENT}}{line}"


def _ratios(finding: Finding, width: int, paint: Paint) -> Iterator[str]:
    """Yield the table of ratios, the one that decides first, with what stands over what below each."""
    ratios = finding.ratios
    if not ratios:
        return
    names = [f"{one.name}{' (decides)' if one is finding.found else ''}" for one in ratios]
    values = [(number(one.value, _DIGITS), _ends(one)) for one in ratios]
    rows = [("ratio", "found", "95 %, launches"), *((name, *own) for name, own in zip(names, values, strict=True))]
    found, ends = (max(len(row[column]) for row in rows) for column in (1, 2))
    room = max(LEAST_WIDE, min(max(len(row[0]) for row in rows), width - found - ends - 6))
    for position, (name, value, interval) in enumerate(rows):
        first, *rest = textwrap.wrap(name, room, **_FOLD)
        line = f"  {first:<{room}}  {value:>{found}}  {interval}".rstrip()
        yield line if position else paint(line, "bold")
        yield from (f"    {more}" for more in rest)
        if position:
            figure = ratios[position - 1]
            for sign, text in ((" ", figure.over), ("/", figure.under)):
                yield from textwrap.wrap(text, width, initial_indent=f"  {sign} ", subsequent_indent=" " * 8, **_FOLD)


def _ends(figure: Figure) -> str:
    """Return the interval of a ratio, and over how many launches of both sides together."""
    estimate = figure.estimate
    if estimate is None:
        return "one launch: no interval"
    level = "" if estimate.level == USUAL else f" ({100 * estimate.level:g} %)"
    return f"[{number(estimate.lower, _DIGITS)}, {number(estimate.upper, _DIGITS)}]{level}, {estimate.count}"


def _range(band: tuple[float, float], unit: str) -> str:
    lower, upper = (f"{number(end)} {unit}".strip() for end in band)
    if band[0] == float("-inf"):
        return f"up to {upper}"
    return f"from {lower} on" if band[1] == float("inf") else f"from {lower} to {upper}"


def _entries(name: str, texts: Sequence[str], width: int) -> Iterator[str]:
    """Yield texts under one name, folded, the name before the first only."""
    head = f"  {name}"
    for text in filter(None, texts):
        yield from textwrap.wrap(
            text, width, initial_indent=f"{head:<{INDENT}}", subsequent_indent=" " * (INDENT + 2), **_FOLD
        )
        head = ""


def print_scope(terminal: Terminal, judgement: Judgement) -> None:
    """Print what is left alone, and why."""
    lines = ["", "out of scope:"]
    for entry in judgement.out_of_scope:
        text = f"{entry.subject}: {entry.reason}"
        lines += textwrap.wrap(text, terminal.width(), initial_indent="  ", subsequent_indent="    ", **_FOLD)
    terminal.out("\n".join(lines))
