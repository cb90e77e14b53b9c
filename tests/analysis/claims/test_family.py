"""The ratios beside the one that decides: planted ones are found."""

from __future__ import annotations

import pytest
from tests.analysis.claims.links import GB, SIZES, US, finding, imported, link, without_common_clock

from collmark.analysis.claims.table import Table
from collmark.core.case import Buffers, Cadence, Device
from collmark.core.operation_table import OPERATIONS
from collmark.core.record import Record

ROOMY = (*SIZES, 1024**2)  # 128 KiB is among SIZES


def whole_family() -> list[list[Record]]:
    """Return records of everything that the family of gap-18x may be worked out from."""
    collectives = [
        link(place, operation, rate=rate * GB, alpha=alpha * US, ranks=ranks, sizes=ROOMY)
        for operation, (fast, slow) in COLLECTIVES.items()
        for place, rate, alpha, ranks in (
            ("nvlink", fast, 20, 8),
            ("infiniband", slow, 30, 8),
            ("infiniband", 0.8 * slow, 40, 16),
        )
    ]
    nic = {"backend": "verbs", "device": Device.CPU}
    return [
        link("nvlink", rate=400 * GB),
        link("infiniband", rate=50 * GB),
        link("nvlink", "bidirectional_stream", rate=390 * GB),
        link("infiniband", "bidirectional_stream", rate=48 * GB),
        imported(link("infiniband", rate=49 * GB, of_case=nic), "perftest", "mean over iterations"),
        *collectives,
        link("nvlink", "ping_pong", rate=400 * GB, alpha=3.3 * US),
        link("infiniband", "ping_pong", rate=50 * GB, alpha=3.0 * US),
    ]


COLLECTIVES = {
    "all_reduce": (480, 48),
    "all_gather": (360, 45),
    "reduce_scatter": (362, 46),
    "all_to_all": (340, 40),
}
"""Rates in GB/s on NVLink and over InfiniBand."""


def seconds(operation: str, rate: float, alpha: float, nbytes: int, ranks: int) -> float:
    return alpha * US + OPERATIONS[operation].bus_factor(ranks) * nbytes / (rate * GB)


def expected_ratios() -> dict[str, float]:
    """Return every ratio of the family by its name, as planted."""
    found = {
        "two-way over one-way: unlike": 2 * 390 / 50,
        "two-way over two-way": 390 / 48,
        "pair over NIC, measured by other means: unlike": 400 / 49,
    }
    for operation, (fast, slow) in COLLECTIVES.items():
        for rate, alpha, ranks, words in ((slow, 30, 8, "8 ranks"), (0.8 * slow, 40, 16, "8 over 16 ranks")):
            found[f"{operation} bus bandwidth, {words}"] = fast / rate
            for nbytes, size in ((128 * 1024, "128 KiB"), (1024**2, "1 MiB")):
                factors = OPERATIONS[operation].bus_factor(8) / OPERATIONS[operation].bus_factor(ranks)
                times = seconds(operation, rate, alpha, nbytes, ranks) / seconds(operation, fast, 20, nbytes, 8)
                found[f"{operation} bus bandwidth at {size}, {words}"] = factors * times
    return found | {"latency": 1.1}


def test_whole_family_is_found_in_one_table_primary_first(table: Table) -> None:
    found = finding(table, "gap-18x", *whole_family())
    primary, *others = found.ratios
    assert primary is found.found
    assert primary.value == pytest.approx(8, rel=0.02)
    expected = expected_ratios()
    assert [figure.name for figure in others] == list(expected)
    assert {figure.name: figure.value for figure in others} == pytest.approx(expected, rel=0.02)
    assert all(figure.estimate is not None for figure in found.ratios)
    assert not found.missing


def test_every_ratio_says_what_stands_over_what(table: Table) -> None:
    ratios = {figure.name: figure for figure in finding(table, "gap-18x", *whole_family()).ratios}
    primary = next(iter(ratios.values()))
    assert primary.over == (
        "stream asymptotic bandwidth, one-way, nvlink, 2 ranks on 1 node, isolated, T is per message"
    )
    assert primary.under == (
        "stream asymptotic bandwidth, one-way, rdma:infiniband, 2 ranks on 2 nodes, isolated, T is per message"
    )
    unlike = ratios["two-way over one-way: unlike"]
    assert unlike.over.startswith("bidirectional_stream asymptotic bandwidth x 2 directions, two-way")
    assert unlike.under.startswith("stream asymptotic bandwidth, one-way")
    nic = ratios["pair over NIC, measured by other means: unlike"]
    assert "verbs, cpu" in nic.under
    assert nic.under.endswith("IMPORTED, T as perftest: mean over iterations")
    rest = [figure for name, figure in ratios.items() if "8 over 16 ranks" in name]
    assert len(rest) == 3 * len(COLLECTIVES)
    assert all("8 ranks on 1 node" in figure.over and "16 ranks on 16 nodes" in figure.under for figure in rest)
    assert all(
        "isolated" in side and "T " in side for figure in ratios.values() for side in (figure.over, figure.under)
    )


def test_rows_that_only_software_tells_apart_name_it(table: Table) -> None:
    dtypes = [
        link(place, "all_reduce", ranks=8, alpha=20 * US, of_case={"dtype": dtype})
        for place in ("nvlink", "infiniband")
        for dtype in ("float32", "bfloat16")
    ]
    found = finding(table, "gap-18x", link("nvlink", rate=400 * GB), link("infiniband"), *dtypes)
    sides = [figure.over for figure in found.also if figure.name == "all_reduce bus bandwidth, 8 ranks"]
    assert ["bfloat16" in side for side in sides] == [False, True]
    assert ["float32" in side for side in sides] == [True, False]


def test_nic_of_one_size_counts_at_that_size(table: Table) -> None:
    nic = link("infiniband", rate=49 * GB, alpha=0, sizes=[65536], of_case={"backend": "verbs"})
    found = finding(table, "gap-18x", link("nvlink", rate=400 * GB), link("infiniband", rate=50 * GB), nic)
    (ratio,) = found.also
    assert ratio.value == pytest.approx(400 / 49, rel=0.02)
    assert ratio.under.startswith("stream bandwidth at 64 KiB")


def test_collectives_of_unlike_clocks_take_d_max_on_both(table: Table) -> None:
    """Inside a node clocks are one; across nodes they could not be compared: no row is dropped for it."""
    groups = [
        link("nvlink", rate=400 * GB),
        link("infiniband", rate=50 * GB),
        link("nvlink", "all_reduce", rate=480 * GB, alpha=20 * US, ranks=8),
        without_common_clock(link("infiniband", "all_reduce", rate=48 * GB, alpha=30 * US, ranks=8)),
    ]
    found = finding(table, "gap-18x", *groups)
    ratio = found.also[0]
    assert ratio.name == "all_reduce bus bandwidth, 8 ranks"
    assert ratio.value == pytest.approx(10, rel=0.02)
    assert ratio.over.endswith("T is D_max")
    assert ratio.under.endswith("T is D_max")
    assert any(note.startswith("all_reduce: ") and "D_max on both" in note for note in found.notes)


@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        (
            [
                link("nvlink", "all_reduce", ranks=8),
                link("infiniband", "all_reduce", ranks=8, of_case={"cadence": Cadence.STREAMING}),
            ],
            "all_reduce bus bandwidth: unlike sides: cadence isolated against streaming",
        ),
        (
            [link("nvlink", "ping_pong"), link("infiniband", "ping_pong", of_case={"dtype": "bfloat16"})],
            "latency: unlike sides: dtype float32 against bfloat16",
        ),
        (
            [link("nvlink", "bidirectional_stream", of_case={"buffers": Buffers.ROTATED})],
            "two-way over one-way: unlike: unlike sides: buffers rotated against same",
        ),
        (
            [link(place, "all_gather", ranks=8, sizes=SIZES[:6]) for place in ("nvlink", "infiniband")],
            "all_gather bus bandwidth, 8 ranks: nvlink all_gather: ",
        ),
        (
            [link("nvlink", "all_gather", ranks=8), link("infiniband", "all_gather", ranks=8, sizes=SIZES[-4:])],
            "all_gather bus bandwidth at 128 KiB, 8 ranks: infiniband: not measured at that size",
        ),
        (
            [link("nvlink", "all_gather", ranks=8), link("infiniband", "all_gather", ranks=16)],
            "all_gather bus bandwidth, equal rank count: unlike sides: 8 against 16 ranks",
        ),
        ([], "two-way over two-way: nvlink: no bidirectional_stream; infiniband: no bidirectional_stream"),
        ([], "reduce_scatter bus bandwidth: nvlink: no reduce_scatter; infiniband: no reduce_scatter"),
        ([link("nvlink", "ping_pong")], "latency: infiniband: no ping_pong"),
    ],
)
def test_missing_row_says_which_evidence_is_not_there(table: Table, groups: list[list[Record]], reason: str) -> None:
    found = finding(table, "gap-18x", link("nvlink", rate=400 * GB), link("infiniband", rate=50 * GB), *groups)
    missing = [f"{one.name}: {one.reason}" for one in found.missing]
    assert any(words.startswith(reason) for words in missing), missing


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
