"""Which model is chosen, on draws with fixed seeds; the full tables are kept by tests/prove/prove_models.py."""

import itertools

import numpy as np
import pytest
from tests.prove.model_draws import ALPHA, GRIDS, NOISES, TRUTHS, Truth, draw

from collmark.analysis.models.choose import choose
from collmark.analysis.models.segments import LEAST_POINTS, best_cuts

DRAWS = 20
GRID = GRIDS["16 B to 64 MiB, x2"]
BY_NAME = {truth.name: truth for truth in TRUTHS}


@pytest.mark.parametrize("truth", [truth for truth in TRUTHS if truth.models], ids=lambda truth: truth.name)
def test_the_right_model_is_chosen(truth: Truth) -> None:
    chosen = [draw(truth, GRID, NOISES[0], seed) for seed in range(DRAWS)]
    assert sum(fit.model in truth.models for fit in chosen) >= 0.85 * DRAWS
    if not truth.has_breaks:
        assert sum(bool(fit.breaks) for fit in chosen) <= 1


def test_slow_points_make_no_segments() -> None:
    fits = [draw(BY_NAME["line"], GRID, NOISES[1], seed) for seed in range(DRAWS)]
    assert sum(bool(fit.breaks) for fit in fits) <= 1
    assert np.median([fit.alpha.value or 0.0 for fit in fits]) == pytest.approx(ALPHA, rel=0.03)


def test_breaks_lie_between_the_sizes_where_the_truth_changes() -> None:
    fits = [draw(BY_NAME["jump at 8 KiB"], GRID, NOISES[0], seed) for seed in range(DRAWS)]
    assert sum(fit.breaks == ((8 << 10, 16 << 10),) for fit in fits) >= 0.9 * DRAWS


@pytest.mark.parametrize("factor", [10.0, 1 / 3])
def test_cliff_is_named_and_does_not_move_the_rest(factor: float) -> None:
    random = np.random.default_rng(1)
    nbytes = GRID.astype(np.float64)
    seconds = BY_NAME["line"].seconds(nbytes) * np.exp(random.normal(0, 0.02, nbytes.size))
    without = choose(nbytes, seconds)
    for place in (3, 11, 20):
        spoilt = seconds.copy()
        spoilt[place] *= factor
        found = choose(nbytes, spoilt)
        assert np.flatnonzero(found.cliffs_N).tolist() == [place]
        assert found.model.name == without.model.name
        assert found.parameters_P == pytest.approx(without.parameters_P, rel=0.02)


def test_a_fifth_of_the_sizes_is_no_cliff() -> None:
    nbytes = GRID.astype(np.float64)
    seconds = BY_NAME["line"].seconds(nbytes)
    seconds[::5] *= 4
    assert choose(nbytes, seconds).cliffs_N.sum() <= nbytes.size / 8


def test_few_sizes_get_few_parameters() -> None:
    nbytes = GRID[:5].astype(np.float64)
    seconds = BY_NAME["p-norm, q 3"].seconds(nbytes)
    assert choose(nbytes, seconds).model.name in ("constant", "alpha-beta")
    assert choose(nbytes[:3], seconds[:3]).model.name in ("constant", "alpha-beta")


@pytest.mark.parametrize("count", [2, 3])
def test_cuts_are_the_best_of_all(count: int) -> None:
    random = np.random.default_rng(count)
    for size in (LEAST_POINTS * count, *[14] * 10):
        costs = np.full((size, size), np.inf)
        for first, last in itertools.combinations_with_replacement(range(size), 2):
            if last - first + 1 >= LEAST_POINTS:
                costs[first, last] = random.random()
        found = best_cuts(costs, count)
        assert found is not None

        def total(cuts: tuple[int, ...], costs: np.ndarray = costs, size: int = size) -> float:
            edges = (0, *cuts, size)
            return float(sum(costs[first, last - 1] for first, last in itertools.pairwise(edges)))

        every = itertools.combinations(range(1, size), count - 1)
        assert total(found) == pytest.approx(min(total(cuts) for cuts in every))


def test_too_few_sizes_have_no_cuts() -> None:
    assert best_cuts(np.full((7, 7), np.inf), 2) is None
