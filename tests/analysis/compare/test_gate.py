"""A gate fails on what is shown to be slower; a strict one on what is not shown to be no slower."""

from __future__ import annotations

import pytest
from tests.analysis.compare.test_verdict import around, pair

from collmark.analysis.compare.align import Unmatched
from collmark.analysis.compare.gate import Gate, pass_gate, read_effect, read_gate
from collmark.analysis.compare.verdict import judge
from collmark.core.errors import UsageError

LOOSE, STRICT = Gate(effect=0.05), Gate(effect=0.05, strict=True)


@pytest.mark.parametrize(
    ("ratio", "scatter", "passed"),
    [
        (1.12, 0.02, (False, False)),
        (1.08, 0.05, (True, False)),  # not shown to be beyond
        (1.0, 0.1, (True, False)),  # nor to be inside
        (1.01, 0.01, (True, True)),
        (0.5, 0.1, (True, True)),  # an improvement never fails
    ],
)
def test_intervals_decide(ratio: float, scatter: float, passed: tuple[bool, bool]) -> None:
    found = judge([pair(around(1.0, scatter), around(ratio, scatter))])
    assert (pass_gate(LOOSE, found, []).passed, pass_gate(STRICT, found, []).passed) == passed


def test_nothing_matched_never_passes() -> None:
    assert pass_gate(LOOSE, [], []).reason == "no case of A was found in B"
    assert pass_gate(LOOSE, judge([pair([1.0], [1.0])]), []).reason.startswith("no case has an interval")


def test_results_that_became_wrong_never_pass() -> None:
    good = judge([pair(around(1.0, 0.01), around(1.0, 0.01))])
    broken = Unmatched(facts={}, where="both", reason="B wrong", breaks=True)
    assert pass_gate(LOOSE, good, []).passed
    assert "wrong" in pass_gate(LOOSE, good, [broken]).reason


def test_a_strict_gate_fails_where_a_time_of_a_was_lost() -> None:
    good = judge([pair(around(1.0, 0.01), around(1.0, 0.01))])
    lost = Unmatched(facts={}, where="both", reason="B failed", lost=True)
    new = Unmatched(facts={}, where="B", reason="no 8 B there")
    assert pass_gate(LOOSE, good, [lost]).passed
    assert "1 case of A" in pass_gate(STRICT, good, [lost, new]).reason
    assert pass_gate(STRICT, good, [new]).passed


def test_the_worst_comes_first() -> None:
    found = judge([pair(around(1.0, 0.01), around(ratio, 0.01)) for ratio in (1.1, 1.4, 1.2)])
    assert [round(one.value, 1) for one in pass_gate(LOOSE, found, []).failing] == [1.4, 1.2, 1.1]


def test_the_worst_of_a_strict_gate_is_what_may_be_slowest() -> None:
    # What is surely slower, and what is known so badly that it may be slower by far more.
    found = judge([pair(around(1.0, 0.01), around(1.2, 0.01)), pair(around(1.0, 0.1), around(1.15, 0.1))])
    assert [round(one.value, 2) for one in pass_gate(STRICT, found, []).failing] == [1.15, 1.2]


def test_reading() -> None:
    assert read_gate("slower-than=7.5%", strict=True) == Gate(effect=0.075, strict=True)
    assert read_effect("2 %") == 0.02
    for text in ("5%", "slower-than=5", "slower-than=0%", "faster-than=5%", "slower-than=-1%", ""):
        with pytest.raises(UsageError, match="--gate"):
            read_gate(text, strict=False)
    for text in ("5", "0%", "101%", "nan%", "-1%"):
        with pytest.raises(UsageError, match="--effect"):
            read_effect(text)
