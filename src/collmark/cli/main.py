"""The program: from arguments to an exit status.

Only what every command needs is imported here: on a terminal the first word stands before any library is loaded.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from functools import cache
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typer.core import TyperGroup

    from collmark.cli.application import app
    from collmark.cli.console import Terminal

__all__ = ["app", "main", "run"]

ANYWHERE = {"-v": 1, "--verbose": 1, "-q": -1, "--quiet": -1}
LOADER = "<frozen importlib"
SLOW_TO_START = ("run", "demo")
ERASE = "\r\x1b[K"  # of a line on a screen


def __getattr__(name: str) -> object:
    if name == "app":
        from collmark.cli.application import app

        return app
    raise AttributeError(name)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its status.

    Parameters
    ----------
    argv : sequence of str or None
        Arguments without the program's name; those of the process unless given.
    """
    is_heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # and not ignored, as behind nohup
    if is_heard:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        sys.exit(run(list(sys.argv[1:] if argv is None else argv)))
    except KeyboardInterrupt:  # before there was anybody to put it into words, or while that was done
        _say_interrupted()
        sys.exit(128 + signal.SIGINT)
    finally:
        if is_heard:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, but never into an import, which may swallow it: then nothing is begun, and this ends."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(LOADER):
            _say_interrupted()
            os._exit(128 + number)
        frame = frame.f_back
    raise KeyboardInterrupt


def _say_interrupted() -> None:
    """Say in one line what happened, without any library: none may be there yet."""
    with contextlib.suppress(OSError):
        os.write(2, (ERASE.encode() if _is_screen() else b"") + b"interrupted\n")


def run(words: list[str]) -> int:
    """Run the command line and return the exit status."""
    _open_closed_streams()
    waiting = _say_first_word(words)
    from collmark.cli.console import Terminal, abandon_stdout, spoken_warnings
    from collmark.cli.faults import report

    debug = "--debug" in words
    verbosity = sum(ANYWHERE.get(word, 0) for word in words)
    terminal = Terminal(verbosity=verbosity, color=_color(words))
    kept = _without_common(words)
    try:
        with spoken_warnings(terminal):
            import collmark.bench  # speaks where the checkout lost its links

            del collmark
            _check_letters(words)
            return _dispatch(kept, terminal, waiting)
    except BrokenPipeError:
        abandon_stdout()
        return 0  # who reads only the start of a table has what was asked for
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - whatever it is, it becomes one line
        return report(error, terminal, as_json="--json" in words, debug=debug)


def _check_letters(words: list[str]) -> None:
    """Raise UsageError where an argument is no text: it could not be kept in a run's file."""
    from collmark.core.errors import UsageError, excerpt

    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"argument {excerpt(word)!r}: must be UTF-8 text") from error


@cache
def _program() -> TyperGroup:
    """Return the commands, which typer reads from the signatures of functions: once, as often as main is called."""
    from typer.core import TyperGroup
    from typer.main import get_command

    from collmark.cli.application import app

    built = get_command(app)
    assert isinstance(built, TyperGroup)
    return built


def _dispatch(words: list[str], terminal: Terminal, waiting: bool) -> int:
    program = _program()
    if waiting:
        sys.stderr.write(ERASE)
        sys.stderr.flush()
    result = program.main(args=words, prog_name="collmark", standalone_mode=False, obj=terminal)
    sys.stdout.flush()
    if result == 128 + signal.SIGINT:
        raise KeyboardInterrupt  # of which typer has made a status
    return result if isinstance(result, int) else 0


def _open_closed_streams() -> None:
    """Give Python streams that lead nowhere for those that the caller closed: a run does not depend on being seen."""
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            if nowhere != descriptor:
                os.dup2(nowhere, descriptor)
                os.close(nowhere)
            setattr(sys, name, os.fdopen(descriptor, "w"))


def _say_first_word(words: list[str]) -> bool:
    """Show that something happens while libraries load; it is taken back before the first real line."""
    quiet = {"-q", "--quiet", "-h", "--help"} & set(words)
    if quiet or not {*SLOW_TO_START} & set(words[:3]):
        return False
    if not _is_screen():
        return False
    sys.stderr.write("reading the plan ...")
    sys.stderr.flush()
    return True


def _is_screen() -> bool:
    return os.isatty(2) and os.environ.get("TERM", "dumb") != "dumb"


def _color(words: list[str]) -> str:
    for position, word in enumerate(words):
        if word.startswith("--color="):
            return word.removeprefix("--color=")
        if word == "--color" and position + 1 < len(words):
            return words[position + 1]
    return "auto"


def _without_common(words: list[str]) -> list[str]:
    """Move what may stand anywhere to the front, where the program's own options are read."""
    common, rest, take = [], [], False
    for word in words:
        if take or word in {*ANYWHERE, "--debug", "--color"} or word.startswith("--color="):
            common.append(word)
            take = word == "--color" and not take
        else:
            rest.append(word)
    return [*common, *rest]
