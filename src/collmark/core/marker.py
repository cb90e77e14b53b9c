"""What is said wherever figures stand that are no measurement, and why they are none."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collmark.core.record import Record


class Marker(StrEnum):
    """Why figures are no measurement, in a word."""

    SIMULATED = "SIMULATED"
    TEST = "TEST"
    """Of an arrangement that is there to test in."""


NO_MEASUREMENT = {
    Marker.SIMULATED: "a simulation gave these figures",
    Marker.TEST: "ranks shared a GPU, an arrangement to test in",
}
"""What is behind each marker, in words."""


def markers_of(records: Iterable[Record]) -> str:
    """Return the markers of some records, each once; empty where all are measurements."""
    return " and ".join(dict.fromkeys(record.marker for record in records if record.marker))
