"""The demonstration suits the machine it runs on, and says what it decided."""

import pytest

from collmark.bench import scheduling
from collmark.core.case import Binding, Scheduling
from collmark.core.plan import check_plan
from collmark.core.sweep import parse_sweep
from collmark.workflow import demo
from collmark.workflow.demo import BUDGET, make_demo


@pytest.fixture(autouse=True)
def without_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "_mpi_library", lambda _environ: ("", "no MPI library was found"))


@pytest.fixture(params=[1, 2, 3, 4, 64])
def cores(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    count: int = request.param
    monkeypatch.setattr(demo, "usable_cores", lambda: count)
    monkeypatch.setattr(scheduling, "refusal", lambda: "")
    return count


def test_ranks_follow_the_cores(cores: int) -> None:
    made = make_demo()
    (placement,) = made.plan.placements
    assert placement.ranks == min(4, max(2, cores))
    assert made.oversubscribe == (cores == 1)
    assert made.plan.binding is (Binding.NONE if cores == 1 else Binding.CORES)
    # Ranks of MPI that share a core wait for each other's time slices: that is nothing to show.
    assert made.remarks == (
        (f"2 ranks share {cores} core: these figures time the scheduler, not the network",)
        if cores == 1
        else ("without mpi: no MPI library was found",)
    )
    check_plan(made.plan)


@pytest.mark.parametrize("refusal", ["", "SCHED_FIFO is not permitted here"])
def test_fifo_is_used_where_it_may(monkeypatch: pytest.MonkeyPatch, refusal: str) -> None:
    monkeypatch.setattr(demo, "usable_cores", lambda: 4)
    monkeypatch.setattr(scheduling, "refusal", lambda: refusal)
    made = make_demo()
    assert made.plan.scheduling is (Scheduling.OTHER if refusal else Scheduling.FIFO)
    assert any("these figures are a scheduler test" in remark for remark in made.remarks) == bool(refusal)


def test_it_measures_six_operations_at_every_octave_in_four_minutes() -> None:
    plan = make_demo().plan
    assert len(plan.operations) == 6
    assert list(parse_sweep(plan.sizes)) == [16 << power for power in range(21)]
    assert plan.launches == 5
    assert 210 < plan.budget < BUDGET == 240


def test_time_and_launches_can_be_chosen() -> None:
    plan = make_demo(launches=3, budget=60.0).plan
    assert plan.launches == 3
    assert 50 < plan.budget < 60


def test_mpi_is_measured_beside_gloo_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "usable_cores", lambda: 4)
    assert make_demo().plan.backends == ("gloo",)
    monkeypatch.setattr(demo, "_mpi_library", lambda _environ: ("environment", ""))
    made = make_demo()
    assert (made.plan.backends, made.plan.mpi_library) == (("gloo", "mpi"), "environment")
    # 150 s and 90 s of four minutes.
    assert made.plan.shares["gloo"] / sum(made.plan.shares.values()) == pytest.approx(150 / 240)
    check_plan(made.plan)
    monkeypatch.setattr(demo, "usable_cores", lambda: 1)
    assert make_demo().plan.backends == ("gloo",)
