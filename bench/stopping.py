"""When a case has been measured enough. Rank 0 decides from these rules, all ranks follow."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from collmark.core.chance import binomial_tail
from collmark.core.estimate import Estimate
from collmark.core.record import Status
from collmark.core.statistics import autocorrelation_time, median_interval, mser5, share_beyond

FIRST_REPETITIONS = 10
GROWTH = 0.5  # of what there is: intervals narrow with the square root of the count
IN_A_ROW = 2  # an interval that looks narrow once does so by luck too often
SECOND_MODE_SHARE = 0.05
SECOND_MODE_CHANCE = 0.05  # by which that share may seem to be exceeded
SECOND_MODE_FACTOR = 3.0
LARGEST_CUT = 1 / 3
BATCH = 5  # repetitions that MSER-5 cuts at a time; one batch is harmless
LEAST_TIMES = 25  # autocorrelation times in a series, for its autocorrelation to be known: below, it seems too small
LEAST_HEAD = 10  # repetitions: the median of fewer has no interval to compare


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What the repetitions so far say.

    Attributes
    ----------
    cut : int
        Leading repetitions that belong to the warm-up.
    tau : float
        Autocorrelation time in repetitions.
    interval : Estimate or None
        Median with its interval, in s; None while it cannot be bounded.
    second_mode : float
        Share of repetitions beyond 3 x the median.
    """

    cut: int
    tau: float
    interval: Estimate | None
    second_mode: float

    @property
    def half_width(self) -> float:
        """Relative half-width of the interval; infinite while it cannot be bounded."""
        return np.inf if self.interval is None else self.interval.relative_half_width

    @property
    def has_second_mode(self) -> bool:
        """Whether over 5 % of the repetitions lie far from the median."""
        return self.second_mode > SECOND_MODE_SHARE

    def is_long_enough(self, repetitions: int) -> bool:
        """Whether the series is long beside its autocorrelation time, so that an interval which looks narrow is.

        A rule that stops at the first narrow interval finds those whose autocorrelation seems small by chance.
        """
        return self.tau == 1 or repetitions - self.cut >= LEAST_TIMES * self.tau

    def is_warm(self, repetitions: int) -> bool:
        """Whether at most a third of the repetitions belong to the warm-up."""
        return self.cut <= LARGEST_CUT * repetitions

    def may_be_chance(self, repetitions: int) -> bool:
        """Whether so many far ones are to be expected now and then where 5 % are far in the long run.

        Two of thirty are 7 %, and every fifth series with a share of 3 % shows them. Repetitions count for less where
        they depend on each other: both counts are divided by the autocorrelation time.
        """
        steady = repetitions - self.cut
        far = self.second_mode * steady
        return binomial_tail(far / self.tau, steady / self.tau, SECOND_MODE_SHARE) >= SECOND_MODE_CHANCE


def judge(seconds_I: NDArray[np.float64], tick: float) -> Judgement:
    """Return the median of T with its interval, after cutting what MSER-5 takes for warm-up.

    Parameters
    ----------
    seconds_I : array of float, shape (I,)
        T of each repetition in s.
    tick : float
        Smallest step of the clock in s: no interval is narrower than half of it on each side.
    """
    cut = mser5(seconds_I)
    tau, interval = _median(seconds_I[cut:])
    if cut > BATCH and not _begins_elsewhere(seconds_I[:cut], interval, tau):
        # MSER-5 always cuts where that looks best, by chance up to half of a series that was steady from the start.
        # What is cut must differ from what stays.
        cut = 0
        tau, interval = _median(seconds_I)
    steady = seconds_I[cut:]
    if interval is not None:
        interval = interval.widened(tick / 2)
    return Judgement(cut=cut, tau=tau, interval=interval, second_mode=share_beyond(steady, SECOND_MODE_FACTOR))


def _median(seconds_I: NDArray[np.float64]) -> tuple[float, Estimate | None]:
    tau = autocorrelation_time(seconds_I)
    return tau, median_interval(seconds_I, tau=tau)


def _begins_elsewhere(head_I: NDArray[np.float64], steady: Estimate | None, tau: float) -> bool:
    """Whether the median of the head is another; of its first half, where the cut reaches into what is steady.

    If the head belonged to the rest, it would depend on itself as the rest does. Its own autocorrelation time would be
    that of a trend, which bounds no median.
    """
    half = max(LEAST_HEAD, len(head_I) // 2)
    return any(not _overlap(median_interval(part_I, tau=tau), steady) for part_I in (head_I, head_I[:half]))


def _overlap(one: Estimate | None, other: Estimate | None) -> bool:
    return one is None or other is None or (one.lower <= other.upper and other.lower <= one.upper)


class StoppingRule:
    """Stops when the interval of the median was within the precision twice in a row.

    A series that seems to have a second mode goes on until it has none, or more of it than chance explains; one that is
    warm-up for more than a third goes on until it is less.

    Parameters
    ----------
    precision : float
        Relative half-width to reach.
    tick : float
        Step of the clock in s.
    """

    def __init__(self, precision: float, tick: float) -> None:
        self._precision = precision
        self._tick = tick
        self._narrow = 0
        self._looks: list[int] = []
        self.judgement: Judgement | None = None

    @property
    def is_finished(self) -> bool:
        """Whether enough was measured."""
        return self._narrow >= IN_A_ROW

    def next_count(self, repetitions: int) -> int:
        """Return how many repetitions to make next, after `repetitions`."""
        return max(FIRST_REPETITIONS, int(GROWTH * repetitions)) if repetitions else FIRST_REPETITIONS

    def add(self, seconds_I: NDArray[np.float64]) -> Judgement:
        """Judge all repetitions so far, as many as were asked for."""
        self._looks.append(len(seconds_I))
        judgement = self.judgement = judge(seconds_I, self._tick)
        is_open = judgement.has_second_mode and judgement.may_be_chance(len(seconds_I))
        is_narrow = judgement.half_width <= self._precision and judgement.is_long_enough(len(seconds_I))
        is_warm = judgement.is_warm(len(seconds_I))
        self._narrow = self._narrow + 1 if is_narrow and is_warm and not is_open else 0
        return judgement

    def end(self, seconds_I: NDArray[np.float64]) -> Judgement:
        """Judge what there is when the time is over; nearly the same repetitions once more are no second look."""
        self.judgement = judge(seconds_I, self._tick)
        return self.judgement

    def start_over(self, seconds_I: NDArray[np.float64]) -> None:
        """Judge other times of the same repetitions, as if they had been looked at from the start."""
        looks, self._looks, self._narrow = self._looks, [], 0
        for count in looks:
            if not self.is_finished:
                self.add(seconds_I[:count])
        self.end(seconds_I)

    def status(self, repetitions: int) -> Status:
        """Return how the measurement ended, for the last judgement."""
        judgement = self.judgement
        if judgement is None:
            return Status.BUDGET
        if judgement.has_second_mode or not judgement.is_warm(repetitions):
            return Status.UNSTABLE
        return Status.CONVERGED if self.is_finished else Status.BUDGET
