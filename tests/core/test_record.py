"""Records: every field has a meaning and, where it needs one, a unit; nothing is lost on the way to disk and back."""

from __future__ import annotations

import json
import typing
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collmark.core.field_table import STORED, Field, field_table
from collmark.core.record import Evidence, Ranks, Record, Run, Timing

# Numbers that are shares, levels or counts.
WITHOUT_UNIT = {"level", "second_mode", "skewed", "late", "drift", "chance_in", "chance_out"}
BYTES = {"memory", "offset"}

every_type = pytest.mark.parametrize("struct", STORED, ids=lambda struct: struct.__name__)


def table_of(struct: type[msgspec.Struct]) -> dict[str, Field]:
    return {field.name: field for field in field_table(struct)}


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=50)
@given(st.data())
def test_it_survives_json(any_stored: st.SearchStrategy[msgspec.Struct], data: st.DataObject) -> None:
    stored = data.draw(any_stored)
    text = msgspec.json.encode(stored)
    assert b"\n" not in text
    assert msgspec.json.decode(text, type=type(stored)) == stored
    assert msgspec.convert(json.loads(text), type(stored)) == stored


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.convert({"tier": "tcp", "colour": "red"}, Evidence)


@every_type
def test_every_field_is_in_the_table_with_its_meaning(struct: type[msgspec.Struct]) -> None:
    table = table_of(struct)
    assert set(table) == set(struct.__struct_fields__)
    for field in table.values():
        assert field.meaning
        assert field.meaning == field.meaning.strip()
        assert field.type


def is_number(annotation: Any) -> bool:  # noqa: ANN401 - any annotation at all
    while typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    return annotation is float or float in typing.get_args(annotation)


@every_type
def test_every_time_and_size_has_a_unit(struct: type[msgspec.Struct]) -> None:
    hints, table = typing.get_type_hints(struct, include_extras=True), table_of(struct)
    for name in struct.__struct_fields__:
        if name in BYTES:
            assert table[name].unit == "B"
        elif is_number(hints[name]):
            assert table[name].unit == {"tau": "repetitions"}.get(name, "" if name in WITHOUT_UNIT else "s"), name


def test_types_are_written_as_json_has_them() -> None:
    timing, ranks, record = table_of(Timing), table_of(Ranks), table_of(Record)
    assert timing["median"].type == "number"
    assert timing["lower"].type == "number or null"
    assert timing["repetitions"].type == "integer"
    assert timing["tick_limited"].type == "boolean"
    assert ranks["local"].type == "list of number"
    assert ranks["last_in"].type == "list of integer"
    assert record["error"].type == "string"
    assert record["timing"].type == "Timing or null"
    assert table_of(Run)["cases"].type == "list of Case"


def test_all_that_is_nested_is_in_the_table_too() -> None:
    named = {struct.__name__ for struct in STORED}
    shown = {word for struct in STORED for field in field_table(struct) for word in field.type.split()}
    # Described where they are defined: a plan file has its own reference, a case's fields are its axes.
    elsewhere = {"Plan", "Case"}
    structs = {word for word in shown if word[0].isupper()}
    enums = {"Estimand", "Status", "Clock", "Sentinel", "Tier", "Fabric", "Outcome", "Level"}
    assert structs - enums - elsewhere <= named


@pytest.mark.parametrize(
    ("threads", "cores", "is_over"), [(8, 4, True), (4, 4, False), (None, 4, False), (8, None, False)]
)
@given(data=st.data())
@settings(max_examples=3, suppress_health_check=[HealthCheck.too_slow])
def test_more_threads_than_cores(
    any_record: st.SearchStrategy[Record],
    threads: int | None,
    cores: int | None,
    *,
    is_over: bool,
    data: st.DataObject,
) -> None:
    record = msgspec.structs.replace(data.draw(any_record), busy_threads=threads, cores=cores)
    assert record.oversubscribed is is_over
