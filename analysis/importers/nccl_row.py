"""A row of nccl-tests' table: which columns it has, told by their number and by how each is printed.

Every layout starts with size, count and type. Then come an operator and a root, each where the layout has it, and one
or two halves (out of place, in place). The shapes of numbers are those of the tool's formats, so that a figure that was
cut off is none.

Sources: nccl-tests src/common.cu of 2016 to 2018 ("%7.3f  %5.2f  %5.2f  %7.0le", times in ms, one print_line_header
for each test), of 2019 to 2021 (times in us with two, one or no decimals, "%6.2f", "%5.0le" or N/A), of 2022 on ("%5g",
both operator and root in every test); src/util.cu getFloatStr and writePerIterReport of 2025 on. rccl-tests
src/common.cu for columns with algorithm, protocol and channels ("%8s  %8s  %10d"), and for one half alone.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from collmark.analysis.importers.nccl_half import COLUMNS, Half, half_of, is_other_kind
from collmark.analysis.importers.nccl_names import DTYPES, NONE, REDUCTIONS

_DECIMALS = r"(?:0|[1-9]\d{0,8})"
SHAPES = {
    "t": r"(?:(?:0|[1-9]\d{0,3})\.\d\d|10000\.00|[1-9]\d{2,4}\.\d|100000\.0|[1-9]\d{4,9}|\d\.\d{1,2}e\+\d\d)",
    "b": rf"(?:{_DECIMALS}\.\d\d|[1-9]\d{{3,4}}\.\d|[1-9]\d{{4,6}}|\d(?:\.\d)?e\+\d\d)",
    "w": r"(?:0|[1-9]\d{0,5}|N/A|[1-9](?:\.\d{1,5})?e\+\d\d|\de[+-]\d\d\*?)",
    "m": rf"{_DECIMALS}\.\d{{3}}",
    "c": rf"{_DECIMALS}\.\d\d",
    "r": r"(?:-?\de[+-]\d\d|N/A)",
    "d": r"(?:0|[1-9]\d{0,6}|[1-9](?:\.\d{1,5})?e\+\d\d)",
    "p": r"(?:(?:0|[1-9]\d{0,3})\.\d\d|10000\.00|[1-9]\d{4}\.\d|100000\.0|[1-9]\d{5,6}|\d\.\de\+\d\d)",
    "f": rf"{_DECIMALS}\.\d{{6}}",
}
"""t time, b bandwidth, w wrong or error; m, c, r the same before 2019; d differing bits; p statistic; f in CSV."""
_COMPILED = {code: re.compile(shape) for code, shape in SHAPES.items()}
_LAYOUTS: dict[int, list[tuple[str, int]]] = {}
for _half in COLUMNS:
    for _number in (2, 1):
        _LAYOUTS.setdefault(_number * len(_half), []).append((_half, _number))
_ROOT = re.compile(r"-1|0|[1-9]\d{0,3}")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_CLOCK = re.compile(r"\d\d:\d\d:\d\d")
_ALGORITHM = re.compile(r"[A-Z]\w{1,15}", re.IGNORECASE)
_PROTOCOL = re.compile(r"LL\d{0,3}|Simple", re.IGNORECASE)
_CHANNELS = re.compile(r"0|[1-9]\d{0,4}")
MOST_RANKS = 2**20
_CUT = "the last number may be cut off"
_WIDE = 20  # more spaces than any two columns that follow each other have between them
_USUAL = re.compile(
    r" *(\d+) +(\d+) +(\w+) +(?:([a-z]+) +)?(?:(-1|0|[1-9]\d{0,3}) +)?"
    + " +".join(f"({SHAPES[code]})" for code in "tbbwtbbw"),
    re.ASCII,
)
STARTS = re.compile(r"(\d+)(?: *, *| +)(\d+)(?: *, *| +)(\w+)", re.ASCII)
_COUNT = re.compile(r"0|[1-9]\d{0,17}", re.ASCII)


class Parsed(NamedTuple):
    """A row.

    Attributes
    ----------
    size, elements : int
        As printed: bytes, and the parameter count.
    type : str
    redop, root : str or None
        As printed; None where no such token stands there (the column may be there and blank).
    halves : tuple of Half
    itemsize : int
    times : int or None
        How many times count the size is: 1, or the number of ranks; None for size 0.
    end : int
        Of the text.
    settings : str
        Algorithm and protocol, where printed.
    wide : bool
        A single half stands where the second one would.
    """

    size: int
    elements: int
    type: str
    redop: str | None
    root: str | None
    halves: tuple[Half, ...]
    itemsize: int
    times: int | None
    end: int
    settings: str = ""
    wide: bool = False

    @property
    def reduces(self) -> bool:
        """Whether an operator is named."""
        return self.redop in REDUCTIONS

    @property
    def rooted(self) -> bool:
        """Whether a root is named."""
        return self.root is not None and self.root != "-1"

    def misfit(self, *, ragged: bool) -> str:
        """Return why size and count cannot be of one row, or nothing.

        Parameters
        ----------
        ragged : bool
            Size does not follow from the count.
        """
        share = self.elements * self.itemsize
        tied = ragged or (bool(self.size) == bool(share) and not (share and self.size % share))
        return "" if tied and (self.times or 0) <= MOST_RANKS else "count and size do not fit"


def row_of(
    front: tuple[str, str, str, str | None, str | None], columns: list[tuple[str, tuple[str, ...]]], end: int = 0
) -> Parsed | str:
    """Return a row of its columns, or why they are none.

    Parameters
    ----------
    front : tuple of str or None
        Size, count, type, operator and root.
    columns : list of (str, tuple of str)
        Layout and tokens of each half.
    end : int
    """
    size, count, kind, redop, root = front
    fault = _misfit(size, count, kind)
    if fault:
        return fault
    nbytes, elements, itemsize = int(size), int(count), DTYPES[kind][1]
    times = nbytes // (elements * itemsize) if elements else None
    halves = []
    for layout, tokens in columns:
        half = half_of(layout, tokens, nbytes, times)
        if half is None:
            return "the time is 0, or a figure no number"
        halves.append(half)
    return Parsed(nbytes, elements, kind, redop, root, tuple(halves), itemsize, times, end)


def parse(text: str, extra: int, edge: int | None) -> Parsed | str:
    """Return a row, or why it is none.

    Parameters
    ----------
    text : str
        A line that starts like a row.
    extra : int
        Columns that the head names beyond those known.
    edge : int or None
        Where the head's line of names ends.
    """
    match = _USUAL.fullmatch(text) if extra == 0 else None
    if match is None:
        return _parse_by_tokens(text, extra, edge)
    size, count, kind, redop, root, *figures = match.groups()
    if redop is not None and redop not in REDUCTIONS and redop != NONE:
        return f"{redop!r} is no operator of the tool"
    columns = [("tbbw", tuple(figures[:4])), ("tbbw", tuple(figures[4:]))]
    found = row_of((size, count, kind, redop, root), columns, len(text))
    if isinstance(found, str):
        return found
    wrong = found.halves[1].wrong
    if is_other_kind(*found.halves) or (_may_be_cut(wrong) and not _same_gaps(match, wrong)):
        return _CUT
    return found


def _may_be_cut(token: str) -> bool:
    return token not in {"0", "N/A"} and "e-" not in token and "e+00" not in token


def _same_gaps(match: re.Match[str], wrong: str) -> bool:
    """Return whether the last column of both halves is as wide."""
    first, last = match.end(9) - match.end(8), match.end(13) - match.end(12)
    return last == max(first, 2 + len(wrong))


def _misfit(size: str, count: str, kind: str) -> str:
    if kind not in DTYPES:
        return f"{kind!r} is no element type of the tool"
    if not _COUNT.fullmatch(size) or not _COUNT.fullmatch(count):
        return "size or count is no number that the tool prints"
    if int(size) % DTYPES[kind][1]:
        return "the size is no whole number of elements"
    return ""


def _parse_by_tokens(text: str, extra: int, edge: int | None) -> Parsed | str:
    comma = "," in text
    tokens = [one.strip() for one in text.split(",")] if comma else text.split()
    if len(tokens) < 7:
        return "columns are missing"
    size, count, kind, *rest = tokens
    redop = rest.pop(0) if rest[0] in REDUCTIONS or rest[0] == NONE else None
    root = rest.pop(0) if _ROOT.fullmatch(rest[0]) else None
    known, settings = _without_end(rest[: len(rest) - extra] if extra else rest)
    columns = _columns_of(known)
    if not columns:
        return "the columns are none of the tool's layouts"
    found = row_of((size, count, kind, redop, root), columns, len(text))
    if isinstance(found, str):
        return found
    last = known[-1]
    whole = "." in last or len(known) < len(rest) or (edge == len(text) and not comma) or not _may_be_cut(last)
    if not whole or (len(columns) == 2 and is_other_kind(*found.halves)):
        return _CUT
    return found._replace(settings=settings, wide=len(columns) == 1 and _gap(text, known) >= _WIDE)


def _without_end(rest: list[str]) -> tuple[list[str], str]:
    """Return the columns without a time of day, or without algorithm, protocol and channels, and what these say."""
    if len(rest) > 5 and _DAY.fullmatch(rest[-2]) and _CLOCK.fullmatch(rest[-1]):
        return rest[:-2], ""
    if len(rest) in {7, 11}:
        algorithm, protocol, channels = rest[-3:]
        if (algorithm, protocol, channels) == ("N/A", "N/A", "N/A"):
            return rest[:-3], ""
        if _ALGORITHM.fullmatch(algorithm) and _PROTOCOL.fullmatch(protocol) and _CHANNELS.fullmatch(channels):
            return rest[:-3], f"ALGO={algorithm} PROTO={protocol}"
    return rest, ""


def _columns_of(rest: list[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Return layout and tokens of each half; nothing where they are of no layout."""
    for layout, number in _LAYOUTS.get(len(rest), ()):
        codes = layout * number
        if all(_COMPILED[code].fullmatch(token) for code, token in zip(codes, rest, strict=True)):
            width = len(layout)
            return [(layout, tuple(rest[at : at + width])) for at in range(0, len(rest), width)]
    return []


def _gap(text: str, half: list[str]) -> int:
    """Return how many spaces stand before the only half."""
    words = re.findall(r" +\S+", text)
    front = words[-len(half)] if len(words) >= len(half) else ""
    return len(front) - len(front.lstrip()) - (7 - len(half[0]))
