"""What chance may do: p-values against scipy, and against how often they come about by chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.prove.straggler_draws import DELAY, Setting, draw_chance, draw_entries

from collmark.core.chance import DRAWS, binomial_tail, chance_last, combined_chance, come_last

SMALLEST = 1 / (1 + DRAWS)


@given(st.integers(0, 200), st.integers(1, 200), st.floats(0.001, 0.999))
def test_a_binomial_tail_is_scipys(successes: int, trials: int, probability: float) -> None:
    expected = float(stats.binom.sf(successes - 1, trials, probability))
    assert binomial_tail(successes, trials, probability) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@given(st.lists(st.floats(1e-300, 1), min_size=1, max_size=50))
def test_a_combined_chance_is_scipys(chances: list[float]) -> None:
    expected = float(stats.combine_pvalues(chances).pvalue)
    assert combined_chance(chances) == pytest.approx(expected, rel=1e-6, abs=1e-300)


def test_the_last_is_the_latest() -> None:
    times_RI = np.array([[5, 0, 7], [3, 2, 7], [4, 9, 8]])
    assert come_last(times_RI).tolist() == [0, 2, 2]


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_ranks_that_come_together_come_last_in_turn(ranks: int) -> None:
    times_RI = np.tile(np.arange(10 * ranks) + 10**18, (ranks, 1))
    assert np.bincount(come_last(times_RI)).tolist() == [10] * ranks
    assert chance_last(times_RI) == (1 if ranks > 1 else None)


def always_last(ranks: int, repetitions: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    times_RI = np.tile(10**9 * np.arange(repetitions), (ranks, 1))
    times_RI[ranks - 1] += 1000
    return times_RI


@pytest.mark.parametrize(("ranks", "repetitions", "blocks"), [(2, 6, 3), (2, 8, 4), (3, 6, 3), (4, 7, 3)])
def test_a_rank_that_is_always_last_is_so_in_every_block(ranks: int, repetitions: int, blocks: int) -> None:
    # Exact: all blocks must be shifted alike.
    exact = ranks ** (1 - blocks)
    assert chance_last(always_last(ranks, repetitions)) == pytest.approx(exact, abs=4 * (exact / DRAWS) ** 0.5)


def test_the_smallest_chance_is_that_of_no_draw() -> None:
    assert chance_last(always_last(2, 200)) == SMALLEST
    assert chance_last(always_last(64, 12)) == SMALLEST


@pytest.mark.parametrize("shape", [(1, 100), (2, 1), (2, 5)])
def test_two_blocks_or_one_rank_tell_nothing(shape: tuple[int, int]) -> None:
    assert chance_last(always_last(*shape)) is None


def test_a_series_that_is_short_beside_its_dependence_tells_nothing() -> None:
    times_RI = np.zeros((2, 40), dtype=np.int64)
    times_RI[1] = 1000 * np.linspace(1, 2, 40)  # last in all repetitions, and ever later
    assert chance_last(times_RI) is None


def test_names_and_starts_do_not_matter() -> None:
    random = np.random.default_rng(4)
    times_RI = draw_entries(Setting(ranks=5, repetitions=80, autocorrelation=0.5, delay=2e-6), random)
    chance = chance_last(times_RI)
    assert chance is not None
    assert 0.001 < chance < 0.999
    assert chance_last(np.roll(times_RI, 2, axis=0)) == chance
    assert chance_last(times_RI + random.integers(0, 10**9, 80)) == chance


@pytest.mark.slow
@pytest.mark.parametrize("autocorrelation", [0.0, 0.6, 0.9])
@pytest.mark.parametrize("ranks", [2, 4, 64])
def test_chance_names_a_rank_no_more_often_than_it_says(ranks: int, autocorrelation: float) -> None:
    setting = Setting(ranks=ranks, repetitions=100, autocorrelation=autocorrelation)
    found, naive = np.array([draw_chance(setting, seed) for seed in range(300)]).T
    # 5 % of 300 are 15; 25 or more come about once in 100 times. The full table: docs/proof/timing.md.
    assert np.count_nonzero(found <= 0.05) < 25
    assert np.count_nonzero(found <= 0.01) < 9
    if autocorrelation == 0.9:
        # As if repetitions were independent: nearly every other run would name somebody.
        assert np.mean(naive <= 0.05) > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 4, 64])
def test_a_delay_is_found(ranks: int) -> None:
    setting = Setting(ranks=ranks, repetitions=100, autocorrelation=0.3, delay=DELAY)
    assert np.mean([draw_chance(setting, seed)[0] <= 0.001 for seed in range(50)]) > 0.9
