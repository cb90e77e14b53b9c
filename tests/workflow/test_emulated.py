"""What is planned over emulated networks, and what their runs say of them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from tests.workflow.emulated_runs import emulated_runs

from collmark.analysis.claims.finding import Verdict
from collmark.bench.backends.mpi_library import OPEN_MPI, MpiLibrary
from collmark.bench.emulated.link import Link
from collmark.core.errors import UnavailableError
from collmark.core.plan import load_plan
from collmark.workflow import emulated

MB = 1e6


@pytest.mark.parametrize("gap", [2, 9, 18, 36])
def test_the_fast_network_is_as_much_faster_as_was_asked_for(gap: float) -> None:
    fast, slow = emulated.two_networks(gap)
    assert fast.link.rate / slow.link.rate == pytest.approx(gap)
    assert (fast.name, slow.name) == ("fast", "slow")


@pytest.mark.parametrize("rate", [2.5 * MB, 90 * MB])
def test_a_call_is_long_beside_the_bucket(rate: float) -> None:
    plan = emulated.streams_plan("gloo", Link(rate=rate))
    sizes = emulated.sizes_of(plan)
    assert len(sizes) == 3
    calls = [size * plan["messages"] for size in sizes]
    assert calls[0] >= 50 * Link(rate=rate).burst
    assert calls[0] < 52 * Link(rate=rate).burst + 4096
    assert calls[-1] == 4 * calls[0]


def test_a_plan_file_holds_the_fields_and_the_network_as_a_label(tmp_path: Path) -> None:
    fields = emulated.streams_plan("mpi", Link(rate=2.5 * MB))
    path = tmp_path / "plan.toml"
    path.write_text(emulated._plan_text(fields, 3, "slow", "/lib/libmpi.so"), encoding="utf-8")
    plan = load_plan(path)
    assert (plan.operations, plan.backends, plan.mpi_library) == (("stream",), ("mpi",), "/lib/libmpi.so")
    assert plan.case_budget == pytest.approx(0.7)
    assert [str(placement) for placement in plan.placements] == ["3x1@slow"]
    assert "mpi_library" not in tomllib.loads(emulated._plan_text(fields, 3, "slow", ""))


def test_the_ratio_is_that_of_the_fits_beside_that_of_raw_tcp(tmp_path: Path) -> None:
    found = emulated.ratio_of(*emulated_runs(tmp_path, 180 * MB, 10 * MB, (171 * MB, 10 * MB)))
    assert found.raw == pytest.approx(17.1)  # at the largest messages
    assert found.fitted is not None
    assert found.fitted.value == pytest.approx(18, rel=0.01)
    assert found.fitted.lower < 18 < found.fitted.upper
    assert [len(one) for one in found.asymptotes] == [5, 5]


@pytest.mark.parametrize(("gap", "verdict"), [(18, Verdict.HOLDS), (9, Verdict.FAILS)])
def test_the_verdict_is_marked_and_the_claim_has_no_data(tmp_path: Path, gap: float, verdict: Verdict) -> None:
    runs = emulated_runs(tmp_path, gap * 10 * MB, 10 * MB, (1.0, 1.0))
    judgement = emulated.verdicts(*runs, ["gap-18x"])
    found = [(one.kind.value, one.verdict, one.marker) for one in judgement.findings]
    assert found == [("S", Verdict.FAILS, ""), ("M", Verdict.NO_DATA, ""), ("M", verdict, "emulated")]
    assert judgement.counts[Verdict.HOLDS] == 0


def test_mpi_over_emulated_links_needs_mpich(monkeypatch: pytest.MonkeyPatch) -> None:
    other = MpiLibrary(path="/lib/libmpi.so", family=OPEN_MPI, version="Open MPI 5.0", mpiexec="/bin/mpiexec")
    monkeypatch.setattr(emulated, "candidates", lambda _environ: iter([("site", Path(other.path))]))
    monkeypatch.setattr(emulated, "probe", lambda _path: other)
    monkeypatch.setattr(emulated, "choose", lambda _asked, _environ: other)
    with pytest.raises(UnavailableError, match=r"needs MPICH with its mpiexec, and this is Open MPI 5\.0"):
        emulated._mpich()
