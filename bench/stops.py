"""How a launch is asked to end before its last case."""

from __future__ import annotations

from collections.abc import Callable

import msgspec


def _never() -> bool:
    return False


class Stops(msgspec.Struct, frozen=True, kw_only=True):
    """Whether somebody asks for an end, which whoever measures looks at again and again.

    Attributes
    ----------
    now : callable
        Heard between repetitions: the running case is lost.
    after_case : callable
        Heard between cases.
    """

    now: Callable[[], bool] = _never
    after_case: Callable[[], bool] = _never
