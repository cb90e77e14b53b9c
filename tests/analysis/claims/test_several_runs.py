"""Several runs of one side: pooled where they agree, named where they do not."""

from __future__ import annotations

from tests.analysis.claims.links import GB, US, WIDE, finding, link

from collmark.analysis.claims.finding import Verdict
from collmark.analysis.claims.table import Table
from collmark.core.case import Device


def test_launches_of_several_runs_count_together(table: Table) -> None:
    pair = [link("nvlink", rate=8 * 50 * GB), link("infiniband")]
    found = finding(table, "gap-18x", *pair, *pair)
    assert found.found is not None
    assert found.found.estimate is not None
    assert found.found.estimate.count == 20
    assert "10 launches" in found.by


def test_runs_that_disagree_are_named_and_not_pooled(table: Table) -> None:
    fast, slow = link("infiniband", rate=48 * GB), link("infiniband", rate=30 * GB)
    found = finding(table, "gap-18x", link("nvlink", rate=18 * 38 * GB), fast, slow)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "runs differ by over 10%" in found.by
    assert "run2 48 GB/s, run3 30 GB/s" in found.by
    assert "launches on each side" not in found.would_change
    assert found.found is None  # no ratio of what two runs say apart
    worked = " ".join(found.steps)
    assert "B, stream asymptotic bandwidth" in worked
    assert "= no figure, runs differ by over 10%" in worked
    assert "A / B = no figure, runs of one side differ" in worked
    assert "Fieller" not in worked
    near = finding(table, "gap-18x", link("nvlink", rate=18 * 38 * GB), link("infiniband", rate=45 * GB), fast)
    assert "runs differ" not in near.by  # by less than a tenth
    noisy = [link("infiniband", rate=rate * GB, levels=WIDE) for rate in (48, 40)]
    assert "runs differ" not in finding(table, "gap-18x", link("nvlink"), *noisy).by  # by less than launches do


def test_times_of_runs_that_disagree_decide_nothing(table: Table) -> None:
    groups = [link("infiniband", "ping_pong", alpha=alpha * US, of_case={"device": Device.CPU}) for alpha in (1.0, 1.6)]
    found = finding(table, "ib-latency-2us", *groups)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "runs differ by over 10%" in found.by
    assert found.found is None
    assert any("= no figure, runs differ" in step for step in found.steps)
    assert finding(table, "ib-latency-2us", groups[0], groups[0]).verdict is not Verdict.INCONCLUSIVE


def test_one_bad_run_of_several_is_named(table: Table) -> None:
    few = link("nvlink", rate=800 * GB, sizes=(8, 32))
    found = finding(table, "gap-18x", link("nvlink", rate=800 * GB), few, link("infiniband"))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "nvlink stream: run run2: " in found.by
    alone = finding(table, "gap-18x", few, few, link("infiniband"))
    assert "run run" not in alone.by  # it is that of all runs
