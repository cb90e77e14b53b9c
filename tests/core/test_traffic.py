"""Traffic: the heaviest rank carries what was asked for, and a seed is a seed."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collmark.core.errors import UsageError
from collmark.core.traffic import counts_of

sizes = st.integers(0, 1 << 12) | st.integers(0, 1 << 40)
itemsizes = st.sampled_from([1, 2, 4, 8])
exponents = st.floats(0, 10)


def heaviest(counts: tuple[tuple[int, ...], ...]) -> int:
    rows = np.array(counts, dtype=object)
    return int(max(rows.sum(axis=0).max(), rows.sum(axis=1).max()))


@given(sizes, st.integers(1, 32), itemsizes)
def test_uniform_gives_every_pair_the_same_whole_elements(nbytes: int, ranks: int, itemsize: int) -> None:
    counts = counts_of("uniform", nbytes=nbytes, ranks=ranks, itemsize=itemsize)
    assert {n for row in counts for n in row} == {nbytes // itemsize // ranks}
    assert [len(row) for row in counts] == [ranks] * ranks


@given(st.integers(0, 1 << 30), st.integers(1, 32), itemsizes)
def test_uniform_reaches_the_size_that_divides(block: int, ranks: int, itemsize: int) -> None:
    nbytes = block * ranks * itemsize
    assert heaviest(counts_of("uniform", nbytes=nbytes, ranks=ranks, itemsize=itemsize)) * itemsize == nbytes


@given(sizes, st.integers(1, 32), itemsizes, exponents, st.integers(0, 99))
def test_zipf_never_exceeds_the_size_and_misses_it_by_less_than_an_element_per_pair(
    nbytes: int, ranks: int, itemsize: int, exponent: float, seed: int
) -> None:
    counts = counts_of(f"zipf:{exponent}:{seed}", nbytes=nbytes, ranks=ranks, itemsize=itemsize)
    elements = nbytes // itemsize
    assert elements - ranks < heaviest(counts) <= elements or heaviest(counts) == elements == 0


def test_zipf_is_popularity_by_rank_in_an_order_of_each_sources_own() -> None:
    counts = counts_of("zipf:1:3", nbytes=8_000_000, ranks=8, itemsize=1)
    for row in counts:
        ordered = np.sort(row)[::-1]
        assert ordered / ordered[0] == pytest.approx(1 / np.arange(1, 9), rel=1e-4)
    assert len({row.index(max(row)) for row in counts}) > 1


def test_a_seed_decides_and_zero_is_the_default() -> None:
    def counts(traffic: str) -> tuple[tuple[int, ...], ...]:
        return counts_of(traffic, nbytes=10_000, ranks=6, itemsize=4)

    assert counts("zipf:1.2:7") == counts("zipf:1.2:7")
    assert counts("zipf:1.2:7") != counts("zipf:1.2:8")
    assert counts("zipf:1.2:0") == counts("zipf:1.2")
    assert counts("zipf:1.0:0") == counts("zipf")
    assert counts("zipf:1.2:7") != counts("zipf:1.3:7")


def test_exponent_zero_is_uniform() -> None:
    assert counts_of("zipf:0:5", nbytes=1000, ranks=3, itemsize=4) == counts_of(
        "uniform", nbytes=1000, ranks=3, itemsize=4
    )


@pytest.mark.parametrize(
    "traffic",
    [
        "uniform:1",
        "zipf:",
        "zipf:nan",
        "zipf:-1",
        "zipf:11",
        "zipf:x",
        "zipf:1:x",
        "zipf:1:-1",
        "zipf:1:1.5",
        "zipf:1:2:3",
        "zipf:1_0",
        "zipf:\u0661",
        "zipf:1:2_0",
        "zipf:1e999",
    ],
)
def test_what_cannot_be_read_is_answered_with_what_can(traffic: str) -> None:
    with pytest.raises(UsageError, match=rf"^{re.escape(traffic)}: .*; write uniform, or zipf:EXPONENT"):
        counts_of(traffic, nbytes=100, ranks=2, itemsize=1)


def test_what_floats_cannot_share_out_is_refused() -> None:
    assert heaviest(counts_of("uniform", nbytes=2**53, ranks=1, itemsize=1)) == 2**53
    with pytest.raises(UsageError, match="at most 9007199254740992 B"):
        counts_of("uniform", nbytes=2**63 - 1, ranks=1, itemsize=1)


def test_a_misspelt_traffic_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'zipf'"):
        counts_of("zipff:1", nbytes=100, ranks=2, itemsize=1)
