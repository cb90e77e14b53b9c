"""Runs against the first, case by case: did anything change."""

from __future__ import annotations

import pandas as pd

from collmark.analysis.compare.compare import Against, Compared
from collmark.analysis.compare.verdict import Verdict
from collmark.analysis.figures.words import microseconds
from collmark.analysis.report.cells import (
    name_heading,
    size_cell,
    size_heading,
    span_cell,
    texts,
    value_cells,
    with_interval,
)
from collmark.analysis.report.content import Block, Cell, Heading, Section, Table, Text
from collmark.analysis.report.material import Material
from collmark.analysis.report.pictures import picture
from collmark.core.numeral import counted

ANCHOR = "runs"
MOST_ROWS, MOST_DIFFERENCES = 200, 12


def runs(material: Material) -> Section | None:
    """Return how all other runs compare with the first; None where no case is in both."""
    compared, table = material.compared, material.changed
    if compared is None or table is None:
        return None
    blocks: list[Block] = [
        *(Text(lead=f"{one.side.name} against {compared.base.name}.", words=_words(one)) for one in compared.others),
        _counts_table(compared),
    ]
    drawing = picture("change", table, f"{ANCHOR}-table")
    blocks += [drawing] if drawing is not None else []
    blocks.append(_table(table, compared))
    return Section(
        anchor=ANCHOR, title="Runs against each other", question="Did anything change?", blocks=tuple(blocks)
    )


def _words(one: Against) -> str:
    kept = one.differences[:MOST_DIFFERENCES]
    more = f"; and {len(one.differences) - len(kept)} more" if len(one.differences) > len(kept) else ""
    differs = "; ".join(found.words for found in kept) or "nothing that was recorded"
    unmatched = [f"{found.facts['operation']}: {found.reason}" for found in one.unmatched]
    reasons = "; ".join(list(dict.fromkeys(unmatched))[:MOST_DIFFERENCES])
    said = f" {counted(len(unmatched), 'case')} not compared ({reasons})." if unmatched else ""
    return f"Differs: {differs}{more}.{said}"


def _counts_table(compared: Compared) -> Table:
    return Table(
        anchor=f"{ANCHOR}-counts",
        caption=f"Verdicts by operation and size; smallest effect of interest {100 * compared.effect:g} %, false "
        f"discovery rate {100 * compared.rate:g} % over all comparisons.",
        headings=(
            name_heading("run"), name_heading("operation"), name_heading("sizes"),
            *(Heading(name=str(verdict)) for verdict in Verdict), name_heading("ratios"),
        ),
        rows=tuple(
            texts(
                against.side.name, row.operation, row.sizes, *(str(row.counts[verdict]) for verdict in Verdict),
                f"{row.least:#.3g} to {row.most:#.3g}",
            )
            for against in compared.others
            for row in against.summary
        ),
    )  # fmt: skip


def _table(table: pd.DataFrame, compared: Compared) -> Table:
    order = {str(verdict): at for at, verdict in enumerate(Verdict)}
    rows = table.sort_values("verdict", key=lambda verdicts: verdicts.map(order), kind="stable")
    more = f" The first {MOST_ROWS} of {len(rows)}." if len(rows) > MOST_ROWS else ""
    differs = bool(table["differs"].any())
    return Table(
        anchor=f"{ANCHOR}-table",
        caption=f"T over T of {compared.base.name}, 95 % over launches (Welch on logarithms).{more}",
        headings=(
            name_heading("series"), size_heading(), name_heading("run"), Heading(name="T first", unit="µs"),
            Heading(name="T", unit="µs"), *with_interval("ratio", ""), Heading(name="", is_drawn=True),
            name_heading("verdict"), *((name_heading("differ besides"),) if differs else ()),
        ),
        rows=tuple(_row(one, differs=differs) for one in rows.head(MOST_ROWS).to_dict("records")),
    )  # fmt: skip


def _row(one: dict[str, object], *, differs: bool) -> tuple[Cell, ...]:
    value, lower, upper = (float(str(one[name])) for name in ("ratio", "ratio_lower", "ratio_upper"))
    return (
        Cell(text=" ".join(filter(None, (str(one["panel"]), str(one["marker"]))))),
        size_cell(int(str(one["nbytes"]))),
        Cell(text=str(one["other"])),
        Cell(text=microseconds(float(str(one["base_seconds"])))),
        Cell(text=microseconds(float(str(one["other_seconds"])))),
        *value_cells(lambda number: f"{number:#.3g}", value, lower, upper),
        span_cell(value, lower, upper),
        Cell(text=str(one["verdict"])),
        *((Cell(text=str(one["differs"]) or "nothing"),) if differs else ()),
    )
