"""A printed number lies where what was printed rounds to it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collmark.analysis.importers.figure import figure, quotient, ratio


@given(value=st.floats(0, 1e9), decimals=st.integers(0, 6), scale=st.sampled_from([1.0, 1e-6, 1e9, 2.0**20]))
def test_the_number_before_rounding_is_between_the_bounds(value: float, decimals: int, scale: float) -> None:
    found = figure(f"{value:.{decimals}f}", scale)
    assert found is not None
    assert found.lower * (1 - 1e-12) <= value * scale <= found.upper * (1 + 1e-12)
    assert found.lower <= found.value <= found.upper


@given(value=st.floats(1e-5, 1e12), digits=st.integers(0, 4))
def test_with_an_exponent_too(value: float, digits: int) -> None:
    found = figure(f"{value:.{digits}e}")
    assert found is not None
    assert found.lower * (1 - 1e-12) <= value <= found.upper * (1 + 1e-12)


@pytest.mark.parametrize(
    "text", ["", "-1", "+1", "nan", "inf", "1e", "e5", "1.2.3", "1,5", " 1", "1 ", "0x10", "\u0661", "9" * 31, "1e999"]
)
def test_what_is_no_number_is_none(text: str) -> None:
    assert figure(text) is None


def test_a_count_is_exact_and_a_measurement_is_not() -> None:
    exact, rounded = figure("8", whole_is_exact=True), figure("8")
    assert exact is not None
    assert (exact.lower, exact.upper) == (8, 8)
    assert rounded is not None
    assert (rounded.lower, rounded.upper) == (7.5, 8.5)
    half = figure("8.0", whole_is_exact=True)
    assert half is not None
    assert half.upper == pytest.approx(8.05)


@given(over=st.floats(0.1, 1e6), under=st.floats(0.1, 1e6))
def test_quotients_hold_the_true_one(over: float, under: float) -> None:
    a, b = figure(f"{over:.2f}"), figure(f"{under:.2f}")
    assert a is not None
    assert b is not None
    for found, expected in ((quotient(over, b), over / under), (ratio(a, b), over / under)):
        assert found is not None
        assert found.lower * (1 - 1e-12) <= expected <= found.upper * (1 + 1e-12)


def test_nothing_is_divided_by_what_may_be_zero() -> None:
    zero, small = figure("0.00"), figure("0.4", 1.0)
    assert zero is not None
    assert quotient(8.0, zero) is None
    assert ratio(zero, zero) is None
    assert small is not None
    found = quotient(8.0, small)
    assert found is not None
    assert math.isfinite(found.upper)
