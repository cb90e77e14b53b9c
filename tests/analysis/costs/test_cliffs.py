"""Cliffs: a size that is off its model is named, and the asymptote stays."""

from __future__ import annotations

import pytest
from tests.analysis.made import SIZES, curve, results_of, times

from collmark.analysis.costs.cliffs import Cliff, cliffs_of, is_off
from collmark.analysis.frame import frame
from collmark.analysis.models.fit import Fit, fit_frame
from collmark.analysis.points import points
from collmark.core.record import Record


def found(records: list[Record]) -> tuple[Fit, tuple[Cliff, ...]]:
    table = frame([results_of(records)])
    (fit,) = fit_frame(table).fits
    return fit, cliffs_of(fit, points(table))


def test_one_size_ten_times_slower_than_its_neighbours_is_a_cliff() -> None:
    slow = SIZES[7]
    fit, cliffs = found([times(r, 10) if r.case.nbytes == slow else r for r in curve()])
    assert [cliff.nbytes for cliff in cliffs] == [slow]
    assert cliffs[0].ratio == pytest.approx(10, rel=0.05)
    assert fit.asymptote is not None
    assert fit.asymptote.value == pytest.approx(1e10, rel=0.03)


def test_one_cliff_is_no_reason_not_to_believe_the_rest() -> None:
    records = [times(r, 10) if r.case.nbytes == SIZES[7] else r for r in curve()]
    fit, cliffs = found(records)
    assert cliffs[0].is_left_out
    assert fit.describes
    assert fit.rms < 0.05


def test_a_curve_that_is_half_cliffs_is_not_described() -> None:
    records = [times(r, 10 if SIZES.index(r.case.nbytes) % 2 else 1) for r in curve()]
    assert not found(records)[0].describes


def test_a_curve_on_its_model_has_none() -> None:
    assert found(curve())[1] == ()


def test_a_faster_size_is_off_too_and_the_furthest_comes_first() -> None:
    odd = {SIZES[2]: 0.7, SIZES[8]: 2.0}
    cliffs = found([times(r, odd.get(r.case.nbytes, 1.0)) for r in curve()])[1]
    assert [(cliff.nbytes, round(cliff.ratio, 1)) for cliff in cliffs] == [(SIZES[8], 2.0), (SIZES[2], 0.7)]


def test_a_point_whose_interval_holds_the_model_is_none() -> None:
    """Launches that differ by a factor of three at one size do not tell that it is slow."""
    factor = {1: 0.7, 2: 1.2, 3: 2.4}
    records = [times(r, factor[r.launch]) if r.case.nbytes == SIZES[6] else r for r in curve()]
    assert found(records)[1] == ()


@pytest.mark.parametrize(
    ("value", "lower", "upper", "expected"),
    [
        (1.09, 1.08, 1.1, False),
        (1.2, 1.15, 1.25, True),
        (1.2, 0.9, 1.6, False),
        (1.2, None, None, True),
        (1.2, float("nan"), float("nan"), True),
        (0.8, 0.75, 0.85, True),
    ],
)
def test_both_the_interval_and_ten_per_cent_must_be_exceeded(
    value: float, lower: float | None, upper: float | None, *, expected: bool
) -> None:
    assert is_off(value, 1.0, lower, upper) is expected
