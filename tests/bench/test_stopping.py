"""When a case has been measured enough, and when its figure is not to be trusted."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collmark.bench.stopping import FIRST_REPETITIONS, LEAST_TIMES, StoppingRule, judge
from collmark.core.record import Status

Floats = npt.NDArray[np.float64]
TICK = 1e-9


def noisy(cv: float, count: int, seed: int = 1) -> Floats:
    """Draw repetitions of 100 us, log-normal around it."""
    return 1e-4 * np.exp(cv * np.random.default_rng(seed).standard_normal(count))


def run_rule(series: Floats, precision: float = 0.05, tick: float = TICK) -> tuple[Status, int]:
    """Give a rule what it asks for until it is content or the series ends; return status and repetitions."""
    rule, done = StoppingRule(precision, tick), 0
    while not rule.is_finished and done < len(series):
        done = min(len(series), done + rule.next_count(done))
        rule.add(series[:done])
    return rule.status(done), done


def test_a_constant_series_converges_at_once() -> None:
    status, done = run_rule(np.full(1000, 1e-4))
    assert status is Status.CONVERGED
    assert done == 2 * FIRST_REPETITIONS


@pytest.mark.parametrize(("cv", "precision"), [(0.02, 0.05), (0.1, 0.05), (0.2, 0.05), (0.05, 0.01)])
def test_a_noisy_series_converges_to_what_it_says(cv: float, precision: float) -> None:
    medians = []
    for seed in range(40):
        series = noisy(cv, 5000, seed)
        status, done = run_rule(series, precision)
        assert status is Status.CONVERGED
        judgement = judge(series[:done], TICK)
        assert judgement.half_width <= precision
        assert judgement.interval is not None
        medians.append(judgement.interval.value)
    within = np.abs(np.array(medians) / 1e-4 - 1) <= precision
    assert within.mean() >= 0.9


def test_more_noise_takes_more_repetitions() -> None:
    needed = [np.median([run_rule(noisy(cv, 20_000, seed))[1] for seed in range(10)]) for cv in (0.02, 0.1, 0.3)]
    assert needed[0] < needed[1] < needed[2]


def test_what_does_not_get_narrow_in_time_is_budget() -> None:
    assert run_rule(noisy(0.3, 50), precision=0.01) == (Status.BUDGET, 50)


def test_a_series_that_depends_on_itself_goes_on_until_that_is_known() -> None:
    """Where 30 narrow repetitions were enough, a tenth of what depends over 19 would be taken for independent."""
    for seed in range(20):
        noise, random = np.zeros(4000), np.random.default_rng(seed)
        for i in range(1, 4000):
            noise[i] = 0.9 * noise[i - 1] + 0.44 * random.standard_normal()
        status, done = run_rule(1e-4 * np.exp(0.02 * noise))
        judgement = judge((1e-4 * np.exp(0.02 * noise))[:done], TICK)
        assert status is Status.CONVERGED
        assert done - judgement.cut >= LEAST_TIMES * judgement.tau
        assert done > 150


def bimodal(share: float, factor: float, count: int = 2000, seed: int = 7) -> Floats:
    slow = np.random.default_rng(seed).random(count) < share
    return noisy(0.02, count, seed) * np.where(slow, factor, 1.0)


def unstable_of_100(share: float, factor: float) -> int:
    return sum(run_rule(bimodal(share, factor, seed=seed))[0] is Status.UNSTABLE for seed in range(100))


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("factor", [3.5, 5.0, 100.0])
def test_a_bimodal_series_is_unstable(share: float, factor: float) -> None:
    assert unstable_of_100(share, factor) >= 90


@pytest.mark.parametrize(("share", "most"), [(0.0, 0), (0.02, 2), (0.03, 5)])
def test_a_short_series_is_rarely_called_bimodal_by_chance(share: float, most: int) -> None:
    """Two far repetitions of thirty are 7 %; stopping there called every seventh steady series unstable."""
    assert unstable_of_100(share, 5.0) <= most


@pytest.mark.parametrize("factor", [3.5, 4.0, 100.0])
def test_two_modes_that_take_turns_are_unstable(factor: float) -> None:
    # The median of an even number lies between the modes, and neither beyond 3 x of that.
    status, _done = run_rule(np.tile([1e-4, factor * 1e-4], 500))
    assert status is Status.UNSTABLE


@pytest.mark.parametrize("share", [0.0, 0.03])
def test_a_rare_slow_repetition_is_no_second_mode(share: float) -> None:
    assert run_rule(bimodal(share, 5.0))[0] is Status.CONVERGED


def test_twice_in_a_row() -> None:
    narrow, wide = np.full(40, 1e-4), noisy(0.5, 40)
    rule = StoppingRule(0.05, TICK)
    finished = []
    for series in (narrow, wide, narrow, wide, narrow, narrow):
        rule.add(series)
        finished.append(rule.is_finished)
    assert finished == [False, False, False, False, False, True]


def test_the_end_of_the_time_is_judged_and_is_no_second_look() -> None:
    rule = StoppingRule(0.05, TICK)
    rule.add(np.full(10, 1e-4))
    judgement = rule.end(np.full(11, 1e-4))
    assert judgement == rule.judgement
    assert judgement.interval is not None
    assert judgement.interval.count == 11
    assert not rule.is_finished
    assert rule.status(11) is Status.BUDGET


def test_an_interval_that_cannot_be_bounded_never_converges() -> None:
    rule = StoppingRule(0.5, TICK)
    for count in (1, 2, 5):
        rule.add(np.full(count, 1e-4))
        assert not rule.is_finished
    assert rule.judgement is not None
    assert rule.judgement.interval is None
    assert rule.judgement.half_width == np.inf


@pytest.mark.parametrize(("tick", "converges"), [(0.9e-8, True), (1.1e-8, False)])
def test_an_interval_is_never_narrower_than_the_clocks_tick(tick: float, *, converges: bool) -> None:
    # Half a tick to each side of 100 ns: 4.5 % and 5.5 %.
    series = np.full(3000, 1e-7)
    judgement = judge(series, tick)
    assert judgement.half_width == pytest.approx(tick / 2 / 1e-7)
    assert (run_rule(series, 0.05, tick)[0] is Status.CONVERGED) is converges


def test_a_wide_interval_is_left_alone_by_the_tick() -> None:
    series = noisy(0.3, 50)
    assert judge(series, 1e-9) == judge(series, 1e-12)


def test_a_slow_beginning_is_cut() -> None:
    series = noisy(0.05, 200)
    series[:15] *= 5
    judgement = judge(series, TICK)
    assert judgement.cut == 15
    assert judgement.interval is not None
    assert judgement.interval.value == pytest.approx(np.median(series[15:]))
    assert judgement.interval.count == 185
    assert judgement.second_mode == 0


def test_a_cut_is_taken_back_unless_what_is_cut_differs() -> None:
    # MSER-5 alone cuts a steady series by chance, up to half of it.
    cuts = [judge(noisy(0.05, 200, seed), TICK).cut for seed in range(100)]
    assert sum(cut > 5 for cut in cuts) <= 5
    assert all(cut % 5 == 0 for cut in cuts)


def test_a_cut_of_more_than_a_third_is_unstable() -> None:
    for slow, status in ((30, Status.CONVERGED), (45, Status.UNSTABLE)):
        series = noisy(0.02, 100, seed=3)
        series[:slow] *= 2  # not beyond 3 x, so that only the cut can tell
        rule = StoppingRule(0.05, TICK)
        for _twice in range(2):
            rule.add(series)
        assert rule.judgement is not None
        assert rule.judgement.cut in (slow, slow + 5)
        assert rule.status(100) is status


def test_a_warm_up_of_over_a_third_is_waited_out() -> None:
    """Calls of a microsecond are over before a processor is at speed: stopping there called every tenth unstable."""
    cuts = []
    for seed in range(50):
        series = noisy(0.02, 4000, seed)
        series[:14] *= 1.3
        status, done = run_rule(series)
        cuts.append(judge(series[:done], TICK).cut)
        assert status is Status.CONVERGED
        assert cuts[-1] <= done / 3
    assert np.mean(np.array(cuts) >= 10) >= 0.9


@pytest.mark.parametrize(
    ("slow", "count", "factor", "least"),
    [(15, 100, 2.0, 0.75), (30, 100, 2.0, 0.95), (30, 100, 1.2, 0.95), (10, 50, 3.0, 0.7)],
)
def test_a_slow_beginning_is_cut_even_where_the_cut_reaches_further(
    slow: int, count: int, factor: float, least: float
) -> None:
    cuts = []
    for seed in range(100):
        series = noisy(0.03, count, seed)
        series[:slow] *= factor
        cuts.append(judge(series, TICK).cut)
    assert np.mean(np.array(cuts) >= slow) >= least


def test_dependent_repetitions_widen_the_interval() -> None:
    independent = noisy(0.1, 400)
    dependent = np.repeat(independent[:40], 10)
    assert judge(dependent, TICK).tau > 4
    assert judge(dependent, TICK).half_width > 1.5 * judge(independent, TICK).half_width


@given(st.integers(0, 10**6))
def test_blocks_grow_with_what_there_is(repetitions: int) -> None:
    following = StoppingRule(0.05, TICK).next_count(repetitions)
    assert following >= FIRST_REPETITIONS
    assert following == max(FIRST_REPETITIONS, repetitions // 2)


def test_nothing_judged_is_budget() -> None:
    assert StoppingRule(0.05, TICK).status(0) is Status.BUDGET
