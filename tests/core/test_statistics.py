"""Statistics by coverage and bias on simulated draws, not by golden files.

The figures to reach are those of method.md A.2 and B.4. Shape suffixes: D draws, I repetitions, L launches.
"""

import math
import time
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from collmark.core.statistics import (
    TailQuantiles,
    autocorrelation_time,
    far_outliers,
    log_t_interval,
    median_interval,
    mser5,
    share_beyond,
    tail_quantiles,
)

Floats = npt.NDArray[np.float64]
DRAWS = 1000

series = st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=80)


def autoregressive(rho: float, length: int, seed: int = 1) -> Floats:
    """Draw AR(1) series with unit variance and median 0, shape (D, I)."""
    normal_DI = np.random.default_rng(seed).standard_normal((DRAWS, length))
    for i in range(1, length):
        normal_DI[:, i] = rho * normal_DI[:, i - 1] + math.sqrt(1 - rho**2) * normal_DI[:, i]
    return normal_DI


def median_coverage(series_DI: Floats, tau_of: Callable[[Floats], float]) -> float:
    """Return the share of draws whose interval holds 0; one that is not bounded counts as a miss."""
    found = [median_interval(values_I, tau=tau_of(values_I)) for values_I in series_DI]
    return sum(e is not None and e.lower <= 0 <= e.upper for e in found) / len(found)


# -- median_interval and autocorrelation_time


@pytest.mark.parametrize(
    ("rho", "naive_at_most", "widened_at_least"),
    [(0.0, 0.97, 0.935), (0.3, 0.925, 0.945), (0.6, 0.82, 0.94), (0.9, 0.50, 0.935)],
)
def test_median_interval_covers_only_when_widened(rho: float, naive_at_most: float, widened_at_least: float) -> None:
    series_DI = autoregressive(rho, 400)
    assert median_coverage(series_DI, lambda _: 1.0) <= naive_at_most
    # A standard error of coverage is 0.007 at 1000 draws. The upper limit: not wide for nothing.
    assert widened_at_least <= median_coverage(series_DI, autocorrelation_time) <= 0.99


def test_median_interval_lies_between_the_ranks_of_the_source() -> None:
    # n = 100: (101 -+ 19.6) / 2, which the source rounds to 40 and 61.
    found = median_interval(np.arange(1, 101)[::-1])
    assert found is not None
    assert (found.lower, found.value, found.upper) == pytest.approx((40.7, 50.5, 60.3), abs=0.01)
    assert (found.count, found.over, found.level) == (100, "repetitions", 0.95)


@pytest.mark.parametrize("count", [10, 12, 20, 31, 50, 77])
def test_median_interval_of_few_values_is_not_wide_for_nothing(count: int) -> None:
    series_DI = np.random.default_rng(count).standard_normal((4000, count))
    # Ranks that are rounded outwards cover up to 98.9 % here. The standard error is 0.3 %.
    assert 0.94 <= median_coverage(series_DI, lambda _: 1.0) <= 0.968


@pytest.mark.parametrize("count", range(6))
def test_few_values_cannot_bound_a_median(count: int) -> None:
    assert median_interval(np.arange(count)) is None


def test_five_values_are_too_few_at_any_level() -> None:
    assert median_interval(np.arange(5), level=0.5) is None
    assert median_interval(np.arange(6), level=0.5) is not None


def test_six_values_bound_it_near_their_extremes() -> None:
    found = median_interval(np.arange(6))
    assert found is not None
    assert (found.lower, found.upper) == pytest.approx((0.1, 4.9), abs=0.01)


def test_dependent_values_cannot_bound_a_median() -> None:
    assert median_interval(np.arange(100), tau=20) is not None
    assert median_interval(np.arange(100), tau=30) is None
    assert median_interval(np.arange(100), tau=math.inf) is None


def test_the_method_shows_tau() -> None:
    found = median_interval(np.arange(100), tau=2.5)
    assert found is not None
    assert found.method == "median, order statistics, tau 2.5"


@pytest.mark.parametrize("tau", [0.5, -1.0, math.nan])
def test_tau_is_at_least_one(tau: float) -> None:
    with pytest.raises(ValueError, match="autocorrelation"):
        median_interval(np.arange(100), tau=tau)


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.6, 0.9])
def test_autocorrelation_time_is_near_the_truth(rho: float) -> None:
    taus = [autocorrelation_time(values_I) for values_I in autoregressive(rho, 2000)[:200]]
    # Ranks lower it a little, the cut of the sum a little more.
    assert 0.85 <= np.median(taus) / ((1 + rho) / (1 - rho)) <= 1.1


def test_one_scheduler_slice_does_not_hide_dependence() -> None:
    series_I = 150e-6 * np.exp(0.02 * autoregressive(0.6, 400)[0])
    series_I[200] = 4e-3
    assert autocorrelation_time(series_I) > 2.5


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0], [5.0] * 50])
def test_nothing_to_correlate(values: list[float]) -> None:
    assert autocorrelation_time(values) == 1.0


def test_a_trend_is_maximal_dependence() -> None:
    assert autocorrelation_time(np.arange(200)) > 20


@given(series)
@settings(deadline=None)
def test_autocorrelation_time_depends_on_ranks_only(values: list[float]) -> None:
    tau = autocorrelation_time(values)
    assert 1.0 <= tau <= len(values)
    ranks = np.searchsorted(np.unique(values), values)
    assert autocorrelation_time(ranks**3) == pytest.approx(tau)


def brute_force_autocorrelation_time(values: Sequence[float]) -> float:
    count = len(values)
    deviations = stats.rankdata(values) - (count + 1) / 2
    correlations = [
        sum(deviations[lag:] * deviations[: count - lag]) / sum(deviations**2) for lag in range(1, count)
    ]  # fmt: skip

    def time_of(lost: float) -> float:
        tau = 1.0
        for correlation in correlations:
            whole = correlation * (1 - lost) + lost
            if whole < 0.05:
                break
            tau += 2 * whole
        return tau

    return min(count, time_of(time_of(0) / count)) if count > 2 else 1.0


@given(st.lists(st.integers(0, 9), min_size=2, max_size=60).filter(lambda values: len(set(values)) > 1))
@settings(deadline=None)
def test_autocorrelation_time_agrees_with_its_definition(steps: list[int]) -> None:
    # The running sum of few distinct steps has both ties and long dependence.
    for values in (steps, np.cumsum(steps).tolist()):
        expected = brute_force_autocorrelation_time(values) if len(set(values)) > 1 else 1.0
        assert autocorrelation_time(values) == pytest.approx(expected, rel=1e-6)


def test_a_short_series_does_not_seem_to_depend_on_itself_less() -> None:
    # 100 values that depend on each other over 19: the mean of the series follows them, and takes half of it away.
    taus = [autocorrelation_time(values_I) for values_I in autoregressive(0.9, 100)]
    assert 12 <= np.median(taus) <= 20


# -- mser5


def test_a_step_of_15_calls_is_found() -> None:
    rng = np.random.default_rng(2)
    step_I = np.where(np.arange(200) < 15, 1.0, 0.0)
    cuts = [mser5(1 + step_I + 0.1 * rng.standard_normal(200)) for _ in range(DRAWS)]
    assert min(cuts) == 15
    assert np.median(cuts) == 15


def test_a_steady_series_is_mostly_left_alone() -> None:
    rng = np.random.default_rng(3)
    cuts = [mser5(rng.lognormal(sigma=0.1, size=200)) for _ in range(DRAWS)]
    assert np.median(cuts) == 0
    assert np.mean(np.array(cuts) > 200 / 3) < 0.06
    assert max(cuts) <= 100


def test_a_lone_huge_first_call_is_no_step() -> None:
    series_DI = 1 + 0.1 * np.random.default_rng(4).standard_normal((200, 200))
    # How huge it is makes no difference to a median of five.
    cuts: list[list[int]] = []
    for first_call in (2.0, 1000.0):
        series_DI[:, 0] = first_call
        cuts.append([mser5(values_I) for values_I in series_DI])
    assert cuts[0] == cuts[1]
    assert np.median(cuts[0]) == 0


def test_exact_steps_are_cut_exactly() -> None:
    # int64 nanoseconds with a large offset, where a sum of squares would cancel.
    steady = np.full(100, 10**15, dtype=np.int64)
    stepped = steady.copy()
    stepped[:35] += 3
    assert mser5(steady) == 0
    assert mser5(stepped) == 35


def test_never_more_than_half() -> None:
    stepped = np.zeros(103)
    stepped[:80] = np.arange(80, 0, -1)
    assert mser5(stepped) == 50


@pytest.mark.parametrize("count", [0, 1, 19])
def test_short_series_have_no_warm_up(count: int) -> None:
    assert mser5(np.arange(count)[::-1]) == 0


def brute_force_mser5(values_I: Floats) -> int:
    medians = [float(np.median(values_I[b * 5 : b * 5 + 5])) for b in range(len(values_I) // 5)]
    scores = [np.var(medians[cut:]) / len(medians[cut:]) for cut in range(len(medians) // 2 + 1)]
    return int(np.argmin(scores)) * 5


@pytest.mark.parametrize("seed", range(20))
def test_mser5_agrees_with_its_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values_I = rng.lognormal(size=int(rng.integers(20, 200)))
    assert mser5(values_I) == brute_force_mser5(values_I)


# -- log_t_interval


@pytest.mark.parametrize("launches", [2, 3, 5, 10])
def test_log_t_interval_covers_its_level(launches: int) -> None:
    rng = np.random.default_rng(launches)
    for level in (0.95, 0.9):
        found = [log_t_interval(values_L, level) for values_L in rng.lognormal(0, 0.1, (10_000, launches))]
        covers = np.mean([e is not None and e.lower <= 1 <= e.upper for e in found])
        assert covers == pytest.approx(level, abs=0.012)


def test_log_t_interval_by_hand() -> None:
    # Logs 0, 1, 2: mean 1, standard deviation 1, t(0.975, 2) = 4.302653.
    found = log_t_interval(np.exp([0.0, 1.0, 2.0]))
    assert found is not None
    assert math.log(found.value) == pytest.approx(1)
    assert math.log(found.upper) == pytest.approx(1 + 4.302652729696 / math.sqrt(3))
    assert math.log(found.lower) == pytest.approx(1 - 4.302652729696 / math.sqrt(3))
    assert (found.count, found.over) == (3, "launches")


def test_one_launch_has_no_interval() -> None:
    assert log_t_interval([1.0]) is None
    assert log_t_interval([]) is None


def test_an_endless_interval_is_none() -> None:
    assert log_t_interval([1e-200, 1e200]) is None


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_logarithms_need_positive_values(bad: float) -> None:
    with pytest.raises(ValueError, match=r"positive|finite"):
        log_t_interval([1.0, bad])


@given(st.lists(st.floats(0.1, 10), min_size=2, max_size=20), st.floats(1e-3, 1e3))
def test_log_t_interval_scales_and_ignores_order(values: list[float], unit: float) -> None:
    first = log_t_interval(values)
    shuffled = sorted(values)
    second = log_t_interval(np.array(shuffled) * unit)
    narrow = log_t_interval(values, level=0.5)
    assert first is not None
    assert second is not None
    assert narrow is not None
    assert second.value == pytest.approx(first.value * unit)
    assert second.upper == pytest.approx(first.upper * unit)
    assert first.lower <= narrow.lower <= narrow.upper <= first.upper


# -- counting odd values


def test_far_outliers_are_far_and_above() -> None:
    values_I = [*range(1, 101), 250, 251, -1000]
    is_far = far_outliers(values_I)
    assert np.flatnonzero(is_far).tolist() == [100, 101]
    # Of 1 to 100 and one more above, Q1 = 26 and Q3 = 76: the fence stands at 226.
    assert not far_outliers([*range(1, 101), 226]).any()
    assert far_outliers([*range(1, 101), 226.5]).sum() == 1


def test_a_second_mode_is_counted_on_both_sides() -> None:
    values_I = [10.0] * 90 + [31.0] * 6 + [3.0] * 4
    assert share_beyond(values_I) == pytest.approx(0.10)
    assert share_beyond(values_I, factor=3.2) == pytest.approx(0.04)
    assert share_beyond([10.0, 30.0, 10 / 3 + 1e-9, 10.0, 10.0]) == 0


@pytest.mark.parametrize("factor", [1.0, 0.5, math.nan])
def test_a_factor_is_above_one(factor: float) -> None:
    with pytest.raises(ValueError, match="factor"):
        share_beyond([1.0], factor)


def test_tail_quantiles_of_a_line() -> None:
    found = tail_quantiles(np.arange(101)[::-1])
    assert found == TailQuantiles(minimum=0, p25=25, median=50, p75=75, p95=95, p99=99, maximum=100)


@given(series)
def test_summaries_ignore_order_and_are_ordered(values: list[float]) -> None:
    backwards = values[::-1]
    quantiles = tail_quantiles(values)
    assert tail_quantiles(backwards) == quantiles
    ladder = list(msgspec.structs.astuple(quantiles))
    assert ladder == sorted(ladder)
    assert share_beyond(backwards) == share_beyond(values)
    assert far_outliers(backwards)[::-1].tolist() == far_outliers(values).tolist()
    assert median_interval(backwards) == median_interval(values)


@given(st.lists(st.floats(1e-9, 1e9), min_size=10, max_size=200), st.floats(1, 3), st.floats(1, 3))
def test_a_larger_tau_never_narrows(values: list[float], one: float, two: float) -> None:
    narrow, wide = (median_interval(values, tau=tau) for tau in sorted((one, two)))
    if wide is not None:
        assert narrow is not None
        assert wide.lower <= narrow.lower <= narrow.value <= narrow.upper <= wide.upper


# -- inputs that are no series

every_function: list[Callable[[npt.ArrayLike], object]] = [
    median_interval,
    autocorrelation_time,
    mser5,
    log_t_interval,
    far_outliers,
    share_beyond,
    tail_quantiles,
]


@pytest.mark.parametrize("function", every_function)
@pytest.mark.parametrize("values", [[[1.0, 2.0]], [1.0, math.nan], [1.0, math.inf], 1.0])
def test_only_finite_vectors_are_taken(function: Callable[[npt.ArrayLike], object], values: object) -> None:
    with pytest.raises(ValueError, match=r"vector|finite"):
        function(values)  # type: ignore[arg-type]


@pytest.mark.parametrize("function", [far_outliers, share_beyond, tail_quantiles])
def test_nothing_has_no_summary(function: Callable[[npt.ArrayLike], object]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        function([])


@pytest.mark.parametrize("function", every_function)
def test_ten_thousand_values_take_little_time(function: Callable[[npt.ArrayLike], object]) -> None:
    values_I = np.random.default_rng(5).lognormal(size=10_000)
    best = math.inf
    for _ in range(20):
        start = time.perf_counter()
        function(values_I)
        best = min(best, time.perf_counter() - start)
    # Aimed at 5 ms; the rest is for slow and busy machines.
    assert best < 0.02
