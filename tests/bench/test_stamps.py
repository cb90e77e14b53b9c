"""Times derived from stamps: ranks are combined first, repetitions later. R ranks, I repetitions."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collmark.bench.stamps import Stamps, joined, repetition_times, usable_estimand
from collmark.core.operation import Estimand

L, G, HALF, PER_MESSAGE, D_MAX = (
    Estimand.LAST_IN_LAST_OUT,
    Estimand.FIRST_IN_LAST_OUT,
    Estimand.HALF_ROUND_TRIP,
    Estimand.PER_MESSAGE,
    Estimand.LONGEST_LOCAL,
)
MICRO = 1000  # ns


def stamps_of(
    enter_RI: Sequence[Sequence[int]],
    exit_RI: Sequence[Sequence[int]],
    *more_RI: Sequence[Sequence[int]],
    comparable: bool = True,
) -> Stamps:
    layers = np.array([enter_RI, exit_RI, *more_RI], dtype=np.int64)
    return Stamps(layers_SRI=layers, starts_I=None, comparable=comparable)


# Two repetitions of three ranks, by hand, in ns.
BY_HAND = stamps_of(
    enter_RI=[[100, 1000], [140, 1010], [120, 1030]],
    exit_RI=[[220, 1100], [200, 1090], [230, 1040]],
)


@pytest.mark.parametrize(
    ("estimand", "nanoseconds"),
    [
        (L, [230 - 140, 1100 - 1030]),
        (G, [230 - 100, 1100 - 1000]),
        (D_MAX, [120, 100]),
        (HALF, [60, 50]),
        (PER_MESSAGE, [120 / 8, 100 / 8]),
    ],
)
def test_times_by_hand(estimand: Estimand, nanoseconds: list[float]) -> None:
    assert repetition_times(BY_HAND, estimand, messages=8) * 1e9 == pytest.approx(nanoseconds)


def test_local_times_and_skew_by_hand() -> None:
    assert BY_HAND.local_RI * 1e9 == pytest.approx(np.array([[120, 100], [60, 80], [110, 10]]))
    assert BY_HAND.skew_I * 1e9 == pytest.approx([40, 30])
    assert BY_HAND.repetitions == 2


shapes = st.tuples(st.integers(1, 6), st.integers(1, 8))


@st.composite
def any_stamps(draw: st.DrawFn) -> Stamps:
    ranks, repetitions = draw(shapes)
    number = st.integers(0, 10**12)
    cells = draw(
        st.lists(st.tuples(number, number).map(sorted), min_size=ranks * repetitions, max_size=ranks * repetitions)
    )
    grid = np.array(cells, dtype=np.int64).reshape(ranks, repetitions, 2)
    return Stamps(layers_SRI=np.moveaxis(grid, 2, 0), starts_I=None, comparable=True)


@given(any_stamps())
def test_local_durations_bracket_l_and_bound_g_from_below(stamps: Stamps) -> None:
    local = stamps.local_RI
    last, first = repetition_times(stamps, L, 1), repetition_times(stamps, G, 1)
    slack = 1e-9
    assert (local.min(axis=0) <= last + slack).all()
    assert (last <= local.max(axis=0) + slack).all()
    assert (first + slack >= local.max(axis=0)).all()
    assert first - last == pytest.approx(stamps.skew_I, abs=slack)


@given(any_stamps(), st.integers(-(10**9), 10**9))
def test_only_differences_matter(stamps: Stamps, later: int) -> None:
    moved = Stamps(layers_SRI=stamps.layers_SRI + later, starts_I=None, comparable=True)
    for estimand in (L, G, D_MAX, HALF, PER_MESSAGE):
        assert repetition_times(moved, estimand, 3) == pytest.approx(repetition_times(stamps, estimand, 3))


@given(any_stamps())
def test_the_order_of_ranks_does_not_matter_to_collectives(stamps: Stamps) -> None:
    backwards = Stamps(layers_SRI=stamps.layers_SRI[:, ::-1], starts_I=None, comparable=True)
    for estimand in (L, G, D_MAX):
        assert repetition_times(backwards, estimand, 1).tolist() == repetition_times(stamps, estimand, 1).tolist()


def test_injected_skew_is_separable_from_the_operation() -> None:
    # 8 ranks leave a barrier within 50 us of each other; the operation takes 20 us once all are there.
    random = np.random.default_rng(1)
    enter = 10**9 * np.arange(1, 401) + random.integers(0, 50 * MICRO, (8, 400))
    left = enter.max(axis=0) + 20 * MICRO - random.integers(0, 400, (8, 400))
    left[random.integers(0, 8, 400), np.arange(400)] = enter.max(axis=0) + 20 * MICRO
    stamps = stamps_of(enter.tolist(), left.tolist())
    assert repetition_times(stamps, L, 1) == pytest.approx(np.full(400, 20e-6))
    assert np.median(stamps.skew_I) == pytest.approx(40e-6, rel=0.1)
    # What the usual estimators would have said.
    assert np.median(repetition_times(stamps, D_MAX, 1)) > 55e-6
    assert np.median(repetition_times(stamps, G, 1)) > 55e-6
    assert np.median(stamps.local_RI.mean(axis=0)) > 35e-6


@pytest.mark.parametrize("slow", [0, 1, 3])
@pytest.mark.parametrize("estimand", [L, G, D_MAX])
def test_a_slow_rank_shows_whichever_it_is(slow: int, estimand: Estimand) -> None:
    enter = np.zeros((4, 5), dtype=np.int64)
    left = np.full((4, 5), 10 * MICRO)
    left[slow] = 70 * MICRO
    assert repetition_times(stamps_of(enter.tolist(), left.tolist()), estimand, 1) == pytest.approx(np.full(5, 70e-6))


@pytest.mark.parametrize("estimand", [HALF, PER_MESSAGE])
def test_point_to_point_times_come_from_one_clock(estimand: Estimand) -> None:
    other_clock = stamps_of([[100], [10**15]], [[300], [10**15 + 7]], comparable=False)
    messages = 2
    assert repetition_times(other_clock, estimand, messages) == pytest.approx([100e-9])


@pytest.mark.parametrize("estimand", Estimand)
def test_without_a_common_clock_entries_are_not_compared(estimand: Estimand) -> None:
    expected = estimand if estimand in (HALF, PER_MESSAGE) else D_MAX
    assert usable_estimand(estimand, comparable=False) is expected
    assert usable_estimand(estimand, comparable=True) is estimand
    if expected is D_MAX:
        apart = stamps_of([[100], [10**15]], [[300], [10**15 + 700]], comparable=False)
        assert repetition_times(apart, estimand, 1) == pytest.approx([700e-9])


def test_layers_of_asynchronous_calls() -> None:
    stamps = stamps_of([[100, 200]], [[190, 290]], [[110, 215]], [[70, 60]])
    queued, device = stamps.queued_RI(), stamps.device_RI()
    assert queued is not None
    assert device is not None
    assert queued * 1e9 == pytest.approx(np.array([[10, 15]]))
    assert device * 1e9 == pytest.approx(np.array([[70, 60]]))
    assert BY_HAND.queued_RI() is None
    assert BY_HAND.device_RI() is None


def test_cutting_takes_all_layers_and_starts() -> None:
    stamps = Stamps(layers_SRI=np.arange(2 * 2 * 5).reshape(2, 2, 5), starts_I=np.arange(5), comparable=True)
    rest = stamps.after(2)
    assert rest.layers_SRI.tolist() == stamps.layers_SRI[:, :, 2:].tolist()
    assert rest.starts_I is not None
    assert rest.starts_I.tolist() == [2, 3, 4]
    assert rest.comparable
    assert BY_HAND.after(1).starts_I is None
    assert BY_HAND.after(0).repetitions == 2


def test_blocks_are_joined_in_order() -> None:
    blocks = [
        Stamps(layers_SRI=np.full((2, 3, n), n, dtype=np.int64), starts_I=np.full(n, n), comparable=True)
        for n in (1, 2, 3)
    ]
    whole = joined(blocks)
    assert whole.layers_SRI.shape == (2, 3, 6)
    assert whole.layers_SRI[1, 2].tolist() == [1, 2, 2, 3, 3, 3]
    assert whole.starts_I is not None
    assert whole.starts_I.tolist() == [1, 2, 2, 3, 3, 3]
    assert joined([BY_HAND, BY_HAND]).starts_I is None
    apart = Stamps(layers_SRI=blocks[0].layers_SRI, starts_I=None, comparable=False)
    assert not joined([blocks[0], apart]).comparable
    assert joined([blocks[0], apart]).starts_I is None


@pytest.mark.parametrize("estimand", list(Estimand))
def test_everything_is_of_one_call_where_several_are_made_back_to_back(estimand: Estimand) -> None:
    batch = msgspec.structs.replace(BY_HAND, batch=4)
    assert repetition_times(batch, estimand, 8) * 4 == pytest.approx(repetition_times(BY_HAND, estimand, 8))
    assert batch.local_RI * 4 == pytest.approx(BY_HAND.local_RI)
    assert batch.skew_I == pytest.approx(BY_HAND.skew_I)  # once a repetition
    assert batch.after(1).batch == batch.of(range(1)).batch == joined([batch, batch]).batch == 4
