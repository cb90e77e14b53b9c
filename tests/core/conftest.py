"""Stored things: made by hypothesis, from the annotations of their types alone, and a small run on disk."""

from __future__ import annotations

import types
import typing
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import strategies as st
from tests.core.stored import RUN, record_of

from collmark.core.plan import Plan
from collmark.core.record import Record, Run
from collmark.core.store import RunFolder, Writer

PLANS = st.builds(
    Plan,
    operations=st.lists(st.text(), max_size=3).map(tuple),
    launches=st.just("auto") | st.integers(1, 9),
    simulation=st.dictionaries(st.text(), st.integers(0, 9) | st.floats(0, 1) | st.booleans() | st.text(), max_size=2),
)
LEAVES: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(),
    int: st.integers(1, 1 << 62),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    type(None): st.none(),
    Plan: PLANS,
}


def values_of(annotation: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401 - any annotation at all
    """Return a strategy for any value that an annotation allows."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in LEAVES:
        found = LEAVES[annotation]
    elif origin is Annotated:
        found = values_of(arguments[0])
    elif origin in (typing.Union, types.UnionType):
        found = st.one_of(*map(values_of, arguments))
    elif origin is list:
        found = st.lists(values_of(arguments[0]), max_size=3)
    elif origin is tuple:
        found = st.tuples(*map(values_of, arguments))
    elif origin is dict:
        found = st.dictionaries(st.text(), values_of(arguments[1]), max_size=3)
    elif issubclass(annotation, StrEnum):
        found = st.sampled_from(annotation)
    else:
        hints = typing.get_type_hints(annotation, include_extras=True)
        names = annotation.__struct_fields__
        found = st.builds(annotation, **{name: values_of(hints[name]) for name in names})
    return found


@pytest.fixture(scope="session")
def any_record() -> st.SearchStrategy[Record]:
    """Return a strategy for records."""
    return values_of(Record)


@pytest.fixture(scope="session")
def any_stored() -> st.SearchStrategy[msgspec.Struct]:
    """Return a strategy for runs and records."""
    return values_of(Run) | values_of(Record)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """Return a run without records."""
    return RunFolder.create(tmp_path / "run", RUN)


@pytest.fixture
def three(folder: RunFolder) -> RunFolder:
    """Return a run with three records."""
    writer = Writer(folder, 1, 0)
    for error in ("one", "two", "three"):
        writer.append(record_of(error=error), None)
    return folder
