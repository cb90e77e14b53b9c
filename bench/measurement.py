"""The measurement of one case: bind, check, warm up, repeat until it is enough, check again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import msgspec
import numpy as np
from numpy.typing import NDArray

from collmark.bench.rotation import slots_of
from collmark.bench.series import Series
from collmark.bench.stamps import NS, Stamps
from collmark.bench.stopping import StoppingRule
from collmark.bench.summary import summarise_ranks, summarise_time
from collmark.bench.team import Team
from collmark.core.case import Buffers, Cadence, Case, Form
from collmark.core.errors import InterruptedRunError, UnavailableError
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Tier
from collmark.core.record import SCHEMA_VERSION, Check, Clock, Record, Sentinel, Status

WARMUP_CALLS = 5
FIRST_WARMUP_SECONDS = 0.02  # of a launch: so long a processor takes to come to speed
WARMUP_SECONDS = 0.004  # of every other case: its buffers and its path, and what is still slow then MSER-5 cuts
FIRST_CALL_PATIENCE = 3  # the first call also sets up connections
PATIENCE = 10  # x the predicted duration
REPORT_SECONDS = 0.2  # between reports: whoever shows them runs on the same cores
OVERLAP_LEAST, OVERLAP_MOST = 5, 200  # repetitions
WRONG_BESIDE = "another group, measured at once with this one, received wrong data"
STAMP_NBYTES = 16  # entry and exit of a repetition on a rank
LONGEST_BLOCK = 0.2  # s: so often progress is shown and a stop is heard
MOST_STAMPS = 128 * 2**20  # B of a case that rank 0 keeps: 512 repetitions of 16,384 ranks, and no limit to a few


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for every case of a launch.

    Attributes
    ----------
    launch : int
        Id of the launch.
    precision : float
        Relative half-width to reach.
    timeout : float
        Least seconds before a call is given up.
    tick : float
        Step of the clock in s.
    cache : int
        Last-level cache in bytes, 0 where it is not known: what cold buffers must exceed.
    """

    launch: int
    precision: float
    timeout: float
    tick: float
    cache: int = 0


class Progress(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Where the measurement of a case stands."""

    case: Case
    repetitions: int
    half_width: float | None


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """A record that is not yet on disk, and its raw stamps."""

    record: Record
    layers_SRI: NDArray[np.int64] | None


class Measurement:
    """One case on a team, or one on each of several groups of ranks at once.

    Parameters
    ----------
    team : Team
        The ranks.
    terms : Terms
        What holds for the launch.
    is_stopping : callable
        Whether somebody asked to stop; heard between blocks.
    report : callable
        Receives a :class:`Progress` after each block.
    """

    def __init__(
        self, team: Team, terms: Terms, is_stopping: Callable[[], bool], report: Callable[[Progress], None]
    ) -> None:
        self._team = team
        self._terms = terms
        self._is_stopping = is_stopping
        self._report = report
        self._epoch = 0
        self._most = max(1, MOST_STAMPS // (STAMP_NBYTES * team.ranks))
        self._reported = 0.0
        self._least_warmup = FIRST_WARMUP_SECONDS

    def measure(self, cases: Sequence[Case], budget: float, sentinel: Sentinel | None = None) -> list[Measured]:
        """Measure `cases`, which differ in their group alone, at once in about `budget` seconds, checks included."""
        self._team.common.prepare()
        begun, stamp = self._team.now(), _utc_now()
        self._report(Progress(case=cases[0], repetitions=0, half_width=None))

        one_clock = Clock.LOCAL if self._team.clock is Clock.MODELLED else self._team.clock

        def record(case: Case, status: Status, check: Check, clock: Clock = one_clock, **fields: object) -> Record:
            return Record(
                schema_version=SCHEMA_VERSION,
                launch=self._terms.launch,
                case=case,
                status=status,
                simulated=self._team.evidence.tier is Tier.SIMULATED,
                started=stamp,
                wall=self._team.now() - begun,
                clock=clock,
                check=check,
                evidence=self._team.evidence if status is Status.FAILED else self._team.evidence_of(case),
                sentinel=sentinel,
                **fields,  # type: ignore[arg-type]
            )

        nothing = Check(checked=0, wrong=0, left_out="the case could not be bound")
        try:
            self._team.bind(cases, self._terms.cache)
        except UnavailableError as error:
            return [_without_time(record(case, Status.FAILED, nothing, error=str(error))) for case in cases]
        try:
            return self._measure_bound(cases, begun + budget, record)
        finally:
            self._team.release()

    def _measure_bound(self, cases: Sequence[Case], deadline: float, record: Callable[..., Record]) -> list[Measured]:
        now = self._team.now
        check_began = now()
        slots = slots_of(cases[0], self._terms.cache)
        before, first = self._check(cases, poison=True, slot=0)
        check_seconds = now() - check_began
        first_calls = [float(first.of(case.members).local_RI.max()) for case in cases]
        if any(check.wrong for check in before):
            return [
                _without_time(
                    record(case, Status.WRONG, check, first_call=first_call)
                    if check.wrong
                    else record(case, Status.FAILED, check, first_call=first_call, error=WRONG_BESIDE)
                )
                for case, check, first_call in zip(cases, before, first_calls, strict=True)
            ]
        self._team.neutralise()
        warmup_calls, pace = self._warm_up(cases[0], deadline)
        each = self._repeat(cases, deadline - check_seconds, pace)
        clock_model = self._team.common.facts()
        overlap = self._overlap(cases[0], each[0].stamps, deadline)
        after, _last = self._check(cases, poison=False, slot=slots - 1)
        busy, cores = self._team.count_threads()
        return [
            self._measured(
                series,
                _both(check_before, check_after, _barrier_check(series.case, series.stamps)),
                record,
                first_call=first_call,
                warmup_calls=warmup_calls,
                overlap=overlap,
                slots=slots,
                clock_model=clock_model,
                busy_threads=busy or None,
                cores=cores or None,
            )
            for series, first_call, check_before, check_after in zip(each, first_calls, before, after, strict=True)
        ]

    def _measured(self, series: Series, check: Check, record: Callable[..., Record], **fields: object) -> Measured:
        """Return the record of one case with its time, unless data were wrong."""
        case, stamps, rule = series.case, series.stamps, series.rule
        if check.wrong:
            return _without_time(record(case, Status.WRONG, check, first_call=fields["first_call"]))
        judgement = rule.judgement
        assert judgement is not None, "at least one block was judged"
        queued_RI, device_RI = stamps.queued_RI(), stamps.device_RI()
        clock, common = self._team.clock, self._team.common
        if clock is Clock.MODELLED and common.is_shared_among(case.members):
            clock, fields["clock_model"] = Clock.SHARED, None
        return Measured(
            record=record(
                case,
                rule.status(stamps.repetitions),
                check,
                clock=clock if stamps.comparable else Clock.LOCAL,
                timing=summarise_time(case, stamps, judgement, self._terms.tick),
                ranks=summarise_ranks(case, stamps, judgement.cut),
                enqueue=None if queued_RI is None else float(np.median(queued_RI.max(axis=0))),
                device=None if device_RI is None else float(np.median(device_RI.max(axis=0))),
                **fields,
            ),
            layers_SRI=stamps.layers_SRI,
        )

    def _check(self, cases: Sequence[Case], *, poison: bool, slot: int) -> tuple[list[Check], Stamps]:
        """Call once with a payload of its own and compare; without poison, stale data is what is looked for."""
        self._epoch += 1
        self._team.prepare(self._epoch, poison=poison, slot=slot)
        stamps = self._team.once(self._patience(0.0) * FIRST_CALL_PATIENCE, slot)
        return self._team.compare(self._epoch, slot, [case.members for case in cases]), stamps

    def _warm_up(self, case: Case, deadline: float) -> tuple[int, float]:
        """Call until it is warm or a quarter of the time is gone; return the calls made and wall seconds per call."""
        now, began, calls = self._team.now, self._team.now(), 0
        budget = (deadline - began) / 4
        count = 1  # a first call by itself: one that takes seconds must not be repeated five times unasked
        while True:
            self._block(case, count, now() - began, calls)
            calls += count
            spent = now() - began
            pace = max(spent / calls, 1e-9)
            count = min(WARMUP_CALLS - 1, int((budget - spent) / pace))
            if count < 1 or (calls >= WARMUP_CALLS and spent >= self._least_warmup):
                self._least_warmup = WARMUP_SECONDS
                return calls, pace

    def _repeat(self, cases: Sequence[Case], deadline: float, pace: float) -> list[Series]:
        """Repeat until the rule is content with every case, or the time is over.

        A case that is finished keeps what was judged; its ranks go on calling, for the company of the others.
        """
        each = [Series(case, StoppingRule(self._terms.precision, self._terms.tick)) for case in cases]
        now, began, made = self._team.now, self._team.now(), 0
        while going := [series for series in each if not series.rule.is_finished]:
            target = made + going[0].rule.next_count(made)
            while made < target:
                room = min(int((deadline - now()) / pace), self._most - made)
                if room < 1 and made:
                    break
                count = max(1, min(target - made, room, int(LONGEST_BLOCK / pace)))
                stamps = self._block(cases[0], count, pace * made, made)
                made += count
                for series in going:
                    members = series.case.members
                    series.add(stamps.of(members, self._team.common.error_among(members)))
                pace = max((now() - began) / made, 1e-9)
                self._report_progress(going, made)
            is_over = made < target
            for series in going:
                series.look(is_over=is_over)
            self._report_progress(going, made)
            ending = [series for series in going if is_over or series.rule.is_finished]
            if ending:
                self._team.common.conclude()
            for series in ending:
                series.conclude(self._team.common.error_among(series.case.members))
            if is_over:
                break
        return each

    def _overlap(self, case: Case, alone: Stamps, deadline: float) -> float | None:
        """Return the share of a non-blocking call that a computation hides; None where that cannot be measured.

        As osu_iallreduce and its like (OSU micro-benchmarks) define it, and IMB-NBC where the computation takes as long
        as the call: 1 - (t_both - t_computation) / t_alone, of means over ranks, within 0 and 1.
        """
        if case.form is not Form.NONBLOCKING or case.group is not None or OPERATIONS[case.operation].pair:
            # Ranks that wait have nothing to hide; there and back is one message after the other.
            return None
        if case.cadence is not Cadence.ISOLATED or case.buffers is not Buffers.SAME:
            return None
        seconds = _mean_over_ranks(alone)
        count = int((deadline - self._team.now()) / max(2 * seconds, 1e-6))
        count = min(max(count, OVERLAP_LEAST), OVERLAP_MOST)
        compute = max(1, round(seconds * 1e9))
        try:
            both = self._team.block(count, self._patience(2 * seconds), compute)
        except UnavailableError:
            return None
        return min(1.0, max(0.0, 1 - (_mean_over_ranks(both) - compute * 1e-9) / seconds))

    def _report_progress(self, going: Sequence[Series], done: int) -> None:
        if time.monotonic() - self._reported < REPORT_SECONDS:
            return
        self._reported = time.monotonic()
        half_width = max(s.rule.judgement.half_width if s.rule.judgement else np.inf for s in going)
        shown = half_width if np.isfinite(half_width) else None
        self._report(Progress(case=going[0].case, repetitions=done, half_width=shown))

    def _block(self, case: Case, count: int, spent: float, calls: int) -> Stamps:
        if self._is_stopping():
            raise InterruptedRunError(f"stopped in {case}")
        return self._team.block(count, self._patience(spent / calls if calls else 0.0))

    def _patience(self, predicted: float) -> float:
        return max(self._terms.timeout, PATIENCE * predicted)


def _without_time(record: Record) -> Measured:
    return Measured(record=record, layers_SRI=None)


def _mean_over_ranks(stamps: Stamps) -> float:
    """Return the mean over ranks of the median of local durations, in s."""
    return max(1e-9, float(np.median(stamps.local_RI, axis=1).mean()))


def _barrier_check(case: Case, stamps: Stamps) -> Check:
    """Nobody may leave a barrier before the last has entered it, beyond what clocks may be off."""
    if OPERATIONS[case.operation].sized:
        return Check(checked=0, wrong=0)
    if not stamps.comparable:
        return Check(checked=0, wrong=0, left_out="no payload, and no common clock to check it by")
    enter, left = stamps.layers_SRI[0], stamps.layers_SRI[1]
    early_I = left.min(axis=0) < enter.max(axis=0) - stamps.error / NS
    first = ""
    if early_I.any():
        at = int(early_I.argmax())
        early, late = (case.members[int(place)] for place in (left[:, at].argmin(), enter[:, at].argmax()))
        first = f"rank {early} left repetition {at} before rank {late} came"
    left_out = "no payload: checked by its time stamps"
    return Check(checked=len(early_I), wrong=int(early_I.sum()), first=first, left_out=left_out)


def _both(before: Check, after: Check, barrier: Check) -> Check:
    return Check(
        checked=before.checked + after.checked + barrier.checked,
        wrong=before.wrong + after.wrong + barrier.wrong,
        first=before.first or after.first or barrier.first,
        left_out=before.left_out or barrier.left_out,
    )


def _utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
