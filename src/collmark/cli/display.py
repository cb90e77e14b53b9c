"""A display that is drawn over and over on stderr, for as long as there is a terminal to draw it on."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from collmark.cli.console import Terminal, write_error


class Display:
    """Lines at the end of a terminal; what is said meanwhile stands above them.

    A terminal that is closed takes nothing down with it: the display ends, and whoever draws goes on.

    Parameters
    ----------
    terminal : Terminal
        Whose other lines go through the display from :meth:`start` to :meth:`stop`.
    """

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._console: Any = None
        self._live: Any = None

    @property
    def is_there(self) -> bool:
        """Whether there is something to draw on."""
        return self._live is not None

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines of the terminal."""
        width, height = self._console.size
        return int(width), int(height)

    def start(self) -> None:
        """Begin to draw."""
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        self._console = Console(file=sys.stderr, force_terminal=True, highlight=False, legacy_windows=False)
        self._live = Live(
            Text(""),
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        with self._unless_gone():
            self._live.start()
            self._terminal.divert = self._print_above

    def draw(self, lines: Sequence[str]) -> None:
        """Draw these lines, in the colours of their escape sequences, instead of those before."""
        from rich.text import Text

        text = Text.from_ansi("\n".join(lines))
        text.no_wrap, text.overflow = True, "crop"
        with self._unless_gone():
            self._live.update(text, refresh=True)

    def stop(self) -> None:
        """Take the display away."""
        self._terminal.divert = None
        if self._live is not None:
            with self._unless_gone():
                self._live.stop()

    def _print_above(self, line: str) -> None:
        from rich.text import Text

        try:
            with self._unless_gone():
                self._console.print(Text(line))
        except RuntimeError:  # a signal came inside a write
            write_error(line)

    @contextlib.contextmanager
    def _unless_gone(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError):
            self._live = self._terminal.divert = None
