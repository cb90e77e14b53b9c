"""The ratios beside the one that decides: planted ones are found."""

from __future__ import annotations

import pytest
from tests.analysis.claims.links import GB, SIZES, US, finding, link

from collmark.analysis.claims.table import Table


def test_family_of_ratios_is_found(table: Table) -> None:
    groups = [
        link("nvlink", rate=400 * GB),
        link("infiniband", rate=50 * GB),
        link("nvlink", "bidirectional_stream", rate=390 * GB),
        link("infiniband", "bidirectional_stream", rate=48 * GB),
        link("nvlink", "all_reduce", rate=480 * GB, alpha=20 * US, ranks=8, sizes=(*SIZES, 1024**2)),
        link("infiniband", "all_reduce", rate=48 * GB, alpha=30 * US, ranks=8, sizes=(*SIZES, 1024**2)),
        link("nvlink", "all_gather", rate=360 * GB, alpha=20 * US, ranks=8),
        link("infiniband", "all_gather", rate=300 * GB, alpha=20 * US, ranks=16),
        link("nvlink", "ping_pong", rate=400 * GB, alpha=3.3 * US),
        link("infiniband", "ping_pong", rate=50 * GB, alpha=3.0 * US),
    ]
    found = finding(table, "gap-18x", *groups)
    assert found.found is not None
    assert found.found.value == pytest.approx(8, rel=0.02)
    also = {figure.name: figure.value for figure in found.also}

    def time(rate: float, alpha: float, nbytes: int) -> float:
        return alpha + 2 * 7 / 8 * nbytes / rate

    expected = {
        "stream, two-way over one-way: unlike": 2 * 390 / 50,
        "stream, two-way over two-way": 390 / 48,
        "all_reduce bus bandwidth, 8 ranks": 10,
        "all_gather bus bandwidth, 8 over 16 ranks": 360 / 300,
        "latency (ping_pong alpha)": 1.1,
    }
    for size, words in ((128 * 1024, "128 KiB"), (1024**2, "1 MiB")):
        ratio = time(48 * GB, 30 * US, size) / time(480 * GB, 20 * US, size)
        expected[f"all_reduce bus bandwidth at {words}, 8 ranks"] = ratio
    assert also == {name: pytest.approx(value, rel=0.02) for name, value in expected.items()}
    assert all(figure.estimate is not None for figure in found.also)


def test_ragged_exchange_is_shown_against_its_lower_bound(table: Table) -> None:
    groups = [
        link(place, operation, rate=rate * GB, alpha=20 * US, ranks=8)
        for place, rates in (("nvlink", (300, 200, 240)), ("infiniband", (40, 50, 20)))
        for operation, rate in zip(("all_to_all", "all_reduce", "all_to_all_v"), rates, strict=True)
    ]
    found = finding(table, "moe-a2a", *groups)
    also = {figure.name: figure.value for figure in found.also}
    assert also["all_to_all_v (uniform) over its lower bound, nvlink"] == pytest.approx(240 / 300, rel=0.02)
    assert also["all_to_all_v (uniform) over its lower bound, infiniband"] == pytest.approx(20 / 40, rel=0.02)
    assert found.found is not None
    assert found.found.value == pytest.approx((300 / 40) / (200 / 50), rel=0.02)
