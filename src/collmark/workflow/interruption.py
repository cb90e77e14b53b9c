"""Signals that ask a run to stop: everything finished is kept, and a second one stops at once.

SIGUSR1, which a job can have before its time is over, asks for less: the running case comes to its end.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
AFTER_CASE = signal.SIGUSR1


class StopSignals:
    """Listens for SIGINT, SIGTERM, SIGHUP and SIGUSR1 while in its block.

    Parameters
    ----------
    on_first : callable
        Called in the handler with the first signal's number, to give the user a word at once.
    """

    def __init__(self, on_first: Callable[[int], None]) -> None:
        self.received = 0
        """The signal by which the run stops at once; 0 while there is none."""
        self._is_ending = False
        self._on_first = on_first
        self._previous: dict[int, Any] = {}

    def is_stopping(self) -> bool:
        """Whether a signal came."""
        return self.received != 0

    def is_ending(self) -> bool:
        """Whether the running case is the last."""
        return self._is_ending

    @property
    def number(self) -> int:
        """The signal that the run ends by."""
        return self.received or AFTER_CASE

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (*HEARD, AFTER_CASE):
                self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if number == AFTER_CASE:
            if not (self.received or self._is_ending):
                self._is_ending = True
                self._on_first(number)
            return
        if self.received:
            if number == signal.SIGHUP:
                return  # nobody insists: of a terminal that is closed, both the system and the shell tell
            raise KeyboardInterrupt
        self.received = number
        self._on_first(number)
