"""Quantiles against scipy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from collmark.core.quantile import normal_quantile, student_t_quantile

PROBABILITIES = [0.5, 0.500001, 0.6, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995, 0.9995, 0.99999]


@pytest.mark.parametrize("degrees", [*range(1, 41), 99, 100, 499, 1000, 5001])
def test_student_t_agrees_with_scipy(degrees: int) -> None:
    for probability in PROBABILITIES:
        expected = stats.t.ppf(probability, degrees)
        assert student_t_quantile(probability, degrees) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("probability", PROBABILITIES)
def test_normal_agrees_with_scipy(probability: float) -> None:
    assert normal_quantile(probability) == pytest.approx(stats.norm.ppf(probability), rel=1e-12, abs=1e-12)


@given(st.floats(1e-5, 1 - 1e-5), st.integers(1, 60))
def test_student_t_inverts_its_distribution(probability: float, degrees: int) -> None:
    quantile = student_t_quantile(probability, degrees)
    assert stats.t.cdf(quantile, degrees) == pytest.approx(probability, rel=1e-9)


@given(st.floats(0.51, 0.9999), st.floats(0.51, 0.9999), st.integers(1, 60))
def test_student_t_is_monotone_symmetric_and_wider_than_normal(one: float, two: float, degrees: int) -> None:
    low, high = sorted((one, two))
    assert student_t_quantile(low, degrees) <= student_t_quantile(high, degrees)
    assert student_t_quantile(1 - high, degrees) == pytest.approx(-student_t_quantile(high, degrees))
    assert student_t_quantile(high, degrees) > student_t_quantile(high, degrees + 1) > normal_quantile(high)


@pytest.mark.parametrize("probability", [-0.1, 0.0, 1.0, 1.1, float("nan")])
def test_a_probability_lies_inside(probability: float) -> None:
    with pytest.raises(ValueError, match="probability"):
        student_t_quantile(probability, 3)
    with pytest.raises(ValueError, match="probability"):
        normal_quantile(probability)


def test_degrees_start_at_one() -> None:
    with pytest.raises(ValueError, match="degrees"):
        student_t_quantile(0.9, 0)
