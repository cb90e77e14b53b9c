"""What a record keeps of the stamps: quantiles over repetitions of times over ranks. R ranks, I repetitions."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from collmark.bench.stamps import Stamps, repetition_times
from collmark.bench.stopping import Judgement, judge
from collmark.bench.summary import summarise_ranks, summarise_time
from collmark.core.case import Case
from collmark.core.operation import Estimand
from collmark.core.placement import Placement
from collmark.core.record import BINS_PER_OCTAVE, Histogram, Timing

Ints = npt.NDArray[np.int64]
TICK = 1e-9


def case_of(operation: str, ranks: int) -> Case:
    return Case(
        operation=operation,
        backend="gloo",
        dtype="float32",
        placement=Placement(ranks_per_node=ranks),
        nbytes=64,
        requested_nbytes=64,
        reduction="sum" if operation == "all_reduce" else "",
        messages=4,
    )


def stamps_of(enter_RI: Ints, exit_RI: Ints, *, comparable: bool = True, starts_I: Ints | None = None) -> Stamps:
    return Stamps(layers_SRI=np.stack([enter_RI, exit_RI]), starts_I=starts_I, comparable=comparable)


def timing_of(stamps: Stamps, operation: str = "all_reduce", tick: float = TICK) -> Timing:
    case = case_of(operation, stamps.layers_SRI.shape[1])
    judgement = judge(repetition_times(stamps, case.estimand, case.messages), tick)
    return summarise_time(case, stamps, judgement, tick)


def distribution(seconds_I: npt.NDArray[np.floating], tick: float = TICK) -> Histogram:
    """Return what a record keeps of the distribution of a series."""
    enter = simultaneous(2, len(seconds_I))
    stamps = stamps_of(enter, enter + np.round(seconds_I * 1e9).astype(np.int64))
    judgement = Judgement(cut=0, tau=1.0, interval=None, second_mode=0.0)
    found = summarise_time(case_of("all_reduce", 2), stamps, judgement, tick).histogram
    assert found is not None
    return found


def simultaneous(ranks: int, repetitions: int) -> Ints:
    """Return entries of all ranks at once, 1 ms apart."""
    return np.tile(10**6 * np.arange(1, repetitions + 1), (ranks, 1))


def test_one_slow_rank_in_a_hundred_shows_in_p99() -> None:
    # Every 20th repetition rank 37 takes ten times as long: the mean over ranks would say 9 % more.
    enter = simultaneous(100, 400)
    left = enter + 10_000
    left[37, ::20] = enter[37, ::20] + 100_000
    timing = timing_of(stamps_of(enter, left))
    assert timing.median == pytest.approx(10e-6)
    assert timing.p99 == timing.maximum == pytest.approx(100e-6)
    assert timing.outliers == 20
    means = (left - enter).mean(axis=0) * 1e-9
    assert np.percentile(means, 99) == pytest.approx(10.9e-6)


@pytest.mark.parametrize("slow", [0, 1, 2])
def test_a_rank_that_is_always_slow_shows_in_the_median(slow: int) -> None:
    enter = simultaneous(3, 50)
    left = enter + 10_000
    left[slow] += 20_000
    stamps = stamps_of(enter, left)
    assert timing_of(stamps).median == pytest.approx(30e-6)
    ranks = summarise_ranks(case_of("all_reduce", 3), stamps, 0)
    assert ranks.slowest == slow
    assert ranks.last_out == [50 if rank == slow else 0 for rank in range(3)]
    assert ranks.local == pytest.approx([30e-6 if rank == slow else 10e-6 for rank in range(3)])
    assert (ranks.shortest, ranks.longest) == pytest.approx((10e-6, 30e-6))


def test_times_are_averaged_and_never_rates() -> None:
    # 1 s and 3 s: nbytes over the median, not the median of nbytes over each.
    enter = simultaneous(2, 40)
    left = enter + np.where(np.arange(40) % 2, 3 * 10**9, 10**9)
    assert timing_of(stamps_of(enter, left)).median == pytest.approx(2.0)


def test_quantiles_are_over_what_was_not_cut() -> None:
    enter = simultaneous(2, 200)
    left = enter + 10_000 + np.arange(200) % 7
    left[:, :20] += 90_000
    timing = timing_of(stamps_of(enter, left))
    assert timing.cut == 20
    assert timing.repetitions == 200
    assert timing.maximum < 11e-6
    steady = ((left - enter)[0, 20:]) * 1e-9
    found = [timing.minimum, timing.p25, timing.median, timing.p75, timing.p95, timing.p99, timing.maximum]
    assert found == pytest.approx(np.percentile(steady, [0, 25, 50, 75, 95, 99, 100]))


def test_the_interval_is_the_judgements() -> None:
    enter = simultaneous(2, 100)
    left = enter + 10_000 + np.random.default_rng(1).integers(0, 3000, 100)
    stamps = stamps_of(enter, left)
    seconds = repetition_times(stamps, Estimand.LAST_IN_LAST_OUT, 1)
    judgement, timing = judge(seconds, TICK), timing_of(stamps)
    assert judgement.interval is not None
    assert (timing.lower, timing.upper, timing.level) == (judgement.interval.lower, judgement.interval.upper, 0.95)
    assert timing.tau == judgement.tau
    assert timing.median == judgement.interval.value


def test_too_few_repetitions_have_no_interval() -> None:
    enter = simultaneous(2, 4)
    timing = timing_of(stamps_of(enter, enter + 10_000))
    assert timing.lower is None
    assert timing.upper is None
    assert not timing.tick_limited
    assert timing.median == pytest.approx(10e-6)


@pytest.mark.parametrize("nanoseconds", [220, 10_000, 1_234_567, 2_000_000_000, 97_000_000_001])
@pytest.mark.parametrize("tick", [1, 10, 41])
def test_equal_readings_are_known_to_half_a_tick_and_say_so(nanoseconds: int, tick: int) -> None:
    enter = simultaneous(2, 60)
    timing = timing_of(stamps_of(enter, enter + nanoseconds), tick=tick * 1e-9)
    assert timing.lower is not None
    assert timing.upper is not None
    assert timing.upper - timing.lower == pytest.approx(tick * 1e-9, rel=1e-4)
    assert timing.tick_limited


def test_an_interval_wider_than_the_tick_is_not_tick_limited() -> None:
    enter = simultaneous(2, 60)
    left = enter + 10_000 + 100 * (np.arange(60) % 9)
    assert not timing_of(stamps_of(enter, left)).tick_limited


def test_without_a_common_clock_the_longest_duration_is_shown_as_such() -> None:
    enter = simultaneous(3, 30)
    enter[2] += 10**12
    left = enter + 10_000
    left[1] += 5_000
    stamps = stamps_of(enter, left, comparable=False)
    timing = timing_of(stamps)
    assert timing.estimand is Estimand.LONGEST_LOCAL
    assert timing.median == pytest.approx(15e-6)
    ranks = summarise_ranks(case_of("all_reduce", 3), stamps, 0)
    assert (ranks.skew, ranks.skewed, ranks.late) == (None, None, None)
    assert ranks.last_in == ranks.last_out == []
    assert ranks.lateness == []
    assert ranks.slowest == 1
    assert (ranks.shortest, ranks.longest) == pytest.approx((10e-6, 15e-6))


def test_the_slowest_rank_is_that_of_the_slowest_repetition() -> None:
    enter = simultaneous(3, 30)
    left = enter + 10_000
    left[0, :] += 1_000  # rank 0 is last as a rule
    left[2, 17] += 50_000
    for comparable in (True, False):
        ranks = summarise_ranks(case_of("all_reduce", 3), stamps_of(enter, left, comparable=comparable), 0)
        assert ranks.slowest == 2


def test_entries() -> None:
    enter = simultaneous(4, 100)
    enter[2] += 3_000  # always the last
    enter[0] -= 500  # always the first
    left = enter.max(axis=0) + np.zeros((4, 1), np.int64) + 20_000
    ranks = summarise_ranks(case_of("all_reduce", 4), stamps_of(enter, left), 0)
    assert ranks.last_in == [0, 0, 100, 0]
    assert sum(ranks.last_out) == 100
    assert ranks.skew == pytest.approx(3.5e-6)
    assert ranks.skewed == 1.0  # 3.5 us of 20 us
    # Against the earliest other entry: the first of all is early by a negative lateness.
    assert ranks.lateness == pytest.approx([-0.5e-6, 0.5e-6, 3.5e-6, 0.5e-6])


@pytest.mark.parametrize(("skew", "share"), [(1_900, 0.0), (2_100, 0.25)])
def test_a_skew_above_a_tenth_of_t_is_counted(skew: int, share: float) -> None:
    enter = simultaneous(2, 100)
    enter[1, ::4] += skew
    left = enter.max(axis=0) + np.zeros((2, 1), np.int64) + 20_000
    assert summarise_ranks(case_of("all_reduce", 2), stamps_of(enter, left), 0).skewed == share


@pytest.mark.parametrize(("behind", "share"), [(1_900, 0.0), (2_100, 0.1)])
def test_an_entry_after_the_agreed_start_is_counted(behind: int, share: float) -> None:
    enter = simultaneous(2, 100)
    starts = enter[0].copy()
    enter[1, ::10] += behind
    left = enter.max(axis=0) + np.zeros((2, 1), np.int64) + 20_000
    ranks = summarise_ranks(case_of("all_reduce", 2), stamps_of(enter, left, starts_I=starts), 0)
    assert ranks.late == share
    assert summarise_ranks(case_of("all_reduce", 2), stamps_of(enter, left), 0).late is None


def test_skew_and_lateness_of_a_batch_are_weighed_against_the_batch() -> None:
    enter = simultaneous(2, 100)
    starts = enter[0].copy()
    enter[1] += 3_000  # over a tenth of one call's 20 us, and far below that of ten
    left = enter.max(axis=0) + np.zeros((2, 1), np.int64) + 200_000
    batched = msgspec.structs.replace(stamps_of(enter, left, starts_I=starts), batch=10)
    ranks = summarise_ranks(case_of("all_reduce", 2), batched, 0)
    assert (ranks.skewed, ranks.late) == (0, 0)


def test_what_was_cut_counts_nowhere() -> None:
    enter = simultaneous(2, 40)
    enter[1, :10] += 30_000
    left = enter.max(axis=0) + np.zeros((2, 1), np.int64) + 20_000
    ranks = summarise_ranks(case_of("all_reduce", 2), stamps_of(enter, left, starts_I=enter[0]), 10)
    assert sum(ranks.last_in) == sum(ranks.last_out) == 30
    assert (ranks.skewed, ranks.late) == (0, 0)


@pytest.mark.parametrize("operation", ["ping_pong", "stream", "bidirectional_stream"])
@pytest.mark.parametrize("comparable", [True, False])
def test_idle_ranks_of_a_pair_count_nowhere(operation: str, comparable: bool) -> None:  # noqa: FBT001
    enter = simultaneous(4, 100)
    enter[0] += 100
    enter[1, ::4] += 300
    enter[2:] += 90_000  # whenever they look up
    left = enter + 20_000
    left[2:] = enter[2:] + 10
    starts = enter[0].copy()
    stamps = stamps_of(enter, left, starts_I=starts, comparable=comparable)
    alone = stamps_of(enter[:2], left[:2], starts_I=starts, comparable=comparable)
    ranks = summarise_ranks(case_of(operation, 4), stamps, 0)
    assert ranks == summarise_ranks(case_of(operation, 2), alone, 0)
    assert ranks.shortest == pytest.approx(20e-6)
    assert len(ranks.local) == 2
    if comparable:
        assert ranks.last_in == [75, 25]


def test_one_rank_is_never_late() -> None:
    enter = simultaneous(1, 20)
    ranks = summarise_ranks(case_of("all_reduce", 1), stamps_of(enter, enter + 5_000), 0)
    assert ranks.lateness == [0.0]
    assert ranks.last_in == [20]
    assert ranks.skew == 0


def test_messages_of_a_stream_share_its_time() -> None:
    enter = simultaneous(2, 30)
    timing = timing_of(stamps_of(enter, enter + 40_000), "stream")
    assert timing.median == pytest.approx(10e-6)
    assert timing.estimand is Estimand.PER_MESSAGE


def test_the_histogram_holds_every_repetition() -> None:
    seconds = 1e-4 * np.random.default_rng(2).lognormal(sigma=0.3, size=500)
    found = distribution(seconds)
    assert sum(found.counts) == 500
    lows = 2.0 ** (np.array(found.bins) / BINS_PER_OCTAVE)
    assert lows[0] <= seconds.min() * (1 + 1e-4)
    assert seconds.max() <= lows[-1] * 2 ** (1 / BINS_PER_OCTAVE) * (1 + 1e-4)
    half = np.cumsum(found.counts).searchsorted(250)
    assert lows[half] <= np.median(seconds) * (1 + 1e-3) <= lows[half] * 1.03


def test_ticks_of_the_clock_leave_no_gaps_in_the_histogram() -> None:
    seconds = 1e-6 * np.random.default_rng(2).integers(100, 200, 20_000)
    bins = distribution(seconds, tick=1e-6).bins
    assert bins == list(range(bins[0], bins[-1] + 1))


def test_a_clock_that_does_not_tell_has_no_histogram() -> None:
    enter = simultaneous(2, 60)
    assert timing_of(stamps_of(enter, enter + 10_000), tick=1e-5).histogram is None
    assert timing_of(stamps_of(enter, enter), tick=1e-5).histogram is None


def test_second_mode_and_outliers_are_counted_and_kept() -> None:
    enter = simultaneous(2, 100)
    left = enter + 10_000 + np.arange(100) % 10
    left[:, [3, 50, 99]] += 60_000
    judgement = Judgement(cut=0, tau=1.0, interval=None, second_mode=0.25)
    timing = summarise_time(case_of("all_reduce", 2), stamps_of(enter, left), judgement, TICK)
    assert timing.outliers == 3
    assert timing.second_mode == 0.25
    assert timing.maximum > 60e-6
    assert timing.repetitions == 100
