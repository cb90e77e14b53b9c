"""What a simulation plants, and how a wrong table is answered."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from collmark.bench.simulation.spec import Simulation, read_simulation
from collmark.core.case import Case
from collmark.core.errors import PlanError
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Placement

ALPHA, BETA = 3e-6, 2e-9
PLANTED = Simulation(alpha=ALPHA, beta=BETA)


def case_of(operation: str, ranks: int, nbytes: int = 4800, **fields: Any) -> Case:  # noqa: ANN401 - the fields of a case
    row = OPERATIONS[operation]
    return Case(
        operation=operation,
        backend="simulated",
        dtype="float32",
        placement=Placement(ranks_per_node=ranks),
        nbytes=nbytes if row.sized else 0,
        requested_nbytes=nbytes if row.sized else 0,
        reduction="sum" if row.reduces else "",
        **({"traffic": "uniform"} if row.ragged else {}) | fields,
    )


@pytest.mark.parametrize(
    ("operation", "ranks", "seconds"),
    [
        ("all_reduce", 4, ALPHA + 1.5 * 4800 * BETA),
        ("all_gather", 3, ALPHA + 2 / 3 * 4800 * BETA),
        ("all_to_all", 8, ALPHA + 7 / 8 * 4800 * BETA),
        ("all_to_all_v", 8, ALPHA + 7 / 8 * 4800 * BETA),
        ("broadcast", 4, ALPHA + 4800 * BETA),
        ("barrier", 4, ALPHA),
        ("send_recv", 4, ALPHA + 4800 * BETA),
        ("ping_pong", 2, ALPHA + 4800 * BETA),
        ("all_reduce", 1, ALPHA),
    ],
)
def test_seconds(operation: str, ranks: int, seconds: float) -> None:
    assert PLANTED.seconds(case_of(operation, ranks)) == pytest.approx(seconds)


def test_the_window_of_a_stream_shares_one_latency() -> None:
    assert PLANTED.seconds(case_of("stream", 2, messages=16)) == pytest.approx(ALPHA / 16 + 4800 * BETA)


def test_a_ragged_call_takes_as_long_as_its_busiest_rank() -> None:
    case = case_of("all_to_all_v", 4, traffic="zipf:2:3")
    counts = case.exchange.counts
    assert counts is not None
    sent = [sum(row) - row[r] for r, row in enumerate(counts)]
    received = [sum(row[r] for row in counts) - counts[r][r] for r in range(4)]
    assert PLANTED.seconds(case) == pytest.approx(ALPHA + 4 * max(sent + received) * BETA)


def test_a_protocol_switch() -> None:
    switched = msgspec.structs.replace(PLANTED, switch_at=4096, alpha_after=9e-6, beta_after=1e-9)
    assert switched.seconds(case_of("broadcast", 2, 4092)) == pytest.approx(ALPHA + 4092 * BETA)
    assert switched.seconds(case_of("broadcast", 2, 4096)) == pytest.approx(9e-6 + 4096e-9)


def test_an_empty_table_is_the_default() -> None:
    assert read_simulation({}) == Simulation()


@pytest.mark.parametrize("key", Simulation.__struct_fields__)
def test_every_key_can_be_written(key: str) -> None:
    value = msgspec.to_builtins(getattr(Simulation(), key))
    assert read_simulation({key: value}) == Simulation()


def test_all_misspelt_keys_are_named() -> None:
    with pytest.raises(PlanError) as caught:
        read_simulation({"alhpa": 1, "zzz": 2, "beta": 1e-9})
    assert caught.value.problems[0] == "simulation: unknown key 'alhpa'; did you mean 'alpha'?"
    assert caught.value.problems[1].startswith("simulation: unknown key 'zzz'; allowed: alpha, beta")
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize(
    "table",
    [{"alpha": -1}, {"alpha": "fast"}, {"autocorrelation": 1.5}, {"contaminated": -0.1}, {"tick": 0}, {"skew": -1},
     {"contamination": [1.5]}, {"asynchronous": 1}, {"dead_rank": 1.5}, {"alpha": float("inf")},
     {"beta": float("nan")}, {"drift": float("inf")}],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_its_place(table: dict[str, object]) -> None:
    with pytest.raises(PlanError, match=f"simulation.*{next(iter(table))}"):
        read_simulation(table)
