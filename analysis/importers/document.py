"""JSON inside logs: objects with the lines on which they stand, and numbers exactly as written."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from json.decoder import JSONObject  # type: ignore[attr-defined]
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any

import msgspec


class Number(str):
    """A number as written; :func:`float` and :func:`int` read it."""

    __slots__ = ()


class Located(dict[str, Any]):
    """An object.

    Attributes
    ----------
    start, end : int
        Its first character and the one after its last, in the text that was read.
    """

    start: int
    end: int


class Document(msgspec.Struct, frozen=True):
    """A JSON value in a log.

    Attributes
    ----------
    value : object
        Its objects are :class:`Located`, its numbers :class:`Number`.
    text : str
        That it was read from.
    line : int
        Number of the line on which `text` begins.
    starts : sequence of int
        Where each line of `text` begins, from 0.
    """

    value: Any
    text: str
    line: int
    starts: Sequence[int] = (0,)

    def lines_of(self, found: Located) -> tuple[int, int]:
        """Return the first line of an object, and how many it stands on."""
        first, last = self.line_at(found.start), self.line_at(found.end - 1)
        return first, last - first + 1

    def line_at(self, place: int) -> int:
        """Return the number of the line that a character of `text` stands on."""
        return self.line + bisect_right(self.starts, place) - 1


class _Decoder(json.JSONDecoder):
    """The library's decoder with its scanner in Python, which lets objects learn where they stand."""

    def __init__(self) -> None:
        super().__init__(parse_float=Number, parse_int=Number, parse_constant=Number)
        self.parse_object = self._located
        self.scan_once = py_make_scanner(self)

    @staticmethod
    def _located(at: tuple[str, int], *words: object) -> tuple[Located, int]:
        found, end = JSONObject(at, *words)
        located = Located(found)
        located.start, located.end = at[1] - 1, end
        return located, end


_DECODER = _Decoder()


def read_document(text: str, start: int) -> tuple[Any, int] | None:
    """Return the JSON value that begins at `start` and where it ends; None where there is none that is whole."""
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
