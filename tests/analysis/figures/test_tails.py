"""The tail of repetitions: a launch that went on for longer says no more than another."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from collmark.analysis.figures.tails import effective, quantile, quantiles, title, weights


def repetitions(counts: dict[int, int], slow: dict[int, float]) -> pd.DataFrame:
    """Return launches of so many repetitions, a share of which is twice as slow."""
    rows = []
    for launch, count in counts.items():
        seconds = np.where(np.arange(count) < slow[launch] * count, 2e-4, 1e-4)
        rows.append(pd.DataFrame({"panel": "all_reduce, 16 B", "launch": launch, "seconds": seconds}))
    return pd.concat(rows, ignore_index=True)


def test_every_launch_has_the_same_weight() -> None:
    table = repetitions({1: 10, 2: 1000}, {1: 0.0, 2: 0.0})
    weight = weights(table["launch"])
    assert weight.groupby(table["launch"]).sum().tolist() == pytest.approx([1.0, 1.0])
    # As much as 2 x 20 repetitions would tell: the short launch limits it.
    assert effective(weight) == pytest.approx(4 / (1 / 10 + 1 / 1000))
    assert effective(weights(pd.Series([3] * 50))) == pytest.approx(50)


def test_a_long_launch_does_not_decide_alone() -> None:
    # One of two launches has a tail of 4 %: half of the weight, so that 2 % of it are slow, whatever the counts.
    for counts in ({1: 1000, 2: 1000}, {1: 1000, 2: 50_000}, {1: 50_000, 2: 1000}):
        table = repetitions(counts, {1: 0.0, 2: 0.04})
        weight = weights(table["launch"])
        assert quantile(table["seconds"], weight, 0.975) == 1e-4, counts
        assert quantile(table["seconds"], weight, 0.985) == 2e-4, counts
        # Pooled, the larger launch would have said 4 %, or nothing.


def test_the_title_speaks_of_launches_alike() -> None:
    table = repetitions({1: 2000, 2: 2000, 3: 100_000}, {1: 0.0, 2: 0.0, 3: 0.02})
    # 0.7 % of the launches' weight: no 1 in 100. Pooled it would be 1.9 %.
    assert title(table).startswith("1 in 100 repetitions of all_reduce, 16 B takes 1.00 times")


def test_a_percentile_needs_so_many_repetitions_beyond_it() -> None:
    ratio = pd.Series(np.linspace(1.0, 2.0, 500))
    found = quantiles(ratio, pd.Series(np.ones(500)))
    assert found["nines"].max() == pytest.approx(np.log10(50))  # 10 of 500
    assert quantiles(ratio[:10], pd.Series(np.ones(10))).empty
