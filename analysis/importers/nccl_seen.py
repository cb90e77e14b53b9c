"""What rows of nccl-tests show together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from collmark.analysis.importers.figure import figure
from collmark.analysis.importers.nccl_columns import Columns
from collmark.analysis.importers.nccl_half import GIGA
from collmark.analysis.importers.nccl_operation import Kind, Seen, decide, kind_of
from collmark.analysis.importers.nccl_row import Parsed
from collmark.analysis.importers.section import Draft

LARGE = 0.05 * GIGA
"""An algorithm bandwidth in B/s that leaves a bus bandwidth above 0 in print, unless there is one rank."""


def operations_of(
    rows: Sequence[Parsed],
    *,
    claimed: str | None,
    asked: str | None,
    named: bool = False,
    nvidia: bool = False,
    columns: Columns | None = None,
) -> list[tuple[str, ...]]:
    """Return the operation of each row of a run; all that it may be where that cannot be told, none where no test is.

    Parameters
    ----------
    rows : sequence of Parsed
    claimed, asked : str or None
        By the head or the command line, and by the user.
    named : bool
        It is the head that claims.
    nvidia : bool
        The head is of nccl-tests before all_to_all_v.
    columns : Columns or None
        By the head.
    """
    by_kind: dict[Kind, list[Parsed]] = defaultdict(list)
    kinds = [kind_of(row) for row in rows]
    for kind, row in zip(kinds, rows, strict=True):
        by_kind[kind].append(row)
    decided: dict[Kind, tuple[str, ...]] = {}
    for kind, own in by_kind.items():
        if kind.divided is not None:
            aligned = columns is not None and all(row.end == columns.edge for row in own)
            operator = columns.operator if columns is not None and aligned else None
            decided[kind] = decide(kind, _seen_in(own, nvidia=nvidia, operator=operator), claimed, asked, named=named)
    for kind in by_kind:
        if kind.divided is None:
            # Rows of size 0 do not tell; they are what the others are that look like them.
            alike = {found for other, found in decided.items() if other._replace(divided=None) == kind}
            decided[kind] = alike.pop() if len(alike) == 1 else decide(kind, _NOTHING, claimed, asked, named=named)
    return [decided[kind] for kind in kinds]


_NOTHING = Seen(above=False, alone=False, scaled=None, nvidia=False, operator=None)


def _seen_in(rows: Sequence[Parsed], *, nvidia: bool, operator: bool | None) -> Seen:
    """Return what rows of one kind show."""
    above, large, some = False, False, False
    scaled: set[bool | None] = set()
    for row in rows:
        for half in row.halves:
            above = above or half.bus.lower > half.algorithm.upper
            large = large or half.algorithm.value >= LARGE
            some = some or half.bus.value > 0
            if row.times is not None and row.times > 1:
                scaled.add(half.scaled)
    return Seen(
        above=above,
        alone=large and not some,
        scaled=True if True in scaled else False if False in scaled else None,
        nvidia=nvidia,
        operator=operator,
    )


def average_of(drafts: Sequence[Draft], text: str) -> str:
    """Return in what way a printed average is not that of the bus bandwidths, or nothing."""
    printed = figure(text, GIGA)
    found = [draft.bus for draft in drafts if draft.bus is not None]
    if printed is None or len(found) != len(drafts):
        return ""
    lower = sum(one.lower for one in found) / len(found)
    upper = sum(one.upper for one in found) / len(found)
    slack = 1e-5 * printed.value  # six digits of it are printed
    if lower - slack <= printed.value <= upper + slack:
        return ""
    return f"the average is printed as {text} GB/s, but the rows give {(lower + upper) / 2 / GIGA:.6g} GB/s"
