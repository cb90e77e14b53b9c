"""The variance of launches is found without bias, whatever the repetitions inside them do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.analysis.made import case_of, curve, record_of, replaced, timing_of
from tests.prove.variance_draws import Spread, draw_variance

from collmark.core.operation import Estimand
from collmark.core.record import Sentinel, Status
from collmark.core.variance import Variance, pooled, typical, variance_of, variances_of

DRAWS = 200


def variance(observed: float, sampling: float = 0.0, within: float = 0.0) -> Variance:
    return Variance(observed=observed, sampling=sampling, within=within, launches=5)


def test_the_parts_by_hand() -> None:
    timings = [timing_of(math.exp(log), Estimand.LAST_IN_LAST_OUT) for log in (-0.1, 0.0, 0.1)]
    found = variance_of(timings)
    assert found is not None
    within = (math.log(1.03 / 0.97) / 1.349) ** 2
    assert (found.observed, found.within) == pytest.approx((0.01, within))
    assert found.sampling == pytest.approx(math.pi / 2 * within / 100)
    assert found.between == pytest.approx(math.sqrt(0.01 - found.sampling))
    assert found.inside == pytest.approx(math.sqrt(within))
    assert (found.launches, found.cases) == (3, 1)


def test_repetitions_that_explain_all_leave_nothing_between() -> None:
    assert variance(0.001, 0.002).between == 0


def test_one_launch_has_no_variance() -> None:
    assert variance_of([timing_of(1.0, Estimand.LAST_IN_LAST_OUT)]) is None
    assert not variances_of([record_of(case_of(), 1e-4), record_of(case_of(), None, 2)])


def test_sentinels_do_not_count() -> None:
    records = curve(sizes=(64,), levels=(1.0, 1.1))
    again = [replaced(record, sentinel=Sentinel.END) for record in curve(sizes=(64,), levels=(5.0, 9.0))]
    assert variances_of([*records, *again]) == variances_of(records)


def test_launches_that_the_table_leaves_out_do_not_count() -> None:
    steady = curve(sizes=(64,), levels=(1.0, 1.1))
    slow = [replaced(r, launch=3, status=Status.UNSTABLE) for r in curve(sizes=(64,), levels=(9.0,))]
    assert variances_of([*steady, *slow]) == variances_of(steady)
    assert variances_of([*steady, *slow], include_unstable=True) != variances_of(steady)
    assert not variances_of([*steady, replaced(slow[0], status=Status.WRONG)])
    unstable = [replaced(r, status=Status.UNSTABLE) for r in steady]
    assert variances_of(unstable) == variances_of(steady)


def test_an_odd_case_moves_the_mean_and_not_the_median() -> None:
    cases = [variance(0.01), variance(0.01), variance(0.01), variance(9.0)]
    assert pooled(cases).observed == pytest.approx(2.2575)
    assert typical(cases).observed == pytest.approx(0.01)
    assert pooled(cases).cases == typical(cases).cases == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    "spread", [Spread(launch_sd=0.03), Spread(launch_sd=0.0), Spread(launch_sd=0.03, within_cv=0.2)], ids=str
)
def test_the_variance_of_launches_is_without_bias(spread: Spread) -> None:
    found = [draw_variance(spread, seed) for seed in range(DRAWS)]
    parts = np.array([one.observed - one.sampling for one in found])
    error = parts.std(ddof=1) / math.sqrt(DRAWS)
    # The autocorrelation time of 60 repetitions is a tenth too long in the mean.
    assert abs(parts.mean() - spread.launch_sd**2) < 3 * error + 0.12 * np.mean([one.sampling for one in found])
    if spread.within_cv == 0.2:
        # Without taking the repetitions' part off, launches would seem to differ by more than they do.
        assert np.mean([one.observed for one in found]) > spread.launch_sd**2 + 5 * error
