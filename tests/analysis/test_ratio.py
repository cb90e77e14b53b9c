"""Ratios over launches: covered as often as they say, equal to scipy's, and honest about one launch."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from collmark.analysis.ratio import (
    APART_LEVEL,
    MOST_LAUNCHES,
    are_apart,
    launches_to_decide,
    log_contrast,
    log_mean,
    log_ratio,
    ratio,
)

POSITIVE = st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=8)


@given(over=POSITIVE, under=POSITIVE, level=st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_interval_is_that_of_scipy(over: list[float], under: list[float], level: float) -> None:
    a, b = np.log(over), np.log(under)
    found = log_ratio(over, under)
    assert found is not None
    if min(a.std(), b.std()) < 1e-9:
        return  # scipy warns of what does not scatter
    interval = stats.ttest_ind(a, b, equal_var=False).confidence_interval(level)
    mine = found.interval(level)
    if mine is None:  # wider than floats reach
        assert max(interval.high, -interval.low) > 500
        return
    assert math.log(mine.lower) == pytest.approx(interval.low, rel=1e-6, abs=1e-9)
    assert math.log(mine.upper) == pytest.approx(interval.high, rel=1e-6, abs=1e-9)
    assert (mine.count, mine.over, mine.level) == (len(over) + len(under), "launches", level)


@given(values=POSITIVE)
def test_interval_of_one_quantity_is_students(values: list[float]) -> None:
    found = log_mean(values)
    assert found is not None
    assert found.degrees == pytest.approx(len(values) - 1)
    logs = np.log(values)
    half = stats.t.ppf(0.95, len(values) - 1) * logs.std(ddof=1) / math.sqrt(len(values))
    interval = found.interval(0.9)
    if interval is not None and interval.lower > 0:
        assert math.log(interval.upper / interval.lower) == pytest.approx(2 * half, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("m", "n"), [(2, 2), (3, 5), (5, 5), (10, 3)])
def test_interval_covers_its_level(m: int, n: int) -> None:
    """Launch scatter of 3 % on one side and 10 % on the other; 4 standard errors of a binomial at 2,000 draws."""
    random, draws, truth = np.random.default_rng(11), 2000, 9.0
    inside = 0
    for _draw in range(draws):
        over = truth * np.exp(random.normal(0, 0.03, m))
        under = np.exp(random.normal(0, 0.10, n))
        found = ratio(over, under)
        assert found is not None
        inside += found.lower <= truth <= found.upper
    # With two launches a side Welch errs to the wide side.
    assert 0.95 - 4 * math.sqrt(0.95 * 0.05 / draws) <= inside / draws
    assert inside / draws <= (1.0 if min(m, n) == 2 else 0.975)


def test_contrast_of_four_covers_its_level() -> None:
    random, draws = np.random.default_rng(5), 2000
    inside = 0
    for _draw in range(draws):
        groups = [scale * np.exp(random.normal(0, sd, 5)) for scale, sd in ((8, 0.02), (3, 0.05), (5, 0.1), (2, 0.03))]
        found = log_contrast([groups[0], groups[3]], [groups[1], groups[2]])
        assert found is not None
        interval = found.interval(0.95)
        assert interval is not None
        inside += interval.lower <= 8 * 2 / (3 * 5) <= interval.upper
    assert abs(inside / draws - 0.95) < 0.02


def test_one_launch_has_no_interval() -> None:
    assert ratio([3.0], [1.0, 1.1]) is None
    assert ratio([3.0, 3.1], [1.0]) is None
    assert log_mean([3.0]) is None


@pytest.mark.parametrize("values", [[1.0, 0.0], [1.0, -1.0], [1.0, math.nan], [[1.0, 2.0]]])
def test_what_has_no_logarithm_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="positive, finite"):
        ratio(values, [1.0, 2.0])


def test_no_scatter_is_a_point() -> None:
    found = ratio([4.0, 4.0, 4.0], [2.0, 2.0])
    assert found is not None
    assert (found.lower, found.value, found.upper) == pytest.approx((2.0, 2.0, 2.0))


def test_interval_beyond_floats_is_none() -> None:
    assert ratio([1e-200, 1e200], [1e200, 1e-200]) is None


def test_launches_that_would_decide_do_decide() -> None:
    found = log_ratio([10.0, 11.0, 9.0], [1.0, 1.1, 0.9])
    assert found is not None

    def is_narrow(mean: object) -> bool:
        interval = mean.interval(0.95)  # type: ignore[attr-defined]
        return interval is not None and interval.upper < 11

    count = launches_to_decide(found, is_narrow)
    assert count is not None
    assert is_narrow(found.with_launches(count))
    assert not is_narrow(found.with_launches(count - 1))
    assert launches_to_decide(found, lambda _mean: False) is None
    assert launches_to_decide(found, lambda _mean: True) == 2
    assert MOST_LAUNCHES == 1000


def test_scaling_moves_the_centre_only() -> None:
    found = log_ratio([10.0, 11.0, 9.0], [1.0, 1.1, 0.9])
    assert found is not None
    twice = found.scaled(2).interval(0.95)
    once = found.interval(0.95)
    assert once is not None
    assert twice is not None
    assert (twice.value, twice.lower, twice.upper) == pytest.approx((2 * once.value, 2 * once.lower, 2 * once.upper))


def test_alike_groups_are_called_apart_as_seldom_as_the_level_says() -> None:
    """Launches so wide that the factor of 1.1 bounds nothing: what is counted is the F test's level."""
    random = np.random.default_rng(3)
    draws = [[random.lognormal(0, 0.5, 5) for _group in range(2)] for _draw in range(2000)]
    assert sum(are_apart(groups) for groups in draws) <= 2000 * APART_LEVEL + 3 * math.sqrt(2000 * APART_LEVEL)


def test_groups_are_apart_by_a_factor_and_beyond_their_scatter() -> None:
    tight = np.array([0.99, 1.0, 1.01])
    assert are_apart([tight, 1.6 * tight])
    assert not are_apart([tight, 1.08 * tight])
    assert not are_apart([[0.5, 1.0, 2.0], [0.8, 1.6, 3.2]])
    assert are_apart([[1.0, 1.0], [2.0, 2.0]])
    assert not are_apart([[1.0, 1.0], [1.0, 1.0]])
    assert not are_apart([tight])
    assert not are_apart([])
