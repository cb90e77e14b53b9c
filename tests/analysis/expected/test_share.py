"""Shares of what may be expected: planted ones are found, and nothing is expected where nothing was declared."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from tests.analysis.claims.links import GB, ONE, SIZES, US, imported, link, runs
from tests.analysis.made import replaced

from collmark.analysis.expected.share import FASTER_THAN_LINK, Share, shares
from collmark.analysis.expected.system import named_systems
from collmark.analysis.frame import frame
from collmark.analysis.models.fit import fit_frame
from collmark.core.placement import Placement, Tier
from collmark.core.record import Evidence, Record

EIGHT: dict[str, Any] = {"ranks": 8, "alpha": 20 * US}


def found(*groups: list[Record], expect: tuple[str, ...] = ()) -> list[Share]:
    table = frame(runs(*groups))
    return list(shares(table, fit_frame(table), named_systems(expect)))


def of(rows: list[Share], start: str) -> Share:
    """Return the share whose expected figure begins so."""
    (row,) = [row for row in rows if row.expected.startswith(start)]
    return row


def test_shares_of_a_named_system() -> None:
    rows = found(link("nvlink", "all_reduce", rate=400 * GB, **EIGHT), expect=("h100-nvlink4",))
    peak = of(rows, "link h100-nvlink4 (--expect)")
    assert (peak.low, peak.high, peak.unit) == (450 * GB, 450 * GB, "B/s")
    assert peak.share == pytest.approx(400 / 450, rel=0.01)
    assert peak.estimate is not None
    assert peak.estimate.over == "launches"
    assert peak.estimate.lower < 400 / 450 < peak.estimate.upper
    assert peak.warning == ""
    ring = of(rows, "published: ring")
    assert (ring.low, ring.high) == (365 * GB, 370 * GB)
    assert ring.share == pytest.approx(400 / 367.5, rel=0.01)
    assert ring.source == "github.com/NVIDIA/nccl, issue 1455"
    assert of(rows, "published: NVLS").share == pytest.approx(400 / 478, rel=0.01)
    own = of(rows, "its own asymptote")
    largest = SIZES[-1]
    bus = 2 * 7 / 8 * largest
    assert own.measured == "at 512 MiB"
    assert own.share == pytest.approx(bus / (bus + 20 * US * 400 * GB), rel=0.01)


def test_bus_bandwidth_above_the_wire_is_explained() -> None:
    """482 GB/s on links of 450: no wire is that fast, the switch reduced."""
    (row,) = [
        one for one in found(link("nvlink", "all_reduce", rate=482 * GB, **EIGHT), expect=("nvlink4",)) if one.warning
    ]
    assert row.share == pytest.approx(482 / 450, rel=0.01)
    assert "NVLS" in row.warning
    # busbw / (2 (p - 1) / p) at 8 ranks.
    assert "algorithm bandwidth is 275 GB/s" in row.warning
    pair = [one.warning for one in found(link("nvlink", rate=482 * GB), expect=("nvlink4",)) if one.warning]
    assert pair == [FASTER_THAN_LINK]


@pytest.mark.parametrize(("label", "peak"), [("400G", 50), ("200Gb/s", 25), ("NDR", 50), ("ndr", 50), ("hdr", 25)])
def test_label_of_a_placement_declares_the_link(label: str, peak: float) -> None:
    row = of(found(link("infiniband", rate=20 * GB, label=label)), "link")
    assert row.low == peak * GB
    assert row.expected.endswith("(label of the placement)")
    assert row.share == pytest.approx(20 / peak, rel=0.01)


@pytest.mark.parametrize("label", ["", "rack7", "G", "0G", "400", "400GB"])
def test_other_labels_declare_nothing(label: str) -> None:
    rows = found(link("infiniband", rate=20 * GB, label=label))
    assert [row.expected for row in rows] == ["its own asymptote"]


def test_system_holds_for_its_tier_only() -> None:
    groups = [link("nvlink", rate=390 * GB), link("infiniband", rate=48 * GB), link("roce", rate=48 * GB)]
    rows = found(*groups, expect=("h100-nvlink4", "h100-ndr8"))
    peaks = {(row.series.tier_words, row.low / GB) for row in rows if row.expected.startswith("link")}
    assert peaks == {("nvlink", 450), ("rdma:infiniband", 50)}


def test_unknown_tier_is_what_the_user_says_as_far_as_nodes_allow() -> None:
    unknown = Evidence(tier=Tier.UNKNOWN)
    inside = link("nvlink", rate=390 * GB, evidence=unknown)
    across = link("infiniband", rate=48 * GB, evidence=unknown)
    assert of(found(inside, across, expect=("nvlink4",)), "link").series.placement == "1x2"
    assert of(found(inside, across, expect=("ndr",)), "link").series.placement == "2x1"


def several(operation: str, nodes: int, each: int, rate: float) -> list[Record]:
    place = {"placement": Placement(nodes=nodes, ranks_per_node=each)}
    return link("infiniband", operation, rate=rate * GB, ranks=nodes * each, alpha=20 * US, of_case=place)


def test_ports_of_a_node_add_up_for_rings_and_for_nothing_else() -> None:
    rows = found(several("all_reduce", 2, 8, 90), expect=("a100-hdr4",))
    peak = of(rows, "link a100-hdr4, 4 ports of a node")
    assert peak.low == 4 * 25 * GB
    assert of(rows, "published: 2 and 3 nodes").share == pytest.approx(90 / 91, rel=0.01)
    assert not [row for row in found(several("all_to_all", 2, 8, 20), expect=("a100-hdr4",)) if "link" in row.expected]
    # How many ports a node has, nobody said: a label tells one port's rate.
    labelled = [
        replaced(r, case=msgspec.structs.replace(r.case, placement=Placement(nodes=2, ranks_per_node=8, label="hdr")))
        for r in several("all_reduce", 2, 8, 90)
    ]
    assert [row.expected for row in found(labelled)] == ["its own asymptote"]


def test_latency_is_set_against_published_ones() -> None:
    row = of(
        found(link("infiniband", "ping_pong", alpha=3.5 * US), expect=("ndr",)), "published: 64 B, host side, same leaf"
    )
    assert (row.unit, row.measured) == ("s", "T at 8 B")
    assert row.share == pytest.approx(3.5 / 2.8, rel=0.01)
    large = link("infiniband", "ping_pong", alpha=3.5 * US, sizes=SIZES[4:])
    assert not [one for one in found(large, expect=("ndr",)) if one.unit == "s"]


def test_without_a_fit_the_largest_size_counts() -> None:
    rows = found(link("nvlink", rate=390 * GB, sizes=SIZES[-1:]), expect=("nvlink4",))
    (row,) = rows
    assert row.measured == "at 512 MiB"
    assert row.share == pytest.approx(390 / 450, rel=0.02)


def test_one_launch_has_no_interval() -> None:
    rows = found(link("nvlink", rate=390 * GB, levels=ONE), expect=("nvlink4",))
    assert rows
    assert all(row.estimate is None for row in rows)


def test_imported_figures_count_and_simulated_and_test_ones_never() -> None:
    real = link("nvlink", "all_reduce", rate=366 * GB, **EIGHT)
    assert of(found(imported(real), expect=("nvlink4",)), "link").series.marker == "IMPORTED"
    fake = link("simulated", "all_reduce", rate=366 * GB, simulated=True, label="nvlink4", **EIGHT)
    shared = link("nvlink", "all_reduce", rate=366 * GB, evidence=Evidence(tier=Tier.SHARED_GPU), **EIGHT)
    assert found(fake, shared, expect=("nvlink4",)) == []
    planted = link("nvlink", "all_reduce", rate=366 * GB, simulated=True, **EIGHT)
    assert found(planted, expect=("nvlink4",)) == []


def test_every_share_names_measured_and_expected() -> None:
    for row in found(
        link("nvlink", rate=390 * GB), link("infiniband", "all_reduce", rate=40 * GB), expect=("h100-nvlink4", "ndr")
    ):
        assert row.value_words
        assert re.fullmatch(r"\d[\d.]*( to \d[\d.]*)? \w?B/s", row.expected_words), row.expected_words
        assert row.percent_words[1].startswith("[")
