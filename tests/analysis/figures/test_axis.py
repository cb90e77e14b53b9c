"""Axes: labels that people can read, in view, and not on top of each other."""

from __future__ import annotations

import math

import pytest
from matplotlib.figure import Figure

from collmark.analysis.figures.axis import MOST_TICKS, decade_axis, limits, nines, ratio_axis, size_axis


@pytest.mark.parametrize(("first", "last"), [(8, 8), (16, 16 << 20), (1, 1 << 40), (1000, 3000), (3, 5)])
def test_sizes_have_some_labels_and_not_too_many(first: int, last: int) -> None:
    axes = Figure().subplots()
    size_axis(axes, first, last)
    low, high = axes.get_xlim()
    assert low < first <= last < high
    ticks = axes.get_xticks()
    assert len(ticks) <= MOST_TICKS + 1
    assert all(math.log2(tick) == int(math.log2(tick)) for tick in ticks)
    assert len({label.get_text() for label in axes.get_xticklabels()}) == len(ticks)


@pytest.mark.parametrize(("low", "high"), [(1.0, 9.0), (0.3, 40.0), (1e-6, 1e3), (5.0, 5.1), (1e-9, 1e11)])
def test_decades_have_plain_labels_in_view(low: float, high: float) -> None:
    axes = Figure().subplots()
    axes.set_yscale("log")
    decade_axis(axes.yaxis, low, high)
    ticks = axes.get_yticks()
    assert len(ticks) <= MOST_TICKS
    assert all(low <= tick <= high for tick in ticks)
    assert not any("e" in label.get_text() for label in axes.get_yticklabels())


@pytest.mark.parametrize("most", [1.3, 1.7, 4.0, 50.0])
def test_ratios_are_symmetric_about_one(most: float) -> None:
    axes = Figure().subplots()
    ratio_axis(axes.yaxis, most)
    ticks = list(axes.get_yticks())
    assert 1.0 in ticks
    assert len(ticks) >= 3


def test_nines_are_equally_far_apart() -> None:
    steps = [nines(share) for share in (0.9, 0.99, 0.999)]
    assert steps == pytest.approx([1, 2, 3])


@pytest.mark.parametrize("values", [[], [0.0], [math.nan], [5.0], [1.0, 1e9], [1e-300, 1e300]])
def test_limits_hold_all_values(values: list[float]) -> None:
    low, high = limits(values, below=0.1, above=0.2)
    assert 0 < low < high
    assert all(low <= value <= high for value in values if value > 0 and math.isfinite(value))
