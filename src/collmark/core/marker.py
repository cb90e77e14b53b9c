"""What is said wherever figures stand that are no measurement of collmark, and why they are none."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collmark.core.record import Record


class Marker(StrEnum):
    """Why figures are no measurement of ours, in a word."""

    SIMULATED = "SIMULATED"
    TEST = "TEST"
    """Of an arrangement that is there to test in."""
    IMPORTED = "IMPORTED"
    """Another tool measured, and its log was read."""


NO_MEASUREMENT = {
    Marker.SIMULATED: "a simulation gave these figures",
    Marker.TEST: "ranks shared a GPU, an arrangement to test in",
}
"""What is behind each marker of figures that are no measurement, in words."""


def banner(markers: Iterable[Marker | None]) -> str:
    """Return what stands above everything where some figures are not measurements of collmark; empty where all are."""
    known = list(dict.fromkeys(markers))
    some = "Figures marked so were not measured" if None in known else "No figure here was measured"
    sentences = [
        "IMPORTED. Figures marked so are those of other tools, read from their logs, with their own statistics."
        if marker is Marker.IMPORTED
        else f"{marker}. {some}: {NO_MEASUREMENT[marker]}; such figures decide nothing about any machine."
        for marker in known
        if marker is not None
    ]
    return " ".join(sentences)


def markers_of(records: Iterable[Record]) -> str:
    """Return the markers of some records, each once; empty where all are measurements."""
    return " and ".join(dict.fromkeys(record.marker for record in records if record.marker))


def by_marker(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return records by their marker, which is empty where they are measurements of ours: those first, if any."""
    found: dict[str, list[Record]] = {"": []}
    for record in records:
        found.setdefault(record.marker or "", []).append(record)
    return {marker: own for marker, own in found.items() if own}


def said_before(marker: str | None) -> str:
    """Return how a sentence begins whose figures are not measured by collmark; empty where they are.

    Examples
    --------
    >>> said_before("SIMULATED"), said_before("IMPORTED"), said_before("")
    ('SIMULATED, not measured: ', 'IMPORTED: ', '')
    """
    if not marker:
        return ""
    return f"{marker}: " if marker == Marker.IMPORTED else f"{marker}, not measured: "
