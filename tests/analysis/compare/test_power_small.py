"""How often comparisons call what is there, and what is not: the small form of tests/prove/prove_compare.py."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.prove.compare_draws import REPETITIONS, pairs_of, single, theory

from collmark.analysis.compare.verdict import Terms, Verdict, judge

DRAWS = 400
CALLED = (Verdict.SLOWER, Verdict.FASTER)


@pytest.mark.parametrize("ratio", [1.02, 1.05, 1.1, 1.2])
def test_power_is_that_of_theory(ratio: float) -> None:
    found = single(pairs_of([ratio] * DRAWS, np.random.default_rng(1)))
    share, expected = sum(one.verdict is Verdict.SLOWER for one in found) / DRAWS, theory(ratio)
    assert abs(share - expected) <= 3.5 * math.sqrt(max(expected * (1 - expected), 1 / DRAWS) / DRAWS)


def test_theory_is_what_it_should_be_at_its_ends() -> None:
    assert theory(1.2) > 0.999
    assert 0.4 < theory(1.05) < 0.5  # half of the estimates lie beyond the effect, and some are too uncertain


@pytest.mark.parametrize("effect", [0.001, 0.05])
def test_of_a_thing_with_itself_hardly_anything_is_called(effect: float) -> None:
    generator = np.random.default_rng(2)
    families = [judge(pairs_of([1.0] * 60, generator), Terms(effect=effect)) for _family in range(20)]
    assert sum(one.verdict in CALLED for own in families for one in own) / 1200 <= 0.05


def test_one_comparison_in_twenty_of_pooled_repetitions_would_be_called_and_far_more_are() -> None:
    generator = np.random.default_rng(3)
    right = single(pairs_of([1.0] * DRAWS, generator), effect=0.001)
    pooled = single(pairs_of([1.0] * DRAWS, generator, repetitions=REPETITIONS), effect=0.001)
    assert sum(one.verdict in CALLED for one in right) / DRAWS <= 0.085  # 3 SE above a twentieth
    assert sum(one.verdict in CALLED for one in pooled) / DRAWS > 0.4
