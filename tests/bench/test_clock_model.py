"""What messages prove of another clock, on simulated ways there and back. E exchanges of messages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collmark.bench.clock_model import MOST_DRIFT, Line, Look, envelope, line_through

TICK = 1.0  # ns
AHEAD = 5_000_000_000  # ns: the other clock


def exchanges(
    *ways: tuple[int, int], ahead: int = AHEAD, begin: int = 10**12
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return exchanges of messages, one after the other, whose ways there and back take so many ns."""
    rows = []
    for there, back in ways:
        rows.append((begin, begin + there + ahead, begin + there + back))
        begin += there + back
    return np.array(rows, dtype=np.int64)


def slack(look: Look, half: float) -> float:
    """Return what is added to half the distance of the bounds."""
    return look.error - half


def test_one_exchange_by_hand() -> None:
    # The other clock was read between 0 and 40 us after we sent: it is ahead by its reading less that.
    look = envelope(exchanges((10_000, 30_000)), TICK)
    assert look.ahead == AHEAD - 10_000
    assert look.moment == 10**12 + 20_000
    assert slack(look, 20_000) == pytest.approx(MOST_DRIFT * 20_000 + TICK)


def test_the_closest_bounds_of_all_exchanges_count() -> None:
    # The way there was shortest in one exchange, the way back in another.
    look = envelope(exchanges((2_000, 90_000), (70_000, 4_000), (50_000, 50_000)), TICK)
    assert look.ahead == AHEAD + (2_000 - 4_000) // 2
    assert slack(look, 3_000) == pytest.approx(MOST_DRIFT * 166_000 / 2 + TICK)


def test_an_exchange_that_takes_long_does_no_harm() -> None:
    quick = (10_000, 10_000)
    assert envelope(exchanges(quick, (10**7, 10**7), quick), TICK).error < 1.01 * envelope(exchanges(quick), TICK).error


ways = st.tuples(st.integers(1, 10**7), st.integers(1, 10**7))


@given(st.lists(ways, min_size=1, max_size=12), st.integers(-(10**18), 10**18), st.floats(-MOST_DRIFT, MOST_DRIFT))
def test_the_truth_lies_within_the_bound_whatever_the_ways(
    taken: list[tuple[int, int]], ahead: int, drift: float
) -> None:
    begin = 10**9
    rows = exchanges(*taken, ahead=ahead, begin=begin)
    rows[:, 1] += np.rint(drift * (rows[:, 1] - ahead - begin)).astype(np.int64)
    look = envelope(rows, TICK)
    assert abs(look.ahead - ahead - drift * (look.moment - begin)) <= look.error + 1


def test_a_clock_that_is_set_between_two_exchanges_is_covered_before_and_after() -> None:
    rows = exchanges(*[(10_000, 10_000)] * 4)
    rows[2:, 1] += 700_000
    look = envelope(rows, TICK)
    for truth in (AHEAD, AHEAD + 700_000):
        assert abs(look.ahead - truth) <= look.error


def looks_on(ahead: int, drift: float, *moments: int, error: float = 1000.0) -> list[Look]:
    return [Look(moment=m, ahead=ahead + round(drift * m), error=error) for m in moments]


@pytest.mark.parametrize("ahead", [0, -5 * 10**9, 3 * 10**16, -(2**61)])
def test_a_line_goes_there_and_back(ahead: int) -> None:
    # Months of uptime in ns are beyond what a double holds.
    drift = 87e-6
    line = line_through(looks_on(ahead, drift, *range(0, 10**9, 10**8)), origin=5 * 10**8)
    assert line.drift == pytest.approx(drift, abs=1e-9)
    moments = np.array([0, 123_456_789, 10**9, 60 * 10**9])
    readings = moments + [ahead + round(drift * int(m)) for m in moments]
    assert np.abs(line.moments(readings) - moments).max() <= 60
    assert [m + line.ahead(int(m)) for m in moments] == pytest.approx(readings.tolist(), abs=60)
    assert np.abs(line.moments(moments + [line.ahead(int(m)) for m in moments]) - moments).max() <= 1


def test_a_coarse_look_weighs_little() -> None:
    fine = looks_on(AHEAD, 50e-6, *range(0, 10**9, 10**8))
    odd = Look(moment=5 * 10**8, ahead=AHEAD + 10**7, error=10**7)
    assert line_through([*fine, odd], 0).drift == pytest.approx(50e-6, abs=1e-7)


def test_the_bound_is_a_looks_error_and_distance_and_grows_with_age() -> None:
    random = np.random.default_rng(3)
    scattered = [
        Look(moment=look.moment, ahead=look.ahead + int(random.normal(0, 300)), error=1000.0)
        for look in looks_on(AHEAD, 50e-6, *range(0, 10**9, 33_000_000))
    ]
    line = line_through(scattered, 0)
    nearest = min(line.distance(look) + look.error for look in scattered)
    assert nearest <= line.error_at(5 * 10**8) < 1.3 * nearest
    ages = [line.error_at(10**9 + age * 10**9) for age in (0, 1, 5, 20)]
    assert ages == sorted(ages)
    assert ages[3] - ages[2] == pytest.approx(15e9 * line.drift_error)


@pytest.mark.parametrize("count", [1, 2])
def test_of_one_look_or_two_the_drift_is_anything(count: int) -> None:
    line = line_through(looks_on(AHEAD, 0.0, *range(0, count * 10**6, 10**6)), 0)
    assert line.drift_error == MOST_DRIFT
    assert line.error_at(10**9) >= 1000 + MOST_DRIFT * (10**9 - 10**6)


class Path:
    """A clock behind ways that are not alike, with outliers."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.drift = float(self.random.uniform(-50e-6, 50e-6))
        self.ahead = int(self.random.integers(-(10**15), 10**15))
        self.shortest = self.random.uniform(3_000, 40_000, 2)  # ns there, and back

    def truth(self, moment: int) -> float:
        return self.ahead + self.drift * moment

    def look(self, begin: int) -> Look:
        taken = self.shortest * (1 + self.random.exponential(0.3, (10, 2)))
        taken[self.random.random((10, 2)) < 0.05] += self.random.exponential(2e6)
        rows = exchanges(*[(int(there), int(back)) for there, back in taken], ahead=self.ahead, begin=begin)
        rows[:, 1] += np.rint(self.drift * (rows[:, 1] - self.ahead)).astype(np.int64)
        return envelope(rows, TICK)

    def line(self) -> Line:
        return line_through([self.look(i * 33_000_000) for i in range(30)], 10**9)


DRAWS = 300


@pytest.mark.slow
@pytest.mark.parametrize("age", [0, 1, 10])
def test_the_true_clock_lies_within_the_bound_in_99_of_100_draws(age: int) -> None:
    moment = 10**9 + age * 10**9
    within = []
    for seed in range(DRAWS):
        path = Path(seed)
        line = path.line()
        within.append(abs(line.ahead(moment) - path.truth(moment)) <= line.error_at(moment))
    assert np.mean(within) >= 0.99


def test_half_the_round_trip_alone_would_be_no_bound_where_ways_are_not_alike() -> None:
    # The spread of the looks says nothing of what all of them share.
    path = Path(1)
    path.shortest = np.array([5_000.0, 45_000.0])
    line = path.line()
    moment = 5 * 10**8
    error = abs(line.ahead(moment) - path.truth(moment))
    spread = float(np.std([line.distance(look) for look in line.looks]))
    assert error > 5 * spread
    assert error <= line.error_at(moment) < 3 * error
