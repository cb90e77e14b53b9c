"""The moment in which the ranks of a launch watch: what each saw, and what becomes of it for a host."""

from __future__ import annotations

import msgspec
import pytest

from collmark.bench.noise import short
from collmark.bench.noise.short import RankNoise, host_noise, watch_rank
from collmark.core.noise import GAP
from collmark.kernels.noise import load_native

RANK = RankNoise(
    loop="native", watched=0.3, lost=0.01, long=2, largest=0.004, preempted=2, frequency=2e9, steal=0.1, throttled=0.0,
    switches=500.0, summed=4e9,
)  # fmt: skip


@pytest.mark.parametrize("loop", ["native", "python"])
def test_what_a_rank_sees(monkeypatch: pytest.MonkeyPatch, loop: str) -> None:
    monkeypatch.setattr(short, "WATCHED", 0.02)
    if loop == "python":
        monkeypatch.setattr(short, "load_native", lambda: None)
    elif load_native() is None:
        pytest.skip("the native loops were not built")
    seen = watch_rank()
    assert seen.loop == loop
    assert seen.watched >= 0.02
    assert 0 <= seen.largest <= seen.lost <= seen.watched
    assert seen.summed is not None
    assert 1e6 < seen.summed < 1e13
    assert seen.largest == 0 or seen.largest >= GAP
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(seen), type=RankNoise) == seen


def test_what_does_not_add_has_no_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short, "WATCHED", 0.01)
    assert watch_rank(lambda _to, _source: 0).summed is None


def test_a_host_has_what_its_ranks_saw_in_their_order() -> None:
    other = msgspec.structs.replace(RANK, lost=0.02, long=5, largest=0.008, preempted=4, steal=0.2, frequency=None)
    found = host_noise([RANK, other])
    assert (found.lost, found.long, found.largest) == ([0.01, 0.02], [2, 5], [0.004, 0.008])
    assert found.watched == [0.3, 0.3]
    assert found.preempted == [2, 4]
    assert found.summed == [4e9, 4e9]
    assert found.frequency is None  # what is not told of every rank is told of none
    assert (found.steal, found.switches) == (0.1, 500.0)  # the host's, as its first rank saw it
