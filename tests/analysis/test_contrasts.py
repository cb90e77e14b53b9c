"""Cases that differ in one respect: the planted ratio inside its interval, and nothing unlike set side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace
from tests.analysis.made import curve, noisy, replaced, results_of, times

from collmark.analysis.contrasts import CONTRAST, contrasts
from collmark.analysis.frame import frame
from collmark.analysis.points import measured
from collmark.core.case import Buffers, Cadence, Form, Scheduling
from collmark.core.placement import Placement, Tier
from collmark.core.record import Record, Status

SIZES = (64, 4096)


def changed(records: Sequence[Record], factor: float = 1.0, launch: int = 0, **of_case: Any) -> list[Record]:  # noqa: ANN401 - fields of a case
    """Return records of another kind of case, of other launches if asked."""
    return [
        replaced(times(one, factor), case=replace(one.case, **of_case), launch=one.launch + launch) for one in records
    ]


def found(*records: Record) -> pd.DataFrame:
    return contrasts(measured(frame([results_of(list(records))])))


def test_nothing_is_compared_where_nothing_differs() -> None:
    table = found(*curve(sizes=SIZES))
    assert table.empty
    assert set(CONTRAST) <= set(table.columns)


def test_a_launch_gives_one_ratio_so_that_slow_launches_cancel() -> None:
    base = curve(sizes=SIZES, levels=(1.0, 1.5, 0.7, 2.0))
    table = found(*base, *changed(base, 0.6, cadence=Cadence.STREAMING, batch=20))
    assert table["axis"].tolist() == ["cadence"] * 2
    assert table["nbytes"].tolist() == list(SIZES)
    assert (table["base"] == "isolated").all()
    assert (table["other"] == "streaming").all()
    assert table["paired"].all()
    assert table["ratio"].to_numpy() == pytest.approx([0.6, 0.6])
    assert (table["ratio_upper"] - table["ratio_lower"]).to_numpy() == pytest.approx([0, 0], abs=1e-9)
    assert table["contrast_launches"].tolist() == [4, 4]
    assert table["other_seconds"].to_numpy() == pytest.approx(0.6 * table["base_seconds"].to_numpy())


def over_mpi(base: Sequence[Record], factor: float, **of_case: Any) -> list[Record]:  # noqa: ANN401 - fields of a case
    """Return records of MPI, which has launches of its own and another tier."""
    other = changed(base, factor, launch=10, backend="mpi", thread_level="funneled", **of_case)
    return [replaced(one, evidence=replace(one.evidence, tier=Tier.SHARED_MEMORY)) for one in other]


def test_other_launches_scatter_by_themselves() -> None:
    base = curve(sizes=(64,), levels=(1.0, 1.1, 0.9, 1.05))
    (row,) = found(*base, *over_mpi(base, 0.5)).to_dict("records")
    assert not row["paired"]
    assert (row["axis"], row["base"], row["other"]) == ("backend", "gloo", "mpi")
    assert row["ratio"] == pytest.approx(0.5)
    assert row["ratio_lower"] < 0.5 < row["ratio_upper"]
    assert row["differs"] == "- against funneled; loopback against shared-memory"


def test_of_several_the_one_is_taken_that_differs_least() -> None:
    base = curve(sizes=(64,), of_case={"in_place": True})
    table = found(*base, *over_mpi(base, 0.5, in_place=False), *over_mpi(base, 0.8, in_place=True))
    backend = table[table["axis"] == "backend"]
    assert backend["ratio"].to_numpy() == pytest.approx([0.8])
    assert table[table["axis"] == "in_place"]["ratio"].to_numpy() == pytest.approx([0.8 / 0.5])


@pytest.mark.parametrize("change", [
    {"dtype": "float64"}, {"placement": Placement(ranks_per_node=4)}, {"reduction": "max"},
    {"scheduling": Scheduling.FIFO},
])  # fmt: skip
def test_what_differs_otherwise_is_not_set_side_by_side(change: dict[str, Any]) -> None:
    base = curve(sizes=SIZES)
    assert found(*base, *changed(base, 0.6, cadence=Cadence.STREAMING, **change)).empty


def test_every_other_value_is_compared_with_the_first() -> None:
    base = curve(sizes=(64,), of_case={"backend": "mpi"})
    table = found(
        *changed(base, 0.9, form=Form.NONBLOCKING), *changed(base, 0.8, form=Form.PERSISTENT), *base,
        *changed(base, 1.3, buffers=Buffers.ROTATED),
    )  # fmt: skip
    forms = table[table["axis"] == "form"]
    assert forms[["base", "other"]].to_numpy().tolist() == [["blocking", "persistent"], ["blocking", "nonblocking"]]
    assert forms["ratio"].to_numpy() == pytest.approx([0.8, 0.9])
    cold = table[table["axis"] == "buffers"]
    assert cold["ratio"].to_numpy() == pytest.approx([1.3])


def test_unstable_and_wrong_records_enter_only_where_they_may() -> None:
    base = curve(sizes=(64,))
    streaming = changed(base, 0.6, cadence=Cadence.STREAMING)
    unstable = [replaced(one, status=Status.UNSTABLE) for one in streaming]
    assert found(*base, *unstable).empty
    table = measured(frame([results_of([*base, *unstable])]))
    assert len(contrasts(table, include_unstable=True)) == 1
    wrong = [replaced(one, status=Status.WRONG, timing=None) for one in streaming]
    assert found(*base, *wrong).empty


def test_one_launch_has_a_ratio_and_no_interval() -> None:
    base = curve(sizes=(64,), levels=(1.0,))
    (row,) = found(*base, *changed(base, 0.6, cadence=Cadence.STREAMING)).to_dict("records")
    assert row["ratio"] == pytest.approx(0.6)
    assert np.isnan(row["ratio_lower"])
    assert np.isnan(row["ratio_upper"])


def test_the_interval_covers_the_planted_ratio() -> None:
    hits = 0
    for seed in range(200):
        base = noisy(curve(sizes=(64,), levels=(1.0,) * 5), 0.05, seed)
        other = noisy(changed(curve(sizes=(64,), levels=(1.0,) * 5), 0.8, cadence=Cadence.STREAMING), 0.05, 1000 + seed)
        (row,) = found(*base, *other).to_dict("records")
        hits += row["ratio_lower"] <= 0.8 <= row["ratio_upper"]
    assert 178 <= hits <= 199  # 95 % of 200 draws, and four standard deviations of that
