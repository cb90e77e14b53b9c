"""Verdicts by operation and class of sizes: never one mean over all sizes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from collmark.analysis.compare.verdict import Comparison, Verdict
from collmark.core.operation_table import OPERATIONS
from collmark.core.units import KIB, MIB

CLASSES = ((4 * KIB, "up to 4 KiB"), (MIB, "to 1 MiB"), (None, "above 1 MiB"))
"""Largest nbytes of each class, and its words: about where latency decides, where both do, where bandwidth does."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One operation and class of sizes.

    Attributes
    ----------
    operation, sizes : str
        Which.
    counts : dict of Verdict to int
        Cases of each verdict.
    least, most : float
        The smallest and the largest ratio of T in B over T in A.
    """

    operation: str
    sizes: str
    counts: dict[Verdict, int]
    least: float
    most: float


def summary(comparisons: Sequence[Comparison]) -> list[Row]:
    """Return a row for each operation and class of sizes that was compared, in the order of the operation table."""
    groups: dict[tuple[int, int], list[Comparison]] = {}
    for one in comparisons:
        facts = one.pair.a.facts
        size = next(at for at, (most, _words) in enumerate(CLASSES) if most is None or _nbytes(one) <= most)
        groups.setdefault((OPERATIONS.names().index(str(facts["operation"])), size), []).append(one)
    return [
        Row(
            operation=OPERATIONS.names()[operation],
            sizes=CLASSES[size][1],
            counts={verdict: sum(one.verdict is verdict for one in own) for verdict in Verdict},
            least=min(one.value for one in own),
            most=max(one.value for one in own),
        )
        for (operation, size), own in sorted(groups.items())
    ]


def _nbytes(one: Comparison) -> int:
    return int(str(one.pair.a.facts["nbytes"]))
