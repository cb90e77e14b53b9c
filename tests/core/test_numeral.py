"""Numbers: what a person means is read, what only Python would read is not, and one thing is singular."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collmark.core.errors import UsageError
from collmark.core.numeral import counted, parse_number, parse_whole, shown

NOBODY_MEANS = [
    "",
    " ",
    "1_0",
    "\u0663",
    "\uff11",
    "\u00b2",
    "0x10",
    "ten",
    "1 0",
    "--1",
    "9" * 5000,
    "1e",
    "nan",
    "inf",
]


@given(st.integers(-(10**39), 10**39))
def test_whole_numbers_are_read_back(number: int) -> None:
    assert parse_whole(str(number)) == parse_whole(f" {number} ") == number


@given(st.floats(-1e12, 1e12))
def test_numbers_are_read_back(number: float) -> None:
    assert parse_number(repr(number)) == number


@pytest.mark.parametrize("text", [*NOBODY_MEANS, "1.5", "1e3"])
def test_whole_numbers_are_ascii_digits(text: str) -> None:
    with pytest.raises(UsageError, match="must be a whole number") as caught:
        parse_whole(text)
    assert len(str(caught.value)) < 120


@pytest.mark.parametrize("text", [*NOBODY_MEANS, "1,5", ".", "1e9999"])
def test_numbers_are_ascii_digits(text: str) -> None:
    with pytest.raises(UsageError, match="must be a number") as caught:
        parse_number(text)
    assert len(str(caught.value)) < 120


@pytest.mark.parametrize(
    ("number", "noun", "words"),
    [
        (1, "record", "1 record"),
        (0, "record", "0 records"),
        (2, "case", "2 cases"),
        (1, "launch", "1 launch"),
        (5, "launch", "5 launches"),
        (2, "busy thread", "2 busy threads"),
    ],
)
def test_one_is_singular(number: int, noun: str, words: str) -> None:
    assert counted(number, noun) == words


@pytest.mark.parametrize(
    ("value", "text"), [("80%", "80%"), ("", "(empty)"), (True, "true"), (2.5, "2.5"), (["a"], "['a']")]
)
def test_a_value_is_shown_as_it_was_written(value: object, text: str) -> None:
    assert shown(value) == text
    assert len(shown("x" * 5000)) < 80
    assert len(shown(10**4000)) < 80
