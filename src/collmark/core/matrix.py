"""Matrices of bytes that a trace or another program gives, each known by what is in it and not by where it lay.

A file holds one row of numbers for each sending rank, one number for each receiving rank: bytes, separated by spaces
or commas, as the matrix files of nccl-tests and of UCC's perftest. A plan keeps the matrices that it names, packed, so
that a run can be repeated and compared without the files.
"""

from __future__ import annotations

import decimal
import hashlib
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from collmark.core.bounds import LARGEST
from collmark.core.errors import ParseError, UsageError, short_path
from collmark.core.numeral import counted, parse_number, shown
from collmark.core.operation import MOST_RAGGED_RANKS
from collmark.core.units import MIB, format_about_nbytes

Cells = tuple[tuple[int, ...], ...]
MOST_FILE_NBYTES = 128 * MIB
"""More than a matrix of the most ranks takes, with numbers of 20 digits."""
DIGITS = 12  # of a digest: 48 bits tell more matrices apart than anybody measures
COMMENT = "#"

_KNOWN: dict[str, Cells] = {}
"""Every matrix that this process has met, by its digest: what a digest stands for never changes."""


class Matrix(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A matrix as a plan keeps it.

    Attributes
    ----------
    name : str
        Name of the file that it came from, for people.
    ranks : int
        Rows and columns.
    data : bytes
        The cells row by row, little-endian int64, compressed by zlib: under 8 B a cell, 8 MB at 1024 ranks.
    """

    name: str
    ranks: int
    data: bytes

    def raw(self) -> bytes:
        """Return the cells, unpacked; UsageError where this is no matrix."""
        if not 1 <= self.ranks <= MOST_RAGGED_RANKS:
            raise UsageError(f"matrix {shown(self.name)}: {self.ranks} ranks: must be 1 to {MOST_RAGGED_RANKS}")
        nbytes = 8 * self.ranks**2
        unpacking = zlib.decompressobj()
        try:
            raw = unpacking.decompress(self.data, nbytes + 1)
        except zlib.error:
            raw = b""
        if len(raw) != nbytes:
            raise UsageError(f"matrix {shown(self.name)}: its data are not those of {self.ranks} x {self.ranks} cells")
        return raw


def pack(name: str, cells: Cells) -> Matrix:
    """Return a matrix as a plan keeps it."""
    return Matrix(name=name, ranks=len(cells), data=zlib.compress(np.array(cells, dtype="<i8").tobytes(), 9))


def learn(matrix: Matrix) -> str:
    """Keep a matrix for :func:`known`, and return its digest; UsageError where it is none."""
    raw = matrix.raw()
    digest = hashlib.sha256(raw).hexdigest()[:DIGITS]
    if digest not in _KNOWN:
        cells_RR = np.frombuffer(raw, dtype="<i8").reshape(matrix.ranks, matrix.ranks)
        if (cells_RR < 0).any():
            raise UsageError(f"matrix {shown(matrix.name)}: holds numbers below zero")
        _KNOWN[digest] = tuple(map(tuple, cells_RR.tolist()))
    return digest


def known(digest: str) -> Cells | None:
    """Return the matrix of a digest, if this process has met it."""
    return _KNOWN.get(digest)


def heaviest(cells: Cells) -> int:
    """Return the largest over ranks of max(sent, received), the own share included."""
    return max(*map(sum, cells), *map(sum, zip(*cells, strict=True)))


def read_cells(path: Path) -> Cells:
    """Read a matrix file.

    Raises
    ------
    UsageError
        If the file cannot be read, or is none; with line and column where one cell or row is at fault.
    """
    rows: list[tuple[int, ...]] = []
    first = 0
    for number, words in _lines(_text_of(path)):
        row = tuple(_cell(word, path, number, column) for column, word in enumerate(words, 1))
        first = first or number
        if rows and len(row) != len(rows[0]):
            raise ParseError(
                short_path(path), number, f"{counted(len(row), 'column')}, where line {first} has {len(rows[0])}"
            )
        if len(row) > MOST_RAGGED_RANKS or len(rows) == len(row):
            raise ParseError(short_path(path), number, _not_square(len(row), "more"))
        rows.append(row)
    if not rows:
        raise ParseError(short_path(path), 0, "is empty: write a row of bytes for each sending rank")
    if len(rows) != len(rows[0]):
        raise ParseError(short_path(path), 0, _not_square(len(rows[0]), str(len(rows))))
    cells = tuple(rows)
    if not 0 < heaviest(cells) <= LARGEST:
        problem = "no rank sends anything" if not heaviest(cells) else f"a rank's bytes are above {LARGEST} in all"
        raise ParseError(short_path(path), 0, problem)
    return cells


def _not_square(columns: int, rows: str) -> str:
    if columns > MOST_RAGGED_RANKS:
        return f"{columns} columns: at most {MOST_RAGGED_RANKS} ranks"
    return f"{counted(columns, 'column')} and {rows} rows: must be square, a row for each sending rank"


def _text_of(path: Path) -> str:
    where = short_path(path)
    try:
        is_other = path.exists() and not path.is_file()  # a pipe would be waited for
        data = b"" if is_other else _start_of(path)
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        raise UsageError(f"{where}: {getattr(error, 'strerror', None) or error}") from error
    if is_other:
        raise UsageError(f"{where}: is no file")
    if len(data) > MOST_FILE_NBYTES:
        raise ParseError(where, 0, f"is larger than {format_about_nbytes(MOST_FILE_NBYTES)}: no matrix")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ParseError(where, line, "is no text: write numbers of bytes") from error


def _start_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MOST_FILE_NBYTES + 1)


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the words of each line that is neither empty nor a comment."""
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), 1):
        bare = line.partition(COMMENT)[0].strip()
        if bare:
            yield number, [word.strip() for word in bare.split(",")] if "," in bare else bare.split()


def _cell(word: str, path: Path, line: int, column: int) -> int:
    if word.isascii() and word.isdigit() and len(word) < 19:
        return int(word)
    try:
        parse_number(word)
    except UsageError:
        fault = "must be a whole number of bytes" if word else "is empty"
        raise ParseError(short_path(path), line, f"column {column}: {fault}", word) from None
    # numpy.savetxt writes 4096 as 4.096e+03.
    number = decimal.Decimal(word)
    faults = {
        "must not be negative": number < 0,
        f"must not be above {LARGEST} B": number > LARGEST,
        "must be a whole number of bytes": number <= LARGEST and number != number.to_integral_value(),
    }
    for fault, is_so in faults.items():
        if is_so:
            raise ParseError(short_path(path), line, f"column {column}: {fault}", word)
    return int(number)
