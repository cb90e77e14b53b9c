"""What is refused before anything starts."""

from collections.abc import Callable

import msgspec
import pytest

from collmark.bench import environment, scheduling
from collmark.bench.launchers.joined import Joined
from collmark.core.case import Scheduling
from collmark.core.errors import PlanError, UnavailableError, UsageError
from collmark.core.placement import Placement
from collmark.core.plan import Plan
from collmark.workflow.prepare import Prepared, default_ranks, prepare, same_plan

SMALL = Plan(operations=("all_reduce",), sizes="8B,1KiB")
FOUR = Joined(launcher="srun", rank=0, ranks=4, local_rank=0, nodes=2, host="n1", job="1.0")
Cores = Callable[[int], None]


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch) -> Cores:
    """Return a function that gives this machine so many cores."""
    return lambda count: monkeypatch.setattr(environment, "usable_cores", lambda: count)


def prepared(
    plan: Plan, ranks: int | None = None, joined: Joined | None = None, *, oversubscribe: bool = False
) -> Prepared:
    return prepare(plan, ranks=ranks, oversubscribe=oversubscribe, joined=joined)


@pytest.mark.parametrize(("there", "ranks"), [(1, 1), (2, 2), (8, 8), (64, 8)])
def test_as_many_ranks_as_cores_but_at_most_8(cores: Cores, there: int, ranks: int) -> None:
    cores(there)
    assert default_ranks(("gloo",)) == ranks
    assert prepared(SMALL).plan.placements == (Placement(ranks_per_node=ranks),)


def test_more_ranks_than_cores_only_when_asked(cores: Cores) -> None:
    cores(2)
    with pytest.raises(UsageError, match=r"3 ranks on 2 cores .* use --ranks 2, or --oversubscribe"):
        prepared(SMALL, 3)
    assert prepared(SMALL, 3, oversubscribe=True).plan.placements == (Placement(ranks_per_node=3),)


def test_simulated_ranks_need_no_cores(cores: Cores) -> None:
    cores(2)
    plan = Plan(
        operations=("all_reduce",), backends=("simulated",), placements=(Placement(nodes=64, ranks_per_node=8),)
    )
    assert prepared(plan).cases[0].placement.ranks == 512


def test_a_launcher_that_fills_nodes_unevenly_is_refused() -> None:
    five = msgspec.structs.replace(FOUR, ranks=5)
    with pytest.raises(UnavailableError, match=r"srun has started 5 ranks on 2 nodes, .* --ntasks-per-node=N"):
        prepared(SMALL, joined=five)


def test_a_launcher_decides_the_placement() -> None:
    there = Placement(nodes=2, ranks_per_node=2)
    assert prepared(SMALL, joined=FOUR).plan.placements == (there,)
    assert prepared(SMALL, 4, joined=FOUR).plan.placements == (there,)
    with pytest.raises(UsageError, match="--ranks 2: srun has started 4; leave --ranks away"):
        prepared(SMALL, 2, joined=FOUR)


def test_a_launcher_must_have_started_what_the_plan_asks_for() -> None:
    labelled = Placement(nodes=2, ranks_per_node=2, label="fast")
    plan = Plan(operations=("all_reduce",), placements=(Placement(nodes=1, ranks_per_node=4), labelled))
    assert prepared(plan, joined=FOUR).plan.placements == (labelled,)
    with pytest.raises(UsageError, match=r"srun has started 2x2 .* the plan asks for 1x4"):
        prepared(Plan(placements=(Placement(nodes=1, ranks_per_node=4),)), joined=FOUR)


def test_joined_ranks_measure_one_backend() -> None:
    with pytest.raises(UsageError, match="one backend at a time: name one with --backend"):
        prepared(Plan(backends=("gloo", "simulated")), joined=FOUR)


def test_several_nodes_need_a_launcher() -> None:
    with pytest.raises(UsageError, match="several nodes need a launcher that reaches them"):
        prepared(Plan(placements=(Placement(nodes=2, ranks_per_node=1),)))


def test_ranks_and_placements_are_one_question() -> None:
    with pytest.raises(UsageError, match="the plan has placements of its own"):
        prepared(Plan(placements=(Placement(ranks_per_node=1),)), 1)
    with pytest.raises(UsageError, match="must be at least 1"):
        prepared(SMALL, 0)


@pytest.mark.parametrize(
    ("planted", "problem"),
    [
        ({"wrong_rank": 1, "wrong_element": 15}, ""),
        (
            {"wrong_rank": 1, "wrong_element": 16},
            "wrong_element = 16: all_reduce 64 B float32 gives rank 1 elements 0 to 15",
        ),
        ({"wrong_element": 16}, ""),
        ({"wrong_rank": 2}, "there are ranks 0 to 1"),
    ],
)
def test_a_fault_is_planted_where_it_can_show(planted: dict[str, int], problem: str) -> None:
    plan = Plan(operations=("all_reduce", "barrier"), backends=("simulated",), sizes="64B,1KiB", simulation={**planted})
    if problem:
        with pytest.raises(PlanError, match=problem):
            prepared(plan, 2)
    else:
        assert prepared(plan, 2).cases


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(UnavailableError, match=r"gloo: torch is not installed: pip install 'collmark\[torch\]'"):
        prepared(SMALL, 1)


def test_a_right_that_is_missing_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduling, "refusal", lambda: "SCHED_FIFO is not permitted here: no")
    with pytest.raises(UnavailableError, match="use --scheduling other, or give the right"):
        prepared(Plan(operations=("all_reduce",), scheduling=Scheduling.FIFO), 1)


def test_every_problem_of_a_plan_comes_before_anything_else() -> None:
    with pytest.raises(PlanError) as caught:
        prepared(Plan(operations=("all_red",), sizes="8B:1GB:x0"), 0)
    assert len(caught.value.problems) == 2


def test_plans_that_should_be_one_differ_by_name() -> None:
    same_plan(SMALL, Plan(operations=("all_reduce",), sizes="8B,1KiB"))
    with pytest.raises(PlanError, match="another plan: sizes, seed differ; use a run of its own"):
        same_plan(SMALL, Plan(operations=("all_reduce",), seed=7))
