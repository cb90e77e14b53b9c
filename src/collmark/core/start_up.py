"""How long ranks take until they can measure, most of which is reading many small files."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Annotated

import msgspec

from collmark.core.bounds import Count, NotNegative
from collmark.core.stored import S, meaning
from collmark.core.units import format_duration

LARGE = 10.0  # s: from a local disk Python, collmark and torch take 1 to 3 s on a core of their own


class StartUp(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long the ranks of a launch took to start, each by itself."""

    began: Annotated[NotNegative, meaning("from the start of a process until it could join: median over ranks", S)]
    began_most: Annotated[NotNegative, meaning("the same, of the slowest rank", S)]
    loaded: Annotated[NotNegative, meaning("to load the backend's library: median over ranks", S)]
    loaded_most: Annotated[NotNegative, meaning("the same, of the slowest rank", S)]
    slowest: Annotated[Count, meaning("rank that took longest in all")]


def start_up_of(began_R: Sequence[float], loaded_R: Sequence[float]) -> StartUp:
    """Return the summary of the seconds that each rank took."""
    whole = [began + loaded for began, loaded in zip(began_R, loaded_R, strict=True)]
    return StartUp(
        began=statistics.median(began_R),
        began_most=max(began_R),
        loaded=statistics.median(loaded_R),
        loaded_most=max(loaded_R),
        slowest=whole.index(max(whole)),
    )


def start_up_words(launches: Sequence[StartUp]) -> str:
    """Return what to say of the slowest start of several launches; empty where it did not take long."""
    start = max(launches, key=lambda one: one.began_most + one.loaded_most, default=None)
    if start is None or start.began_most + start.loaded_most < LARGE:
        return ""
    began, loaded = (format_duration(seconds) for seconds in (start.began_most, start.loaded_most))
    typical = format_duration(start.began + start.loaded)
    return (
        f"ranks took long to start: up to {began} until they could join and {loaded} to load the library (median "
        f"{typical} in all; rank {start.slowest} longest); docs/launching.md says what helps where a shared file "
        "system is why"
    )
