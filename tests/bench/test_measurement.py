"""The measurement of one case, on ranks that do what the script says. R ranks, I repetitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.bench.scripted import BARRIER, CASE, OVERHEAD, RIGHT, TERMS, WRONG, ScriptedTeam, measured, noisy

from collmark.bench import measurement
from collmark.bench.measurement import STAMP_NBYTES, Measurement, Progress
from collmark.bench.rotation import LEAST
from collmark.bench.stamps import Stamps
from collmark.core.case import Buffers
from collmark.core.errors import InterruptedRunError, MeasurementError, UnavailableError
from collmark.core.operation import Estimand
from collmark.core.record import Check, Clock, Sentinel, Status


def test_first_and_last_of_rotated_buffers_are_checked() -> None:
    team = ScriptedTeam(repeat(1e-3))
    record = measured(team, msgspec.structs.replace(CASE, buffers=Buffers.ROTATED)).record
    assert record.slots >= LEAST
    assert team.checked == [0, record.slots - 1]
    measured(team)
    assert team.checked[2:] == [0, 0]


def test_the_course_of_a_case() -> None:
    team = ScriptedTeam(repeat(1e-3))
    measured(team)
    blocks = [line for line in team.log if line.startswith("block")]
    others = [line for line in team.log if not line.startswith("block")]
    assert others == [
        "bind all_reduce",
        "prepare 1 poisoned",
        "compare 1",
        "neutralise",
        "prepare 2 as it is",
        "compare 2",
        "release",
    ]
    # Checks are single calls; the first warm-up call stands alone too.
    assert blocks[:2] == ["block 1", "block 1"]
    assert team.log.index("compare 1") < team.log.index("neutralise") < team.log.index("block 4")
    assert team.log[-4:] == ["prepare 2 as it is", "block 1", "compare 2", "release"]


def test_the_record() -> None:
    team = ScriptedTeam(repeat(1e-3))
    team.threads = (8, 2)
    found = measured(team, sentinel=Sentinel.MIDDLE)
    record = found.record
    assert record.case == CASE
    assert (record.launch, record.sentinel, record.status) == (3, Sentinel.MIDDLE, Status.CONVERGED)
    assert not record.simulated
    assert record.clock is Clock.SHARED
    assert record.evidence == team.evidence
    assert record.check == Check(checked=64, wrong=0)
    assert record.wall == pytest.approx(team.time - 100.0)
    assert record.first_call == pytest.approx(1e-3)
    assert (record.busy_threads, record.cores) == (8, 2)
    assert record.oversubscribed
    assert (record.enqueue, record.device, record.error) == (None, None, "")
    assert record.timing is not None
    assert record.timing.median == pytest.approx(1e-3)
    assert record.timing.estimand is Estimand.LAST_IN_LAST_OUT
    assert record.ranks is not None
    assert found.layers_SRI is not None
    assert found.layers_SRI.shape == (2, 2, record.timing.repetitions)
    assert record.started.endswith("Z")


def test_the_first_call_is_kept_apart() -> None:
    team = ScriptedTeam(iter([0.7, *[1e-4] * 100_000]))
    record = measured(team).record
    assert record.first_call == pytest.approx(0.7)
    assert record.timing is not None
    assert record.timing.maximum == pytest.approx(1e-4)


@pytest.mark.parametrize("seconds", [1e-6, 1e-4, 1e-2])
def test_warm_up_is_five_calls_and_twenty_milliseconds_before_the_first_case_and_four_later(seconds: float) -> None:
    measurement = Measurement(ScriptedTeam(repeat(seconds)), TERMS, lambda: False, lambda _progress: None)
    for least in (0.02, 0.004):
        record = measurement.measure([CASE], budget=10.0)[0].record
        assert record.warmup_calls >= 5
        assert record.warmup_calls * (seconds + OVERHEAD) >= least
        # And not much more.
        assert (record.warmup_calls - 4) * (seconds + OVERHEAD) <= max(least, 2 * (seconds + OVERHEAD))


def test_a_call_that_takes_most_of_the_budget_is_not_repeated_for_warmth() -> None:
    team = ScriptedTeam(repeat(3.0))
    record = measured(team, budget=10.0).record
    assert record.warmup_calls == 1
    assert record.status is Status.BUDGET
    assert team.time - 100.0 < 16


@pytest.mark.parametrize("share", [0.3, 0.12, 0.07, 0.051, 0.04])
def test_warm_up_overshoots_a_quarter_of_the_budget_by_less_than_a_call(share: float) -> None:
    record = measured(ScriptedTeam(repeat(share * 10.0)), budget=10.0).record
    # The check before it has taken one call already.
    calls_in_a_quarter = 0.25 * (1 - share) / share
    assert record.warmup_calls == max(1, min(5, int(calls_in_a_quarter)))


@pytest.mark.parametrize("seconds", [1e-6, 1e-4, 1e-2, 0.1])
@pytest.mark.parametrize("budget", [0.05, 0.5, 5.0])
@pytest.mark.parametrize("check_seconds", [0.0, 0.01])
def test_the_budget_holds(seconds: float, budget: float, check_seconds: float) -> None:
    team = ScriptedTeam(noisy(seconds, 0.5))
    team.check_seconds = check_seconds
    strict = msgspec.structs.replace(TERMS, precision=0.0005)
    record = measured(team, budget=budget, terms=strict).record
    # Two checks, a warm-up of up to five calls and one repetition there must be.
    least = 2 * check_seconds + 9 * 3 * (seconds + OVERHEAD)
    assert record.wall <= max(1.1 * budget, least + 0.02)
    if least < budget / 4:
        assert record.wall >= 0.7 * budget
    assert record.status is not Status.CONVERGED


def test_converged_needs_repetitions_between_its_two_looks() -> None:
    # The first look, at ten equal repetitions, is narrow; there is no time for a second.
    for budget in np.linspace(0.3, 1.2, 60):
        record = measured(ScriptedTeam(repeat(0.02)), budget=float(budget)).record
        assert record.timing is not None
        if record.status is Status.CONVERGED:
            assert record.timing.repetitions >= 20


def test_repetitions_stop_when_it_is_enough() -> None:
    record = measured(ScriptedTeam(noisy(1e-3, 0.02)), budget=60.0).record
    assert record.status is Status.CONVERGED
    assert record.timing is not None
    assert record.timing.repetitions < 100
    assert record.wall < 1


def test_a_stricter_precision_takes_longer() -> None:
    strict = msgspec.structs.replace(TERMS, precision=0.01)
    usual, careful = (measured(ScriptedTeam(noisy(1e-3, 0.2)), budget=60.0, terms=t) for t in (TERMS, strict))
    assert usual.record.timing is not None
    assert careful.record.timing is not None
    assert careful.record.timing.repetitions > 2 * usual.record.timing.repetitions


def test_a_wrong_result_before_the_repetitions_ends_the_case() -> None:
    team = ScriptedTeam(repeat(1e-3))
    team.checks = iter([WRONG])
    found = measured(team)
    assert found.record.status is Status.WRONG
    assert found.record.check == WRONG
    assert (found.record.timing, found.record.ranks, found.layers_SRI) == (None, None, None)
    assert found.record.first_call == pytest.approx(1e-3)
    assert len(team.blocks) == 1
    assert team.log[-1] == "release"


def test_a_wrong_result_after_the_repetitions_has_no_timing_either() -> None:
    team = ScriptedTeam(repeat(1e-3))
    team.checks = iter([RIGHT, WRONG])
    found = measured(team)
    assert found.record.status is Status.WRONG
    assert found.record.check == Check(checked=64, wrong=2, first=WRONG.first)
    assert (found.record.timing, found.layers_SRI) == (None, None)


def test_epochs_never_repeat_in_a_launch() -> None:
    team = ScriptedTeam(repeat(1e-3))
    measurement = Measurement(team, TERMS, lambda: False, lambda _progress: None)
    for _case in range(3):
        measurement.measure([CASE], 1.0)
    prepared = [line.split()[1] for line in team.log if line.startswith("prepare")]
    assert prepared == ["1", "2", "3", "4", "5", "6"]


def test_a_case_that_cannot_be_bound_is_a_failed_record() -> None:
    team = ScriptedTeam(repeat(1e-3))
    team.bind_error = UnavailableError("rank 1: no room")
    record = measured(team).record
    assert record.status is Status.FAILED
    assert record.error == "rank 1: no room"
    assert record.timing is None
    assert record.check.checked == 0
    assert record.check.left_out == "the case could not be bound"
    assert team.blocks == []


@pytest.mark.parametrize("after", [0, 1, 2, 7])
def test_buffers_are_given_back_whatever_happens(after: int) -> None:
    def durations() -> Iterator[float]:
        yield from repeat(1e-3, after)
        raise MeasurementError("rank 1 is gone")

    team = ScriptedTeam(durations())
    with pytest.raises(MeasurementError, match="rank 1 is gone"):
        measured(team)
    assert team.log[-1] == "release"


def test_a_stop_is_heard_between_blocks() -> None:
    team = ScriptedTeam(noisy(1e-3, 1.0))
    strict = msgspec.structs.replace(TERMS, precision=0.0005)
    asked = [0.0]

    def is_stopping() -> bool:
        if team.time > 101 and not asked[0]:
            asked[0] = team.time
        return team.time > 101

    with pytest.raises(InterruptedRunError, match=r"stopped in all_reduce 64 B float32"):
        measured(team, budget=100.0, terms=strict, is_stopping=is_stopping)
    assert team.time - 101 < 1
    assert team.log[-1] == "release"


def test_a_series_ends_where_the_stamps_of_all_ranks_would_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurement, "MOST_STAMPS", 2 * STAMP_NBYTES * 70)
    team = ScriptedTeam(noisy(1e-3, 0.3))
    record = measured(team, budget=100.0, terms=msgspec.structs.replace(TERMS, precision=0.0005)).record
    assert record.timing is not None
    assert (record.timing.repetitions, record.status) == (70, Status.BUDGET)


def test_blocks_are_short_enough_to_be_heard() -> None:
    team = ScriptedTeam(noisy(1e-3, 0.5))
    measured(team, budget=20.0, terms=msgspec.structs.replace(TERMS, precision=0.0005))
    assert max(number for number, _timeout in team.blocks) * 1e-3 <= 0.4


def test_patience() -> None:
    # The first call also sets up connections; later ones have ten times what they took, at least the time-out.
    quick, slow = ScriptedTeam(repeat(1e-3)), ScriptedTeam(repeat(7.0))
    measured(quick)
    assert [timeout for _number, timeout in quick.blocks[:2]] == [90.0, 30.0]
    assert {timeout for _number, timeout in quick.blocks[1:-1]} == {30.0}
    measured(slow, budget=100.0)
    waits = [timeout for _number, timeout in slow.blocks]
    assert waits[0] == 90.0
    assert waits[2] == pytest.approx(70.0, rel=0.01)


def test_progress_tells_case_and_repetitions() -> None:
    seen: list[Progress] = []
    record = measured(ScriptedTeam(noisy(1e-3, 0.05)), report=seen.append).record
    assert {progress.case for progress in seen} == {CASE}
    assert record.timing is not None
    counts = [progress.repetitions for progress in seen]
    assert counts == sorted(counts)
    assert counts[-1] <= record.timing.repetitions


@pytest.mark.parametrize(("early", "wrong"), [(0.0, 0), (0.9e-3, 0), (1.1e-3, 1)])
def test_nobody_leaves_a_barrier_before_all_have_come(early: float, wrong: int) -> None:
    team = ScriptedTeam(repeat(1e-3))
    team.checks = repeat(Check(checked=0, wrong=0))
    team.early = early  # rank 1 enters and leaves so much later than rank 0
    record = measured(team, BARRIER).record
    assert (record.check.wrong > 0) == bool(wrong)
    assert record.check.checked >= 20
    assert record.check.left_out == "no payload: checked by its time stamps"
    assert record.status is (Status.WRONG if wrong else Status.CONVERGED)
    if wrong:
        assert record.check.first == "rank 0 left repetition 0 before rank 1 came"


def test_a_barrier_without_a_common_clock_is_not_said_to_be_checked() -> None:
    team = ScriptedTeam(repeat(1e-3), clock=Clock.LOCAL)
    team.checks = repeat(Check(checked=0, wrong=0))
    record = measured(team, BARRIER).record
    assert record.check.checked == 0
    assert record.check.left_out == "no payload, and no common clock to check it by"


def test_without_a_common_clock_the_record_says_so() -> None:
    record = measured(ScriptedTeam(repeat(1e-3), clock=Clock.LOCAL)).record
    assert record.clock is Clock.LOCAL
    assert record.timing is not None
    assert record.timing.estimand is Estimand.LONGEST_LOCAL


def test_asynchronous_calls_keep_queueing_and_device_times() -> None:
    found = measured(ScriptedTeam(repeat(1e-3), layers=4))
    assert found.record.enqueue == pytest.approx(3e-6)
    assert found.record.device == pytest.approx(0.5e-3)
    assert found.layers_SRI is not None
    assert found.layers_SRI.shape[0] == 4


def test_a_virtual_clock_is_a_simulation() -> None:
    assert measured(ScriptedTeam(repeat(1e-3), clock=Clock.VIRTUAL)).record.simulated


@pytest.mark.manner(10)
def test_nothing_is_told_inside_a_block_of_repetitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who hears of progress may draw: that happens between blocks, and between the clock reads of none."""
    team, inside, told = ScriptedTeam(repeat(1e-3)), [], []
    block, once = team.block, team.once

    def watched(call: Callable[..., Stamps]) -> Callable[..., Stamps]:
        def calling(*words: Any, **named: Any) -> Stamps:  # noqa: ANN401 - as the team has it
            inside.append(True)
            try:
                return call(*words, **named)
            finally:
                inside.pop()

        return calling

    monkeypatch.setattr(team, "block", watched(block))
    monkeypatch.setattr(team, "once", watched(once))
    monkeypatch.setattr("collmark.bench.measurement.REPORT_SECONDS", 0.0)
    measured(team, report=lambda _progress: told.append(bool(inside)))
    assert len(told) > 2
    assert not any(told)
    assert len(team.blocks) >= len(told) // 2, "a report behind each block"
