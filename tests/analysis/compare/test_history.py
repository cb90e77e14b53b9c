"""Changes of level over runs: found where they were planted, and hardly ever where none was."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from tests.analysis.made import curve, results_of

from collmark.analysis.compare.history import LEAST_RUNS, histories, split
from collmark.analysis.results import Results

LEVELS = (0.99, 1.0, 1.01)


def run_of(number: int, factor: float, *, simulated: bool = False) -> Results:
    """Return a run of one case whose times are so many times as long."""
    records = curve(sizes=(1024,), levels=tuple(level * factor for level in LEVELS), simulated=simulated)
    return dated(results_of(records, f"run{number:02}"), number)


def dated(results: Results, number: int) -> Results:
    """Return a run made later than those of smaller numbers."""
    return msgspec.structs.replace(
        results, run=msgspec.structs.replace(results.run, created=f"2030-01-{number + 1:02}")
    )


def scattered(count: int, seed: int, sd: float = 0.02) -> list[float]:
    return [float(factor) for factor in np.exp(sd * np.random.default_rng(seed).standard_normal(count))]


def test_a_change_stands_where_it_was_planted_with_its_size() -> None:
    factors = [factor * (1.2 if number >= 7 else 1.0) for number, factor in enumerate(scattered(12, seed=1))]
    (found,) = histories([run_of(number, factor) for number, factor in enumerate(factors)])
    (change,) = found.changes
    assert change.at == 7
    assert change.estimate is not None
    assert change.estimate.lower < 1.2 < change.estimate.upper
    assert change.estimate.over == "runs"
    assert found.points[0].run == "run00"


def test_two_changes_are_two() -> None:
    factors = [
        factor * (1.3 if 5 <= number < 11 else 1.0) for number, factor in enumerate(scattered(16, seed=2, sd=0.01))
    ]
    (found,) = histories([run_of(number, factor) for number, factor in enumerate(factors)])
    assert [change.at for change in found.changes] == [5, 11]
    assert [round(change.ratio, 1) for change in found.changes] == [1.3, 0.8]


def test_runs_are_in_the_order_of_their_making() -> None:
    runs = [run_of(number, 1.0) for number in (3, 1, 2)]
    assert [point.run for point in histories(runs)[0].points] == ["run01", "run02", "run03"]


def test_few_runs_tell_no_change_and_one_is_no_history() -> None:
    runs = [run_of(number, 1.0 + number) for number in range(LEAST_RUNS - 1)]
    assert histories(runs)[0].changes == ()
    assert histories(runs[:1]) == []


def test_unlike_figures_have_histories_of_their_own() -> None:
    runs = [run_of(0, 1.0), run_of(1, 1.0), run_of(2, 2.0, simulated=True), run_of(3, 2.0, simulated=True)]
    assert [[point.run for point in one.points] for one in histories(runs)] == [["run00", "run01"], ["run02", "run03"]]


@pytest.mark.parametrize("count", [5, 8, 16])
def test_without_a_change_p_values_are_even(count: int) -> None:
    generator = np.random.default_rng(count)
    found = [split(0.02 * generator.standard_normal(count))[1] or 0.0 for _draw in range(1000)]
    # Of 1000 even values, 3.5 standard errors around a twentieth and a half.
    assert 0.026 < np.mean(np.array(found) <= 0.05) < 0.074
    assert 0.445 < np.mean(np.array(found) <= 0.5) < 0.555


def test_of_many_cases_without_a_change_hardly_any_has_one() -> None:
    sizes = tuple(1024 * 2**n for n in range(6))
    families = []
    for seed in range(10):
        generator = np.random.default_rng(seed)
        runs = []
        for number in range(8):
            records = [
                record
                for nbytes in sizes
                for record in curve(
                    sizes=(nbytes,), levels=[level * np.exp(0.02 * generator.standard_normal()) for level in LEVELS]
                )
            ]
            runs.append(dated(results_of(records, f"run{number}"), number))
        families.append(any(one.changes for one in histories(runs)))
    assert sum(families) <= 3  # of 10 families half a one on average


def test_equal_times_do_not_change() -> None:
    assert split(np.zeros(9))[1] == 1.0


def test_an_end_of_a_stretch_whose_neighbours_are_alike_is_no_change() -> None:
    # With this seed the stretch that stands apart most leaves the last runs out.
    factors = [factor * (1.1 if number >= 12 else 1.0) for number, factor in enumerate(scattered(20, seed=90))]
    (found,) = histories([run_of(number, factor) for number, factor in enumerate(factors)])
    assert [change.at for change in found.changes] == [12]
