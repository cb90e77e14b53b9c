"""The lines of a log, with what terminals and launchers put around them taken away."""

from __future__ import annotations

import gzip
import io
import re
import zlib

import msgspec

from collmark.core.errors import UsageError

MOST_NBYTES = 2**30
"""Of one log, unpacked: a few kilobytes of gzip can hold more than the memory."""

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_TAG = r"\[(?:[\w.-]{1,80}@)?\d+,\d+\]<std(?:out|err|diag)>:"  # Open MPI; since its version 5 with the name of the job
_OPEN_MPI = re.compile(rf"^{_TAG}\s?|(?<=\s){_TAG}")
_OPEN_MPI_INSIDE = re.compile(_TAG)
_FRONT = re.compile(
    r"(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\s(?:std(?:out|err) [FP] )?"  # Kubernetes
    r"|\s{0,6}\d{1,6}:\s(?=\s|#|\S)"  # srun --label
    r"|\[(?:rank)?\d{1,6}\]:?\s"  # MPICH -prepend-rank, torchrun
    r"|\[[\w.-]+:\d{1,6}\]\s(?=\s*[#\d])"  # host:rank
    r"|\[[A-Za-z][\w.-]*:?\d{1,6}\]:\s?"  # torchrun --tee, whose role may be a host
    # pdsh, clush, DeepSpeed's launcher: a host, which has a number; without one it is a word of the text ("avg: 1.5").
    r"|(?:[A-Za-z](?=[A-Za-z.-]{0,62}\d)[A-Za-z\d.-]{1,126}|\d{1,3}(?:\.\d{1,3}){3}):\s)"
)
_SRUN_INSIDE = re.compile(r"(?<=\s)\d{1,6}:\s")


class Line(msgspec.Struct, frozen=True, gc=False):
    """One line of a log.

    Attributes
    ----------
    number : int
        From 1, of the unpacked text.
    raw : str
        As it stands in the file.
    text : str
        Without colours, tabs, labels of ranks and trailing space.
    ended : bool
        A line break follows: where none does, the log may have been cut off inside this line.
    """

    number: int
    raw: str
    text: str
    ended: bool


def read_lines(data: bytes, name: str) -> list[Line]:
    """Return the lines of a log: gzip or text in UTF-8, UTF-16 with its mark, or any mixture of bytes.

    Raises
    ------
    UsageError
        If it is a broken gzip file, or over `MOST_NBYTES` long.
    """
    if data.startswith(b"\x1f\x8b"):
        data = _unpacked(data, name)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", errors="replace")
    else:
        text = data.decode("utf-8-sig", errors="replace")
    # Only what ends a line on Unix or Windows does: str.splitlines would also break at form feeds and the like.
    parts = text.split("\n")
    last = len(parts)
    return [Line(number, raw, clean(raw), number < last) for number, raw in enumerate(parts, 1) if raw or number < last]


def _unpacked(data: bytes, name: str) -> bytes:
    try:
        with gzip.open(io.BytesIO(data)) as file:
            found = file.read(MOST_NBYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{name}: it begins as gzip and cannot be unpacked: {error}") from error
    if len(found) > MOST_NBYTES:
        raise UsageError(f"{name}: over {MOST_NBYTES} bytes unpacked: a log is smaller")
    return found


def clean(raw: str) -> str:
    """Return a line without colours, tabs, labels of ranks (also within it) and trailing space."""
    text = raw
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "\r" in text:
        text = text.rstrip("\r").rpartition("\r")[2]  # what was overwritten was not meant to be read
    if "\t" in text:
        text = text.expandtabs()
    if "]<std" in text:
        # Between two figures without a space it becomes one: they must not be joined to another figure.
        text = _OPEN_MPI_INSIDE.sub(" ", _OPEN_MPI.sub("", text))
    front = _FRONT.match(text)
    if front:
        label = front[0].strip()
        text = text[front.end() :]
        if label[:-1].isdigit() and label.endswith(":"):
            text = _SRUN_INSIDE.sub("", text)
    return text.rstrip()
