"""What the watch of every launch says of a run: planted figures, and the sentences that they deserve."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.core.stored import RUN, TIMER, launch_of

from collmark.core.disturbance import findings
from collmark.core.host_noise import HostNoise
from collmark.core.noise_of_run import noise_sentences
from collmark.core.record import Host, Run

NOISE = HostNoise(
    loop="native", threshold=5e-6, watched=[0.3, 0.3], lost=[0.001, 0.001], long=[0, 0], largest=[2e-5, 2e-5],
    preempted=[0, 0], steal=0.0, throttled=0.0, switches=100.0,
)  # fmt: skip


def run_with(*launches: dict[str, Any], scheduling: str = "other", timer: Any = TIMER) -> Run:  # noqa: ANN401 - a Timer
    """Return a run with a launch for each set of changes to what its host saw."""
    made = []
    for number, changes in enumerate(launches, 1):
        noise = msgspec.structs.replace(NOISE, **changes)
        host = Host(name="node-a", ranks=[0, 1], cores=2, cpu="", system="", noise=noise)
        made.append(msgspec.structs.replace(launch_of(number), hosts=[host], scheduling=scheduling, timer=timer))
    return msgspec.structs.replace(RUN, launches=made)


BUSY = {"lost": [0.03, 0.06], "long": [8, 15], "largest": [0.004, 0.008], "preempted": [9, 16]}


def test_a_quiet_host_is_not_mentioned() -> None:
    assert noise_sentences(run_with({}, {})) == []


def test_a_launch_without_a_watch_says_nothing() -> None:
    run = run_with({})
    host = msgspec.structs.replace(run.launches[0].hosts[0], noise=None)
    launch = msgspec.structs.replace(run.launches[0], hosts=[host])
    assert noise_sentences(msgspec.structs.replace(run, launches=[launch])) == []


def test_launches_and_ranks_are_taken_together() -> None:
    (sentence,) = noise_sentences(run_with(BUSY, {}))
    # 0.092 of 1.2 s; 23 gaps of 1 ms and more in 1.2 s a rank hit 2 ranks' operations of 100 us in 0.41 %.
    assert sentence.startswith(
        "node-a took 7.67 % of its ranks' time just before the cases (gaps up to 8 ms, 1.2 s watched): quantiles from "
        "p99.9 on of small operations may be the machine's; to mend: --scheduling fifo, or "
    )


def test_one_slice_of_a_scheduler_is_no_finding() -> None:
    slice_ = {"lost": [0.008, 0.0005], "long": [1, 0], "largest": [0.008, 2e-5]}
    assert noise_sentences(run_with(slice_)) == []  # 1.4 % of 0.6 s, in one gap
    two = {"lost": [0.016, 0.0005], "long": [2, 0], "largest": [0.008, 2e-5]}
    assert len(noise_sentences(run_with(two))) == 1


def test_a_gap_on_any_rank_counts() -> None:
    # 6.7 gaps a second hit 0.07 % of one rank's operations of 100 us, and 0.14 % of those of two.
    seen = {"lost": [0.02, 0.02], "long": [2, 2], "largest": [0.01, 0.01]}
    (sentence,) = noise_sentences(run_with(seen))
    assert "quantiles from p99.9 on" in sentence


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"scheduling": "fifo"}, "(--scheduling fifo is in use)"),
        ({}, "--scheduling fifo, or end what else runs here"),
    ],
)
def test_the_remedy_knows_what_is_in_use(changes: dict[str, Any], words: str) -> None:
    (sentence,) = noise_sentences(run_with(BUSY, **changes))
    assert words in sentence


def test_steal_is_named_as_the_cause() -> None:
    gaps, stolen = noise_sentences(run_with({**BUSY, "steal": 0.05}))
    assert "cores of your own" in gaps
    assert stolen.startswith("a hypervisor took 5 % of node-a's time")
    assert noise_sentences(run_with({"steal": 0.009})) == []


def test_quota_frequency_and_clock() -> None:
    (quota,) = noise_sentences(run_with({"throttled": 0.1}, {"throttled": 0.05}))
    assert "a CPU quota stopped the ranks on node-a for 0.15 s" in quota
    (frequency,) = noise_sentences(run_with({"frequency": [2e9, 3e9]}))
    assert "2 to 3 GHz" in frequency
    assert noise_sentences(run_with({"frequency": [2.8e9, 3e9]})) == []
    slow = msgspec.structs.replace(TIMER, cost=2e-6)
    (clock,) = noise_sentences(run_with({}, {}, timer=slow))
    assert "a read of the clock costs 2.00 us: times below 40.0 us are mostly reads" in clock


def test_noise_is_among_what_disturbed_a_run() -> None:
    run = run_with(BUSY)
    assert findings(run, []) == noise_sentences(run)


def test_lists_of_a_host_have_an_entry_a_rank() -> None:
    broken = msgspec.json.encode(NOISE).replace(b'"long":[0,0]', b'"long":[0]')
    with pytest.raises(msgspec.ValidationError, match="equal length"):
        msgspec.json.decode(broken, type=HostNoise)
