"""Every error that collmark raises on purpose, and how a wrong name is answered.

::

    Exception
     +-- CollmarkError              anything below; str() is always one line
          +-- UsageError            a wrong value; also a ValueError
          |    +-- UnknownNameError    a name that is not in an index
          |    +-- PlanError           all the problems of one plan at once
          |    +-- SchemaError         results of an unknown or newer schema
          |    +-- ParseError          a file that cannot be read: file, line, text
          +-- UnavailableError      something needed is missing
          +-- VerificationError     an operation gave a wrong result
          +-- MeasurementError      a measurement was lost: time-out, dead rank, disk
          +-- InterruptedRunError   a signal ended the run in good order

A message says what, where and what to do. Library code raises; only the command line
turns a class into an exit status. All classes survive pickling, since ranks send their
errors to rank 0. This module imports nothing of collmark.
"""

import difflib
import signal
from collections.abc import Iterable

__all__ = [
    "CollmarkError",
    "InterruptedRunError",
    "MeasurementError",
    "ParseError",
    "PlanError",
    "SchemaError",
    "UnavailableError",
    "UnknownNameError",
    "UsageError",
    "VerificationError",
    "excerpt",
    "nearest",
    "one_line",
    "short_path",
]

LONGEST_PATH = 255


def one_line(text: str) -> str:
    """Return `text` as one printable line.

    Lines are joined by a space; what cannot be printed (escape sequences, bytes that
    were not UTF-8) is shown as a backslash escape, so hostile text in a host name or
    a log stays text.
    """
    joined = " ".join(text.splitlines())
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in joined)


def excerpt(text: str, limit: int = 72) -> str:
    """Return the start of `text`, at most `limit` characters, for use in a message."""
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def short_path(path: object) -> str:
    """Return a path for use in a message: whole, unless it is longer than any that helps."""
    return excerpt(str(path), LONGEST_PATH)


def nearest(name: str, choices: Iterable[str]) -> str | None:
    """Return the choice that `name` was most likely meant to be, if one is close.

    Letter case does not count.
    """
    # The first of two choices that look alike wins, so the answer follows their order.
    originals: dict[str, str] = {}
    for choice in choices:
        originals.setdefault(choice.casefold(), choice)
    close = difflib.get_close_matches(name.casefold(), originals, n=1)
    return originals[close[0]] if close else None


class CollmarkError(Exception):
    """Base of every error that collmark raises on purpose."""

    def __str__(self) -> str:
        """Return the message as one printable line."""
        return one_line(self._message())

    def _message(self) -> str:
        # Subclasses with parts build the message here and keep the parts in `args`:
        # an exception is unpickled by calling its class with `args`.
        return super().__str__()


class UsageError(CollmarkError, ValueError):
    """A value given by the user is wrong; the message says what is allowed."""


class UnknownNameError(UsageError):
    """A name is not in an index; the message lists the names that are.

    Parameters
    ----------
    kind
        What the name should be one of, as a word: "operation", "backend".
    name
        The name that was asked for.
    choices
        The names allowed, in the order to list them.
    """

    def __init__(self, kind: str, name: str, choices: Iterable[str]) -> None:
        self.kind = kind
        self.name = name
        self.choices = tuple(map(str, choices))  # members of an enumeration are shown by their values
        super().__init__(self.kind, self.name, self.choices)

    def _message(self) -> str:
        close = nearest(self.name, self.choices)
        hint = "" if close is None else f" did you mean {close!r}?"
        allowed = ", ".join(self.choices) or "none"
        name = excerpt(self.name)
        return f"unknown {self.kind} {name!r};{hint} allowed: {allowed}"


class PlanError(UsageError):
    """A plan has problems, all of them reported at once.

    Parameters
    ----------
    problems
        One sentence for each problem; at least one.
    """

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(self.problems)

    def _message(self) -> str:
        return "; ".join(self.problems)


class SchemaError(UsageError):
    """Stored results have a schema that this version cannot read."""


class ParseError(UsageError):
    """A file cannot be understood.

    Parameters
    ----------
    file
        The path, as the user gave it.
    line
        Line number from 1; 0 where the fault is of the whole file.
    problem
        What is wrong.
    text
        The offending text, empty if there is none to show.
    """

    def __init__(self, file: str, line: int, problem: str, text: str = "") -> None:
        self.file = file
        self.line = line
        self.problem = problem
        self.text = text
        super().__init__(file, line, problem, text)

    def _message(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        shown = f": {excerpt(self.text)!r}" if self.text else ""
        return f"{where}: {self.problem}{shown}"


class UnavailableError(CollmarkError):
    """Something needed is missing; the message says how to get it."""


class VerificationError(CollmarkError):
    """An operation gave a wrong result, so its timings mean nothing."""


class MeasurementError(CollmarkError):
    """A measurement was lost: time-out, dead rank, disk full."""


class InterruptedRunError(CollmarkError):
    """A signal ended the run after everything finished had been kept.

    Parameters
    ----------
    message
        What was kept and how to resume.
    signal_number
        The signal, from which the exit status follows (128 + signal); Ctrl-C's unless
        given.
    """

    def __init__(self, message: str, signal_number: int = signal.SIGINT) -> None:
        self.message = message
        self.signal_number = int(signal_number)
        super().__init__(message, self.signal_number)

    def _message(self) -> str:
        return self.message
