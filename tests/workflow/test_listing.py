"""Rows over launches: what they average, and what they refuse to."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from collmark.core.record import Status
from collmark.core.statistics import log_t_interval
from collmark.core.store import RECORDS_FILE
from collmark.workflow.listing import (
    busiest,
    count_statuses,
    expected_records,
    overviews,
    skewed_share,
    summarise,
)


def test_row_is_the_interval_over_launches(simulate: Callable[..., Any]) -> None:
    folder = simulate(launches="3")
    run, records = folder.read_run(), list(folder.records())
    row = summarise(run.cases, records)[0]
    medians = [r.timing.median for r in records if r.case == row.case and r.sentinel is None]
    interval = log_t_interval(medians)
    assert interval is not None
    assert (row.seconds, row.half_width) == (interval.value, interval.relative_half_width)
    assert (row.launches, row.is_over_launches, row.share) == (3, True, (3, 3))
    assert row.algorithm_bandwidth is not None
    assert row.algorithm_bandwidth == pytest.approx(row.case.nbytes / interval.value)
    assert row.bus_bandwidth == pytest.approx(row.algorithm_bandwidth * 1.5)


def test_one_launch_shows_its_own_interval(simulate: Callable[..., Any]) -> None:
    folder = simulate(launches="1")
    records = [record for record in folder.records() if record.sentinel is None]
    for row, record in zip(summarise([r.case for r in records], records), records, strict=True):
        timing = record.timing
        assert not row.is_over_launches
        assert row.seconds == pytest.approx(timing.median)
        assert row.half_width == pytest.approx(
            max(timing.upper - timing.median, timing.median - timing.lower) / timing.median
        )


def test_wrong_in_one_launch_has_no_time(simulate: Callable[..., Any]) -> None:
    folder = simulate()
    run, records = folder.read_run(), list(folder.records())
    at = next(i for i, record in enumerate(records) if record.sentinel is None)
    check = msgspec.structs.replace(records[at].check, wrong=1)
    records[at] = msgspec.structs.replace(records[at], status=Status.WRONG, timing=None, check=check)
    row = next(row for row in summarise(run.cases, records) if row.case == records[at].case)
    assert (row.seconds, row.algorithm_bandwidth, row.bus_bandwidth) == (None, None, None)
    assert (row.status, row.share, row.wrong) == (Status.WRONG, (1, 2), 1)


def test_a_clock_coarser_than_the_call_gives_no_time(simulate: Callable[..., Any]) -> None:
    folder = simulate("tick=1e-3")
    records = list(folder.records())
    assert all(r.timing.median == 0 for r in records)
    row = summarise(folder.read_run().cases, records)[0]
    assert (row.seconds, row.half_width, row.bus_bandwidth) == (None, None, None)


def test_case_without_records_is_a_row_of_nothing(simulate: Callable[..., Any]) -> None:
    run = simulate(launches="1").read_run()
    row = summarise(run.cases, [])[0]
    assert (row.seconds, row.status, row.wrong, row.launches) == (None, None, None, 0)


def test_skewed_repetitions_are_counted(simulate: Callable[..., Any]) -> None:
    assert skewed_share(simulate("skew=0.0").records()) == 0
    late = skewed_share(simulate("skew=0.0", "straggler_rank=1", "straggler_delay=1e-4").records())
    assert late is not None
    assert late > 0.9


def test_counts_leave_sentinels_out(simulate: Callable[..., Any]) -> None:
    folder = simulate()
    records = list(folder.records())
    assert sum(count_statuses(records).values()) == 6 == expected_records(folder.read_run())
    assert len(records) == 12
    assert busiest(records) is None


def test_runs_are_listed_oldest_first_and_damaged_ones_named(simulate: Callable[..., Any], tmp_path: Path) -> None:
    first, second = simulate(label="one"), simulate(label="two", launches="1")
    (second.path / RECORDS_FILE).write_text("{}\n{}\n", encoding="utf-8")
    (tmp_path / "results" / "no-run").mkdir()
    one, two = overviews(tmp_path / "results")
    assert (one.name, one.records, one.expected, one.ranks) == (first.path.name, 6, 6, [4])
    assert one.simulated
    assert not one.problem
    assert f"{RECORDS_FILE}:1" in two.problem
    assert overviews(tmp_path / "nowhere") == []
