"""From a plan to its cases: sizes that mean something, each once, and refusals before anything starts."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from collmark.core.case import Binding, Buffers, Cadence, Case, Device, Form, InPlace, Scheduling, ThreadLevel
from collmark.core.dtype import DTYPES
from collmark.core.errors import PlanError, UsageError
from collmark.core.expansion import IN_FLIGHT, LEAST_TOGETHER, Capability, Expansion, expand
from collmark.core.matrix import learn, pack
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Placement
from collmark.core.plan import Plan
from collmark.core.reduction import REDUCTIONS
from collmark.core.sweep import parse_sweep

EVERYTHING = Capability(operations=dict.fromkeys(OPERATIONS, False), dtypes=tuple(DTYPES), reductions=tuple(REDUCTIONS))
LITTLE = Capability(
    operations={"all_reduce": True, "barrier": False},
    dtypes=("float32", "int32"),
    reductions=("sum", "avg"),
    except_for={("avg", True): "divides in floating point"},
    device=Device.CUDA,
)
MPI = Capability(
    operations={"all_reduce": False, "all_gather": False},
    dtypes=("float32", "float16"),
    reductions=("sum",),
    also_in_place=("all_reduce",),
    forms=tuple(Form),
    takes_thread_level=True,
    unreduced={"float16": "is only moved"},
)
CAPABILITIES = {"gloo": EVERYTHING, "little": LITTLE, "mpi": MPI}


def expanded(ranks: int = 4, **fields: Any) -> Expansion:  # noqa: ANN401 - the fields of a plan
    return expand(Plan(**fields), Placement(ranks_per_node=ranks), CAPABILITIES)


def problems_of(ranks: int = 4, **fields: Any) -> tuple[str, ...]:  # noqa: ANN401 - the same
    with pytest.raises(PlanError) as caught:
        expanded(ranks, **fields)
    return caught.value.problems


def test_every_combination_that_makes_sense_is_a_case_in_the_plans_order() -> None:
    cases = expanded(
        operations=("all_reduce", "all_gather", "barrier"),
        dtypes=("int8", "float32"),
        reductions=("max", "sum"),
        sizes="64,128",
    ).cases
    # A gather reduces nothing, and a barrier has neither size nor type.
    assert [(c.operation, c.dtype, c.reduction, c.nbytes) for c in cases] == [
        ("all_reduce", "int8", "max", 64),
        ("all_reduce", "int8", "max", 128),
        ("all_reduce", "int8", "sum", 64),
        ("all_reduce", "int8", "sum", 128),
        ("all_reduce", "float32", "max", 64),
        ("all_reduce", "float32", "max", 128),
        ("all_reduce", "float32", "sum", 64),
        ("all_reduce", "float32", "sum", 128),
        ("all_gather", "int8", "", 64),
        ("all_gather", "int8", "", 128),
        ("all_gather", "float32", "", 64),
        ("all_gather", "float32", "", 128),
        ("barrier", "int8", "", 0),
    ]


def test_forms_are_an_axis_and_only_some_backends_have_thread_levels() -> None:
    forms = (Form.NONBLOCKING, Form.BLOCKING)
    cases = expanded(backends=("mpi",), operations=("all_reduce",), sizes="64", forms=forms).cases
    assert [(c.form, c.thread_level) for c in cases] == [(form, "funneled") for form in forms]
    assert expanded(operations=("all_reduce",), sizes="64").cases[0].thread_level == ""
    assert problems_of(operations=("all_reduce",), forms=forms) == ("gloo: has no nonblocking form; it has blocking",)


def test_a_type_that_is_only_moved_is_not_reduced() -> None:
    fields: dict[str, Any] = {"backends": ("mpi",), "dtypes": ("float16",), "sizes": "64"}
    assert problems_of(operations=("all_gather", "all_reduce"), **fields) == (
        "mpi: all_reduce float16 sum: is only moved",
    )
    assert len(expanded(operations=("all_gather",), **fields).cases) == 1


@given(
    st.lists(st.sampled_from(sorted(OPERATIONS)), min_size=1, unique=True),
    st.lists(st.sampled_from(sorted(DTYPES)), min_size=1, unique=True),
    st.integers(2, 9),
    st.lists(st.integers(1, 3000), min_size=1, max_size=20, unique=True),
    st.sampled_from(["uniform", "zipf:1.1:3"]),
)
def test_effective_sizes_are_whole_elements_per_rank_and_none_is_twice(
    operations: list[str], dtypes: list[str], ranks: int, sizes: list[int], traffic: str
) -> None:
    plan = Plan(operations=tuple(operations), dtypes=tuple(dtypes), sizes=",".join(map(str, sizes)), traffic=traffic)
    try:
        cases = expand(plan, Placement(ranks_per_node=ranks), CAPABILITIES).cases
    except PlanError:
        reject()  # no size holds an element per rank
    for case in cases:
        operation = OPERATIONS[case.operation]
        assert operation.nbytes_of(case.exchange) == case.nbytes
        assert case.nbytes > 0 or not operation.sized
        assert case.nbytes <= case.requested_nbytes
        assert case.requested_nbytes in (sizes if operation.sized else [0])
    assert len({case.key for case in cases}) == len(cases)


def test_sizes_below_one_element_per_rank_are_left_out_with_one_notice() -> None:
    found = expanded(operations=("all_gather", "all_reduce", "all_to_all"), sizes="2,8,16")
    assert [(c.operation, c.nbytes) for c in found.cases] == [
        ("all_gather", 16), ("all_reduce", 8), ("all_reduce", 16), ("all_to_all", 16),
    ]  # fmt: skip
    (notice,) = found.notices
    assert notice.startswith("left out 5 sizes up to 8 B, below one element per rank")
    for part in ("all_gather float32", "all_reduce float32", "all_to_all float32"):
        assert part in notice


def test_sizes_that_round_to_the_same_are_measured_once_with_one_notice() -> None:
    found = expanded(operations=("all_gather",), sizes="16,17,31,32")
    assert [(c.nbytes, c.requested_nbytes) for c in found.cases] == [(16, 16), (32, 32)]
    assert found.notices == ("2 sizes round to the same whole elements as another: measured once",)
    assert expanded(operations=("all_gather",), sizes="16,17").notices == (
        "1 size rounds to the same whole elements as another: measured once",
    )


def test_ragged_sizes_that_round_to_the_same_counts_are_measured_once_with_one_notice() -> None:
    found = expanded(operations=("all_to_all_v",), sizes="4000,4001,4002,8000", traffic="zipf:1.2")
    assert [c.requested_nbytes for c in found.cases] == [4000, 8000]
    assert found.notices == ("2 sizes round to the same whole elements as another: measured once",)


def test_every_traffic_of_a_list_is_measured_at_every_size() -> None:
    found = expanded(operations=("all_to_all_v", "all_gather"), sizes="4000,8000", traffic="uniform,zipf:1.2,moe:8:2:1")
    assert [(c.operation, c.traffic, c.requested_nbytes) for c in found.cases] == [
        ("all_to_all_v", "uniform", 4000),
        ("all_to_all_v", "uniform", 8000),
        ("all_to_all_v", "zipf:1.2", 4000),
        ("all_to_all_v", "zipf:1.2", 8000),
        ("all_gather", "", 4000),
        ("all_gather", "", 8000),
    ]
    assert found.notices == (
        "left out 2 sizes up to 8000 B, below one element, of moe one token, per rank (all_to_all_v float32 moe:8:2:1)",
    )


def test_a_matrix_has_a_size_of_its_own_unless_it_is_scaled() -> None:
    matrix = pack("trace.csv", ((0, 4096, 12, 1), (7, 0, 0, 0), (0, 8, 6, 0), (0, 0, 0, 0)))
    digest = learn(matrix)
    found = expanded(
        operations=("all_to_all_v",), dtypes=("float32", "uint8"), sizes="64,1KiB",
        traffic=f"file:{digest},file:{digest}:scaled", matrices={digest: matrix},
    )  # fmt: skip
    assert [(c.dtype, c.traffic, c.requested_nbytes, c.nbytes) for c in found.cases] == [
        ("float32", f"file:{digest}", 4109, 4108),
        ("float32", f"file:{digest}:scaled", 64, 60),
        ("float32", f"file:{digest}:scaled", 1024, 1020),
        ("uint8", f"file:{digest}", 4109, 4109),
        ("uint8", f"file:{digest}:scaled", 64, 63),
        ("uint8", f"file:{digest}:scaled", 1024, 1022),
    ]
    assert found.notices == (
        f"file:{digest} is trace.csv as it is, 4109 B at the heaviest rank whatever the sizes",
        f"6 B of file:{digest} are no whole float32 and left out: --dtype uint8 moves every byte",
        f"file:{digest}:scaled is trace.csv, scaled to the sizes",
    )


def test_traffic_that_cannot_be_is_refused_before_anything_starts() -> None:
    digest = learn(pack("trace.csv", ((0, 8), (8, 0))))
    found = problems_of(operations=("all_to_all_v",), traffic=f"moe:6:2,file:{digest},moe:8:2:0:0:6B")
    assert len(found) == 3
    for part in (
        "moe:6:2: 6 experts do not lie evenly on 4 ranks: take a multiple of the ranks",
        f"file:{digest}: a matrix of 2 ranks, and there are 4",
        "moe:8:2:0:0:6B: a token of 6 B holds no whole number of elements of 4 B",
    ):
        assert sum(part in problem for problem in found) == 1, (part, found)
    for traffic in ("file:0000aaaa0000", "file:0000aaaa0000:scaled"):
        with pytest.raises(UsageError, match="file:0000aaaa0000: no such matrix is known: a run keeps it in its plan"):
            expanded(operations=("all_to_all_v",), traffic=traffic)


def test_a_plan_of_sizes_below_a_token_has_no_case() -> None:
    assert problems_of(operations=("all_to_all_v",), sizes="64,1KiB", traffic="moe:8:2") == (
        "no size of 64,1KiB holds one element, of moe one token, per rank on 4 ranks",
    )


@pytest.mark.parametrize(
    ("fields", "notice"),
    [
        (
            {"traffic": "zipf:1.2"},
            "traffic zipf:1.2: no effect, since no operation of the plan is ragged, as all_to_all_v is",
        ),
        ({"messages": 8}, "messages 8: no effect, since no operation of the plan is a stream"),
        ({"mpi_library": "site"}, "mpi_library site: no effect, since no backend of the plan is MPI"),
        ({"thread_level": ThreadLevel.SINGLE}, "thread_level single: no effect, since no backend of the plan is MPI"),
        ({"reductions": ("max", "min")}, "reductions max, min: no effect, since no operation of the plan reduces"),
        ({"traffic": "zipf:1.2", "operations": ("all_gather", "all_to_all_v")}, ""),
        ({"messages": 8, "operations": ("all_gather", "stream")}, ""),
        ({"reductions": ("max",), "operations": ("all_gather", "reduce")}, ""),
    ],
)
def test_what_no_operation_takes_is_said(fields: dict[str, Any], notice: str) -> None:
    notices = expanded(**{"operations": ("all_gather",), "sizes": "4KiB"} | fields).notices
    assert notices == ((notice,) if notice else ())


def test_nothing_to_say_where_nothing_is_rounded() -> None:
    assert expanded(sizes="1KiB:1MiB:x4").notices == ()


def test_no_case_at_all_is_a_problem() -> None:
    assert problems_of(64, operations=("all_gather",), sizes="8,16") == (
        "no size of 8,16 holds one element per rank on 64 ranks",
    )


def test_refusals_are_collected_with_their_reasons() -> None:
    problems = problems_of(
        backends=("little", "gloooo"),
        operations=("all_reduce", "all_gather"),
        dtypes=("int32", "int8"),
        reductions=("avg", "max"),
    )
    for part in (
        "little: all_reduce int32 avg: divides in floating point",
        "little: all_reduce int32 max: has no max; it has sum, avg",
        "little: all_reduce int8 avg: has no int8; it has float32, int32",
        "little: all_gather int32: has no all_gather; it has all_reduce, barrier",
        "unknown backend 'gloooo'",
    ):
        assert sum(part in problem for problem in problems) == 1, (part, problems)
    assert len(set(problems)) == len(problems)


def test_an_exception_holds_for_its_kind_of_number_only() -> None:
    (case,) = expanded(backends=("little",), operations=("all_reduce",), reductions=("avg",), sizes="64").cases
    assert case.dtype == "float32"


def test_ragged_operations_have_a_limit_of_ranks() -> None:
    (problem,) = problems_of(65536, operations=("all_to_all_v",), sizes="1GiB")
    assert "all_to_all_v keeps a count for every pair of ranks: at most 2048 ranks" in problem


def test_operations_between_two_ranks_need_two() -> None:
    (problem,) = problems_of(1, operations=("ping_pong",))
    assert "ping_pong needs at least 2 ranks, not 1" in problem


@pytest.mark.parametrize(
    ("dtype", "reduction", "ranks", "fits"),
    [("int8", "avg", 63, True), ("int8", "avg", 64, False), ("int8", "sum", 127, True), ("uint8", "avg", 127, True),
     ("uint8", "avg", 128, False), ("bfloat16", "avg", 128, True), ("bfloat16", "avg", 129, False),
     ("float32", "avg", 4096, True)],
)  # fmt: skip
def test_what_cannot_be_checked_is_refused(dtype: str, reduction: str, ranks: int, *, fits: bool) -> None:
    axes = {"operations": ("all_reduce",), "dtypes": (dtype,), "reductions": (reduction,), "sizes": "4KiB"}
    if fits:
        assert expanded(ranks, **axes).cases
    else:
        (problem,) = problems_of(ranks, **axes)
        assert problem == f"gloo: all_reduce {dtype} {reduction}: a result over {ranks} ranks cannot be checked exactly"


def test_what_the_plan_says_of_all_cases_reaches_them() -> None:
    plan = Plan(
        operations=("all_reduce", "all_to_all_v", "stream"),
        backends=("gloo",),
        sizes="4KiB",
        traffic="zipf:1:5",
        scheduling=Scheduling.FIFO,
        binding=Binding.CORES,
    )
    placement = Placement(nodes=2, ranks_per_node=2, label="x")
    for case in expand(plan, placement, CAPABILITIES).cases:
        assert (case.scheduling, case.binding, case.placement) == (Scheduling.FIFO, Binding.CORES, placement)
        assert case.traffic == ("zipf:1:5" if case.operation == "all_to_all_v" else "")
        assert case.reduction == ("sum" if case.operation == "all_reduce" else "")


def test_what_the_backend_is_like_reaches_the_cases() -> None:
    (reduce, barrier) = expanded(backends=("little",), operations=("all_reduce", "barrier"), sizes="64").cases
    assert (reduce.in_place, barrier.in_place) == (True, False)
    assert reduce.device is barrier.device is Device.CUDA


@pytest.mark.parametrize(("ranks", "directions"), [(2, 2), (3, 1), (8, 1)])
def test_directions_of_a_ring(ranks: int, directions: int) -> None:
    (case,) = expanded(ranks, operations=("send_recv",), sizes="64").cases
    assert case.directions == directions


def test_cadence_temperature_and_place_are_axes_that_a_barrier_has_less_of() -> None:
    axes: dict[str, Any] = {
        "cadences": (Cadence.ISOLATED, Cadence.STREAMING),
        "buffers": tuple(Buffers),
        "in_place": (InPlace.NO, InPlace.YES),
    }
    cases = expanded(backends=("mpi",), operations=("all_reduce",), sizes="64", **axes).cases
    assert len({case.key for case in cases}) == 8
    assert {(c.cadence, c.buffers, c.in_place) for c in cases} == {
        (cadence, buffers, in_place)
        for cadence in axes["cadences"] for buffers in Buffers for in_place in (False, True)
    }  # fmt: skip
    assert expanded(backends=("mpi",), operations=("all_reduce",), sizes="64", **axes).notices == ()
    found = expanded(operations=("barrier",), **axes)
    assert [(c.cadence, c.buffers) for c in found.cases] == [(cadence, Buffers.SAME) for cadence in axes["cadences"]]
    assert found.notices == ()


def test_a_place_that_a_call_has_not_is_left_out_aloud() -> None:
    both: dict[str, Any] = {"backends": ("mpi",), "operations": ("all_reduce", "all_gather"), "sizes": "64"}
    found = expanded(**both, in_place=(InPlace.NO, InPlace.YES))
    assert [(c.operation, c.in_place) for c in found.cases] == [
        ("all_reduce", False), ("all_reduce", True), ("all_gather", False)
    ]  # fmt: skip
    assert found.notices == ("in_place yes: left out where the call cannot be called in place (mpi all_gather)",)
    little = expanded(backends=("little",), operations=("all_reduce",), sizes="64")
    assert [case.in_place for case in little.cases] == [True]
    (problem,) = problems_of(backends=("little",), operations=("all_reduce",), sizes="64", in_place=(InPlace.NO,))
    assert problem.startswith("in_place no: left out where the call cannot leave send and receive buffer apart")
    assert problem.endswith("(little all_reduce)")


def test_a_cadence_that_a_backend_has_not_is_refused() -> None:
    (problem,) = problems_of(operations=("all_reduce",), cadences=(Cadence.GRAPH,))
    assert problem == "gloo: has no graph cadence; it has isolated, streaming"


@pytest.mark.parametrize("most", [2, 20, 64])
def test_calls_back_to_back_move_so_many_bytes(most: int) -> None:
    cadences = (Cadence.ISOLATED, Cadence.STREAMING)
    for case in expanded(operations=("all_reduce",), sizes="8B:256MiB:x2", batch=most, cadences=cadences).cases:
        together = min(most, max(LEAST_TOGETHER, IN_FLIGHT // case.nbytes))
        assert case.batch == (together if case.cadence is Cadence.STREAMING else 1)


@pytest.mark.parametrize("most", [1, 16, 64])
def test_streams_keep_so_many_bytes_in_flight(most: int) -> None:
    cases = expanded(2, operations=("stream", "ping_pong"), sizes="8B:256MiB:x2", messages=most).cases
    for case in cases:
        if case.operation == "ping_pong":
            assert case.messages == 1
        else:
            assert case.messages == min(most, max(LEAST_TOGETHER, IN_FLIGHT // case.nbytes))
            assert case.messages >= 1


@pytest.mark.parametrize(
    "change",
    [{"operations": ("all_gather",)}, {"sizes": "64,4096"}, {"dtypes": ("float64",)}, {"reductions": ("max",)},
     {"scheduling": Scheduling.FIFO}, {"binding": Binding.CORES}],
)  # fmt: skip
def test_each_axis_changes_the_cases(change: dict[str, Any]) -> None:
    plan = Plan(operations=("all_reduce",), sizes="64,128")
    placement = Placement(ranks_per_node=4)
    before = expand(plan, placement, CAPABILITIES).cases
    after = expand(msgspec.structs.replace(plan, **change), placement, CAPABILITIES).cases
    assert {case.key for case in before} != {case.key for case in after}


def test_the_default_plan_needs_no_notice_on_two_ranks() -> None:
    found = expanded(2)
    sizes = len(parse_sweep(Plan().sizes))
    assert len(found.cases) == 5 * sizes
    assert found.notices == ()
    assert all(isinstance(case, Case) for case in found.cases)
