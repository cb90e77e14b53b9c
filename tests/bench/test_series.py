"""Which T the clocks allow: decided at the first look, proven at the end, and always what the rule judged."""

from __future__ import annotations

import numpy as np
import pytest

from collmark.bench.series import Series
from collmark.bench.stamps import CLOCK_SHARE, Stamps, repetition_times
from collmark.bench.stopping import StoppingRule
from collmark.core.case import Case
from collmark.core.operation import Estimand
from collmark.core.placement import Placement
from collmark.core.record import Status

CASE = Case(
    operation="all_reduce", backend="gloo", dtype="float32", placement=Placement(nodes=2), nbytes=64,
    requested_nbytes=64, reduction="sum",
)  # fmt: skip
MICRO = 1000  # ns
T = 100e-6
LIMIT = CLOCK_SHARE * T


class Calls:
    """Calls of 100 us after the last entry, one rank entering late by up to 60 us."""

    def __init__(self, late: float = 60.0) -> None:
        self.random = np.random.default_rng(4)
        self.late = late
        self.begin = 10**9

    def block(self, count: int, error: float) -> Stamps:
        enter_I = self.begin + 10**6 * np.arange(count)
        late_I = (self.random.uniform(0, self.late, count) * MICRO).astype(np.int64)
        left_I = enter_I + late_I + 100 * MICRO
        self.begin += 10**6 * count
        layers = np.array([[enter_I, enter_I + late_I], [left_I, left_I]], dtype=np.int64)
        return Stamps(layers_SRI=layers, starts_I=enter_I, comparable=True, error=error)


def repeated(calls: Calls, error: float, looks: int = 20) -> Series:
    """Return a series that was looked at until the rule was content."""
    series = Series(CASE, StoppingRule(0.05, 1e-9))
    for _look in range(looks):
        series.add(calls.block(series.rule.next_count(series.count), error))
        series.look(is_over=False)
        if series.rule.is_finished:
            break
    return series


def estimand_of(series: Series) -> Estimand:
    judgement = series.rule.judgement
    assert judgement is not None
    assert judgement.interval is not None
    medians = {
        Estimand.LAST_IN_LAST_OUT: np.median(
            series.stamps.layers_SRI[1].max(axis=0) - series.stamps.layers_SRI[0].max(axis=0)
        ),
        Estimand.LONGEST_LOCAL: np.median(series.stamps.local_RI.max(axis=0)) * 1e9,
    }
    (found,) = [name for name, value in medians.items() if judgement.interval.value * 1e9 == pytest.approx(value)]
    return found


@pytest.mark.parametrize(("error", "tells"), [(0.0, True), (0.99 * LIMIT, True), (LIMIT, False), (1.0, False)])
def test_the_first_look_decides(error: float, *, tells: bool) -> None:
    series = repeated(Calls(), error)
    assert estimand_of(series) is (Estimand.LAST_IN_LAST_OUT if tells else Estimand.LONGEST_LOCAL)
    series.conclude(error)
    assert series.stamps.comparable is tells
    assert (series.stamps.starts_I is None) is not tells
    assert estimand_of(series) is (Estimand.LAST_IN_LAST_OUT if tells else Estimand.LONGEST_LOCAL)


def test_one_clock_tells_any_time_even_none() -> None:
    stamps = Calls().block(3, 0.0)
    assert stamps.tells(0.0)
    assert not stamps.apart().tells(1.0)
    assert not Calls().block(3, 1e-9).tells(0.0)


def test_a_bound_that_proves_too_large_has_all_judged_anew() -> None:
    calls = Calls()
    series = repeated(calls, 0.5 * LIMIT)
    assert series.rule.is_finished
    seen = series.count
    series.conclude(1.1 * LIMIT)
    assert not series.stamps.comparable
    assert estimand_of(series) is Estimand.LONGEST_LOCAL
    # L never varies, D_max does: what was enough for one is not enough for the other.
    assert not series.rule.is_finished
    assert series.rule.status(seen) is Status.BUDGET
    while not series.rule.is_finished:
        series.add(calls.block(series.rule.next_count(series.count), 0.5 * LIMIT))
        series.look(is_over=False)
    series.conclude(0.5 * LIMIT)
    assert series.count > seen
    assert estimand_of(series) is Estimand.LONGEST_LOCAL  # for good
    assert series.rule.status(series.count) is Status.CONVERGED


def test_where_d_max_is_as_steady_nothing_more_is_needed() -> None:
    series = repeated(Calls(late=0.0), 0.5 * LIMIT)
    series.conclude(2 * LIMIT)
    assert series.rule.is_finished
    assert not series.stamps.comparable


def test_a_bound_that_proves_better_than_it_seemed_does_not_change_what_was_judged() -> None:
    series = repeated(Calls(), 2 * LIMIT)
    series.conclude(0.1 * LIMIT)
    assert not series.stamps.comparable


def test_the_bound_is_that_of_the_worst_block_and_of_the_end() -> None:
    series = Series(CASE, StoppingRule(0.05, 1e-9))
    for error in (1e-6, 3e-6, 2e-6):
        series.add(Calls().block(10, error))
    series.look(is_over=True)
    assert series.stamps.error == 3e-6
    series.conclude(4e-6)
    assert series.stamps.error == 4e-6
    series.conclude(1e-6)
    assert series.stamps.error == 4e-6


def test_the_end_judges_by_the_median_that_is_recorded() -> None:
    # A third is a warm-up of 4 T, which is cut: the median of all is above that of the rest.
    series, calls = Series(CASE, StoppingRule(0.05, 1e-9)), Calls(late=0.0)
    spread = np.random.default_rng(5).uniform(-20, 20, 60) * MICRO
    warm, rest = calls.block(30, 0.0), calls.block(60, 0.0)
    warm.layers_SRI[1] += 300 * MICRO
    rest.layers_SRI[1] += spread.astype(np.int64)
    for block in (warm, rest):
        series.add(block)
        series.look(is_over=False)
    judgement = series.rule.judgement
    assert judgement is not None
    assert judgement.cut == 30
    seconds_I = repetition_times(series.stamps, CASE.estimand, 1)
    of_rest, of_all = np.median(seconds_I[30:]), np.median(seconds_I)
    assert of_all > 1.05 * of_rest
    series.conclude(CLOCK_SHARE * 1.02 * of_rest)
    assert not series.stamps.comparable
