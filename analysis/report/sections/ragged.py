"""Ragged traffic: how uneven it is, and what it reaches of the lower bound that its busiest rank sets."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from collmark.analysis.figures.words import ABSENT
from collmark.analysis.report.cells import name_heading, size_cell, size_heading, value_cells, with_interval
from collmark.analysis.report.content import Block, Cell, Heading, Items, Section, Table, Text
from collmark.analysis.report.material import Material
from collmark.analysis.results import Results
from collmark.core.lower_bound import Reached, imbalance, of_bound, reason_words
from collmark.core.operation_table import OPERATIONS
from collmark.core.units import format_about_nbytes

ANCHOR = "ragged"
WORDS = (
    "The lower bound is the time of an even exchange, in the same launch, in which every rank sends and receives as "
    "many bytes as the busiest rank of the ragged one, own shares apart. Above 100 %, something that all ranks share "
    "limits, such as the memory of one machine, and not the link of the busiest."
)


def ragged(material: Material) -> Section | None:
    """Return shares of the lower bound; None where no traffic is uneven."""
    runs = [(one, of_bound(one.records, include_unstable=material.include_unstable)) for one in material.results]
    rows = [row for one, found in runs for row in _rows(material, one, found)]
    if not rows:
        return None
    is_named = len(material.results) > 1
    table = Table(
        anchor="ragged-table",
        caption="Uneven: the busiest rank's bytes to or from others over the mean. Of bound: geometric mean over "
        "launches of lower bound / T, 95 % by Student's t on logarithms over launches; where one side may be left "
        "early and the other not, T is the longest local duration on both.",
        headings=(
            name_heading("operation"), *((name_heading("run"),) if is_named else ()), name_heading("backend"),
            Heading(name="ranks"), name_heading("dtype"), name_heading("traffic"), size_heading(),
            size_heading("busiest rank"), Heading(name="uneven", unit="x"), *with_interval("of bound", "%"),
            name_heading("against"),
        ),
        rows=tuple(rows),
    )  # fmt: skip
    reasons = [words for one, found in runs for words in reason_words(found, one.records)]
    left = (Items(items=tuple(Text(words=words) for words in reasons)),) if reasons else ()
    blocks: tuple[Block, ...] = (Text(words=WORDS), table, *left)
    return Section(
        anchor=ANCHOR, title="Ragged traffic", question="How close to what its busiest rank allows?", blocks=blocks
    )


def _rows(material: Material, one: Results, found: Mapping[str, Reached]) -> Iterator[tuple[Cell, ...]]:
    names = (Cell(text=material.names[one.name]),) if len(material.results) > 1 else ()
    markers = {record.case.key: record.marker or "" for record in one.records}
    for case in one.run.cases:
        if case.key not in found:
            continue
        reached = found[case.key]
        busiest = OPERATIONS[case.operation].model_nbytes(case.exchange)
        uneven, ends = imbalance(case.exchange), reached.estimate
        share = value_cells(
            lambda share: f"{100 * share:.0f}",
            math.nan if reached.value is None else reached.value,
            ends.lower if ends else math.nan,
            ends.upper if ends else math.nan,
        )
        yield (
            Cell(text=f"{case.operation} {markers[case.key]}".rstrip()),
            *names,
            Cell(text=case.backend),
            Cell(text=f"{case.placement.ranks}"),
            Cell(text=case.dtype),
            Cell(text=case.traffic),
            size_cell(case.nbytes),
            Cell(text=format_about_nbytes(busiest), values=(busiest,)),
            Cell(text=ABSENT if uneven is None else f"{uneven:.2f}"),
            *share,
            Cell(text=reached.against or ABSENT),
        )
