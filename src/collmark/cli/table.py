"""The table of a run: one row a case, one unit per column and run."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from collmark.cli import figures
from collmark.cli.layout import CONTINUED, Align, Column, Paint, lay_out
from collmark.core.case import Buffers, Cadence, Case, Form
from collmark.core.lower_bound import Reached
from collmark.core.marker import reported_words
from collmark.core.operation import Estimand
from collmark.core.record import Status
from collmark.workflow.listing import Row
from collmark.workflow.planning import placement_words

STATUS_STYLE = {
    Status.CONVERGED: "good",
    Status.BUDGET: "caution",
    Status.UNSTABLE: "caution",
    Status.WRONG: "bad",
    Status.FAILED: "bad",
    Status.IMPORTED: "muted",
}


def case_columns(rows: Sequence[Row]) -> list[Column]:
    """Return the columns that say what a case is."""
    cases = [row.case for row in rows]
    ways = _ways(cases)
    called = [Column(name="called", cells=[way or "-" for way in ways])] if any(ways) else []
    groups = [Column(name="group", cells=[_group_words(case) for case in cases])] if any(c.group for c in cases) else []
    traffics = [case.traffic or "-" for case in cases]
    ragged = [Column(name="traffic", cells=traffics)] if any(case.traffic for case in cases) else []
    return [
        *groups,
        Column(name="operation", cells=[case.operation for case in cases]),
        *ragged,
        Column(
            name="nbytes",
            cells=[figures.nbytes(case.nbytes, case.requested_nbytes) for case in cases],
            align=Align.RIGHT,
        ),
        Column(name="count", cells=[str(case.count) if case.nbytes else "-" for case in cases], align=Align.RIGHT),
        Column(name="dtype", cells=[case.dtype if case.nbytes else "-" for case in cases]),
        Column(name="redop", cells=[case.reduction or "-" for case in cases]),
        *called,
    ]


def _ways(cases: Sequence[Case]) -> list[str]:
    """Return how each case is called, where that is not the usual way; the place only where there are two of it."""
    places: dict[str, set[bool]] = {}
    for case in cases:
        places.setdefault(case.operation, set()).add(case.in_place)
    return [
        " ".join(
            str(word)
            for word, is_told in (
                (case.form, case.form is not Form.BLOCKING),
                (case.cadence, case.cadence is not Cadence.ISOLATED),
                (case.buffers, case.buffers is not Buffers.SAME),
                ("in-place", case.in_place and len(places[case.operation]) > 1),
            )
            if is_told
        )
        for case in cases
    ]


def result_columns(rows: Sequence[Row]) -> list[Column]:
    """Return the columns that say what was measured."""
    halves = [figures.percent(row.half_width) for row in rows]
    brackets = [
        half if row.is_over_launches or half == "-" else f"({half})" for half, row in zip(halves, rows, strict=True)
    ]
    columns = [
        Column(name="time", unit="(us)", cells=[figures.microseconds(row.seconds) for row in rows], align=Align.POINT),
        Column(name="95 %", unit="(+-%)", cells=brackets, align=Align.POINT),
        Column(
            name="algbw",
            unit="(GB/s)",
            leads=True,
            cells=[figures.gigabytes(r.algorithm_bandwidth) for r in rows],
            align=Align.POINT,
        ),
        Column(
            name="busbw", unit="(GB/s)", cells=[figures.gigabytes(r.bus_bandwidth) for r in rows], align=Align.POINT
        ),
        Column(name="wrong", cells=["-" if row.wrong is None else str(row.wrong) for row in rows], align=Align.POINT),
        Column(
            name="status",
            cells=[_status(row) for row in rows],
            styles=["muted" if row.status is None else STATUS_STYLE[row.status] for row in rows],
        ),
    ]
    columns[4:4] = [*_bound_columns(rows), *_slowdown_columns(rows)]
    if Estimand.LONGEST_LOCAL in {row.estimand for row in rows}:
        # Without it every T is what the manual says of its operation.
        columns.insert(0, Column(name="T is", cells=["-" if r.estimand is None else str(r.estimand) for r in rows]))
    if any(row.overlap is not None for row in rows):
        shares = ["-" if row.overlap is None else f"{row.overlap * 100:.0f}" for row in rows]
        columns.insert(4, Column(name="overlap", unit="(%)", cells=shares, align=Align.POINT))
    if len({row.launches for row in rows if row.launches}) > 1:
        columns.insert(2, Column(name="n", cells=[str(row.launches) for row in rows], align=Align.POINT))
    return columns


def _bound_columns(rows: Sequence[Row]) -> list[Column]:
    """Return how uneven ragged cases are, and what they reach of their lower bound; nothing where all are even."""
    if all(row.reached is None for row in rows):
        return []
    reached = [row.reached or Reached() for row in rows]
    values = ["-" if one.value is None else f"{100 * one.value:.0f}" for one in reached]
    halves = [figures.percent(one.estimate.relative_half_width if one.estimate else None) for one in reached]
    return [
        Column(
            name="uneven",
            unit="(x)",
            cells=["-" if row.imbalance is None else f"{row.imbalance:.2f}" for row in rows],
            align=Align.POINT,
        ),
        Column(name="of bound", unit="(%)", cells=values, align=Align.POINT),
        Column(name="95 %", unit="(+-%)", cells=halves, align=Align.POINT),
    ]


def _slowdown_columns(rows: Sequence[Row]) -> list[Column]:
    """Return what the groups cost each other; nothing where none was measured among others and alone."""
    found = [row.slowdown for row in rows]
    if not any(found):
        return []
    halves = [one.estimate.relative_half_width if one and one.estimate else None for one in found]
    return [
        Column(name="/ alone", unit="(x)", cells=[f"{s.value:.2f}" if s else "-" for s in found], align=Align.POINT),
        Column(name="95 %", unit="(+-%)", cells=[figures.percent(half) for half in halves], align=Align.POINT),
    ]


def _status(row: Row) -> str:
    if row.status is None:
        return "-"
    some, records = row.share
    return str(row.status) if some == records else f"{row.status} {some}/{records}"


def caption(rows: Sequence[Row], *, marker: str) -> str:
    """Return the line above a table: what was measured where, what the intervals are over, and whether it is none."""
    case = rows[0].case
    words = f"{case.backend}, {case.device}, {place_words(case)}; {interval_words(rows)}"
    reported = reported_words(row.origin for row in rows)
    if reported:
        words += f"; T: {reported}"
    against = sorted({row.reached.against for row in rows if row.reached is not None and row.reached.value is not None})
    if against:
        words += f"; of bound: T of {', '.join(against)} with as many bytes at the busiest rank, over T"
    if any(row.slowdown for row in rows):
        words += "; / alone: T of a group among all groups at once over its T alone"
    return f"{marker} {words}".lstrip()


def place_words(case: Case) -> str:
    """Return where the ranks of a case lie, and how they are grouped."""
    grouped = "" if case.group is None else f", groups {case.group.arrangement}"
    return placement_words(case.world) + grouped


def _group_words(case: Case) -> str:
    return "-" if case.group is None else f"{case.group.index} {case.group.company}"


def interval_words(rows: Sequence[Row]) -> str:
    """Return what the intervals in a table are over."""
    counts = {row.launches for row in rows if row.launches}
    if not counts:
        return "no times"
    if counts == {1}:
        inside = "" if all(row.half_width is None for row in rows) else " over launches; in brackets: inside it"
        return f"one launch: no interval{inside}"
    if len(counts) == 1:
        return f"intervals: 95 % over {counts.pop()} launches"
    return f"intervals: 95 % over n launches{', in brackets: inside one' if 1 in counts else ''}"


def sections(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the rows that may stand in one table: one backend on one placement, or one arrangement of groups there."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.case.backend, place_words(row.case)), []).append(row)
    return list(groups.values())


def result_lines(rows: Sequence[Row], *, marker: str, width: int, paint: Paint) -> list[str]:
    """Return the whole table of a run, a section for each backend and placement."""
    lines: list[str] = []
    for section in sections(rows):
        lines += [""] if lines else []
        lines += textwrap.wrap(caption(section, marker=marker), width, subsequent_indent=CONTINUED)
        lines += lay_out([*case_columns(section), *result_columns(section)], width, paint)
    return lines
