"""The line of nccl-tests' head that names the columns.

Source: nccl-tests src/common.cu, src/util.cu writeResultHeader: names are right-aligned like the numbers under them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_FRONT = (("size", "bytes"), ("count", "N"), ("type",))
_TIMES = ("time", "cputime")
_WRONG = ("#wrong", "error", "res")
_FURTHER = ("#bitdiff", "i_min", "i_max", "i_p99", "i_cv%")
_WORD = re.compile(r"[^\s,]+")
_ALONE = re.compile(r"(?<![\w-])in-place")


class Columns(NamedTuple):
    """What the names say.

    Attributes
    ----------
    operator : bool
        There is a column for it.
    cpu_time : bool
    halves : int
    extra : int
        Columns after those known.
    edge : int
        Where the line ends.
    """

    operator: bool
    cpu_time: bool
    halves: int
    extra: int
    edge: int


def read_columns(text: str) -> Columns | None:
    """Return what the line of names says; None where it was cut off, or a half has columns that are not known."""
    names = _WORD.findall(text.lstrip("# "))
    if len(names) < 7 or any(name not in allowed for name, allowed in zip(names, _FRONT, strict=False)):
        return None
    rest = names[3:]
    operator = rest[0] in {"redop", "op"}
    rest = rest[1:] if operator else rest
    rest = rest[1:] if rest[0] == "root" else rest
    halves, cpu_time = 0, rest[0] == "cputime"
    while len(rest) > 3 and rest[0] in _TIMES and rest[1:3] == ["algbw", "busbw"] and rest[3] in _WRONG:
        rest = rest[4:]
        halves += 1
        while rest and rest[0] in _FURTHER:
            rest = rest[1:]
    if not halves or (rest and rest[0] in _TIMES):
        return None
    extra = 0 if rest in ([], ["timestamp"], ["algo", "proto", "nchannels"]) else len(rest)
    return Columns(operator=operator, cpu_time=cpu_time, halves=halves, extra=extra, edge=len(text))


def in_place_of(title: str) -> bool | None:
    """Return whether the only half is in place, by the line over the names; None where that names both or none."""
    out, within = "out-of-place" in title, _ALONE.search(title) is not None
    return None if out == within else within
