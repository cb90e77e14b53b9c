"""Intervals over windows, and of quantiles: known cases, and how often they hold what was planted."""

from __future__ import annotations

import numpy as np
import pytest

from collmark.core.intervals import mean_interval, quantile_interval
from collmark.core.quantile import student_t_quantile
from collmark.core.statistics import median_interval

DRAWS = 2000


def test_mean_by_hand() -> None:
    found = mean_interval([0.0, 0.1, 0.2, 0.5], over="windows")
    assert found is not None
    half = student_t_quantile(0.975, 3) * np.std([0.0, 0.1, 0.2, 0.5], ddof=1) / 2
    assert found.value == pytest.approx(0.2)
    assert found.upper == pytest.approx(0.2 + half)
    assert found.lower == 0.0  # 0.2 - half lies below
    assert (found.count, found.over) == (4, "windows")


def test_one_value_has_no_interval_and_none_is_negative() -> None:
    assert mean_interval([0.3], over="windows") is None
    with pytest.raises(ValueError, match="not negative"):
        mean_interval([0.1, -0.1], over="windows")


def test_the_mean_of_planted_gaps_is_covered() -> None:
    random = np.random.default_rng(11)
    rate, length, windows = 20.0, 2e-4, 20
    held = 0
    for _draw in range(DRAWS):
        counts = random.poisson(rate, windows)
        lost = np.array([random.exponential(length, count).sum() for count in counts])
        found = mean_interval(lost, over="windows")
        assert found is not None
        held += found.lower <= rate * length <= found.upper
    assert 0.92 <= held / DRAWS <= 0.97


@pytest.mark.parametrize("probability", [0.5, 0.9, 0.99])
def test_a_quantile_is_covered(probability: float) -> None:
    random = np.random.default_rng(12)
    truth = -np.log(1 - probability)
    held = 0
    for _draw in range(DRAWS):
        found = quantile_interval(random.exponential(size=1500), probability, over="gaps")
        assert found is not None
        held += found.lower <= truth <= found.upper
    assert 0.93 <= held / DRAWS <= 0.98


def test_too_few_values_do_not_bound_a_tail() -> None:
    values = np.arange(2000.0)
    bounded = [quantile_interval(values[:count], 0.99, over="gaps") is not None for count in range(1, 2000)]
    # n (1 - p) must exceed p + z sqrt(n p (1 - p)): 5.61 of 561 values exceed 0.99 + 4.62.
    assert bounded.index(True) + 1 == 561
    assert all(bounded[560:])


def test_the_median_is_that_of_the_statistics() -> None:
    values = np.random.default_rng(3).normal(10, 1, 40)
    one, other = quantile_interval(values, 0.5, over="repetitions"), median_interval(values)
    assert one is not None
    assert other is not None
    assert (one.value, one.lower, one.upper) == (other.value, other.lower, other.upper)
    wide = quantile_interval(values, 0.5, over="repetitions", tau=3.0)
    assert wide is not None
    assert wide.half_width > one.half_width
