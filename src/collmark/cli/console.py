"""The terminal: what goes to stdout and what to stderr, how wide, in which letters and colours."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

PIPED_WIDTH = 100
STYLES = {"bold": "1", "muted": "2", "good": "32", "caution": "33", "bad": "31"}
FOLDING: dict[str, Any] = {"subsequent_indent": "    ", "break_long_words": False, "break_on_hyphens": False}
PLAIN = tuple(
    {
        "±": "+-",
        "µ": "u",
        "\N{GREEK SMALL LETTER ALPHA}": "alpha",
        "β": "beta",
        "½": "1/2",
        "→": "->",
        "…": "...",
    }.items()
)


class Terminal:
    """Results on stdout, everything else on stderr.

    Parameters
    ----------
    verbosity : int
        Below 0 only results, warnings and errors; above 0 more words.
    color : str
        auto, always or never.
    """

    def __init__(self, *, verbosity: int = 0, color: str = "auto") -> None:
        self.verbosity = verbosity
        self.color = color
        self.divert: Callable[[str], None] | None = None

    def out(self, text: str) -> None:
        """Write lines of results, at once."""
        sys.stdout.write(_in_letters_of(sys.stdout, text) + "\n")
        sys.stdout.flush()

    def out_folded(self, line: str) -> None:
        """Write a sentence of results, folded at the width."""
        self.out("\n".join(textwrap.wrap(line, self.width(), **FOLDING)))

    def emit(self, thing: Mapping[str, object]) -> None:
        """Write one JSON object as a line of results; what is not a number is null."""
        self.out(json.dumps(_finite(thing), ensure_ascii=True, allow_nan=False))

    def say(self, line: str) -> None:
        """Write a line of progress to stderr, unless the user wants fewer words."""
        if self.verbosity >= 0:
            self.warn(line)

    def warn(self, line: str) -> None:
        """Write a line to stderr in any case, folded at the width."""
        plain = printable(line)
        for part in textwrap.wrap(plain, self.width(), **FOLDING) or [plain]:
            self.write_whole(part)

    def warn_in_line(self, line: str) -> None:
        """Write what is said of a file: in a pipe it stays one line, as grep and editors read it."""
        if sys.stderr.isatty():
            self.warn(line)
        else:
            self.write_whole(printable(line))

    def say_whole(self, line: str) -> None:
        """Write a line to be pasted: it is never folded."""
        if self.verbosity >= 0:
            self.write_whole(printable(line))

    def write_whole(self, line: str) -> None:
        """Write a line to stderr unfolded, above what is drawn there."""
        if self.divert is not None:
            self.divert(printable_lines(line))
        else:
            write_error(line)

    def width(self) -> int:
        """Return the columns to fill: COLUMNS, else the terminal's, else 100."""
        if not os.environ.get("COLUMNS", "").isdigit() and not sys.stdout.isatty():
            return PIPED_WIDTH
        return max(20, shutil.get_terminal_size((PIPED_WIDTH, 24)).columns)

    def is_colorful(self, stream: TextIO) -> bool:
        """Whether colours are wanted on a stream."""
        if self.color != "auto":
            return self.color == "always"
        return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def painter(self, stream: TextIO) -> Callable[[str, str], str]:
        """Return a function (text, style) that colours for `stream`, or leaves the text alone."""
        if not self.is_colorful(stream):
            return lambda text, _style: text
        return lambda text, style: f"\x1b[{STYLES[style]}m{text}\x1b[0m" if style else text

    def can_redraw(self) -> bool:
        """Whether a display on stderr may be drawn over and over."""
        return self.verbosity >= 0 and sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def printable(text: str) -> str:
    """Return text with escapes in place of what cannot be printed: what comes from a file moves no cursor."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def printable_lines(text: str) -> str:
    """Return lines, each of them printable: the last place before stderr, which nothing that is said goes around."""
    return "\n".join(map(printable, text.split("\n")))


def _finite(thing: object) -> object:
    if isinstance(thing, float):
        return thing if thing - thing == 0 else None
    if isinstance(thing, Mapping):
        return {key: _finite(value) for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [_finite(value) for value in thing]
    return thing


def _in_letters_of(stream: TextIO, text: str) -> str:
    """Return `text` in letters that a stream can carry."""
    encoding = stream.encoding or "ascii"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        for letter, plain in PLAIN:
            text = text.replace(letter, plain)
        text = text.encode(encoding, "backslashreplace").decode(encoding)
    return text


def write_error(line: str) -> None:
    """Write a line to stderr, printable; a stderr that is gone (SIGHUP) takes nothing down with it."""
    line = printable_lines(line)
    try:
        sys.stderr.write(_in_letters_of(sys.stderr, line) + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        return
    except RuntimeError:  # a signal came inside a write
        os.write(2, line.encode("ascii", "replace") + b"\n")


def abandon_stdout() -> None:
    """Let stdout lead nowhere: its reader has gone, and Python would complain when it flushes at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


@contextmanager
def spoken_warnings(terminal: Terminal) -> Iterator[None]:
    """Show collmark's own warnings as lines, each once however often it comes, and no others."""
    said: set[str] = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        _filename: str,
        _lineno: int,
        _file: TextIO | None = None,
        _line: str | None = None,
    ) -> None:
        if category.__module__.startswith("collmark.") and str(message) not in said:
            said.add(str(message))
            terminal.warn(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = show  # type: ignore[assignment]
        yield
