"""Who is named as a straggler, with what figures, and when nobody is."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from tests.analysis.made import case_of, record_of, replaced, results_of
from tests.analysis.report.conftest import with_launches
from tests.prove.straggler_draws import DELAY, EVERYTHING_MATTERS, Setting, draw_run

from collmark.core.case import Cadence
from collmark.core.record import Clock, Ranks, Record, Run, Sentinel, Status
from collmark.core.straggler import End, Straggler, absence_words, straggler_words, stragglers

T = 100e-6


def ranks_of(ranks: int = 2, **changes: object) -> Ranks:
    made = record_of(case_of(ranks=ranks), T).ranks
    assert made is not None
    return msgspec.structs.replace(made, **changes)


def late(share: float = 0.9, delay: float = 0.2 * T, chance: float | None = 0.0005, end: End = End.ENTERED) -> Ranks:
    """Return what a record says of two ranks of which rank 1 is late at one end."""
    last, amounts = [100 - round(100 * share), round(100 * share)], [0.0, delay]
    if end is End.ENTERED:
        return ranks_of(last_in=last, lateness=amounts, chance_in=chance)
    return ranks_of(last_out=last, overtime=amounts, chance_out=chance)


def records_of(*ranks: Ranks, operation: str = "all_reduce", nbytes: int = 1 << 20) -> list[Record]:
    """Return a record a launch."""
    case = case_of(operation, nbytes)
    return [record_of(case, T, launch, ranks=one) for launch, one in enumerate(ranks, 1)]


def found(records: list[Record]) -> list[Straggler]:
    return stragglers(run_of(records), records)


def run_of(records: list[Record]) -> Run:
    return with_launches(results_of(records)).run


def test_a_late_rank_has_its_figures_over_launches() -> None:
    records = records_of(late(0.8, 17e-6), late(0.9, 20e-6), late(1.0, 23e-6))
    (one,) = found(records)
    assert (one.end, one.rank, one.ranks, one.host, one.what) == (End.ENTERED, 1, 2, "plain", "gloo 1x2")
    assert (one.cases, one.judged) == (1, 1)
    half = 4.302653 * 0.1 / 3**0.5  # Student's t, two degrees of freedom
    assert one.share.interval is not None
    assert (one.share.value, one.share.interval.lower) == pytest.approx((0.9, 0.9 - half))
    assert one.share.interval.upper == 1
    assert (one.seconds.value, one.relative.value) == pytest.approx((20e-6, 0.2))
    assert straggler_words(one) == (
        "rank 1 (plain) enters late in 1 of 1 case (gloo 1x2): last in 90 [65, 100] % of repetitions (chance 50 %), "
        "by 20.0 [12.5, 27.5] us, 20 [13, 27] % of T (p < 1e-06; 95 % over 3 launches)"
    )


def test_a_delay_on_which_launches_do_not_agree_names_nobody() -> None:
    # On the mean a fifth of T, and over 10 % of T in every launch: the interval is [-3.6, 43.6] us.
    records = records_of(late(0.8, 10.5e-6), late(0.9, 20e-6), late(1.0, 29.5e-6))
    assert not found(records)
    assert absence_words(run_of(records), records).endswith("with a delay above 0 over launches (95 %)")


def test_launches_that_the_table_leaves_out_name_nobody() -> None:
    quiet, slow = records_of(ranks_of()), records_of(*[late()] * 10)[1:]
    unstable = [replaced(record, status=Status.UNSTABLE) for record in slow]
    assert not found([*quiet, *unstable])
    assert stragglers(run_of([*quiet, *unstable]), [*quiet, *unstable], include_unstable=True)
    # Where all are unstable the table has nothing else, and says so.
    assert found(unstable)
    wrong = replaced(quiet[0], status=Status.WRONG, timing=None)
    assert not found([wrong, *slow])


def test_of_calls_back_to_back_the_delay_is_weighed_against_the_batch() -> None:
    def batched(batch: int) -> list[Record]:
        return [
            replaced(record, case=msgspec.structs.replace(record.case, cadence=Cadence.STREAMING, batch=batch))
            for record in records_of(*[late()] * 5)
        ]

    assert found(batched(1))
    assert not found(batched(20))


def test_one_launch_has_no_interval() -> None:
    (one,) = found(records_of(late()))
    assert one.share.interval is None
    assert straggler_words(one).endswith("by 20.0 us, 20 % of T (p = 0.0005; one launch: no interval)")


def test_both_ends_are_kept_apart() -> None:
    assert [one.end for one in found(records_of(late(end=End.LEFT)))] == [End.LEFT]
    both = late()
    both = msgspec.structs.replace(both, last_out=[5, 95], overtime=[0.0, 0.5 * T], chance_out=0.0005)
    entered, left = found(records_of(both))
    assert (entered.end, left.end) == (End.ENTERED, End.LEFT)
    assert (entered.relative.value, left.relative.value) == pytest.approx((0.2, 0.5))
    assert "leaves late" in straggler_words(left)


@pytest.mark.parametrize("operation", ["reduce", "gather", "broadcast", "scatter"])
def test_leaving_a_rooted_operation_last_is_its_nature(operation: str) -> None:
    assert not found(records_of(late(end=End.LEFT), operation=operation))
    assert found(records_of(late(), operation=operation))


@pytest.mark.parametrize("operation", ["ping_pong", "stream", "bidirectional_stream"])
def test_the_two_ranks_of_a_pair_are_not_compared(operation: str) -> None:
    assert not found(records_of(late(), operation=operation))


@pytest.mark.parametrize(
    "ranks",
    [late(chance=0.002), late(delay=0.09 * T), late(chance=1.0), ranks_of(last_in=[], last_out=[], lateness=[])],
    ids=["by chance", "too little", "no evidence", "no common clock"],
)
def test_what_is_chance_or_does_not_matter_is_not_named(ranks: Ranks) -> None:
    assert not found(records_of(ranks))


def test_launches_that_agree_say_more_than_one() -> None:
    assert not found(records_of(late(chance=0.03)))
    assert found(records_of(*[late(chance=0.03)] * 5))


def test_launches_that_name_others_do_not_agree() -> None:
    other = ranks_of(last_in=[90, 10], lateness=[0.2 * T, 0.0], chance_in=0.03)
    assert not found(records_of(*[late(chance=0.03), other] * 3))


def test_figures_are_over_the_cases_in_which_it_matters() -> None:
    small, large = records_of(late()), records_of(late(0.6, 0.01 * T), nbytes=1 << 24)
    (one,) = found([*small, *large])
    assert (one.cases, one.judged) == (1, 2)
    assert one.share.value == pytest.approx(0.9)


def test_sentinels_and_other_placements_do_not_count() -> None:
    records = records_of(late())
    assert not found([replaced(record, sentinel=Sentinel.START) for record in records])
    four = record_of(case_of(ranks=4), T, ranks=ranks_of(4))
    assert [one.what for one in found([*records, four])] == ["gloo 1x2"]


def test_nobody_is_said_to_be_late() -> None:
    records = records_of(ranks_of(), ranks_of())
    assert absence_words(run_of(records), records) == (
        "no straggler: in 1 case no rank enters or leaves last by over 10 % of T more often than chance explains "
        "(p > 0.001), with a delay above 0 over launches (95 %)"
    )
    assert absence_words(run_of(records), records_of(late())) == ""


def test_clocks_that_cannot_be_compared_are_said() -> None:
    nothing = ranks_of(last_in=[], last_out=[], lateness=[], overtime=[], chance_in=None, chance_out=None)
    records = [replaced(record, clock=Clock.LOCAL) for record in records_of(nothing)]
    assert not found(records)
    assert absence_words(run_of(records), records) == (
        "stragglers were not looked for: the clocks of the ranks cannot be compared"
    )


def test_too_few_repetitions_are_said() -> None:
    records = records_of(msgspec.structs.replace(late(chance=None), chance_out=None))
    assert not found(records)
    assert absence_words(run_of(records), records).endswith("no collective has enough repetitions")


def test_a_single_rank_is_no_straggler() -> None:
    records = [record_of(case_of(ranks=1), T)]
    assert not found(records)
    assert absence_words(run_of(records), records) == ""


@pytest.mark.parametrize(
    "ranks",
    [
        ranks_of(3, last_in=[0, 1, 99], lateness=[0.0, 0.0, T], chance_in=0.0005),
        ranks_of(last_in=[0, 0], lateness=[0.0, T], chance_in=0.0005),
        ranks_of(last_in=[0, 99], lateness=[0.0, T], chance_in=0.0),
    ],
    ids=["more ranks than there are", "no repetition", "no chance at all"],
)
def test_figures_that_cannot_be_are_not_judged(ranks: Ranks) -> None:
    assert not found([*records_of(ranks), *records_of(ranks_of())])


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 4, 64])
def test_runs_by_chance_name_nobody_and_a_delay_of_a_fifth_is_named(ranks: int) -> None:
    quiet = Setting(ranks=ranks, repetitions=60, autocorrelation=0.6, seconds=EVERYTHING_MATTERS)
    # Once in 1,000 runs and end; the full table: docs/proof/timing.md.
    assert sum(bool(draw_run(quiet, 3, 2, seed)) for seed in range(60)) <= 1
    slow = Setting(ranks=ranks, repetitions=60, autocorrelation=0.6, delay=DELAY)
    named = [draw_run(slow, 5, 2, seed) for seed in range(20)]
    assert {(one.end, one.rank) for run in named for one in run} == {(End.ENTERED, 1)}
    assert sum(map(bool, named)) >= 18
    behind = [one.seconds.value for run in named for one in run]
    # Behind the earliest of the others, which of many is early.
    assert DELAY - 2e-6 < np.median(behind) < DELAY + 10e-6
