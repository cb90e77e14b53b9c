"""Quantities, constants and tiers as they are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collmark.analysis.claims.measured.selector import ALIASES, read_selector
from collmark.analysis.claims.quantity import UNITS, natural_unit, number, read_quantity, scale_of, shown, si_unit
from collmark.analysis.claims.table import load_table
from collmark.core.errors import UsageError
from collmark.core.placement import Fabric, Tier


@pytest.mark.parametrize(
    ("written", "low", "high", "unit", "rounding"),
    [
        ("900 GB/s", 900e9, 900e9, "B/s", 0.5e9),
        ("400 Gb/s", 50e9, 50e9, "B/s", 0.5e9 / 8),
        ("2.8 s", 2.8, 2.8, "s", 0.05),
        ("80 ms", 0.08, 0.08, "s", 0.0005),
        ("2 us", 2e-6, 2e-6, "s", 0.5e-6),
        ("30 d", 30 * 86400, 30 * 86400, "s", 43200),
        ("2 to 4 GB", 2e9, 4e9, "B", 0.5e9),
        ("33 %", 0.33, 0.33, "", 0.005),
        ("1/64", 1 / 64, 1 / 64, "", 0),
        ("128 MiB", 2**27, 2**27, "B", 2**19),
        (18, 18, 18, "", 0.5),
        (16.5, 16.5, 16.5, "", 0.05),
        ("15.6e12", 15.6e12, 15.6e12, "", 0.05e12),
        ("989.4 TFLOP/s", 989.4e12, 989.4e12, "FLOP/s", 0.05e12),
    ],
)
def test_quantity_is_read(written: object, low: float, high: float, unit: str, rounding: float) -> None:
    found = read_quantity(written)
    assert [found.low, found.high, found.rounding] == pytest.approx([low, high, rounding])
    assert found.unit == unit


@pytest.mark.parametrize(
    "written", ["", "GB", "-1", "1 / 0", "1/0", "1 to", "1 to 2 to 3", None, [], {}, float("nan"), True]
)
def test_what_is_no_quantity_is_refused(written: object) -> None:
    with pytest.raises(UsageError):
        read_quantity(written)


@given(st.floats(1e-12, 1e18), st.sampled_from(["B", "B/s", "s", "FLOP", "FLOP/s", ""]))
def test_natural_unit_gives_at_least_one(value: float, unit: str) -> None:
    chosen = natural_unit(value, unit)
    assert si_unit(chosen) == unit
    smallest = {"s": 1e-9}.get(unit, 1.0)
    if unit and value >= smallest:
        assert value / scale_of(chosen) >= 1 - 1e-9


@given(st.floats(1e-9, 1e9))
def test_number_keeps_four_digits(value: float) -> None:
    assert float(number(value)) == pytest.approx(value, rel=6e-4)
    assert "e" not in number(value) or value < 1e-3 or value > 1e9


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_is_read_back(unit: str) -> None:
    assert read_quantity(f"3 {unit}").value == pytest.approx(3 * scale_of(unit))
    assert shown(3 * scale_of(unit), si_unit(unit), unit) == f"3 {unit}"


@pytest.mark.parametrize(
    ("text", "tier", "fabric", "labels", "takes"),
    [
        ("nvlink", "nvlink", "", (), True),
        ("nvlink", "xgmi", "", (), False),
        ("rdma", "rdma", "roce", (), True),
        ("rdma:infiniband", "rdma", "roce", (), False),
        ("infiniband", "rdma", "infiniband", ("a",), True),
        ("infiniband@NDR", "rdma", "infiniband", ("ndr",), True),
        ("infiniband@ndr", "rdma", "infiniband", ("hdr",), False),
        ("ethernet", "rdma", "roce", (), True),
        ("ethernet", "tcp", "", (), True),
        ("ethernet", "rdma", "infiniband", (), False),
    ],
)
def test_tier_takes_its_records(text: str, tier: str, fabric: str, labels: tuple[str, ...], takes: bool) -> None:  # noqa: FBT001
    assert read_selector(text).takes(tier, fabric, labels) is takes


@pytest.mark.parametrize(
    ("inner", "outer", "narrows"),
    [
        ("infiniband@ndr", "infiniband", True),
        ("infiniband", "rdma", True),
        ("roce", "ethernet", True),
        ("ethernet", "roce", False),
        ("infiniband", "infiniband@ndr", False),
        ("infiniband@hdr", "infiniband@ndr", False),
        ("nvlink", "infiniband", False),
        ("nvlink", "nvlink", True),
    ],
)
def test_narrower_tier_takes_no_more(inner: str, outer: str, narrows: bool) -> None:  # noqa: FBT001
    assert read_selector(inner).narrows(read_selector(outer)) is narrows


def test_aliases_are_the_documented_ones() -> None:
    assert set(ALIASES) == {"infiniband", "roce", "ethernet"}
    assert ALIASES["ethernet"] == ((Tier.RDMA, Fabric.ROCE), (Tier.TCP, None))


def test_unknown_claim_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'gap-18x'"):
        load_table().of(["gap-18"])
