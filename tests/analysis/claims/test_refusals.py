"""What may not decide: unlike sides, weak fits, unusable records, simulated figures."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.analysis.claims.links import (
    GB,
    SIZES,
    US,
    WIDE,
    finding,
    findings,
    imported,
    link,
    named,
    runs,
    without_common_clock,
)
from tests.analysis.made import replaced, times

from collmark.analysis.claims.finding import Finding, Verdict
from collmark.analysis.claims.measured.curve import OTHER_PLACE
from collmark.analysis.claims.table import Table
from collmark.analysis.columns import Series
from collmark.core.case import Binding, Buffers, Cadence, Device, Form, Scheduling, ThreadLevel
from collmark.core.grouping import Company, groups_of
from collmark.core.placement import Placement
from collmark.core.record import Record, Status
from collmark.core.units import MIB

UNLIKE: dict[str, tuple[dict[str, Any], str]] = {
    "backend": ({"backend": "mpi"}, "backend nccl against mpi"),
    "device": ({"device": Device.CPU}, "device cuda against cpu"),
    "dtype": ({"dtype": "bfloat16"}, "dtype float32 against bfloat16"),
    "cadence": ({"cadence": Cadence.STREAMING}, "cadence isolated against streaming"),
    "buffers": ({"buffers": Buffers.ROTATED}, "buffers same against rotated"),
    "scheduling": ({"scheduling": Scheduling.FIFO}, "scheduling other against fifo"),
    "binding": ({"binding": Binding.CORES}, "binding none against cores"),
    "directions": ({"directions": 2}, "directions: one-way against two-way"),
    "in place": ({"in_place": True}, "in_place False against True"),
    "form": ({"form": Form.NONBLOCKING}, "form blocking against nonblocking"),
    "thread level": ({"thread_level": ThreadLevel.MULTIPLE}, "thread_level none against multiple"),
    "root": ({"root": 1}, "root 0 against 1"),
    "group": (
        {"group": groups_of("blocked:2", Placement(nodes=4), Company.ALONE)[0]},
        "groups none against blocked:2 of 4",
    ),
}
"""Fields of a case, and the reason that names them: a row for each way in which two streams may be unlike."""
REDUCED: dict[str, tuple[dict[str, Any], str]] = {
    "reduction": ({"reduction": "max"}, "reduction sum against max"),
    "ranks": ({"placement": Placement(nodes=8)}, "4 against 8 ranks"),
    "nodes": ({"placement": Placement(nodes=2, ranks_per_node=2)}, "4 against 2 nodes"),
}


@pytest.mark.parametrize("name", UNLIKE)
def test_unlike_sides_are_refused_with_the_reason(table: Table, name: str) -> None:
    of_case, reason = UNLIKE[name]
    found = finding(table, "gap-18x", link("nvlink", rate=800 * GB), link("infiniband", of_case=of_case))
    assert found.verdict is Verdict.NO_DATA
    assert f"unlike sides: {reason}" in found.by
    assert found.command


def test_streams_of_unlike_windows_are_refused_with_the_reason(table: Table) -> None:
    """In each curve the most: of large sizes fewer are in flight."""
    sides = [
        [
            replaced(
                record, case=msgspec.structs.replace(record.case, messages=1 if record.case.nbytes > MIB else most)
            )
            for record in link(place, rate=rate)
        ]
        for place, rate, most in (("nvlink", 800 * GB, 64), ("infiniband", 50 * GB, 1), ("infiniband", 50 * GB, 64))
    ]
    found = finding(table, "gap-18x", *sides[:2])
    assert found.verdict is Verdict.NO_DATA
    assert "unlike sides: messages in flight: 64 against 1" in found.by
    assert finding(table, "gap-18x", sides[0], sides[2]).verdict is not Verdict.NO_DATA


@pytest.mark.parametrize("name", REDUCED)
def test_unlike_collectives_are_refused_with_the_reason(table: Table, name: str) -> None:
    of_case, reason = REDUCED[name]
    sides = link("roce", "all_reduce", ranks=4), link("infiniband", "all_reduce", ranks=4, of_case=of_case)
    found = finding(table, "roce-parity", *sides)
    assert found.verdict is Verdict.NO_DATA
    assert f"unlike sides: {reason}" in found.by


def test_every_field_of_a_series_has_its_row() -> None:
    """What is no matter of place either has a row above, or belongs to the operation, or is tested below."""
    rows = {field for fields, _reason in (*UNLIKE.values(), *REDUCED.values()) for field in fields}
    of_group = {"groups", "group", "company"}
    elsewhere = {"operation", "traffic", "origin", "estimand", "window"}
    assert set(Series.__struct_fields__) - set(OTHER_PLACE) - elsewhere - of_group == rows - {"group", "placement"}


@pytest.mark.parametrize(
    ("tools", "reason"),
    [
        ([None, ("nccl-tests", "mean over ranks")], "statistic of collmark's own against nccl-tests: mean over ranks"),
        (
            [("nccl-tests", "mean over ranks"), ("nccl-tests", "max over ranks")],
            "statistic of nccl-tests: mean over ranks against nccl-tests: max over ranks",
        ),
    ],
)
def test_unlike_statistics_are_refused(table: Table, tools: list[tuple[str, str] | None], reason: str) -> None:
    own = [link(place, "all_reduce", ranks=4) for place in ("roce", "infiniband")]
    groups = [records if tool is None else imported(records, *tool) for records, tool in zip(own, tools, strict=True)]
    found = finding(table, "roce-parity", *groups)
    assert found.verdict is Verdict.NO_DATA
    assert f"unlike sides: {reason}" in found.by


def test_two_way_is_never_taken_for_one_way(table: Table) -> None:
    found = finding(table, "gap-18x", link("nvlink"), link("infiniband", "bidirectional_stream"))
    assert found.verdict is Verdict.NO_DATA
    assert found.by == "infiniband: no stream; unlike it: bidirectional_stream"


def test_side_that_nothing_is_like_is_named_beside_those_that_are(table: Table) -> None:
    streaming = link("nvlink", rate=800 * GB, of_case={"cadence": Cadence.STREAMING})
    found = finding(table, "gap-18x", link("nvlink", rate=800 * GB), streaming, link("infiniband"))
    assert found.verdict is Verdict.HOLDS
    assert found.found is not None
    assert found.found.estimate is not None
    assert found.found.estimate.count == 10
    (note,) = [note for note in found.notes if note.startswith("not compared")]
    assert note.startswith("not compared, nvlink nccl, cuda, float32")
    assert note.endswith("unlike sides: cadence streaming against isolated")


def test_unequal_ranks_are_compared_where_asked(table: Table) -> None:
    sides = link("roce", "all_reduce", ranks=4), link("infiniband", "all_reduce", ranks=8)
    found = finding(table, "roce-parity", *sides, unequal_ranks=True)
    assert found.verdict is Verdict.HOLDS
    assert "4 over 8 ranks" in found.by
    assert found.found is not None
    assert "4 ranks on 4 nodes" in found.found.over
    assert "8 ranks on 8 nodes" in found.found.under
    unlike = link("roce", "all_reduce", ranks=4, of_case={"dtype": "bfloat16"})
    assert "dtype" in finding(table, "roce-parity", unlike, sides[1], unequal_ranks=True).by


def test_ranks_on_unlike_nodes_are_neither_compared_nor_pooled(table: Table) -> None:
    """Eight ranks on two nodes and on eight are one tier, but four ranks of a node share what leads out of it."""

    def reduced(place: str, rate: float, nodes: int) -> list[Record]:
        shape = Placement(nodes=nodes, ranks_per_node=8 // nodes)
        return link(place, "all_reduce", rate=rate, ranks=8, alpha=20 * US, of_case={"placement": shape})

    packed = reduced("infiniband", 90 * GB, 2)
    alone = finding(table, "roce-parity", reduced("roce", 45 * GB, 8), packed)
    assert alone.verdict is Verdict.NO_DATA
    assert "unlike sides: 8 against 2 nodes" in alone.by
    both = finding(table, "roce-parity", reduced("roce", 45 * GB, 8), packed, reduced("infiniband", 45 * GB, 8))
    assert both.verdict is Verdict.HOLDS
    assert len(both.evidence) == 2


def test_another_operation_is_named(table: Table) -> None:
    found = finding(table, "gap-18x", link("nvlink"), link("infiniband", "all_reduce"))
    assert found.verdict is Verdict.NO_DATA
    assert found.by == "infiniband: no stream; unlike it: all_reduce"
    found = finding(table, "tp-microseconds", link("nvlink", "all_reduce", ranks=4))
    assert found.by == "nvlink: no all_reduce of 8 ranks"


def test_weakly_known_asymptote_decides_nothing(table: Table) -> None:
    # n1/2 is 3 us x 50 GB/s = 150 kB: the largest of these sizes is less than an octave above.
    small = SIZES[:8]
    found = finding(table, "gap-18x", link("nvlink", rate=900 * GB, sizes=small), link("infiniband", sizes=small))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "weakly known" in found.by
    assert found.would_change.startswith("records without this")


def test_latency_that_times_do_not_tell_decides_nothing(table: Table) -> None:
    found = finding(
        table,
        "ib-under-roce",
        link("infiniband", "ping_pong", sizes=SIZES[-6:]),
        link("roce", "ping_pong", sizes=SIZES[-6:]),
    )
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "infiniband ping_pong: " in found.by


def bent(records: list[Record]) -> list[Record]:
    """Return records that no straight line describes: every other size takes four times as long."""
    order = sorted({record.case.nbytes for record in records})
    return [times(record, 4.0 if order.index(record.case.nbytes) % 2 else 1.0) for record in records]


def test_fit_that_does_not_describe_decides_nothing(table: Table) -> None:
    found = finding(table, "gap-18x", bent(link("nvlink", rate=800 * GB)), link("infiniband"))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "does not describe" in found.by


def test_two_sizes_are_no_fit(table: Table) -> None:
    found = finding(table, "gap-18x", link("nvlink", sizes=SIZES[-2:]), link("infiniband", sizes=SIZES[-2:]))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "need at least 3" in found.by


def test_unstable_and_wrong_records_do_not_enter_unless_asked(table: Table) -> None:
    unstable = [replaced(record, status=Status.UNSTABLE) for record in link("nvlink", rate=18 * 50 * GB)]
    other = link("infiniband", rate=50 * GB)
    found = finding(table, "gap-18x", unstable, other)
    assert found.verdict is Verdict.NO_DATA
    assert "no usable stream: 70 unstable" in found.by
    assert finding(table, "gap-18x", unstable, other, include_unstable=True).verdict is Verdict.HOLDS
    wrong = [replaced(record, status=Status.WRONG, timing=None) for record in link("nvlink")]
    assert finding(table, "gap-18x", wrong, other, include_unstable=True).verdict is Verdict.NO_DATA


def test_run_without_usable_records_is_named_beside_one_that_has(table: Table) -> None:
    unstable = [replaced(record, status=Status.UNSTABLE) for record in link("nvlink", rate=800 * GB)]
    found = finding(table, "gap-18x", link("nvlink", rate=800 * GB), unstable, link("infiniband"))
    assert found.verdict is Verdict.HOLDS
    (note,) = [note for note in found.notes if note.startswith("not used")]
    assert note.startswith("not used, run run2: stream, nccl")
    assert note.endswith("left out: 70 unstable")


def test_simulated_records_give_a_marked_finding_beside_no_data(table: Table) -> None:
    fake = [link(place, rate=rate, simulated=True) for place, rate in (("nvlink", 900 * GB), ("infiniband", 50 * GB))]
    own, marked = findings(table, "gap-18x", runs(*fake))
    assert (own.verdict, own.marker) == (Verdict.NO_DATA, "")
    assert own.by.endswith("; simulated ones decide nothing")
    assert (marked.verdict, marked.marker) == (Verdict.HOLDS, "simulated")
    assert own.command


def test_simulated_side_is_never_put_beside_a_measured_one(table: Table) -> None:
    (own,) = findings(table, "gap-18x", runs(link("nvlink", simulated=True), link("infiniband")))
    assert own.verdict is Verdict.NO_DATA


def test_simulated_tiers_are_addressed_by_label(table: Table) -> None:
    fake = [
        link("simulated", rate=900 * GB, label="fast", simulated=True),
        link("simulated", rate=50 * GB, label="slow", simulated=True),
    ]
    own, marked = findings(table, "gap-18x", runs(*fake), a="simulated@fast", b="simulated@slow")
    assert own.verdict is Verdict.NO_DATA
    assert (marked.verdict, marked.marker) == (Verdict.HOLDS, "simulated")
    assert any("where the claim speaks of nvlink, infiniband" in note for note in marked.notes)


def test_clocks_on_one_side_only_put_d_max_on_both(table: Table) -> None:
    own = link("infiniband", "all_reduce", rate=45 * GB, ranks=4, alpha=20 * US)
    other = without_common_clock(link("roce", "all_reduce", rate=45 * GB, ranks=4, alpha=20 * US))
    found = finding(table, "roce-parity", other, own)
    assert found.verdict is Verdict.HOLDS
    assert any("D_max on both" in note for note in found.notes)
    assert all("T is D_max" in line for line in found.evidence)


def test_clocks_on_one_side_of_two_runs_put_d_max_on_all(table: Table) -> None:
    """One run over InfiniBand could compare clocks and another could not: no launch of either is left out."""
    own = link("infiniband", "all_reduce", rate=45 * GB, ranks=4, alpha=20 * US)
    other = link("roce", "all_reduce", rate=45 * GB, ranks=4, alpha=20 * US)
    found = finding(table, "roce-parity", other, own, without_common_clock(own))
    assert found.verdict is Verdict.HOLDS
    assert all("T is D_max" in line for line in found.evidence)
    assert found.found is not None
    assert found.found.estimate is not None
    assert found.found.estimate.count == 15


def test_skew_is_said_beside_d_max(table: Table) -> None:
    own = link("infiniband", "all_reduce", ranks=4, alpha=20 * US)
    skewed = [replaced(one, ranks=msgspec.structs.replace(one.ranks, skewed=0.4)) for one in own if one.ranks]
    other = without_common_clock(link("roce", "all_reduce", ranks=4, alpha=20 * US))
    (note,) = [note for note in finding(table, "roce-parity", other, skewed).notes if "D_max" in note]
    assert note.endswith("40 % of repetitions where it could be told entered over 10 % of L apart")


def test_clocks_of_one_operation_put_d_max_on_both_operations(table: Table) -> None:
    groups = [
        link(place, operation, rate=rate * GB, alpha=20 * US, ranks=8)
        for place, rates in (("nvlink", (300, 200)), ("infiniband", (40, 50)))
        for operation, rate in zip(("all_to_all", "all_reduce"), rates, strict=True)
    ]
    mixed = [*groups[:2], without_common_clock(groups[2]), groups[3]]
    found = finding(table, "moe-a2a", *mixed)
    assert all("T is D_max" in line for line in found.evidence)
    assert any("D_max on both" in note for note in found.notes)


def test_conditions_that_disagree_decide_nothing(table: Table) -> None:
    groups = [
        link("nvlink", rate=18 * 50 * GB),
        link("infiniband"),
        link("nvlink", rate=8 * 50 * GB, of_case={"dtype": "bfloat16"}),
        link("infiniband", of_case={"dtype": "bfloat16"}),
    ]
    found = finding(table, "gap-18x", *groups)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "conditions differ: " in found.by
    assert "holds: nccl, cuda, float32" in found.by
    assert "fails: nccl, cuda, bfloat16" in found.by
    assert any(figure.name.startswith("fails: ") for figure in found.also)


def test_conditions_that_agree_decide_together(table: Table) -> None:
    groups = [
        link("nvlink", rate=8 * 50 * GB),
        link("infiniband"),
        link("nvlink", rate=7 * 50 * GB, of_case={"dtype": "bfloat16"}),
        link("infiniband", of_case={"dtype": "bfloat16"}),
    ]
    found = finding(table, "gap-18x", *groups)
    assert found.verdict is Verdict.FAILS
    assert len(found.evidence) == 4


def test_roce_and_tcp_are_judged_apart_as_ethernet(table: Table) -> None:
    groups = [
        link("roce", "ping_pong", alpha=2.5 * US),
        link("tcp", "ping_pong", alpha=30 * US),
        link("infiniband", "ping_pong", alpha=2 * US),
    ]
    found = finding(table, "eth-latency-10x", *groups)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "rdma:roce" in found.by
    assert finding(table, "eth-latency-10x", *groups, a="roce").verdict is Verdict.FAILS
    assert finding(table, "eth-latency-10x", *groups, a="tcp").verdict is Verdict.HOLDS


def test_launches_that_would_decide_are_named(table: Table) -> None:
    found = finding(table, "gap-18x", link("nvlink", rate=17 * 50 * GB, levels=WIDE), link("infiniband", levels=WIDE))
    assert found.verdict is Verdict.INCONCLUSIVE
    count = int(found.would_change.split()[0])
    assert 5 < count < 1000
    more = [
        link(place, rate=rate, levels=WIDE * (1 + count // 5))
        for place, rate in (("nvlink", 850 * GB), ("infiniband", 50 * GB))
    ]
    assert finding(table, "gap-18x", *more).verdict is not Verdict.INCONCLUSIVE


def labelled(table: Table, label: str, a: str | None = None) -> Finding:
    return findings(table, "ndr-50", [named("run1", label, link("infiniband", rate=47 * GB))], a=a)[0]


def test_generation_is_never_taken_for_another(table: Table) -> None:
    """HDR and NDR are one tier and fabric: what is not labelled decides nothing about NDR."""
    assert labelled(table, "").verdict is Verdict.NO_DATA
    assert labelled(table, "hdr").verdict is Verdict.NO_DATA
    assert labelled(table, "NDR").verdict is Verdict.HOLDS
    assert "labelled ndr" in labelled(table, "").would_change
    assert labelled(table, "", a="infiniband").verdict is Verdict.HOLDS


def test_label_may_be_the_name_of_the_folder(table: Table) -> None:
    (found,) = findings(table, "ndr-50", [named("ndr", "", link("infiniband", rate=47 * GB))])
    assert found.verdict is Verdict.HOLDS
