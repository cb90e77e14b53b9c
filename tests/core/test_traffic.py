"""Traffic: the heaviest rank carries what was asked for, a seed is a seed, and a matrix is taken as it is."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collmark.core.errors import UsageError
from collmark.core.matrix import known, learn, pack
from collmark.core.traffic import check_traffic, counts_of, elements_of, law_of, with_digests

sizes = st.integers(0, 1 << 12) | st.integers(0, 2**63 - 1)
itemsizes = st.sampled_from([1, 2, 4, 8])
exponents = st.floats(0, 10)
CELLS = ((0, 4096, 12), (7, 0, 0), (0, 8, 6))
ZIPF = ((191, 118, 440), (191, 440, 118), (118, 440, 191))
MOE = ((262, 216, 302), (206, 224, 350), (232, 200, 348))


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
        f"zipf:1:{2**63}",
        "moe",
        "moe:",
        "moe:8",
        "moe:0:1",
        "moe:4097:1",
        "moe:8:0",
        "moe:8:9",
        "moe:64:33",
        "moe:8:x",
        "moe:8:2:11",
        "moe:8:2:1:-1",
        "moe:8:2:1:1:0",
        "moe:8:2:1:1:7 parsecs",
        "moe:8:2:1:1:8B:9",
        "file",
        "file:",
        "file::scaled",
    ],
)
def test_what_cannot_be_read_is_answered_with_what_can(traffic: str) -> None:
    name = traffic.partition(":")[0]
    with pytest.raises(UsageError, match=rf"^{re.escape(traffic)}: .*; write {name}\b"):
        counts_of(traffic, nbytes=100, ranks=2, itemsize=1)


@pytest.mark.parametrize("traffic", ["uniform", "zipf:1.7:3", "moe:4:2:1:3:1B"])
def test_the_largest_sizes_are_shared_out_to_the_last_byte(traffic: str) -> None:
    most = heaviest(counts_of(traffic, nbytes=2**63 - 1, ranks=1, itemsize=1))
    assert most == 2**63 - 1 - (2**63 - 1) % (2 if traffic.startswith("moe") else 1)


def test_counts_are_the_same_on_every_machine_and_with_every_numpy() -> None:
    # Worked out once: ranks with other counts would wait for each other for ever.
    assert counts_of("zipf:1.2:7", nbytes=4000, ranks=3, itemsize=4) == ZIPF
    assert counts_of("moe:6:2:1:7:8B", nbytes=4000, ranks=3, itemsize=4) == MOE


def given_matrix() -> str:
    return f"file:{learn(pack('m.csv', CELLS))}"


def test_a_matrix_is_taken_as_it_is_whatever_the_size_and_rounded_down_for_every_pair() -> None:
    for nbytes in (0, 100, 1 << 40):
        assert counts_of(given_matrix(), nbytes=nbytes, ranks=3, itemsize=4) == ((0, 1024, 3), (1, 0, 0), (0, 2, 1))
    assert counts_of(given_matrix(), nbytes=0, ranks=3, itemsize=1) == CELLS
    assert law_of(given_matrix()).own_nbytes == 4108
    assert elements_of(given_matrix(), nbytes=0, ranks=3, itemsize=1) == 4129


@given(sizes, itemsizes)
def test_scaled_its_heaviest_rank_has_the_size_but_for_an_element_per_pair(nbytes: int, itemsize: int) -> None:
    counts = counts_of(f"{given_matrix()}:scaled", nbytes=nbytes, ranks=3, itemsize=itemsize)
    elements = nbytes // itemsize
    assert elements - 3 < heaviest(counts) <= elements or heaviest(counts) == elements == 0
    assert all(count == cell * elements // 4108 for row in zip(counts, CELLS, strict=True)
               for count, cell in zip(*row, strict=True))  # fmt: skip
    assert law_of(f"{given_matrix()}:scaled").own_nbytes is None


def test_a_matrix_is_of_its_number_of_ranks() -> None:
    for traffic in (given_matrix(), f"{given_matrix()}:scaled"):
        check_traffic(traffic, ranks=3, itemsize=4)
        with pytest.raises(UsageError, match=f"^{traffic}: a matrix of 3 ranks, and there are 2$"):
            check_traffic(traffic, ranks=2, itemsize=4)


def test_a_matrix_that_nobody_has_read_may_be_spoken_of_and_not_counted() -> None:
    check_traffic("file:000000000000", ranks=3, itemsize=4)
    with pytest.raises(UsageError, match="file:000000000000: no such matrix is known"):
        counts_of("file:000000000000", nbytes=8, ranks=3, itemsize=4)


def test_files_become_digests_wherever_they_lie(tmp_path: Path) -> None:
    digest = given_matrix().removeprefix("file:")
    (tmp_path / "a:b.csv").write_text("0 4096 12\n7 0 0\n0 8 6\n", encoding="utf-8")
    text, matrices = with_digests("uniform,file:a:b.csv,zipf:1,file:a:b.csv:scaled", tmp_path)
    assert text == f"uniform,file:{digest},zipf:1,file:{digest}:scaled"
    assert {name: matrix.name for name, matrix in matrices.items()} == {digest: "a:b.csv"}
    assert known(digest) == CELLS
    assert with_digests(f"file:{tmp_path}/a:b.csv", Path("elsewhere"))[0] == f"file:{digest}"
    again, kept = with_digests(text, tmp_path / "gone")
    assert (again, set(kept)) == (text, {digest})


def test_a_misspelt_traffic_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'zipf'"):
        counts_of("zipff:1", nbytes=100, ranks=2, itemsize=1)
