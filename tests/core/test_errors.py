"""Errors: one line each, helpful about names, and able to cross a process border."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collmark.core import errors
from collmark.core.errors import (
    CollmarkError,
    InterruptedRunError,
    MeasurementError,
    ParseError,
    PlanError,
    SchemaError,
    UnavailableError,
    UnknownNameError,
    UsageError,
    VerificationError,
    excerpt,
    nearest,
    one_line,
)

ONE_OF_EACH = [
    CollmarkError("wrong"),
    UsageError("wrong"),
    UnknownNameError("backend", "glo", ["gloo", "nccl"]),
    PlanError(["no ranks", "no sizes"]),
    SchemaError("schema 9 is newer than 1"),
    ParseError("a.log", 3, "no columns", "# size"),
    UnavailableError("no MPI"),
    VerificationError("element 0: 1, not 2"),
    MeasurementError("rank 3 died"),
    InterruptedRunError("kept 3 records", 2),
]


def test_the_tree_in_the_docstring_is_the_tree_in_the_code() -> None:
    assert errors.__doc__
    drawn = {line.split("+--")[1].split()[0] for line in errors.__doc__.splitlines() if "+--" in line}
    assert drawn == {type(error).__name__ for error in ONE_OF_EACH}


@pytest.mark.parametrize("error", ONE_OF_EACH, ids=lambda error: type(error).__name__)
def test_every_error_is_a_collmark_error_and_pickles(error: CollmarkError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error) != ""
    assert vars(copy) == vars(error)


@pytest.mark.parametrize("error_class", [UnknownNameError, PlanError, SchemaError, ParseError])
def test_wrong_use_is_also_a_value_error(error_class: type[Exception]) -> None:
    assert issubclass(error_class, UsageError)
    assert issubclass(error_class, ValueError)


def test_what_went_wrong_while_running_is_no_value_error() -> None:
    for error_class in (UnavailableError, VerificationError, MeasurementError, InterruptedRunError):
        assert not issubclass(error_class, ValueError)


def test_unknown_name_says_what_was_meant_and_what_is_allowed() -> None:
    error = UnknownNameError("operation", "allreduce", ["all_gather", "all_reduce"])
    assert str(error) == ("unknown operation 'allreduce'; did you mean 'all_reduce'? allowed: all_gather, all_reduce")


def test_unknown_name_without_a_near_one_only_lists() -> None:
    assert str(UnknownNameError("backend", "xyz", iter(["gloo"]))) == "unknown backend 'xyz'; allowed: gloo"
    assert str(UnknownNameError("backend", "xyz", [])) == "unknown backend 'xyz'; allowed: none"


def test_plan_error_shows_every_problem() -> None:
    error = PlanError(["no ranks", "no sizes"])
    assert str(error) == "no ranks; no sizes"
    assert error.problems == ("no ranks", "no sizes")


def test_parse_error_says_where() -> None:
    assert str(ParseError("a.log", 3, "no columns", "x" * 500)).startswith("a.log:3: no columns: 'xxx")
    assert len(str(ParseError("a.log", 3, "no columns", "x" * 500))) < 120
    assert str(ParseError("a.log", 0, "it is empty")) == "a.log: it is empty"


def test_interrupted_run_keeps_the_signal() -> None:
    assert InterruptedRunError("kept 3 records", 15).signal_number == 15
    assert InterruptedRunError("kept 3 records").signal_number == 2


@given(st.text())
def test_any_message_is_one_printable_line(text: str) -> None:
    for error in (UsageError(text), ParseError(text, 1, text, text), UnknownNameError(text, text, [text])):
        assert str(error).isprintable()
    assert len(one_line(text).splitlines()) <= 1


def test_hostile_text_stays_text() -> None:
    assert one_line("node\x1b[31m\nred\udc80") == "node\\x1b[31m red\\udc80"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("all_reduce", "all_reduce"),
        ("ALL-REDUCE", "all_reduce"),
        ("al_reduce", "all_reduce"),
        ("pingpong", "ping_pong"),
        ("zzz", None),
        ("", None),
    ],
)
def test_nearest(name: str, expected: str | None) -> None:
    assert nearest(name, ["all_gather", "all_reduce", "ping_pong"]) == expected


def test_nearest_keeps_the_spelling_of_the_choice() -> None:
    assert nearest("kib", ["KiB", "MiB"]) == "KiB"
    assert nearest("x", []) is None


def test_excerpt_is_never_longer_than_its_limit() -> None:
    assert excerpt("abc", 3) == "abc"
    assert excerpt("abcdef", 5) == "ab..."
