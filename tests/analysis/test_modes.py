"""Several modes are found where they are planted, with their places and shares, and none where there is one."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from tests.analysis.made import case_of, record_of, replaced, results_of, timing_of
from tests.prove.modes_draws import ONE, SECONDS, Draw, distribution, find, mixture, turns

from collmark.analysis.modes import several_modes
from collmark.core.record import Histogram, Record, Sentinel

DRAWS = 100


def found(draw: Draw, count: int, seed: int, tick: float = 1e-9) -> list[tuple[float, float]]:
    """Return place (over SECONDS) and share of each mode in one series."""
    return [(mode.seconds / SECONDS, mode.share) for mode in find(draw, count, seed, tick)]


@pytest.mark.parametrize("count", [20, 200, 2000])
@pytest.mark.parametrize("name", ONE)
def test_one_mode_is_one(name: str, count: int) -> None:
    several = sum(len(found(ONE[name], count, seed)) > 1 for seed in range(DRAWS))
    assert several <= 3


@pytest.mark.parametrize("tick", [1e-6, 10e-6, 30e-6])
def test_ticks_of_a_clock_are_no_modes(tick: float) -> None:
    assert all(len(found(mixture((1.0, 1.0), cv=0.15), 1000, seed, tick)) == 1 for seed in range(30))


@pytest.mark.parametrize(
    "planted",
    [
        ((1.0, 0.7), (1.5, 0.3)),
        ((1.0, 0.5), (1.2, 0.5)),
        ((1.0, 0.9), (3.0, 0.1)),
        ((1.0, 0.2), (2.0, 0.8)),
        ((1.0, 0.5), (1.3, 0.3), (2.0, 0.2)),
    ],
    ids=str,
)
def test_planted_modes_are_found_with_place_and_share(planted: tuple[tuple[float, float], ...]) -> None:
    draws = [found(mixture(*planted), 400, seed) for seed in range(DRAWS)]
    right = [modes for modes in draws if len(modes) == len(planted)]
    assert len(right) >= 0.95 * DRAWS
    for (place, share), values in zip(planted, zip(*right, strict=True), strict=True):
        assert np.median([value[0] for value in values]) == pytest.approx(place, rel=0.02)
        assert np.median([value[1] for value in values]) == pytest.approx(share, abs=0.02)


def test_modes_that_take_long_turns_are_found() -> None:
    assert sum(len(found(turns, 1000, seed)) == 2 for seed in range(50)) >= 45


def test_shares_add_up() -> None:
    for name, draw in ONE.items():
        assert sum(share for _place, share in found(draw, 300, 1)) == pytest.approx(1), name


def recorded(histogram: Histogram | None, launch: int = 1, nbytes: int = 64) -> Record:
    case = case_of(nbytes=nbytes)
    timing = msgspec.structs.replace(timing_of(SECONDS, case.estimand), histogram=histogram)
    return replaced(record_of(case, SECONDS, launch), timing=timing)


def series_of(draw: Draw, seed: int) -> Histogram:
    return distribution(SECONDS * draw(np.random.default_rng(seed), 400))


def test_a_case_with_several_modes_has_them_over_its_launches() -> None:
    two = mixture((1.0, 0.6), (2.0, 0.4))
    records = [recorded(series_of(two, seed), seed) for seed in (1, 2, 3)]
    records += [recorded(series_of(ONE["lognormal, CV 1 %"], 4), 4), recorded(None, 5)]
    records += [recorded(series_of(ONE["lognormal, CV 1 %"], seed), seed, nbytes=128) for seed in (1, 2)]
    records.append(replaced(recorded(series_of(two, 9), 1, nbytes=256), sentinel=Sentinel.END))
    (modes,) = several_modes([results_of(records)])
    assert (modes.case.nbytes, modes.launches, modes.several, modes.alike) == (64, 4, 3, 3)
    assert [mean.value / SECONDS for mean in modes.seconds] == pytest.approx([1.0, 2.0], rel=0.02)
    assert [mean.value for mean in modes.shares] == pytest.approx([0.6, 0.4], abs=0.05)
    assert all(mean.interval is not None and mean.interval.count == 3 for mean in modes.shares)


def test_one_launch_has_modes_without_an_interval() -> None:
    (modes,) = several_modes([results_of([recorded(series_of(mixture((1.0, 0.6), (2.0, 0.4)), 1))])])
    assert all(mean.interval is None for mean in (*modes.seconds, *modes.shares))


def test_records_without_a_distribution_have_no_modes() -> None:
    assert several_modes([results_of([recorded(None)])]) == []
