"""What is said wherever figures stand that are no measurement of collmark, and why they are none."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING

from collmark.core.placement import Tier

if TYPE_CHECKING:
    from collmark.core.record import Record


class Marker(StrEnum):
    """Why figures are no measurement of ours, in a word."""

    SIMULATED = "SIMULATED"
    TEST = "TEST"
    """Of an arrangement that is there to test in."""
    EMULATED = "EMULATED"
    """Of links that stand for others."""
    IMPORTED = "IMPORTED"
    """Another tool measured, and its log was read."""


NOT_IN_LOGS = ("buffers", "scheduling", "binding")
"""Fields of a case that no log of another tool tells: what a case of an imported figure says there is not known."""


def marker_of(record: Record) -> Marker | None:
    """Return the marker of a record; None where it is a measurement of ours."""
    if record.simulated:
        return Marker.SIMULATED
    if record.imported is not None:
        return Marker.IMPORTED
    if record.evidence.emulated:
        return Marker.EMULATED
    return Marker.TEST if record.evidence.tier is Tier.SHARED_GPU else None


NO_MEASUREMENT = {
    Marker.SIMULATED: "a simulation gave these figures",
    Marker.TEST: "ranks shared a GPU, an arrangement to test in",
    Marker.EMULATED: "the hosts are network namespaces of one machine, and their links emulated",
}
"""What is behind each marker of figures that are no measurement, in words."""


def measured_words(marker: str) -> str:
    """Return what figures with a marker are not: in emulation something was measured, and no real link.

    >>> measured_words(Marker.SIMULATED), measured_words(Marker.EMULATED)
    ('measured', 'measured over real links')
    """
    return "measured over real links" if marker == Marker.EMULATED else "measured"


def banner(markers: Iterable[Marker | None]) -> str:
    """Return what stands above everything where some figures are not measurements of collmark; empty where all are."""
    known = list(dict.fromkeys(markers))
    some = "Figures marked so were not" if None in known else "No figure here was"
    sentences = [
        "IMPORTED. Figures marked so are those of other tools, read from their logs, with their own statistics."
        if marker is Marker.IMPORTED
        else f"{marker}. {some} {measured_words(marker)}: {NO_MEASUREMENT[marker]}; such figures decide nothing about "
        "any machine."
        for marker in known
        if marker is not None
    ]
    return " ".join(sentences)


def reported_words(origins: Iterable[str]) -> str:
    """Return what T is in figures of other tools, each statistic once; origins are as records have them.

    Examples
    --------
    >>> reported_words(["osu: mean of iterations, rank 0", "osu: mean of iterations, rank 0", ""])
    'mean of iterations, rank 0 (osu)'
    """
    told = dict.fromkeys(origin for origin in origins if origin)
    return "; ".join(f"{statistic} ({tool})" for tool, _, statistic in (one.partition(": ") for one in told))


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
    >>> said_before("EMULATED")
    'EMULATED, not measured over real links: '
    """
    if not marker:
        return ""
    return f"{marker}: " if marker == Marker.IMPORTED else f"{marker}, not {measured_words(marker)}: "
