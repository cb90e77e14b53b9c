"""Signals that ask a run to stop: everything finished is kept, and a second one stops at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopSignals:
    """Listens for SIGINT, SIGTERM and SIGHUP while in its block.

    Parameters
    ----------
    on_first : callable
        Called in the handler with the first signal's number, to give the user a word at once.
    """

    def __init__(self, on_first: Callable[[int], None]) -> None:
        self.received = 0
        self._on_first = on_first
        self._previous: dict[int, Any] = {}

    def is_stopping(self) -> bool:
        """Whether a signal came."""
        return self.received != 0

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in HEARD:
                self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self.received:
            if number == signal.SIGHUP:
                return  # nobody insists: of a terminal that is closed, both the system and the shell tell
            raise KeyboardInterrupt
        self.received = number
        self._on_first(number)
