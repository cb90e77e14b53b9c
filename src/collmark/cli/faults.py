"""Errors as the user sees them: one line on stderr, one exit status, and an object on stdout with --json."""

from __future__ import annotations

import errno
import traceback
from typing import TypeGuard

import typer

from collmark.cli.console import Terminal
from collmark.core.errors import (
    CollmarkError,
    InterruptedRunError,
    MeasurementError,
    UnavailableError,
    UsageError,
    VerificationError,
    nearest,
    one_line,
)

DONE, WRONG, USAGE, MISSING, LOST, OURS = 0, 1, 2, 3, 4, 70
SIGNALLED = 128  # + the signal's number
INTERRUPT = 2

STATUSES: tuple[tuple[type[CollmarkError], int], ...] = (
    (VerificationError, WRONG),
    (UsageError, USAGE),
    (UnavailableError, MISSING),
    (MeasurementError, LOST),
)
"""The exit status of each class of error."""

STATUS_WORDS = (
    "0 done, 1 a wrong result or a failed gate, 2 wrong use, 3 something needed is missing, 4 measurement lost, "
    "70 a fault of collmark, 130 interrupted, 143 terminated, 129 hung up"
)

# typer brings its own copy of click, older versions use click itself: both are reached by this class.
PARSER_ERROR: type[Exception] = typer.BadParameter.__mro__[2]


def status_of(error: BaseException) -> int:
    """Return the exit status that an error asks for."""
    if isinstance(error, InterruptedRunError):
        return SIGNALLED + error.signal_number
    if isinstance(error, KeyboardInterrupt):
        return SIGNALLED + INTERRUPT
    if isinstance(error, PARSER_ERROR):
        return USAGE
    if _is_output_fault(error):
        return LOST
    return next((status for kind, status in STATUSES if isinstance(error, kind)), OURS)


def _is_output_fault(error: BaseException) -> TypeGuard[OSError]:
    """Whether a stream that we write to is full or gone."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EIO, errno.EBADF)


def words_of(error: BaseException) -> str:
    """Return an error as one line: what, where, what to do."""
    if isinstance(error, CollmarkError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, PARSER_ERROR):
        return one_line(_parser_words(error))
    if _is_output_fault(error):
        return f"cannot write the output: {error.strerror}"
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    what = one_line(f"{type(error).__name__}: {error}")
    return f"a fault of collmark: {what}{where}; run again with --debug and report it on the project's issue page"


def _parser_words(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    help_command = f"{context.command_path} --help" if context else "collmark --help"
    option = getattr(error, "option_name", "")
    if hasattr(error, "possibilities"):
        options = [name for parameter in context.command.params for name in parameter.opts] if context else []
        close = nearest(option, options)
        return f"unknown option {option!r};" + (f" did you mean {close!r}?" if close else "") + f" see {help_command}"
    message = str(getattr(error, "format_message", error.__str__)()).rstrip(".")
    return f"{message[:1].lower()}{message[1:]}; see {help_command}"


def report(error: BaseException, terminal: Terminal, *, as_json: bool, debug: bool) -> int:
    """Show an error and return the exit status."""
    status, words = status_of(error), words_of(error)
    if debug:
        terminal.write_whole("".join(traceback.format_exception(error)).rstrip())
    # Who stops a run knows that it is no error.
    terminal.write_whole(words if isinstance(error, InterruptedRunError) else f"error: {words}")
    if as_json:
        terminal.emit(error_object(words, status, type(error).__name__))
    return status


def error_object(words: str, status: int, kind: str) -> dict[str, object]:
    """Return what --json says of an error."""
    return {"event": "error", "error": {"message": words, "status": status, "kind": kind}}
