"""Points: what enters, what is shown, and over what the interval is."""

import math

import numpy as np
import pytest
from scipy import stats
from tests.analysis.made import case_of, curve, record_of, replaced, results_of, timing_of

from collmark.analysis.frame import frame
from collmark.analysis.points import NAMES, measured, points
from collmark.core.operation import Estimand
from collmark.core.record import Record, Sentinel, Status


def row_of(records: list[Record], **options: bool) -> dict[str, object]:
    (row,) = points(frame([results_of(records)]), **options).to_dict("records")
    assert list(row) == list(NAMES)
    return {str(name): value for name, value in row.items()}


def three(**changes: Status) -> list[Record]:
    case = case_of(nbytes=64)
    return [
        record_of(case, seconds, launch, status=changes.get(f"launch{launch}", Status.CONVERGED))
        for launch, seconds in ((1, 1e-3), (2, 1.1e-3), (3, 1.3e-3))
    ]


def test_interval_is_students_t_on_logarithms_over_launches() -> None:
    row = row_of(three())
    logs = np.log([1e-3, 1.1e-3, 1.3e-3])
    low, high = stats.t.interval(0.95, 2, loc=logs.mean(), scale=stats.sem(logs))
    assert row["seconds"] == pytest.approx(math.exp(logs.mean()))
    assert (row["lower"], row["upper"]) == pytest.approx((math.exp(low), math.exp(high)))
    assert (row["launches"], row["status"], row["enters"]) == (3, "converged", True)


def test_one_launch_has_no_interval() -> None:
    row = row_of(three()[:1])
    assert row["seconds"] == pytest.approx(1e-3)
    assert math.isnan(float(str(row["lower"])))
    assert row["launches"] == 1


def test_unstable_launch_does_not_enter_unless_asked() -> None:
    records = three(launch3=Status.UNSTABLE)
    assert row_of(records)["seconds"] == pytest.approx(math.sqrt(1e-3 * 1.1e-3))
    assert row_of(records)["launches"] == 2
    assert row_of(records)["status"] == "unstable"
    assert row_of(records)["share"] == pytest.approx(1 / 3)
    assert row_of(records, include_unstable=True)["launches"] == 3


def test_case_unstable_everywhere_is_shown_and_does_not_enter() -> None:
    row = row_of(three(launch1=Status.UNSTABLE, launch2=Status.UNSTABLE, launch3=Status.UNSTABLE))
    assert row["launches"] == 3
    assert row["enters"] is False
    assert not math.isnan(float(str(row["seconds"])))


def test_case_that_is_wrong_once_has_no_time() -> None:
    row = row_of(three(launch2=Status.WRONG))
    assert math.isnan(float(str(row["seconds"])))
    assert (row["status"], row["enters"]) == ("wrong", False)


def test_time_of_zero_is_no_time() -> None:
    assert row_of([record_of(case_of(), 0.0)])["enters"] is False


def test_sentinels_are_left_out() -> None:
    records = three()
    extra = replaced(records[0], sentinel=Sentinel.START, timing=None)
    assert row_of([*records, extra])["launches"] == 3


def test_curve_that_mixes_clocks_is_d_max_throughout() -> None:
    """Design.md section 4: what spans both kinds uses D_max on every side."""
    case = case_of(nbytes=64)
    local = replaced(record_of(case, 1e-3, 2), timing=timing_of(1e-3, Estimand.LONGEST_LOCAL))
    table = measured(frame([results_of([record_of(case, 1e-3, 1), local])]))
    assert list(table["estimand"]) == ["D_max", "D_max"]
    assert dict(zip(table["launch"], table["seconds"], strict=True)) == {
        1: 1.5e-3,
        2: 1e-3,
    }  # 1: its D_max; 2: as it was


def test_curve_with_a_common_clock_is_left_alone() -> None:
    table = measured(frame([results_of(curve())]))
    assert set(table["estimand"]) == {"L"}
