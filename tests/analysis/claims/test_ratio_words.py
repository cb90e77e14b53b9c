"""What is said beside a ratio: Fieller's interval as a check, and whose figures they are."""

from __future__ import annotations

import re

from tests.analysis.claims.links import GB, TIGHT, US, finding, imported, link
from tests.analysis.made import results_of

from collmark.analysis.claims.finding import Finding, Verdict
from collmark.analysis.claims.judge import judge
from collmark.analysis.claims.table import Table, load_table

FAR_APART = (0.78, 1.28)


def check_of(found: Finding) -> str:
    """Return the step that says Fieller's interval."""
    (step,) = [step for step in found.steps if step.startswith("check by Fieller")]
    return step


def test_fieller_stands_beside_welch_as_a_check(table: Table) -> None:
    found = finding(table, "gap-18x", link("nvlink", rate=8.2 * 50 * GB), link("infiniband", rate=50 * GB))
    assert re.fullmatch(r"check by Fieller's interval: 8\.2\d* \[8\.\d+, 8\.\d+\], 95 %", check_of(found))
    assert found.found is not None
    assert found.found.estimate is not None
    assert found.found.estimate.method == "Welch t on logarithms"
    assert not any("Fieller" in note for note in found.notes)


def test_ratio_that_is_not_bounded_is_said_and_does_not_decide() -> None:
    """Two launches below that lie a factor of 2 apart: their mean cannot be told from zero."""
    wide = load_table(settings=["about.tolerance=6"])
    levels = (0.7, 1.43)
    found = finding(wide, "gap-18x", link("nvlink", rate=18 * 50 * GB, levels=TIGHT), link("infiniband", levels=levels))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "ratio not bounded" in check_of(found)
    narrow = finding(wide, "gap-18x", link("nvlink", rate=18 * 50 * GB), link("infiniband"))
    assert "not bounded" not in check_of(narrow)


def test_verdict_that_fieller_would_not_give_is_noted() -> None:
    wide = load_table(settings=["about.tolerance=3"])
    sides = [link("nvlink", rate=18 * 50 * GB, levels=FAR_APART), link("infiniband", levels=FAR_APART)]
    found = finding(wide, "gap-18x", *sides)
    assert found.verdict is Verdict.HOLDS
    (note,) = [note for note in found.notes if "Fieller" in note]
    assert note.startswith("by Fieller's interval it would be inconclusive")


def test_imported_figures_decide_and_are_marked(table: Table) -> None:
    sides = [
        imported(link(place, "all_reduce", rate=45 * GB, ranks=4, alpha=20 * US)) for place in ("roce", "infiniband")
    ]
    found = finding(table, "roce-parity", *sides)
    assert found.verdict is Verdict.HOLDS
    assert (found.imported, found.marker, found.mark) == (True, "", "IMPORTED")
    own = finding(
        table,
        "roce-parity",
        *(link(p, "all_reduce", rate=45 * GB, ranks=4, alpha=20 * US) for p in ("roce", "infiniband")),
    )
    assert (own.imported, own.mark) == (False, "")
    latency = finding(table, "ib-latency-2us", imported(link("infiniband", "ping_pong", alpha=2 * US)))
    assert (latency.verdict, latency.mark) == (Verdict.HOLDS, "IMPORTED")


def test_without_data_it_is_said_which_records_would_decide(table: Table) -> None:
    logs = [imported(link(place, "all_reduce", ranks=8)) for place in ("nvlink", "infiniband")]
    gap = finding(table, "gap-18x", *logs)
    assert "nvlink: no stream; unlike it: all_reduce" in gap.by
    deciding = "records of stream over nvlink and infiniband that are alike in all else, measured or imported"
    assert gap.would_change == deciding
    streams = [imported(link(place)) for place in ("nvlink", "infiniband")]
    assert finding(table, "gap-18x", *streams).verdict is not Verdict.NO_DATA
    latency = finding(table, "ib-latency-2us", *logs)
    assert latency.would_change == "records of ping_pong over infiniband, measured or imported"


def test_every_ratio_of_kind_m_says_both_sides(table: Table) -> None:
    """Whatever predicate gives it: asymptotes, latencies, pairs, and operations against each other."""
    groups = [
        *(
            link(place, operation, ranks=8, alpha=20 * US)
            for place in ("nvlink", "infiniband")
            for operation in ("all_to_all", "all_reduce")
        ),
        *(link(place, "ping_pong") for place in ("roce", "infiniband", "nvlink")),
        *(link(place) for place in ("nvlink", "infiniband")),
        *(link("nvlink", label=label) for label in ("0-1", "0-2", "1-2")),
    ]
    results = [results_of(group, f"run{number}") for number, group in enumerate(groups)]
    found = [one for one in judge(table.claims, table.rules, results) if one.kind == "M" and one.found is not None]
    ratios = [one for one in found if one.found is not None and not one.found.unit]
    assert {"gap-18x", "ib-under-roce", "moe-a2a", "nvl72-uniform"} <= {one.claim for one in ratios}
    for one in ratios:
        assert one.ratios
        for figure in one.ratios:
            for side in (figure.over, figure.under):
                assert re.search(r"\w+ .*, \d+ ranks on \d+ nodes?, isolated, T is ", side), (one.claim, side)
