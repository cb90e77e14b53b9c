"""Errors as the user sees them: one line on stderr, one exit status, and an object on stdout with --json."""

from __future__ import annotations

import errno
import traceback
from typing import TypeGuard

import typer

from collmark.cli.console import Terminal, abandon_stdout
from collmark.core.errors import (
    CollmarkError,
    InterruptedRunError,
    MeasurementError,
    UnavailableError,
    UsageError,
    VerificationError,
    excerpt,
    nearest,
    one_line,
    short_path,
)

DONE, WRONG, USAGE, MISSING, LOST, OURS = 0, 1, 2, 3, 4, 70
SIGNALLED = 128  # + the signal's number
INTERRUPT = 2
LONGEST_MESSAGE = 300  # of the parser, which repeats what it was given in full
PLACE_FAULTS = {
    errno.EACCES,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
}

STATUSES: tuple[tuple[type[CollmarkError], int], ...] = (
    (VerificationError, WRONG),
    (UsageError, USAGE),
    (UnavailableError, MISSING),
    (MeasurementError, LOST),
)
"""The exit status of each class of error."""

STATUS_WORDS = (
    "0 done, 1 a wrong result or a failed gate, 2 wrong use, 3 something needed is missing, 4 measurement lost, "
    "70 a fault of collmark, 130 interrupted, 143 terminated, 129 hung up, 138 ended after a case (SIGUSR1)"
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
    if is_output_fault(error):
        return LOST
    if _is_place_fault(error):
        return USAGE
    return next((status for kind, status in STATUSES if isinstance(error, kind)), OURS)


def is_output_fault(error: BaseException) -> TypeGuard[OSError]:
    """Whether a stream that we write to is full or gone."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EIO, errno.EBADF, errno.EPIPE)


def _is_place_fault(error: BaseException) -> TypeGuard[OSError]:
    """Whether a file or folder that the user named, or that lies below it, is not to be had.

    pathlib raises these wherever a path is looked at, so that they are answered here and not at every look.
    """
    return isinstance(error, OSError) and error.filename is not None and error.errno in PLACE_FAULTS


def words_of(error: BaseException) -> str:
    """Return an error as one line: what, where, what to do."""
    if isinstance(error, CollmarkError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, PARSER_ERROR):
        return one_line(_parser_words(error))
    if is_output_fault(error):
        return f"cannot write the output: {error.strerror}"
    if _is_place_fault(error):
        return one_line(f"{short_path(error.filename)}: {error.strerror}; choose another place")
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    what = f"a fault of collmark: {type(error).__name__}: {error}{where}"
    return one_line(f"{what}; run again with --debug and report it on the project's issue page")


def _parser_words(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    help_command = f"{context.command_path} --help" if context else "collmark --help"
    option = getattr(error, "option_name", "")
    if hasattr(error, "possibilities"):
        options = [name for parameter in context.command.params for name in parameter.opts] if context else []
        close = nearest(option, options)
        hint = f" did you mean {close!r}?" if close else ""
        return f"unknown option {excerpt(option)!r};{hint} see {help_command}"
    message = excerpt(str(getattr(error, "format_message", error.__str__)()), LONGEST_MESSAGE).rstrip(".")
    return f"{message[:1].lower()}{message[1:]}; see {help_command}"


def report(error: BaseException, terminal: Terminal, *, as_json: bool, debug: bool) -> int:
    """Show an error and return the exit status."""
    status, words = status_of(error), words_of(error)
    if debug:
        terminal.write_whole("".join(traceback.format_exception(error)).rstrip())
    # Who stops a run knows that it is no error.
    is_wanted = isinstance(error, InterruptedRunError | KeyboardInterrupt)
    terminal.write_whole(words if is_wanted else f"error: {words}")
    if as_json:
        try:
            terminal.emit(error_object(words, status, type(error).__name__))
        except OSError:  # stdout may be what is at fault; stderr and the status have said what happened
            abandon_stdout()
    return status


def error_object(words: str, status: int, kind: str) -> dict[str, object]:
    """Return what --json says of an error."""
    return {"event": "error", "error": {"message": words, "status": status, "kind": kind}}
