"""What every backend owes: right results of every operation, type and reduction it declares, and honest records."""

from __future__ import annotations

import pytest
from tests.contract.conftest import Launched, combinations, ragged_traffic, refusal
from tests.gpus import sharing
from tests.mpi_libraries import PLACES, WHEEL

from collmark.bench.backends.index import BACKENDS
from collmark.core.case import Device
from collmark.core.dtype import DTYPES
from collmark.core.operation import Estimand
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Tier
from collmark.core.record import Clock, Record, Status
from collmark.core.reduction import REDUCTIONS

DIVIDED = {"all_gather", "reduce_scatter", "all_to_all", "all_to_all_v", "gather", "scatter"}
RECEIVERS = {"reduce": 1, "gather": 1, "stream": 1, "ping_pong": 2, "bidirectional_stream": 2}
ESTIMANDS = {
    "broadcast": Estimand.FIRST_IN_LAST_OUT,
    "reduce": Estimand.FIRST_IN_LAST_OUT,
    "gather": Estimand.FIRST_IN_LAST_OUT,
    "scatter": Estimand.FIRST_IN_LAST_OUT,
    "ping_pong": Estimand.HALF_ROUND_TRIP,
    "stream": Estimand.PER_MESSAGE,
    "bidirectional_stream": Estimand.PER_MESSAGE,
}
RANKS = {"simulated": (1, 2, 3, 4)}
LIBRARIES = {"mpi": tuple(PLACES)}

LAUNCHES = [
    pytest.param(
        backend,
        ranks,
        library,
        id=f"{backend}-{ranks}{'-' if library else ''}{library}",
        marks=[pytest.mark.gpu] if row.capability.device is Device.CUDA else [],
    )
    for backend, row in BACKENDS.items()
    for library in LIBRARIES.get(backend, ("",))
    for ranks in RANKS.get(backend, (1, 2, 3))
    if library in ("", WHEEL) or ranks == 2
]
every_launch = pytest.mark.parametrize(("backend", "ranks", "library"), LAUNCHES)


def skip_unless_there(backend: str, ranks: int) -> None:
    if missing := BACKENDS[backend].missing():
        pytest.skip(missing)
    if backend == "nccl":
        sharing(ranks)


def effective(operation: str, requested: int, ranks: int, itemsize: int) -> int:
    """Return the size in whole elements per rank, from its definition."""
    elements = requested // itemsize
    if operation in DIVIDED:
        elements -= elements % ranks
    return elements * itemsize


def received_elements(record: Record, ranks: int) -> int:
    """Return the elements that all ranks receive in one call."""
    case = record.case
    counts = case.exchange.counts
    if counts is not None:
        return sum(map(sum, counts))
    elements = case.nbytes // DTYPES[case.dtype].itemsize
    if case.operation in ("reduce_scatter", "scatter"):
        return elements
    return elements * RECEIVERS.get(case.operation, ranks)


@pytest.mark.timeout(300)  # the first of each backend also starts its processes
@every_launch
@pytest.mark.parametrize("combination", combinations(), ids="-".join)
def test_operation(
    launched: Launched, backend: str, ranks: int, library: str, combination: tuple[str, str, str]
) -> None:
    skip_unless_there(backend, ranks)
    operation = combination[0]
    if undeclared := refusal(backend, ranks, *combination):
        pytest.skip(f"{backend} {undeclared}")
    records = [r for r in launched(backend, ranks, library)[combination] if r.case.root == 0]
    row = OPERATIONS[operation]
    even = [record for record in records if record.case.traffic in ("", "uniform")]
    assert sorted(record.case.requested_nbytes for record in even) == ([32, 500] if row.sized else [0])
    uneven = {record.case.traffic: record.case.exchange.counts for record in records if record not in even}
    assert sorted(uneven) == sorted(ragged_traffic(ranks) if row.ragged else ())
    assert len(records) == len(even) + len(uneven)
    for traffic, counts in uneven.items():
        assert counts is not None
        assert ranks == 1 or 0 in {count for line in counts for count in line}, traffic
        assert not traffic.startswith("file") or not any(counts[0])
    for record in records:
        check_result(record, ranks)
        check_sizes(record, ranks)
        check_timing(record)
        check_facts(record, backend)


def check_result(record: Record, ranks: int) -> None:
    case, check = record.case, record.check
    assert record.status in (Status.CONVERGED, Status.BUDGET, Status.UNSTABLE), (case, record.error, check.first)
    assert (check.wrong, check.first, record.error) == (0, "", "")
    if case.operation == "barrier":
        assert check.left_out == "no payload: checked by its time stamps"
        assert record.timing is not None
        assert check.checked == record.timing.repetitions
    else:
        # Before and after the repetitions, every element of every rank.
        assert check.checked == 2 * received_elements(record, ranks) > 0
        assert check.left_out == ""


def check_sizes(record: Record, ranks: int) -> None:
    case = record.case
    if case.traffic not in ("", "uniform"):
        assert 0 < case.nbytes <= case.requested_nbytes
    else:
        assert case.nbytes == effective(case.operation, case.requested_nbytes, ranks, DTYPES[case.dtype].itemsize)
    assert case.placement.ranks == ranks
    assert case.messages == (4 if OPERATIONS[case.operation].streams else 1)


def check_timing(record: Record) -> None:
    case, timing = record.case, record.timing
    assert timing is not None
    expected = ESTIMANDS.get(case.operation, Estimand.LAST_IN_LAST_OUT)
    if case.exchange.counts is not None:
        pairs = [n for r, row in enumerate(case.exchange.counts) for d, n in enumerate(row) if r != d]
        expected = expected if all(pairs) else Estimand.FIRST_IN_LAST_OUT
    assert timing.estimand is expected
    assert 0 < timing.minimum <= timing.median <= timing.maximum
    assert timing.repetitions >= 1
    assert record.warmup_calls >= 1
    assert record.first_call is not None
    assert record.first_call > 0


def check_facts(record: Record, backend: str) -> None:
    case, row = record.case, BACKENDS[backend]
    assert case.backend == backend
    assert case.in_place == row.capability.operations[case.operation]
    assert case.device is row.capability.device
    assert record.simulated == (backend == "simulated")
    assert record.clock is (Clock.VIRTUAL if backend == "simulated" else Clock.SHARED)
    if backend == "gloo":
        assert record.evidence.tier is Tier.LOOPBACK
    if backend == "mpi":
        assert record.evidence.tier is (Tier.SHARED_MEMORY if case.placement.ranks > 1 else Tier.UNKNOWN)
        assert case.thread_level == "funneled"
    if backend == "nccl":
        assert record.evidence.tier is (Tier.SHARED_GPU if sharing(case.placement.ranks) else Tier.UNKNOWN)
    check_device(record, is_asynchronous=backend == "nccl")
    assert record.evidence.because


def check_device(record: Record, *, is_asynchronous: bool) -> None:
    if not is_asynchronous:
        assert (record.enqueue, record.device) == (None, None)
        return
    assert record.timing is not None
    assert record.ranks is not None
    assert record.enqueue is not None
    assert record.device is not None
    assert record.enqueue > 0 < record.device
    if not record.timing.cut:  # both are then over the same repetitions, and in each of them queueing is a part
        assert record.enqueue <= record.ranks.longest


@pytest.mark.timeout(300)
@every_launch
@pytest.mark.parametrize("operation", [name for name, row in OPERATIONS.items() if row.rooted])
def test_another_root(launched: Launched, backend: str, ranks: int, library: str, operation: str) -> None:
    skip_unless_there(backend, ranks)
    if operation not in BACKENDS[backend].capability.operations:
        pytest.skip(f"{backend} has no {operation}")
    found = [
        record
        for (name, _dtype, _reduction), records in launched(backend, ranks, library).items()
        for record in records
        if name == operation and record.case.root == ranks - 1
    ]
    assert len(found) >= 2
    for record in found:
        check_result(record, ranks)
        check_sizes(record, ranks)
        check_timing(record)


@pytest.mark.timeout(300)
@every_launch
def test_all_that_is_declared_was_measured_and_nothing_else(
    launched: Launched, backend: str, ranks: int, library: str
) -> None:
    skip_unless_there(backend, ranks)
    declared = {combination for combination in combinations() if not refusal(backend, ranks, *combination)}
    assert set(launched(backend, ranks, library)) == declared


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_declared_has_names_of_ours(backend: str) -> None:
    capability = BACKENDS[backend].capability
    assert set(capability.operations) <= set(OPERATIONS)
    assert set(capability.dtypes) <= set(DTYPES)
    for name, in_place in capability.operations.items():
        assert OPERATIONS[name].in_place or not in_place


def test_refusals_are_few_and_have_their_reasons() -> None:
    refused = {
        backend: {
            combination: reason for combination in combinations() if (reason := refusal(backend, 2, *combination))
        }
        for backend in BACKENDS
    }
    assert refused["simulated"] == refused["nccl"] == {}
    assert {(dtype, reduction) for _operation, dtype, reduction in refused["gloo"]} == {
        (name, "avg") for name, dtype in DTYPES.items() if dtype.is_integer
    }
    assert all(reasons for reasons in refused["gloo"].values())
    # MPI has no average, and no type of 16 bits to reduce.
    reduced = {(dtype, reduction) for _operation, dtype, reduction in refused["mpi"] if reduction}
    assert reduced == {
        (dtype, reduction)
        for dtype in DTYPES
        for reduction in REDUCTIONS
        if dtype.endswith("float16") or reduction == "avg"
    }
    assert all(reduction for _operation, _dtype, reduction in refused["mpi"])
