"""Stored things: made by hypothesis, from the annotations of their types alone, and a small run on disk."""

from __future__ import annotations

import types
import typing
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import strategies as st
from tests.core.stored import RUN, record_of

from collmark.core.case import Case, ThreadLevel
from collmark.core.dtype import DTYPES
from collmark.core.grouping import Group
from collmark.core.host_noise import HostNoise
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Placement
from collmark.core.plan import Plan
from collmark.core.record import ClockModel, Histogram, Ranks, Record, Run, Timing
from collmark.core.reduction import REDUCTIONS
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
FIELDS: dict[Any, dict[str, st.SearchStrategy[Any]]] = {
    Case: {
        "operation": st.sampled_from(sorted(OPERATIONS)),
        "dtype": st.sampled_from(sorted(DTYPES)),
        "reduction": st.just("") | st.sampled_from(sorted(REDUCTIONS)),
        "traffic": st.sampled_from(["", "uniform", "zipf:1.2:3"]),
        "thread_level": st.sampled_from(["", *ThreadLevel]),
    },
    Placement: {"nodes": st.integers(1, 3), "ranks_per_node": st.integers(2, 4)},
}
"""Fields whose values must be in a table, or small."""


def bounded(base: type, metas: tuple[Any, ...]) -> st.SearchStrategy[Any] | None:
    """Return a strategy for numbers inside the bounds of annotations, if they have any."""
    lowest = [bound for meta in metas for bound in (meta.ge, meta.gt) if bound is not None]
    highest = [bound for meta in metas for bound in (meta.le, meta.lt) if bound is not None]
    if base is int and lowest:
        return st.integers(max(lowest), min(highest, default=1 << 62))
    if base is float and lowest:
        open_above = any(meta.lt is not None for meta in metas)
        return st.floats(max(lowest), min(highest, default=1e300), exclude_max=open_above)
    return None


def in_order(struct: Any, fields: dict[str, Any]) -> Any:  # noqa: ANN401 - any type of record
    """Return a struct whose fields satisfy what must hold between them."""
    if struct is Timing:
        rising = ("minimum", "p25", "median", "p75", "p95", "p99", "maximum")
        fields |= dict(zip(rising, sorted(fields[name] for name in rising), strict=True))
        ends = {"lower": min, "upper": max}
        fields |= {n: f(fields[n], fields["median"]) for n, f in ends.items() if fields[n] is not None}
        fields["cut"] = min(fields["cut"], fields["repetitions"])
    if struct is Histogram:
        fields |= {"bins": list(range(len(fields["counts"])))}
    if struct is Ranks:
        fields |= {"last_out": fields["last_in"], "lateness": [0.5] * len(fields["last_in"])}
    if struct is ClockModel:
        fields |= {name: [0.5] * len(fields["leaders"]) for name in ("ahead", "drift", "bound")}
    if struct is HostNoise:
        fields |= {name: [0] * len(fields["watched"]) for name in ("lost", "long", "largest")}
    if struct is Group:
        fields |= {"arrangement": "node", "index": fields["index"] % fields["world"].nodes}
    if struct is Case and fields["group"] is not None:
        fields["placement"] = fields["group"].placement
    if struct is Case and OPERATIONS[fields["operation"]].ragged:
        fields |= {"traffic": fields["traffic"] or "uniform", "requested_nbytes": fields["requested_nbytes"] % 4096}
    return struct(**fields)


def values_of(annotation: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401 - any annotation at all
    """Return a strategy for any value that an annotation allows."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in LEAVES:
        found = LEAVES[annotation]
    elif origin is Annotated:
        named = st.from_regex(arguments[1].pattern) if arguments[1].pattern else None
        within = bounded(arguments[0], arguments[1:])
        found = next(strategy for strategy in (named, within, values_of(arguments[0])) if strategy is not None)
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
        fields = {name: values_of(hints[name]) for name in annotation.__struct_fields__} | FIELDS.get(annotation, {})
        found = st.fixed_dictionaries(fields).map(partial(in_order, annotation))
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
    for launch, error in enumerate(("one", "two", "three"), 1):
        writer.append(record_of(launch, error), None)
    return folder
