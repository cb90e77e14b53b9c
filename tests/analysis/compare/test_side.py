"""Sides of a comparison: launches of one run or several, and how far runs of one side lie apart."""

from __future__ import annotations

import math

import pytest
from tests.analysis.made import curve, replaced, results_of

from collmark.analysis.compare.compare import compare
from collmark.analysis.compare.side import Side, noise_floor, repeats, times_of
from collmark.analysis.compare.verdict import Verdict
from collmark.core.record import Status

SIZES = (1024, 4096)


def side(name: str, *alphas: float, levels: tuple[float, ...] = (0.99, 1.0, 1.01)) -> Side:
    """Return a side of a run for each alpha."""
    return Side(
        name=name,
        results=tuple(
            results_of(curve(alpha=alpha, sizes=SIZES, levels=levels), f"{name}{at}") for at, alpha in enumerate(alphas)
        ),
    )


def test_launches_of_all_runs_are_a_sides_launches() -> None:
    times = times_of(side("a", 20e-6, 20e-6).table())
    assert [len(one.seconds_L) for one in times.values()] == [6, 6]
    assert [list(one.seconds) for one in times.values()] == [["a0", "a1"]] * 2


def test_unstable_launches_enter_only_when_asked() -> None:
    records = curve(sizes=(1024,))
    records[0] = replaced(records[0], status=Status.UNSTABLE)
    table = Side(name="a", results=(results_of(records),)).table()
    assert [len(one.seconds_L) for one in times_of(table).values()] == [2]
    assert [len(one.seconds_L) for one in times_of(table, include_unstable=True).values()] == [3]


def test_runs_of_one_side_lie_as_far_apart_as_was_planted() -> None:
    # Hardly a byte's time beside alpha.
    found = repeats(times_of(side("a", 20e-6, 22e-6).table()))
    assert found == pytest.approx([math.log(1.1)] * 2, rel=0.05)
    assert noise_floor(found) == pytest.approx(1.1, rel=0.01)
    assert noise_floor(()) is None
    # 0 to 20 per cent in even steps: 95 % of them stay below 19.
    assert noise_floor([0.01 * step for step in range(21)]) == pytest.approx(math.exp(0.19))


def test_nothing_below_the_floor_is_called() -> None:
    b = side("b", 23e-6)
    bare, repeated = (compare(a, [b]) for a in (side("a", 20e-6), side("a", 20e-6, 24e-6)))
    assert bare.floor is None
    assert {one.verdict for one in bare.others[0].comparisons} == {Verdict.SLOWER}
    assert repeated.floor is not None
    assert repeated.floor.comparisons == 2
    assert {one.verdict for one in repeated.others[0].comparisons} == {Verdict.CANNOT_TELL}


def test_more_sides_are_each_compared_with_the_first() -> None:
    found = compare(side("a", 20e-6), [side("b", 20e-6), side("c", 40e-6)])
    assert [{one.verdict for one in other.comparisons} for other in found.others] == [
        {Verdict.NO_EVIDENCE},
        {Verdict.SLOWER},
    ]
    (row,) = found.others[1].summary
    assert (row.operation, row.sizes) == ("all_reduce", "up to 4 KiB")
    assert row.counts == {
        Verdict.SLOWER: 2, Verdict.FASTER: 0, Verdict.NO_EVIDENCE: 0, Verdict.CANNOT_TELL: 0
    }  # fmt: skip
    assert 1.9 < row.least <= row.most < 2.1


def test_unlike_figures_of_one_side_are_never_pooled() -> None:
    measured, simulated = curve(sizes=(1024,)), curve(sizes=(1024,), simulated=True)
    mixed = Side(name="a", results=(results_of(measured, "one"), results_of(simulated, "two")))
    (times,) = times_of(mixed.table()).values()
    assert (times.reason, times.seconds) == ("marker is - and SIMULATED in its runs", {})
