"""Every row of the cost table against the messages of its algorithm, carried out by a small machine."""

from __future__ import annotations

import pytest
from tests.analysis.costs.machine import busiest, deliver, seconds
from tests.analysis.costs.pipelines import PIPELINES, double_tree
from tests.analysis.costs.schedules import SCHEDULES

from collmark.analysis.costs.algorithm import Algorithm, Terms
from collmark.analysis.costs.index import ALGORITHMS, algorithms_of
from collmark.core.errors import UsageError
from collmark.core.operation_table import OPERATIONS

RANKS = (2, 3, 4, 5, 6, 7, 8, 9, 16)
WEIGHTS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 1.0, 1.0), (1.0, 10.0, 3.0), (3.0, 1.0, 10.0))
IN_SWITCH = ("all_reduce/switch multicast", "all_reduce/switch tree")


def ports(row: Algorithm) -> int:
    return 3 if row.name == "Bruck, radix 4" else 1


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", SCHEDULES)
def test_a_row_is_what_its_schedule_takes(name: str, ranks: int) -> None:
    row = ALGORITHMS[name]
    if not row.holds_for(ranks):
        with pytest.raises(UsageError, match="a power of two"):
            row.terms(ranks)
        return
    schedule = SCHEDULES[name](ranks)
    deliver(schedule)
    terms = row.terms(ranks)
    for alpha, beta, gamma in WEIGHTS:
        expected = seconds(schedule, (alpha, beta, gamma), ports=ports(row))
        assert terms.seconds(1.0, alpha=alpha, beta=beta, gamma=gamma) == pytest.approx(expected), (alpha, beta, gamma)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipelined_row_is_what_its_busiest_rank_does(name: str, ranks: int) -> None:
    """With fine chunks a port is always busy: what is left of T are the bytes of the busiest, and its reductions."""
    schedule, terms = PIPELINES[name](ranks, 4), ALGORITHMS[name].terms(ranks)
    deliver(schedule)
    sent, received, added = busiest(schedule)
    assert max(sent, received) == pytest.approx(terms.beta)
    assert added == pytest.approx(terms.gamma)
    whole = PIPELINES[name](ranks, 1) if "chain" in name else double_tree(ranks, 1, ports=2)
    assert seconds(whole, (1.0, 0.0, 0.0), ports=2) == terms.alpha


@pytest.mark.parametrize("name", ["broadcast/chain", "reduce/chain"])
def test_a_chain_comes_near_its_limit(name: str) -> None:
    for weights in ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0)):
        limit = ALGORITHMS[name].terms(5).seconds(1.0, alpha=weights[0], beta=weights[1], gamma=weights[2])
        assert seconds(PIPELINES[name](5, 300), weights) == pytest.approx(limit, rel=0.011)


def test_every_row_is_proven_or_has_no_messages_to_count() -> None:
    assert {*SCHEDULES, *PIPELINES, *IN_SWITCH} == set(ALGORITHMS)
    assert {row.key for row in ALGORITHMS.values() if row.is_limit} == {*PIPELINES, *IN_SWITCH}


@pytest.mark.parametrize("ranks", RANKS)
def test_in_the_switch_a_rank_sends_what_it_reads_and_writes(ranks: int) -> None:
    """Of each block one rank reads the sum from all, and writes it to all: bytes that leave one rank, and enter it."""
    shares = [1 / ranks] * ranks
    leaves = sum(shares) + shares[0]  # its part of every block is read, and its own result written
    enters = shares[0] + sum(shares)  # the sum of its own block, and every block's result
    terms = ALGORITHMS["all_reduce/switch multicast"].terms(ranks)
    assert (terms.alpha, terms.gamma) == (1, 0)
    assert terms.beta == pytest.approx(max(leaves, enters))
    assert ALGORITHMS["all_reduce/switch tree"].terms(ranks) == Terms(alpha=1, beta=1.0)


def test_no_flat_row_moves_less_than_the_operation_must() -> None:
    for row in ALGORITHMS.values():
        for ranks in filter(row.holds_for, RANKS):
            if row.key not in IN_SWITCH:
                assert row.terms(ranks).beta >= OPERATIONS[row.operation].bus_factor(ranks) - 1e-12, (row.key, ranks)


def test_terms_of_bus_bytes_are_those_of_nbytes_over_the_bus_factor() -> None:
    terms = ALGORITHMS["all_reduce/ring"].bus_terms(8)
    assert terms == Terms(alpha=14, beta=1.0, gamma=0.5)
    assert ALGORITHMS["barrier/dissemination"].bus_terms(8) == Terms(alpha=3)


def test_method_notes_hold_where_they_are_exact() -> None:
    """The published forms, for powers of two (and the ring for all), written once more."""
    p, lg = 8, 3
    published = {
        "all_reduce/recursive doubling": (lg, lg, lg),
        "all_reduce/halving and doubling": (2 * lg, 2 * (p - 1) / p, (p - 1) / p),
        "reduce_scatter/recursive doubling": (lg, lg - (p - 1) / p, lg - (p - 1) / p),
        "all_to_all/Bruck": (lg, lg / 2, 0),
        "broadcast/scatter, ring all_gather": (lg + p - 1, 2 * (p - 1) / p, 0),
    }
    for key, (alpha, beta, gamma) in published.items():
        assert ALGORITHMS[key].terms(p) == Terms(alpha=alpha, beta=beta, gamma=gamma)


def test_one_rank_has_no_cost() -> None:
    with pytest.raises(UsageError, match="at least 2 as number of ranks, not 1"):
        ALGORITHMS["all_reduce/ring"].terms(1)


def test_operations_without_a_row_have_none() -> None:
    assert algorithms_of("all_to_all_v") == ()
    assert [row.name for row in algorithms_of("barrier")] == ["dissemination"]
    assert {row.operation for row in ALGORITHMS.values()} <= set(OPERATIONS)
    assert all(row.source for row in ALGORITHMS.values())
