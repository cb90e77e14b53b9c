"""One clock for all ranks, on simulated clocks whose truth is known. S layers, R ranks, I repetitions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from collmark.bench.common_clock import FIRST_LOOKS, LONGEST_AGE, OLDEST, CommonClock, one_clock

TICK = 1e-9
SECOND = 10**9


class Hosts:
    """Clocks of hosts behind ways that are not alike; time goes by when somebody asks or sleeps."""

    def __init__(
        self, hosts: Sequence[int], ahead: Sequence[int], drift: Sequence[float], claims: Sequence[str] | None = None
    ) -> None:
        self.hosts = hosts  # of each rank
        self.ahead = list(ahead)  # ns, of each host
        self.drift = drift
        self.time = 7 * SECOND
        self.asked: list[int] = []
        self.slow = 1.0
        self.random = np.random.default_rng(2)
        claims = [str(host) for host in hosts] if claims is None else claims
        self.common = CommonClock(claims, self.ask, now=lambda: self.time, sleep=self.sleep)

    def sleep(self, seconds: float) -> None:
        self.time += round(seconds * 1e9)

    def reading(self, rank: int, moment: int) -> int:
        host = self.hosts[rank]
        return moment + self.ahead[host] + round(self.drift[host] * moment)

    def ask(self, rank: int, count: int) -> NDArray[np.int64]:
        self.asked.append(rank)
        rows = []
        for _turn in range(count):
            there, back = (self.slow * np.array([4_000, 11_000]) * (1 + self.random.exponential(0.3, 2))).astype(int)
            rows.append((self.time, self.reading(rank, self.time + there), self.time + there + back))
            self.time += int(there + back)
        return np.array(rows, dtype=np.int64)

    def stamps(self, moments_RI: NDArray[np.int64], layers: int = 2) -> NDArray[np.int64]:
        """Return stamps of calls that take 1 ms, each by its rank's own clock; device intervals are no moments."""
        own = np.array(
            [
                [
                    [self.reading(rank, int(moment) + layer * 10**6) for moment in row]
                    for rank, row in enumerate(moments_RI)
                ]
                for layer in range(layers)
            ],
            dtype=np.int64,
        )
        own[3:] = 77
        return own

    def a_case(self, seconds: float, ranks: int, count: int = 50) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Prepare, let time go by, conclude; return the true moments of entries, and the mapped stamps."""
        self.common.prepare()
        begin = self.time
        self.sleep(seconds)
        moments_RI = np.tile(np.linspace(begin, self.time, count).astype(np.int64), (ranks, 1))
        mapped_SRI = self.common.moments(self.stamps(moments_RI))
        self.common.conclude()
        return moments_RI, mapped_SRI


def three_hosts() -> Hosts:
    return Hosts([0, 0, 1, 1, 2, 2], [0, 5 * SECOND, -(10**14)], [0.0, 50e-6, -80e-6])


def test_ranks_of_one_host_need_no_bound() -> None:
    hosts = three_hosts()
    hosts.common.settle(1.0, TICK)
    hosts.a_case(0.1, 6)
    common = hosts.common
    for one_host in ([0, 1], [2, 3], [4], [5, 4]):
        assert common.error_among(one_host) == 0
        assert common.is_shared_among(one_host)
    second, third, both = (common.error_among(ranks) for ranks in ([0, 2], [1, 5], [3, 4]))
    assert min(second, third) > 0
    assert both == pytest.approx(second + third) == common.error
    assert not common.is_shared_among([1, 2])


def test_one_clock_is_not_asked_again_and_maps_nothing() -> None:
    hosts = Hosts([0, 0, 0], [0], [0.0])
    hosts.common.settle(1.0, TICK)
    assert hosts.asked == [1, 2]  # verified once
    stamps = hosts.stamps(np.array([[1, 2]] * 3))
    hosts.common.prepare()
    hosts.common.attend()
    hosts.common.conclude()
    assert hosts.asked == [1, 2]
    assert hosts.common.is_shared
    assert hosts.common.error == 0
    assert hosts.common.facts() is None
    assert hosts.common.moments(stamps) is stamps
    assert hosts.common.readings(42) == [42] * 3
    assert one_clock(3).readings(42) == [42] * 3


def test_the_lowest_rank_of_each_host_answers_for_it() -> None:
    hosts = three_hosts()
    hosts.common.settle(1.0, TICK)
    assert hosts.asked[:5] == [1, 2, 3, 4, 5]
    assert set(hosts.asked[5:]) == {2, 4}
    hosts.a_case(0.1, 6)
    facts = hosts.common.facts()
    assert facts is not None
    assert facts.leaders == [2, 4]
    assert facts.note == ""


@pytest.mark.parametrize("seconds", [0.01, 1.0, 9.0])
def test_mapped_stamps_are_off_by_no_more_than_the_bound(seconds: float) -> None:
    hosts = three_hosts()
    hosts.common.settle(1.0, TICK)
    moments_RI, mapped_SRI = hosts.a_case(seconds, 6)
    facts = hosts.common.facts()
    assert facts is not None
    off_R = np.abs(mapped_SRI[0] - moments_RI).max(axis=1) * 1e-9
    assert off_R[:2].tolist() == [0.0, 0.0]
    for host, bound in enumerate(facts.bound, start=1):
        assert 0 < off_R[2 * host] == pytest.approx(off_R[2 * host + 1], abs=1e-9)
        assert off_R[2 * host] <= bound < 30e-6
    # Stamps of two hosts may be off in opposite directions.
    assert facts.error == pytest.approx(sum(facts.bound))
    assert hosts.common.error == facts.error
    naive = hosts.stamps(moments_RI) - moments_RI
    assert np.abs(naive[0]).max() * 1e-9 > 1e3 * facts.error


def test_the_record_gives_back_what_each_clock_showed() -> None:
    hosts = three_hosts()
    hosts.common.settle(1.0, TICK)
    moments_RI, mapped_SRI = hosts.a_case(1.0, 6)
    facts = hosts.common.facts()
    assert facts is not None
    for host, rank in enumerate(facts.leaders):
        mapped = mapped_SRI[0, rank]
        shown = mapped * 1e-9 + facts.ahead[host] + facts.drift[host] * (mapped * 1e-9 - facts.at)
        assert shown == pytest.approx(hosts.stamps(moments_RI)[0, rank] * 1e-9, abs=1e-7)
        assert facts.drift[host] == pytest.approx(hosts.drift[hosts.hosts[rank]], abs=1e-6)


def test_starts_are_told_by_each_ranks_own_clock() -> None:
    hosts = three_hosts()
    hosts.common.settle(1.0, TICK)
    hosts.common.prepare()
    moment = hosts.time + 10**6
    readings = hosts.common.readings(moment)
    for rank, reading in enumerate(readings):
        assert abs(reading - hosts.reading(rank, moment)) <= 30_000
    assert readings[:2] == [moment, moment]
    assert readings[2] == readings[3] != readings[4] == readings[5]


def test_device_intervals_are_no_moments() -> None:
    hosts = three_hosts()
    hosts.common.settle(1.0, TICK)
    hosts.common.prepare()
    moments_RI = np.full((6, 2), hosts.time)
    mapped = hosts.common.moments(hosts.stamps(moments_RI, layers=4))
    assert (mapped[3] == 77).all()
    assert np.abs(mapped[2] - moments_RI - 2 * 10**6).max() < 30_000


@pytest.mark.parametrize(("rank", "is_found"), [(1, True), (3, True), (0, False)])
def test_a_rank_that_only_says_it_shares_a_clock_is_found_out(rank: int, is_found: bool) -> None:  # noqa: FBT001
    # Ranks 0, 1 and 2, 3 say that they share; one of them reads another clock, 5 s apart.
    of_rank = [0, 0, 1, 1]
    if is_found:
        of_rank[rank] = 2
    hosts = Hosts(of_rank, [0, 10**12, 10**12 + 5 * SECOND], [0.0, 10e-6, 20e-6], ["a", "a", "b", "b"])
    hosts.common.settle(1.0, TICK)
    moments_RI, mapped_SRI = hosts.a_case(1.0, 4)
    facts = hosts.common.facts()
    assert facts is not None
    assert facts.leaders == ([1, 2] if rank == 1 else [2, 3] if rank == 3 else [2])
    assert np.abs(mapped_SRI[0] - moments_RI).max() * 1e-9 <= max(facts.bound)
    if is_found:
        assert f"rank {rank} says that it reads the clock of rank {rank - 1}" in facts.note
    else:
        assert facts.note == ""


def test_of_two_hosts_that_share_by_their_word_but_are_one_clock_apart_each_has_its_model() -> None:
    hosts = Hosts([0, 1], [0, 10**6], [0.0, 0.0], ["one", "one"])
    hosts.common.settle(1.0, TICK)
    assert not hosts.common.is_shared


@pytest.mark.parametrize("by", [1_000_000, -5 * SECOND, 60_000])
@pytest.mark.parametrize("when", ["in a case", "between cases"])
def test_a_clock_that_is_set_is_said_and_measured_anew(by: int, when: str) -> None:
    hosts = three_hosts()
    hosts.common.settle(1.0, TICK)
    hosts.a_case(0.5, 6)
    hosts.common.prepare()
    moment = hosts.time
    if when == "in a case":
        hosts.ahead[1] += by
        off = abs(int(hosts.common.moments(hosts.stamps(np.full((6, 1), moment)))[0, 2, 0]) - moment)
        hosts.common.conclude()
        assert hosts.common.error * 1e9 >= off >= 0.9 * abs(by)
    else:
        hosts.common.conclude()
        hosts.ahead[1] += by
        hosts.common.prepare()
    facts = hosts.common.facts()
    assert facts is not None
    assert facts.note.startswith("the clock of rank 2's host left its model by")
    assert facts.note.count("left its model") == 1
    before = len(hosts.asked)
    moments_RI, mapped_SRI = hosts.a_case(0.5, 6)
    if when == "in a case":
        assert len(hosts.asked) - before > FIRST_LOOKS
    facts = hosts.common.facts()
    assert facts is not None
    assert facts.note == ""
    assert np.abs(mapped_SRI[0] - moments_RI).max() * 1e-9 <= max(facts.bound) < 30e-6


def test_a_change_of_rate_shows_in_the_bound() -> None:
    hosts = Hosts([0, 1], [0, SECOND], [0.0, 20e-6])
    hosts.common.settle(1.0, TICK)
    hosts.common.prepare()
    begin = hosts.time
    hosts.drift = [0.0, 50e-6]
    hosts.ahead[1] -= round(30e-6 * begin)  # as steering does: no step, another rate from here on
    hosts.sleep(2.0)
    off = abs(int(hosts.common.moments(hosts.stamps(np.full((2, 1), hosts.time)))[0, 1, 0]) - hosts.time)
    hosts.common.conclude()
    assert off == pytest.approx(60_000, abs=8_000)
    assert hosts.common.error * 1e9 >= off


def test_looks_that_are_too_old_are_forgotten_and_made_anew() -> None:
    hosts = Hosts([0, 1], [0, SECOND], [0.0, 20e-6])
    hosts.common.settle(1.0, TICK)
    hosts.a_case(1.0, 2)
    before = len(hosts.asked)
    hosts.common.prepare()
    assert len(hosts.asked) == before + 1
    hosts.sleep(OLDEST)
    before = len(hosts.asked)
    hosts.common.prepare()
    assert len(hosts.asked) == before + 1 + FIRST_LOOKS


def test_a_long_case_is_looked_after_between_its_blocks() -> None:
    hosts = Hosts([0, 1], [0, SECOND], [0.0, 20e-6])
    hosts.common.settle(1.0, TICK)
    hosts.common.prepare()
    before = len(hosts.asked)
    hosts.common.attend()
    assert len(hosts.asked) == before
    for _block in range(4):
        hosts.sleep(LONGEST_AGE / 2 + 1)
        hosts.common.attend()
    assert len(hosts.asked) == before + 2
    hosts.common.conclude()
    facts = hosts.common.facts()
    assert facts is not None
    assert facts.age == pytest.approx(LONGEST_AGE + 2, rel=0.01)
    hosts.a_case(1.0, 2)
    facts = hosts.common.facts()
    assert facts is not None
    assert facts.age == pytest.approx(1.0, rel=0.01)  # of this case alone


def test_a_look_that_was_held_up_is_taken_again() -> None:
    hosts = Hosts([0, 1], [0, SECOND], [0.0, 20e-6])
    hosts.common.settle(1.0, TICK)
    hosts.a_case(0.1, 2)
    fine = hosts.common.error
    hosts.slow = 50.0
    before = len(hosts.asked)
    hosts.common.prepare()
    assert len(hosts.asked) == before + 5
    assert hosts.common.error > 20 * fine


def test_a_short_launch_has_little_time_for_clocks() -> None:
    for seconds, spent in ((0.05, 0.05), (1.0, 1.0), (1e9, 1.0)):
        hosts = Hosts([0, 1], [0, SECOND], [0.0, 20e-6])
        begin = hosts.time
        hosts.common.settle(seconds, TICK)
        assert (hosts.time - begin) * 1e-9 == pytest.approx(spent, abs=0.01)
