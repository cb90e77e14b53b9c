"""Cases: what must be equal for two figures to be comparable, and the size of a call in elements."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collmark.core.case import Binding, Buffers, Cadence, Case, Device, Form, Scheduling, ThreadLevel
from collmark.core.errors import UnknownNameError, UsageError
from collmark.core.grouping import Group
from collmark.core.matrix import learn, pack
from collmark.core.operation import Estimand
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Placement
from collmark.core.traffic import counts_of

CASE = Case(
    operation="all_reduce",
    backend="gloo",
    dtype="float32",
    placement=Placement(ranks_per_node=4),
    nbytes=1024,
    requested_nbytes=1024,
    reduction="sum",
)

OTHERS: dict[str, Any] = {
    "operation": "reduce",
    "backend": "simulated",
    "dtype": "float64",
    "placement": Placement(nodes=2, ranks_per_node=2),
    "nbytes": 2048,
    "reduction": "max",
    "device": Device.CUDA,
    "traffic": "uniform",
    "cadence": Cadence.STREAMING,
    "buffers": Buffers.ROTATED,
    "scheduling": Scheduling.FIFO,
    "binding": Binding.CORES,
    "in_place": True,
    "directions": 2,
    "messages": 64,
    "batch": 20,
    "root": 1,
    "form": Form.PERSISTENT,
    "thread_level": ThreadLevel.MULTIPLE,
    "group": Group(arrangement="blocked:4", index=0, world=Placement(ranks_per_node=8)),
}


def test_every_field_but_the_requested_size_is_tried() -> None:
    assert set(OTHERS) == set(Case.__struct_fields__) - {"requested_nbytes"}


@pytest.mark.parametrize("field", OTHERS)
def test_the_key_changes_with_every_field_that_matters(field: str) -> None:
    changed = msgspec.structs.replace(CASE, **{field: OTHERS[field]})
    assert changed.key != CASE.key


def test_a_thread_level_that_mpi_does_not_know_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="unknown thread level 'some'; allowed: single, funneled, "):
        msgspec.structs.replace(CASE, thread_level="some")


def ragged(requested: int, ranks: int = 4, traffic: str = "zipf:1.2") -> Case:
    itemsize = 4
    counts = counts_of(traffic, nbytes=requested, ranks=ranks, itemsize=itemsize)
    lines = (*counts, *zip(*counts, strict=True))
    return Case(
        operation="all_to_all_v",
        backend="gloo",
        dtype="float32",
        placement=Placement(ranks_per_node=ranks),
        nbytes=max(map(sum, lines)) * itemsize,
        requested_nbytes=requested,
        traffic=traffic,
    )


@given(
    st.integers(64, 4000),
    st.integers(0, 40),
    st.integers(2, 9),
    st.sampled_from(["uniform", "zipf:1.2", "zipf:3:5", "moe:2520:2:1:5:4B"]),
)
def test_ragged_cases_have_one_key_exactly_where_every_pair_exchanges_the_same(
    requested: int, more: int, ranks: int, traffic: str
) -> None:
    one, other = ragged(requested, ranks, traffic), ragged(requested + more, ranks, traffic)
    assert (one.key == other.key) == (one.exchange.counts == other.exchange.counts)


def test_the_heaviest_rank_does_not_tell_ragged_cases_apart() -> None:
    pairs = [(ragged(n), ragged(n + 4)) for n in range(64, 4000, 4)]
    alike = [pair for pair in pairs if pair[0].nbytes == pair[1].nbytes]
    unlike = [pair for pair in alike if pair[0].exchange.counts != pair[1].exchange.counts]
    assert unlike
    assert all(one.key != other.key for one, other in unlike)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"operation": "all_redcue"}, "did you mean 'all_reduce'"),
        ({"dtype": "float23"}, "did you mean 'float32'"),
        ({"reduction": "summ"}, "did you mean 'sum'"),
        ({"operation": "all_to_all_v"}, "unknown traffic ''"),
        ({"operation": "all_to_all_v", "traffic": "zipf:x"}, "zipf:x: x: must be a number"),
        ({"operation": "all_to_all_v", "traffic": "moe:6:1"}, "moe:6:1: 6 experts do not lie evenly on 4 ranks"),
        ({"operation": "all_to_all_v", "traffic": "moe:8:1:0:0:6B"}, "no whole number of elements of 4 B"),
        ({"operation": "all_to_all_v", "placement": Placement(nodes=999, ranks_per_node=9)}, "at most 2048 ranks"),
        ({"operation": "ping_pong", "placement": Placement()}, "at least 2 ranks"),
    ],
)
def test_a_case_is_something_that_can_be(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        msgspec.structs.replace(CASE, **change)


def test_the_requested_size_is_no_part_of_the_key() -> None:
    assert msgspec.structs.replace(CASE, requested_nbytes=1027).key == CASE.key


@given(st.data())
def test_keys_are_equal_only_where_all_fields_are(data: st.DataObject) -> None:
    def drawn() -> Case:
        chosen = {name: other for name, other in OTHERS.items() if data.draw(st.booleans())}
        if "group" in chosen:
            chosen.pop("placement", None)  # which is the group's
        return msgspec.structs.replace(CASE, **chosen)

    one, two = drawn(), drawn()
    assert (one.key == two.key) == (one == two)


@pytest.mark.parametrize(
    "placement",
    [
        Placement(nodes=1, ranks_per_node=4, label="a"),
        Placement(nodes=4, ranks_per_node=1),
        Placement(nodes=2, ranks_per_node=2, label="a"),
    ],
)
def test_placements_of_equal_rank_count_are_told_apart(placement: Placement) -> None:
    others = {msgspec.structs.replace(CASE, placement=p).key for p in (CASE.placement, placement)}
    assert len(others) == 2


def test_the_key_is_not_remembered_by_a_changed_copy() -> None:
    before = CASE.key
    assert msgspec.structs.replace(CASE, root=3).key != before
    assert CASE.key == before


@given(st.sampled_from(sorted(OPERATIONS)), st.integers(2, 9), st.integers(36, 1 << 20))
def test_the_exchange_has_the_stored_size(name: str, ranks: int, requested: int) -> None:
    operation = OPERATIONS[name]
    block = operation.block_of(requested, ranks=ranks, itemsize=4)
    case = msgspec.structs.replace(
        CASE,
        operation=name,
        placement=Placement(ranks_per_node=ranks),
        nbytes=block * 4 * (ranks if operation.divides else 1),
        requested_nbytes=requested,
        traffic="uniform" if operation.ragged else "",
        root=1,
        messages=7,
    )
    assert operation.nbytes_of(case.exchange) == case.nbytes
    assert (case.exchange.ranks, case.exchange.itemsize) == (ranks, 4)
    assert (case.exchange.root, case.exchange.messages) == (1, 7)
    assert case.count == case.nbytes // 4
    assert case.estimand is operation.estimand


def test_ragged_counts_follow_the_requested_size() -> None:
    ragged = msgspec.structs.replace(
        CASE, operation="all_to_all_v", reduction="", traffic="zipf:1.5:3", nbytes=1012, requested_nbytes=1024
    )
    assert ragged.exchange.counts == counts_of("zipf:1.5:3", nbytes=1024, ranks=4, itemsize=4)
    tiny = msgspec.structs.replace(ragged, traffic="zipf:5", requested_nbytes=64)
    assert tiny.estimand is Estimand.FIRST_IN_LAST_OUT


def test_a_matrix_is_known_by_its_digest_wherever_the_case_is_read() -> None:
    cells = ((0, 8, 8, 8), (0, 0, 0, 0), (4, 4, 4, 4), (8, 8, 0, 0))
    case = msgspec.structs.replace(
        CASE, operation="all_to_all_v", reduction="", traffic=f"file:{learn(pack('trace.csv', cells))}", nbytes=24
    )
    assert case.exchange.counts == ((0, 2, 2, 2), (0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 0, 0))
    assert case.estimand is Estimand.FIRST_IN_LAST_OUT
    assert "trace" not in case.key
    assert str(case) == f"all_to_all_v 24 B float32 {case.traffic}"
    # The plan, which holds the matrix, may come after the cases: only who counts needs it.
    stranger = msgspec.structs.replace(case, traffic="file:0123456789ab")
    with pytest.raises(UsageError, match="file:0123456789ab: no such matrix is known"):
        _ = stranger.key


def test_it_survives_json_and_is_read_strictly() -> None:
    assert msgspec.json.decode(msgspec.json.encode(CASE), type=Case) == CASE
    fields = msgspec.to_builtins(CASE)
    for change in ({"extra": 1}, {"nbytes": 1.5}, {"device": "tpu"}, {"cadence": None}):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(fields | change, Case)


@pytest.mark.parametrize("change", [{"nodes": 0}, {"ranks_per_node": 0}, {"nodes": -1}])
def test_a_placement_has_ranks(change: dict[str, int]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(change, Placement)


def test_a_placement_is_written_as_nodes_times_ranks() -> None:
    assert str(Placement(nodes=2, ranks_per_node=8)) == "2x8"
    assert str(Placement(nodes=2, ranks_per_node=8, label="fast")) == "2x8@fast"
    assert Placement(nodes=2, ranks_per_node=8).ranks == 16
