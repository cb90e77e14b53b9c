"""The frame: declared columns, SI units, one row a record."""

import math

import pytest
from tests.analysis.made import case_of, curve, record_of, replaced, results_of

from collmark.analysis.columns import COLUMNS, SERIES
from collmark.analysis.frame import frame
from collmark.core.placement import Fabric, Tier
from collmark.core.record import Sentinel, Status


def test_columns_are_the_declared_ones_of_the_declared_kinds() -> None:
    for records in ([], curve(), [record_of(case_of("barrier"), None)]):
        table = frame([results_of(records)])
        assert list(table.columns) == list(COLUMNS)
        assert {name: str(kind) for name, kind in table.dtypes.items()} == {n: c.kind for n, c in COLUMNS.items()}
        assert len(table) == len(records)


def test_series_are_columns() -> None:
    assert set(SERIES) <= set(COLUMNS)


def test_values_are_those_of_the_record() -> None:
    case = case_of("all_reduce", 4096, ranks=4)
    (row,) = frame([results_of([record_of(case, 2e-3, launch=7)], name="r")]).to_dict("records")
    assert (row["run"], row["launch"], row["nbytes"], row["ranks"], row["tier"]) == ("r", 7, 4096, 4, "loopback")
    assert row["seconds"] == 2e-3
    assert row["algorithm_bandwidth"] == 4096 / 2e-3
    assert row["bus_bandwidth"] == pytest.approx(1.5 * 4096 / 2e-3)
    assert row["bus_nbytes"] == 1.5 * 4096
    assert row["estimand"] == "L"


def test_what_is_absent_is_nan_or_empty() -> None:
    (row,) = frame([results_of([record_of(case_of(), None)])]).to_dict("records")
    assert math.isnan(row["seconds"])
    assert math.isnan(row["bus_bandwidth"])
    assert math.isnan(row["longest"])
    assert row["status"] == "failed"
    assert row["sentinel"] == row["fabric"] == ""


def test_fabric_and_sentinel_are_words() -> None:
    records = curve(sizes=[64], levels=[1.0], tier=Tier.RDMA, fabric=Fabric.INFINIBAND)
    (row,) = frame([results_of([replaced(records[0], sentinel=Sentinel.END)])]).to_dict("records")
    assert (row["tier"], row["fabric"], row["sentinel"]) == ("rdma", "infiniband", "end")


def test_rows_are_sorted_and_numbered() -> None:
    records = curve("broadcast", sizes=[1024, 16]) + curve("all_reduce", sizes=[1024, 16])
    table = frame([results_of(records[::-1], name="b"), results_of(records, name="a")])
    assert list(table.index) == list(range(len(table)))
    seen = list(zip(table["run"], table["operation"], table["nbytes"], table["launch"], strict=True))
    assert seen == sorted(seen)


def test_two_requests_for_one_size_keep_their_own() -> None:
    first, second = (
        record_of(case_of(nbytes=1000, requested_nbytes=asked), 1e-3, n) for n, asked in ((1, 1001), (2, 1003))
    )
    assert list(frame([results_of([first, second])])["requested_nbytes"]) == [1001, 1003]


def test_status_is_a_word() -> None:
    table = frame([results_of([record_of(case_of(), 1e-3, status=Status.UNSTABLE)])])
    assert list(table["status"]) == ["unstable"]
