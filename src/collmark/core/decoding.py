"""From parsed JSON or TOML to a type of ours; what does not fit is named with its place, its value and what is allowed.

msgspec finds the fault, stops at the first, and says it in its own words: ``Expected `int`, got `str` - at `$.seed```.
Here it becomes ``seed: high: must be a whole number``. The rules themselves are the annotations of the types.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Annotated, Any, TypeVar

import msgspec

from collmark.core.errors import UnknownNameError, UsageError, nearest
from collmark.core.numeral import shown

T = TypeVar("T")

_FAULT = re.compile(r"(?P<what>.*?)(?: - at `(?P<place>(?:key in )?\$.*)`)?", re.DOTALL)
_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")
_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}
_COMPARISONS = ((">= ", ", at least "), ("<= ", ", at most "), ("> ", ", above "), ("< ", ", below "))


def decoded(raw: object, kind: type[T], name: str = "") -> T:
    """Return `raw` as a value of type `kind`.

    Parameters
    ----------
    raw : object
        Builtins, as JSON and TOML are read.
    kind : type
        What it should be: a Struct, or a container of them.
    name : str
        What `raw` is called where it stands, to start the place with.

    Raises
    ------
    UsageError
        Of one line: place, value, and what is allowed.
    """
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise UsageError(_in_our_words(str(error), raw, kind, name)) from error


def unknown_key(key: str, allowed: Sequence[str]) -> str:
    """Return what to say of a key that is not among those allowed."""
    close = nearest(key, allowed)
    hint = f"did you mean {close!r}?" if close else f"allowed: {', '.join(allowed)}"
    return f"unknown key {shown(key)!r}; {hint}"


def _in_our_words(text: str, raw: object, kind: object, name: str) -> str:
    match = _FAULT.fullmatch(text)
    what, place = (match["what"], match["place"] or "") if match else (text, "")
    steps = list(_steps(place))
    value, expected = _follow(raw, kind, steps)
    path = name + "".join(step if step.startswith("[") else f".{step}" for step in steps)
    start = f"{path.removeprefix('.')}: " if path else ""
    quoted = re.findall(r"`([^`]*)`", what)
    if what.startswith("Object contains unknown field") and hasattr(expected, "__struct_fields__"):
        return start + unknown_key(quoted[0], expected.__struct_fields__)
    if what.startswith("Object missing required field"):
        return f"{start}{quoted[0]!r} is missing"
    if what.startswith("Invalid enum value") and isinstance(expected, type) and issubclass(expected, Enum):
        return start + str(UnknownNameError(steps[-1] if steps else "name", str(value), expected))
    if what.startswith("Expected"):
        return f"{start}{shown(value)}: must be {_allowed(what)}"
    return start + what.replace("`", "")


def _allowed(what: str) -> str:
    """Return what msgspec expected, as a person says it."""
    wanted = what.removeprefix("Expected ").partition(", got ")[0]
    for sign, words in _COMPARISONS:
        wanted = wanted.replace(f" {sign}", words)
    wanted = re.sub(r"\.0\b", "", wanted)
    return re.sub(r"`([^`]*)`", lambda names: " or ".join(_WORDS.get(n, n) for n in names[1].split(" | ")), wanted)


def _steps(place: str) -> Iterator[str]:
    for key, index in _STEP.findall(place):
        yield key or f"[{index}]"


def _follow(raw: object, kind: object, steps: Sequence[str]) -> tuple[object, Any]:
    """Return the value that stands at a place, and the type that belongs there; None for what cannot be followed."""
    kind = _bare(kind)
    for step in steps:
        if step.startswith("["):
            index = int(step[1:-1]) if step[1:-1].isdigit() else 0
            raw = raw[index] if isinstance(raw, Sequence) and index < len(raw) else None
            kind = _bare(next(iter(typing.get_args(kind)), None))
        else:
            raw = raw.get(step) if isinstance(raw, Mapping) else None
            kind = _bare(typing.get_type_hints(kind).get(step)) if isinstance(kind, type) else None
    return raw, kind


def _bare(annotation: object) -> object:
    """Return a type without what annotates it and without None."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return _bare(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return _bare(next(part for part in arguments if part is not type(None)))
    return annotation
