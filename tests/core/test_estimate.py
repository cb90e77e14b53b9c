"""Estimate: an interval that holds its value, and never gets narrower by widening."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collmark.core.estimate import Estimate

finite = st.floats(-1e12, 1e12)


def estimate(lower: float, value: float, upper: float) -> Estimate:
    return Estimate(value=value, lower=lower, upper=upper, method="median", count=9, over="repetitions")


def test_the_longer_arm_counts() -> None:
    assert estimate(9, 10, 12).relative_half_width == pytest.approx(0.2)
    assert estimate(7, 10, 12).relative_half_width == pytest.approx(0.3)
    assert estimate(-12, -10, -9).relative_half_width == pytest.approx(0.2)


def test_relative_width_at_zero() -> None:
    assert estimate(0, 0, 0).relative_half_width == 0
    assert estimate(-1, 0, 0).relative_half_width == math.inf


@pytest.mark.parametrize(
    ("lower", "value", "upper"),
    [(2, 1, 3), (0, 1, 0.5), (math.nan, 1, 2), (0, math.nan, 2), (0, 1, math.inf), (-math.inf, 1, 2)],
)
def test_the_value_lies_in_a_finite_interval(lower: float, value: float, upper: float) -> None:
    with pytest.raises(ValueError, match="lower <= value <= upper"):
        estimate(lower, value, upper)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, math.nan])
def test_a_level_is_a_fraction(level: float) -> None:
    with pytest.raises(ValueError, match="level"):
        msgspec.structs.replace(estimate(1, 2, 3), level=level)


def test_a_count_is_positive() -> None:
    with pytest.raises(ValueError, match="count"):
        msgspec.structs.replace(estimate(1, 2, 3), count=0)


def test_it_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        estimate(1, 2, 3).value = 5  # type: ignore[misc]


def test_widening_reaches_the_tick_and_says_so() -> None:
    widened = estimate(1.0, 1.0, 1.5).widened(0.25)
    assert (widened.lower, widened.value, widened.upper) == (0.75, 1.0, 1.5)
    assert widened.method == "median, tick-limited"
    assert widened.widened(2).method == "median, tick-limited"


def test_widening_leaves_a_wide_interval_alone() -> None:
    wide = estimate(1, 2, 3)
    assert wide.widened(1) is wide


@pytest.mark.parametrize("half_width", [-1.0, math.nan, math.inf])
def test_a_half_width_is_a_length(half_width: float) -> None:
    with pytest.raises(ValueError, match="half width"):
        estimate(1, 2, 3).widened(half_width)


@given(st.tuples(finite, finite, finite).map(sorted), st.floats(0, 1e12))
def test_widening_only_widens_and_is_idempotent(ends: list[float], half_width: float) -> None:
    before = estimate(*ends)
    after = before.widened(half_width)
    assert after.lower <= before.lower
    assert after.upper >= before.upper
    assert after.value - after.lower >= half_width * (1 - 1e-9) - 1e-3
    assert after.upper - after.value >= half_width * (1 - 1e-9) - 1e-3
    assert after.widened(half_width) == after


def test_it_survives_json() -> None:
    before = estimate(1, 2, 3)
    assert msgspec.json.decode(msgspec.json.encode(before), type=Estimate) == before


@pytest.mark.parametrize("change", [{"over": "ranks"}, {"lower": 5}, {"value": "2"}, {"count": 1.5}, {"extra": 1}])
def test_decoding_is_strict(change: dict[str, object]) -> None:
    fields = msgspec.to_builtins(estimate(1, 2, 3)) | change
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(fields, type=Estimate)
