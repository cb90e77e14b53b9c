"""How many buffers are gone through, and what drives them out of the caches."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collmark.bench import rotation
from collmark.bench.rotation import (
    ASSUMED_CACHE,
    CACHES,
    LEAST,
    MOST,
    eviction_nbytes,
    last_level_cache,
    pool_nbytes,
    slots_of,
    spacing,
)
from collmark.core.case import Buffers, Cadence, Case
from collmark.core.placement import Placement

CASE = Case(
    operation="all_gather",
    backend="mpi",
    dtype="float32",
    placement=Placement(ranks_per_node=2),
    nbytes=4096,
    requested_nbytes=4096,
    buffers=Buffers.ROTATED,
)
SIZES = st.integers(1, 2**33)
CACHE_SIZES = st.integers(0, 2**31)


def rotated(nbytes: int, batch: int = 1) -> Case:
    cadence = Cadence.STREAMING if batch > 1 else Cadence.ISOLATED
    return msgspec.structs.replace(CASE, nbytes=nbytes, cadence=cadence, batch=batch)


@given(SIZES, CACHE_SIZES, st.integers(1, 128))
def test_between_two_uses_of_a_buffer_more_is_moved_than_the_caches_hold(nbytes: int, cache: int, batch: int) -> None:
    case = rotated(nbytes, batch)
    slots = slots_of(case, cache)
    assert slots % batch == 0
    assert LEAST <= slots <= MOST + batch
    assert slots * nbytes + eviction_nbytes(case, cache) >= CACHES * (cache or ASSUMED_CACHE)


@given(SIZES, CACHE_SIZES)
def test_buffers_lie_apart_and_inside_the_pool(nbytes: int, cache: int) -> None:
    case = rotated(nbytes)
    last = (slots_of(case, cache) - 1) * spacing(nbytes)
    assert spacing(nbytes) >= nbytes
    assert last + nbytes == pool_nbytes(case, cache)


@given(SIZES, CACHE_SIZES)
def test_the_same_buffers_are_one_pair_and_nothing_is_emptied(nbytes: int, cache: int) -> None:
    case = msgspec.structs.replace(rotated(nbytes), buffers=Buffers.SAME)
    assert (slots_of(case, cache), eviction_nbytes(case, cache), pool_nbytes(case, cache)) == (1, 0, nbytes)


def test_large_buffers_drive_each_other_out() -> None:
    assert eviction_nbytes(rotated(16 * 2**20), 32 * 2**20) == 0
    assert eviction_nbytes(rotated(64), 32 * 2**20) == 3 * 32 * 2**20


def made(path: Path, sizes: dict[str, str]) -> Path:
    for index, text in sizes.items():
        (path / index).mkdir()
        (path / index / "size").write_text(text)
    return path


def test_the_largest_cache_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"index0": "32K\n", "index1": "1024K\n", "index2": "36M\n", "index3": "?", "index4": ""}
    monkeypatch.setattr(rotation, "CPU_CACHE", made(tmp_path, sizes))
    assert last_level_cache() == 36 * 2**20


def test_a_system_that_tells_nothing_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_name: str) -> int:
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(rotation, "CPU_CACHE", tmp_path / "none")
    monkeypatch.setattr("os.sysconf", refuse)
    assert last_level_cache() == 0
