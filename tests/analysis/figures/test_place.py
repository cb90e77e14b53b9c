"""Panels: few curves each, none of one look beside another, and names that tell them apart."""

from __future__ import annotations

import msgspec
import pytest
from tests.analysis.figures.tables import ODD, drawn_of
from tests.analysis.made import curve, results_of

from collmark.analysis.figures.palette import NAMED
from collmark.analysis.figures.place import MOST_CURVES, series_names
from collmark.analysis.frame import frame
from collmark.analysis.models.fit import fit_frame
from collmark.core.case import Buffers, Cadence, Form
from collmark.core.placement import Fabric, Placement, Tier
from collmark.core.record import Record


@pytest.mark.parametrize("odd", [name for name in ODD if name != "nothing"])
def test_curves_of_a_panel_differ_in_look_and_name(odd: str) -> None:
    table = drawn_of(results_of(ODD[odd]()))
    for _panel, rows in table.groupby("panel"):
        curves = rows.drop_duplicates(["curve", "swatch", "backend"])
        assert len(curves) <= MOST_CURVES
        assert curves["curve"].is_unique
        assert not curves[["swatch", "backend"]].duplicated().any()
    assert set(table["swatch"]) <= set(NAMED)


def test_one_series_is_named_by_its_operation_and_tier() -> None:
    table = drawn_of(results_of(curve()))
    assert set(table["panel"]) == {"all_reduce"}
    assert set(table["curve"]) == {"loopback"}
    assert set(table["swatch"]) == {"tier-loopback"}


def test_tiers_share_a_panel_in_their_colours() -> None:
    near = curve(tier=Tier.NVLINK)
    far = curve(tier=Tier.RDMA, fabric=Fabric.INFINIBAND, of_case={"placement": Placement(nodes=2)})
    table = drawn_of(results_of([*near, *far]))
    assert set(table["panel"]) == {"all_reduce"}
    assert set(table["swatch"]) == {"tier-nvlink", "tier-rdma-infiniband"}
    assert set(table["curve"]) == {"1x2, nvlink", "2x1, rdma:infiniband"}


def test_two_runs_share_a_panel_in_colours_of_their_own() -> None:
    table = drawn_of(results_of(curve(), "20300101T000000Z-a"), results_of(curve(), "20300102T000000Z-b"))
    assert set(table["panel"]) == {"all_reduce"}
    assert set(table["curve"]) == {"a, loopback", "b, loopback"}
    assert set(table["swatch"]) == {"run-a", "run-b"}


def test_two_runs_stay_side_by_side_where_something_else_splits_panels() -> None:
    both = [*curve(), *curve(of_case={"in_place": True})]
    table = drawn_of(results_of(both, "20300101T000000Z-a"), results_of(both, "20300102T000000Z-b"))
    assert set(table["panel"]) == {"all_reduce, out of place", "all_reduce, in place"}
    assert set(table["curve"]) == {"a, loopback", "b, loopback"}


def test_three_runs_of_one_tier_have_a_panel_each() -> None:
    table = drawn_of(*(results_of(curve(), name) for name in ("a", "b", "c")))
    assert list(table["panel"].unique()) == ["all_reduce, a", "all_reduce, b", "all_reduce, c"]


def test_the_fewest_words_tell_series_apart() -> None:
    other = curve(of_case={"dtype": "float64"}, sizes=(64, 1024, 65536))
    table = drawn_of(results_of([*curve(), *other]))
    assert set(table["series"]) == {"float32, loopback", "float64, loopback"}
    assert set(table["panel"]) == {"all_reduce, float32", "all_reduce, float64"}
    assert set(table["curve"]) == {"loopback"}


def variants() -> list[Record]:
    """Return two operations in 8 variants, more than a panel holds."""
    return [
        record
        for operation in ("all_reduce", "all_gather")
        for form in Form if form is not Form.PERSISTENT
        for cadence in (Cadence.ISOLATED, Cadence.STREAMING)
        for buffers in Buffers
        for record in curve(operation, of_case={"form": form, "cadence": cadence, "buffers": buffers})
    ]  # fmt: skip


def test_what_a_panel_says_its_labels_do_not() -> None:
    table = drawn_of(results_of(variants()))
    for _one, row in table.drop_duplicates(["panel", "curve"]).iterrows():
        assert not set(row["panel"].split(", ")) & set(row["curve"].split(", ")), (row["panel"], row["curve"])
        assert set(row["series"].split(", ")) <= {*row["panel"].split(", "), *row["curve"].split(", ")}
    assert (table.groupby(["panel", "curve"])["series"].nunique() == 1).all()
    assert table["series"].nunique() == 8


def test_series_are_named_by_what_tells_them_apart() -> None:
    fits = fit_frame(frame([results_of(variants())])).fits
    names = series_names([fit.series for fit in fits])
    assert len(set(names.values())) == len(fits) == 16
    assert "all_gather streaming rotated buffers nonblocking" in names.values()
    (alone,) = series_names([fits[0].series]).values()
    assert alone == fits[0].series.operation
    assert series_names([]) == {}


def test_figures_of_other_statistics_are_curves_of_their_own() -> None:
    (series,) = (fit.series for fit in fit_frame(frame([results_of(curve())])).fits)
    both = [msgspec.structs.replace(series, origin=origin) for origin in ("one: mean", "other: median")]
    assert list(series_names(both).values()) == ["all_reduce one: mean", "all_reduce other: median"]
