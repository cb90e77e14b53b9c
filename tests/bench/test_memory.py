"""What does not fit into memory is refused before anything starts, and what fits is not."""

from pathlib import Path

import pytest

from collmark.bench import memory
from collmark.bench.backends.index import BACKENDS
from collmark.bench.memory import available_memory, check_memory
from collmark.core.case import Case
from collmark.core.errors import UsageError
from collmark.core.expansion import expand
from collmark.core.placement import Placement
from collmark.core.plan import Plan

GIB = 2**30
TWO, FOUR = Placement(ranks_per_node=2), Placement(ranks_per_node=4)
SPREAD = Placement(nodes=2, ranks_per_node=2)


def cases(operation: str, size: str, placement: Placement) -> tuple[Case, ...]:
    plan = Plan(operations=(operation,), sizes=size, placements=(placement,))
    return expand(plan, placement, {"gloo": BACKENDS["gloo"].capability}).cases


@pytest.mark.parametrize(
    ("operation", "placement", "need"),
    [
        ("all_reduce", FOUR, 4 * GIB),  # in place: one buffer on each rank
        ("all_to_all", FOUR, 8 * GIB),
        ("all_gather", FOUR, 5 * GIB),  # a quarter is sent
        ("reduce_scatter", FOUR, 5 * GIB),
        ("gather", FOUR, 2 * GIB),  # only the root receives all
        ("scatter", FOUR, 2 * GIB),
        ("ping_pong", FOUR, 4 * GIB),  # ranks 2 and 3 take no part
        ("barrier", FOUR, 0),
        ("all_to_all", TWO, 4 * GIB),
        ("all_to_all", SPREAD, 4 * GIB),  # on each of two hosts
        ("gather", SPREAD, GIB // 2),  # the root may lie on the other host
    ],
)
def test_what_fits_is_let_through_and_one_byte_more_is_not(
    monkeypatch: pytest.MonkeyPatch, operation: str, placement: Placement, need: int
) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: need)
    check_memory(cases(operation, "8B,1GiB,1KiB", placement))
    if need:
        monkeypatch.setattr(memory, "available_memory", lambda: need - 1)
        with pytest.raises(UsageError, match=rf"^{operation} 1073741824 B float32 needs .* choose smaller --sizes"):
            check_memory(cases(operation, "8B,1GiB,1KiB", placement))


def test_need_and_memory_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 16 * GIB)
    words = r"needs 1\.95 TiB of memory on each host \(send and receive buffers of 2 ranks\), 16\.0 GiB can be had"
    with pytest.raises(UsageError, match=words):
        check_memory(cases("all_to_all", "500GiB", TWO))


def test_a_system_that_does_not_tell_refuses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    check_memory(cases("all_to_all", "500GiB", TWO))


def test_memory_is_what_can_still_be_had_with_swap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    info = tmp_path / "meminfo"
    info.write_text("MemTotal:  9 kB\nMemFree:  1 kB\nMemAvailable:    4 kB\nSwapTotal:  8 kB\nSwapFree:  2 kB\nX: 7\n")
    monkeypatch.setattr(memory, "MEMINFO", info)
    assert available_memory() == 6 * 1024


def test_elsewhere_it_is_the_whole_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "none")
    monkeypatch.setattr("os.sysconf", lambda name: {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 10}[name])
    assert available_memory() == 40960

    def unknown(_name: str) -> int:
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr("os.sysconf", unknown)
    assert available_memory() is None
