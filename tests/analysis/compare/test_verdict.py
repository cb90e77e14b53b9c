"""Exactly one verdict, read from where the interval lies."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collmark.analysis.compare.align import Pair
from collmark.analysis.compare.side import Times
from collmark.analysis.compare.verdict import Comparison, Terms, Verdict, decide, judge
from collmark.analysis.ratio import LogMean


def pair(a: list[float], b: list[float]) -> Pair:
    return Pair(a=Times(facts={}, seconds={"a": tuple(a)}), b=Times(facts={}, seconds={"b": tuple(b)}))


def around(centre: float, scatter: float, count: int = 5) -> list[float]:
    return [centre * math.exp(scatter * step) for step in np.linspace(-1, 1, count)]


def one(a: list[float], b: list[float], **options: float) -> Comparison:
    return judge([pair(a, b)], Terms(**options))[0]


@pytest.mark.parametrize(
    ("ratio", "scatter", "verdict"),
    [
        (1.12, 0.02, Verdict.SLOWER),
        (0.91, 0.02, Verdict.FASTER),
        (0.99, 0.01, Verdict.NO_EVIDENCE),
        (1.04, 0.001, Verdict.NO_EVIDENCE),  # surely there, and too small to matter
        (1.03, 0.1, Verdict.CANNOT_TELL),
        (1.12, 0.2, Verdict.CANNOT_TELL),
        (1.048, 0.01, Verdict.CANNOT_TELL),  # across the edge of the band
    ],
)
def test_geometry(ratio: float, scatter: float, verdict: Verdict) -> None:
    assert one(around(1e-3, scatter), around(1e-3 * ratio, scatter)).verdict is verdict


def test_one_launch_cannot_tell() -> None:
    found = one([1.0], [2.0, 2.0])
    assert (found.verdict, found.estimate, found.value) == (Verdict.CANNOT_TELL, None, 2.0)


def test_equal_times_without_scatter_are_no_evidence() -> None:
    found = one([1.0, 1.0], [1.0, 1.0])
    assert (found.verdict, found.p_value) == (Verdict.NO_EVIDENCE, 1.0)


def test_among_many_a_single_weak_one_is_not_called() -> None:
    weak = pair(around(1.0, 0.06), around(1.1, 0.06))
    nothing = [pair(around(1.0, 0.06), around(1.0 + 0.001 * n, 0.06)) for n in range(60)]
    alone, among = judge([weak])[0], judge([weak, *nothing])[0]
    assert alone.verdict is Verdict.SLOWER
    assert among.verdict is Verdict.CANNOT_TELL
    assert among.p_value == alone.p_value
    assert among.adjusted > 0.05
    assert among.needed is not None


def test_p_values_are_adjusted_as_benjamini_and_hochberg_say() -> None:
    found = judge([pair(around(1.0, 0.05), around(1.0 + 0.02 * n, 0.05)) for n in (5, 1, 4, 2)])
    p = [one.p_value for one in found]
    ordered = sorted(p)
    # The least over this and all larger ones of p x count / rank.
    by_hand = [min(ordered[rank] * len(p) / (rank + 1) for rank in range(ordered.index(own), len(p))) for own in p]
    assert [one.adjusted for one in found] == pytest.approx(by_hand)
    assert len(set(by_hand)) > 1


def test_what_is_smaller_than_a_repeat_differs_is_not_called() -> None:
    a, b = around(1.0, 0.01), around(1.12, 0.01)
    assert one(a, b).verdict is Verdict.SLOWER
    assert one(a, b, floor=1.15).verdict is Verdict.CANNOT_TELL
    assert one(a, b, floor=1.10).verdict is Verdict.SLOWER


def test_as_many_launches_as_are_said_would_tell() -> None:
    found = one(around(1.0, 0.1), around(1.03, 0.1))
    assert found.needed is not None
    generator = np.random.default_rng(4)
    # The same scatter: standard deviation of five evenly spread values.
    sd = float(np.std(np.log(around(1.0, 0.1)), ddof=1))
    verdicts = []
    for _draw in range(100):
        a, b = (
            np.exp(centre + sd * generator.standard_normal(2 * found.needed)).tolist() for centre in (0, math.log(1.03))
        )
        verdicts.append(one(a, b).verdict)
    assert sum(verdict is not Verdict.CANNOT_TELL for verdict in verdicts) > 60


@given(
    centre=st.floats(-1, 1),
    variance=st.floats(0, 0.1),
    adjusted=st.floats(0, 1),
    effect=st.floats(0.001, 1),
)
def test_exactly_one_applies(centre: float, variance: float, adjusted: float, effect: float) -> None:
    found = LogMean(centre=centre, variances=(variance, variance), counts=(5, 5), method="")
    verdict = decide(found, adjusted, Terms(effect=effect))
    mirrored = decide(msgspec.structs.replace(found, centre=-centre), adjusted, Terms(effect=effect))
    turned = {Verdict.SLOWER: Verdict.FASTER, Verdict.FASTER: Verdict.SLOWER}
    assert mirrored is turned.get(verdict, verdict)
