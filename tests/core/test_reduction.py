"""Reductions: contributions whose result is exact in every dtype and order, and shows who was left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from collmark.core.dtype import DTYPES
from collmark.core.payload import EPOCH_STRIDE, contribution_of
from collmark.core.reduction import REDUCTIONS, Contribution

REDUCE: dict[str, Callable[[Sequence[int]], int | Fraction]] = {
    "sum": sum,
    "prod": math.prod,
    "min": min,
    "max": max,
    "avg": lambda values: Fraction(sum(values), len(values)),
}
reductions = st.sampled_from(sorted(REDUCE))
dtypes = st.sampled_from(sorted(DTYPES))
some_ranks = st.integers(1, 64) | st.integers(1, 5000)


def law_of(reduction: str, ranks: int, dtype: str) -> Contribution:
    law = contribution_of(reduction, ranks, DTYPES[dtype])
    assume(law.span > 0)
    return law


def test_every_reduction_is_here() -> None:
    assert set(REDUCTIONS) == set(REDUCE)
    assert all(name == row.name for name, row in REDUCTIONS.items())


@given(reductions, dtypes, some_ranks, st.floats(0, 1))
def test_one_carrier_among_idle_ranks_gives_the_stated_result(
    reduction: str, dtype: str, ranks: int, position: float
) -> None:
    law = law_of(reduction, ranks, dtype)
    step = 1 + round(position * (law.span - 1))
    carrier = law.carrier[0] + law.carrier[1] * step
    result = law.result[0] + law.result[1] * step
    assert REDUCE[reduction]([carrier] + [law.idle] * (ranks - 1)) == result


@given(reductions, dtypes, some_ranks)
def test_everything_on_the_way_is_exact(reduction: str, dtype: str, ranks: int) -> None:
    law, limit = law_of(reduction, ranks, dtype), DTYPES[dtype].limit
    for step in (1, law.span):
        carrier = law.carrier[0] + law.carrier[1] * step
        # Sums and products grow with every rank that is added, so that the whole bounds all partial results.
        whole = {"sum": sum, "avg": sum}.get(reduction, REDUCE[reduction])([carrier] + [law.idle] * (ranks - 1))
        assert min(carrier, law.idle, whole) >= 0
        assert max(carrier, law.idle, whole) <= limit


@given(reductions, dtypes, some_ranks)
def test_the_next_epoch_has_other_results(reduction: str, dtype: str, ranks: int) -> None:
    law = law_of(reduction, ranks, dtype)
    assert law.result[1] != 0
    # The step moves by the stride from one epoch to the next, modulo the span.
    assert math.gcd(EPOCH_STRIDE, law.span) == 1
    assume(law.span > 1)
    assert EPOCH_STRIDE % law.span != 0


@given(reductions, dtypes, some_ranks)
def test_a_missing_carrier_changes_the_result(reduction: str, dtype: str, ranks: int) -> None:
    law = law_of(reduction, ranks, dtype)
    assume(ranks > 1)
    for step in (1, law.span):
        result = law.result[0] + law.result[1] * step
        assert REDUCE[reduction]([law.idle] * (ranks - 1)) != result


@given(dtypes, some_ranks)
def test_any_rank_missing_from_a_sum_shows_while_all_contribute(dtype: str, ranks: int) -> None:
    law = law_of("sum", ranks, dtype)
    assert law.idle == (2 * ranks <= DTYPES[dtype].limit)


@given(reductions, some_ranks)
def test_neutral_values_stay_what_they_are(reduction: str, ranks: int) -> None:
    neutral = REDUCTIONS[reduction].neutral
    assert REDUCE[reduction]([neutral] * ranks) == neutral


@given(dtypes, some_ranks)
def test_an_average_that_does_not_fit_has_no_span(dtype: str, ranks: int) -> None:
    span = contribution_of("avg", ranks, DTYPES[dtype]).span
    assert (span > 0) == (ranks <= DTYPES[dtype].limit)


def test_only_an_average_may_differ_by_a_rounding() -> None:
    assert {name: row.ulps for name, row in REDUCTIONS.items() if row.ulps} == {"avg": 1}


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_spans_that_the_epoch_stride_divides_are_avoided(reduction: str) -> None:
    # int8 sums over 26 ranks left 101 results, among which 101 steps further is the same one.
    for dtype in DTYPES.values():
        spans = {contribution_of(reduction, ranks, dtype).span for ranks in range(1, 1001)}
        assert not {span for span in spans if span and span % EPOCH_STRIDE == 0}
