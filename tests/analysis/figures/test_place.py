"""Panels: few curves each, none of one look beside another, and names that tell them apart."""

from __future__ import annotations

import pytest
from tests.analysis.figures.tables import ODD, drawn_of
from tests.analysis.made import curve, results_of

from collmark.analysis.figures.palette import NAMED
from collmark.analysis.figures.place import MOST_CURVES
from collmark.core.placement import Fabric, Placement, Tier


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


def test_three_runs_of_one_tier_have_a_panel_each() -> None:
    table = drawn_of(*(results_of(curve(), name) for name in ("a", "b", "c")))
    assert list(table["panel"].unique()) == ["all_reduce, a", "all_reduce, b", "all_reduce, c"]


def test_the_fewest_words_tell_series_apart() -> None:
    other = curve(of_case={"dtype": "float64"}, sizes=(64, 1024, 65536))
    table = drawn_of(results_of([*curve(), *other]))
    assert set(table["curve"]) == {"float32, loopback", "float64, loopback"}
