"""What changed from the first run to others, in a sentence and in rows: the first screen of a report that compares."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd

from collmark.analysis.columns import SERIES
from collmark.analysis.compare.compare import Compared
from collmark.analysis.compare.verdict import Comparison, Verdict
from collmark.analysis.figures.place import placed
from collmark.analysis.figures.words import interval_words
from collmark.analysis.report.cells import name_heading, texts
from collmark.analysis.report.content import Heading, Table
from collmark.core.marker import said_before
from collmark.core.numeral import counted
from collmark.core.operation_table import OPERATIONS
from collmark.core.units import format_nbytes

CALLED = (Verdict.SLOWER, Verdict.FASTER)
MOST_BESIDE = 3
"""Runs in one panel: as many as :data:`collmark.analysis.figures.change.SHADES` tells apart."""


def changed(compared: Compared) -> str:
    """Return what changed: cases by verdict, the largest change with its interval, and what differs first."""
    rows = [(one.side.name, row) for one in compared.others for row in one.comparisons]
    runs = {name for name, _row in rows}
    who = next(iter(runs)) if len(runs) == 1 else f"{len(runs)} runs"
    said = _counts(row for _name, row in rows)
    head = f"{who} against {compared.base.name}, {counted(len(rows), 'comparison')}: {said}"
    marker = str(rows[0][1].pair.a.facts["marker"])
    called = [(name, row) for name, row in rows if row.verdict in CALLED]
    differs = _differs(compared)
    if not called:
        return f"{said_before(marker)}{head}.{differs}"
    name, most = max(called, key=lambda entry: (entry[1].verdict is Verdict.SLOWER, abs(math.log(entry[1].value))))
    facts, ends = most.pair.a.facts, most.estimate
    ratio = interval_words("{:#.3g}".format, most.value, *((ends.lower, ends.upper) if ends else (math.nan, math.nan)))
    of_run = f" of {name}" if len(runs) > 1 else ""
    where = f"{facts['operation']} {format_nbytes(int(str(facts['nbytes'])))}{of_run}"
    return f"{said_before(marker)}{head}; most {most.verdict}: {where}, {ratio} times as long.{differs}"


def _differs(compared: Compared) -> str:
    """Return what of two environments is not the same, that which matters most; nothing of more, or where all is."""
    if len(compared.others) > 1 or not (found := compared.others[0].differences):
        return ""
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f" Differs: {found[0].words}{more}."


def changes_table(compared: Compared, anchor: str, most: int) -> Table:
    """Return how many cases of each operation have which verdict, those with slower ones first."""
    rows = [row for one in compared.others for row in one.comparisons]
    own: dict[str, list[Comparison]] = {}
    for row in rows:
        own.setdefault(str(row.pair.a.facts["operation"]), []).append(row)
    slower = {name: sum(row.verdict is Verdict.SLOWER for row in some) for name, some in own.items()}
    names = sorted(own, key=lambda name: (-slower[name], OPERATIONS.names().index(name)))
    marker = str(rows[0].pair.a.facts["marker"])
    more = f" {len(names) - most} more operations below." if len(names) > most else ""
    return Table(
        anchor=anchor,
        caption=f"{f'{marker}: ' if marker else ''}Cases by verdict; by size below.{more}",
        headings=(name_heading("operation"), *(Heading(name=str(verdict)) for verdict in Verdict)),
        rows=tuple(
            texts(name, *(str(sum(row.verdict is verdict for row in own[name])) for verdict in Verdict))
            for name in names[:most]
        ),
    )


def _counts(rows: Iterable[Comparison]) -> str:
    counts = Counter(row.verdict for row in rows)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict)


def drawn_changes(compared: Compared) -> pd.DataFrame | None:
    """Return a row for each comparison, placed, as the picture of changes takes them; None where there is none.

    More runs than there are colours for have a panel each, those with the largest changes first.
    """
    rows = list(_rows(compared))
    if not rows:
        return None
    table = placed(pd.DataFrame(rows), most_curves=1)
    if table["other"].nunique() <= MOST_BESIDE:
        return table
    table = table.assign(panel=table["panel"] + ", " + table["other"])
    far = np.log(table["ratio"]).abs().where(table["verdict"].isin([str(verdict) for verdict in CALLED]), 0.0)
    order = far.groupby(table["panel"]).transform("max").sort_values(ascending=False, kind="stable").index
    return table.loc[order].reset_index(drop=True)


def _rows(compared: Compared) -> Iterator[dict[str, object]]:
    for against in compared.others:
        for one in against.comparisons:
            estimate, facts = one.estimate, one.pair.a.facts
            yield {
                **{name: facts[name] for name in (*SERIES, "nbytes", "case")},
                "base": compared.base.name,
                "other": against.side.name,
                "base_seconds": _mean(one.pair.a.seconds_L),
                "other_seconds": _mean(one.pair.b.seconds_L),
                "ratio": one.value,
                "ratio_lower": float("nan") if estimate is None else estimate.lower,
                "ratio_upper": float("nan") if estimate is None else estimate.upper,
                "contrast_launches": min(len(one.pair.a.seconds_L), len(one.pair.b.seconds_L)),
                "paired": False,
                "effect": compared.effect,
                "verdict": str(one.verdict),
                "differs": one.pair.differs,
            }


def _mean(seconds_L: tuple[float, ...]) -> float:
    return statistics.geometric_mean(seconds_L)
