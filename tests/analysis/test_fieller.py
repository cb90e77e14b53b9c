"""Fieller's interval: its ends solve what defines them, it covers its level, and it says where nothing bounds it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import optimize, stats

from collmark.analysis.fieller import fieller
from collmark.analysis.ratio import log_ratio

POSITIVE = st.lists(st.floats(0.5, 2.0), min_size=2, max_size=8)


@given(over=POSITIVE, under=POSITIVE, level=st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_ends_are_where_the_test_of_a_ratio_just_rejects(over: list[float], under: list[float], level: float) -> None:
    """Found by a root finder on the t of a - r b, with Welch's degrees of freedom of over and r x under from scipy."""
    a, b = np.array(over), np.array(under)
    assume(min(a.std(), b.std()) > 1e-3)
    found = fieller(over, under)
    assert found is not None
    # scipy's degrees of freedom of two samples, at the ratio of the means.
    degrees = stats.ttest_ind(a, b * a.mean() / b.mean(), equal_var=False).df
    t = stats.t.ppf((1 + level) / 2, degrees)

    def beyond(r: float) -> float:
        return float((a.mean() - r * b.mean()) ** 2 - t**2 * (a.var(ddof=1) / a.size + r**2 * b.var(ddof=1) / b.size))

    interval = found.interval(level)
    if interval is None:  # no ratio, however large, is rejected
        assert beyond(1e6) <= 0
        return
    assert found.value == pytest.approx(a.mean() / b.mean())
    assume(interval.upper < 1e4)
    assert interval.upper == pytest.approx(optimize.brentq(beyond, found.value, 1e6), rel=1e-6)
    assert interval.lower == pytest.approx(optimize.brentq(beyond, -1e6, found.value), rel=1e-6, abs=1e-9)


def test_mean_below_that_cannot_be_told_from_zero_bounds_nothing() -> None:
    found = fieller([9.0, 9.1, 8.9], [0.1, 1.0, 3.0])
    assert found is not None
    assert found.interval(0.95) is None
    assert found.interval(0.5) is not None


def test_one_launch_has_no_interval() -> None:
    assert fieller([3.0], [1.0, 1.1]) is None
    assert fieller([3.0, 3.1], [1.0]) is None


def test_no_scatter_is_a_point() -> None:
    found = fieller([4.0, 4.0, 4.0], [2.0, 2.0])
    assert found is not None
    interval = found.interval(0.95)
    assert interval is not None
    assert (interval.lower, interval.value, interval.upper) == pytest.approx((2.0, 2.0, 2.0))


def test_little_scatter_gives_what_welch_gives() -> None:
    over, under = [18.0, 18.1, 17.9, 18.05], [1.0, 1.01, 0.99]
    mine, other = fieller(over, under), log_ratio(over, under)
    assert mine is not None
    assert other is not None
    one, two = mine.interval(0.95), other.interval(0.95)
    assert one is not None
    assert two is not None
    assert (one.lower, one.upper) == pytest.approx((two.lower, two.upper), rel=1e-3)


@pytest.mark.parametrize(("m", "n"), [(3, 5), (5, 5), (10, 3)])
def test_interval_covers_its_level(m: int, n: int) -> None:
    """Normal scatter of 3 % above and 10 % below; 4 standard errors of a binomial at 2,000 draws."""
    random, draws, truth = np.random.default_rng(17), 2000, 9.0
    inside = 0
    for _draw in range(draws):
        found = fieller(truth * random.normal(1, 0.03, m), random.normal(1, 0.10, n))
        assert found is not None
        interval = found.interval(0.95)
        inside += interval is None or interval.lower <= truth <= interval.upper
    assert abs(inside / draws - 0.95) <= 4 * math.sqrt(0.95 * 0.05 / draws) + 0.01
