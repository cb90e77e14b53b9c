"""What is checked of GPUs before anything starts; the driver's answer is made up."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from collmark.bench import environment
from collmark.bench.backends import nccl
from collmark.bench.backends.cuda_driver import Driver, Gpu
from collmark.bench.backends.gpu_seat import SHARED, VARIABLE
from collmark.bench.launchers.joined import Joined
from collmark.core.case import Device
from collmark.core.errors import UnavailableError, UsageError
from collmark.core.placement import Placement
from collmark.core.plan import Plan
from collmark.workflow.planning import preview
from collmark.workflow.prepare import prepare

GIB = 2**30
PLAN = Plan(operations=("all_reduce",), sizes="8B,1GiB", backends=("nccl",))
EIGHT = Joined(launcher="srun", rank=0, ranks=8, local_rank=0, nodes=1, host="127.0.0.1", job="1.0")
Gpus = Callable[..., None]


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Gpus:
    """Return a function that gives this machine GPUs of some memory each, in B, and 16 cores."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(environment, "usable_cores", lambda: 16)
    monkeypatch.setattr(nccl, "without_torch", lambda: "")
    monkeypatch.setattr(nccl, "torch_cuda", lambda: "13.0")

    def give(*memories: int) -> None:
        found = tuple(Gpu(name="a GPU", memory=memory) for memory in memories)
        monkeypatch.setattr(nccl, "find_driver", lambda: Driver(version=(13, 0), gpus=found))

    return give


def test_as_many_ranks_as_gpus(gpus: Gpus) -> None:
    gpus(*[80 * GIB] * 12)
    prepared = prepare(PLAN, ranks=None, oversubscribe=False, joined=None)
    assert prepared.plan.placements == (Placement(ranks_per_node=12),)
    assert {case.device for case in prepared.cases} == {Device.CUDA}
    assert preview(PLAN, None).plan.placements == prepared.plan.placements


def test_beside_a_backend_without_gpus_the_fewest(gpus: Gpus) -> None:
    gpus(*[80 * GIB] * 12)
    both = Plan(operations=("all_reduce",), sizes="8B", backends=("gloo", "nccl"))
    assert prepare(both, ranks=None, oversubscribe=False, joined=None).plan.placements[0].ranks_per_node == 8
    gpus(80 * GIB)
    assert prepare(both, ranks=None, oversubscribe=False, joined=None).plan.placements[0].ranks_per_node == 1


def test_more_ranks_than_gpus_only_to_test(gpus: Gpus, monkeypatch: pytest.MonkeyPatch) -> None:
    gpus(80 * GIB)
    with pytest.raises(UsageError, match=rf"2 ranks on 1 GPU, .* use --ranks 1; {VARIABLE}=1 lets them share it"):
        prepare(PLAN, ranks=2, oversubscribe=False, joined=None)
    monkeypatch.setenv(VARIABLE, "1")
    prepared = prepare(PLAN, ranks=2, oversubscribe=False, joined=None)
    assert prepared.warnings == (SHARED,)
    assert prepared.plan.placements == (Placement(ranks_per_node=2),)


def test_a_plan_for_more_gpus_can_still_be_read(gpus: Gpus) -> None:
    gpus(80 * GIB)
    assert "4 ranks per node, and 1 GPU on this machine: one a rank" in preview(PLAN, 4).notices
    assert preview(PLAN, 1).notices == ()


def test_the_arrangement_says_nothing_of_other_backends(gpus: Gpus, monkeypatch: pytest.MonkeyPatch) -> None:
    gpus(80 * GIB)
    monkeypatch.setenv(VARIABLE, "1")
    plan = Plan(operations=("all_reduce",), sizes="8B")
    assert prepare(plan, ranks=2, oversubscribe=False, joined=None).warnings == ()


def test_ranks_of_a_launcher_are_counted_when_they_are_there(gpus: Gpus) -> None:
    gpus(80 * GIB)  # each rank may see its own alone
    assert prepare(PLAN, ranks=None, oversubscribe=False, joined=EIGHT).plan.placements[0].ranks == 8


@pytest.mark.parametrize(("ranks", "shared", "need"), [(2, False, 2 * GIB), (2, True, 4 * GIB), (3, True, 6 * GIB)])
def test_buffers_must_fit_into_the_smallest_gpu(
    gpus: Gpus,
    monkeypatch: pytest.MonkeyPatch,
    ranks: int,
    shared: bool,  # noqa: FBT001 - one row of a table
    need: int,
) -> None:
    others = [] if shared else [80 * GIB]
    if shared:
        monkeypatch.setenv(VARIABLE, "1")
    gpus(*others, need)
    prepare(PLAN, ranks=ranks, oversubscribe=False, joined=None)
    gpus(*others, need - 1)
    words = rf"all_reduce 1073741824 B float32 needs {need // GIB}\.00 GiB of memory on each GPU .* smaller --sizes"
    with pytest.raises(UsageError, match=words):
        prepare(PLAN, ranks=ranks, oversubscribe=False, joined=None)


def test_no_gpu_is_said_and_a_plan_can_still_be_read(gpus: Gpus) -> None:
    gpus()
    with pytest.raises(UnavailableError, match="nccl: no GPU is seen"):
        prepare(PLAN, ranks=None, oversubscribe=False, joined=None)
    found = preview(PLAN, None)
    assert any(notice.startswith("nccl cannot run here: no GPU is seen") for notice in found.notices)
    assert found.plan.placements == (Placement(ranks_per_node=8),)
