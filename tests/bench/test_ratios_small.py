"""Ratios of two runs, and runs that add launches, cover the truth: the small form of tests/prove/prove_ratios.py."""

import functools

import pytest
from tests.prove.coverage_draws import Setting, covers, truth
from tests.prove.ratio_draws import Pair, make_pair

DRAWS = 100
# A method that covers 95 % of runs covers fewer than 89 of 100 once in 230 times; one that covers 92 %, fewer than 85.
LEAST, LEAST_SEQUENTIAL = 89, 85
SETTING = Setting(launch_sd=0.03, within_cv=0.05)

pytestmark = pytest.mark.slow


@functools.cache
def pairs() -> list[Pair]:
    return [make_pair(SETTING, seed) for seed in range(DRAWS)]


def test_the_ratio_of_two_runs_of_one_plan_is_1() -> None:
    assert sum(covers(pair.ratio, 1.0) for pair in pairs()) >= LEAST


def test_adding_launches_until_they_agree_still_covers() -> None:
    assert sum(covers(pair.sequential, truth(SETTING)) for pair in pairs()) >= LEAST_SEQUENTIAL


def test_launches_are_added_where_they_do_not_agree() -> None:
    counts = [pair.sequential.count for pair in pairs()]
    assert min(counts) >= 5
    assert max(counts) > 5
    # It stops as soon as it is enough: none is wider than asked for.
    assert all(pair.sequential.relative_half_width <= 0.05 for pair in pairs())
