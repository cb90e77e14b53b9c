"""Sections: there when they have something to say, and true."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

import msgspec
import pytest
from tests.analysis.made import SIZES, case_of, curve, record_of, replaced, results_of, times
from tests.analysis.report.conftest import ESTIMATE, finding, launch_of, with_launches

from collmark.analysis.claims.finding import Figure, Missing, Verdict
from collmark.analysis.report.content import Block, Details, Drawing, Items, Section, Table, Text
from collmark.analysis.report.index import SECTIONS, sections_of
from collmark.analysis.report.material import Material, gather
from collmark.analysis.report.verdicts import reason_words
from collmark.analysis.results import Results
from collmark.core.record import Check, Host, Outcome, Status

ALWAYS = ["summary", "where", "warnings", "words"]


def words_of(blocks: Iterable[Block]) -> str:
    """Return all words of some blocks, those of tables and lists included."""
    found = []
    for block in blocks:
        match block:
            case Text():
                found += [block.lead, block.words]
            case Items():
                found.append(words_of(block.items))
            case Table():
                found += [block.caption, *(cell.text for row in block.rows for cell in row)]
            case Details():
                found += [block.tag, block.summary, words_of(block.blocks)]
            case Drawing():
                found += [block.title, block.caption]
            case _:
                found.append(block.line)
    return " ".join(found)


def section(material: Material, name: str) -> Section:
    """Build one section alone: pictures take time."""
    found = SECTIONS[name].build(material)
    assert found is not None
    return found


def said(results: Results, name: str) -> str:
    return words_of(section(gather([results]), name).blocks)


def table_of(material: Material, section_name: str, anchor: str) -> Table:
    blocks = section(material, section_name).blocks
    return next(block for block in blocks if isinstance(block, Table) and block.anchor == anchor)


def test_sections_come_in_the_order_of_the_index(simulated: Results) -> None:
    found = [one.anchor for one in sections_of(gather([simulated], [finding()]))]
    # Nothing ragged and no pairs were measured, what is simulated is set against no link, one run has no history.
    absent = {"ragged", "expected", "prior", "runs", "history", "pairs"}
    assert found == [name for name in SECTIONS if name not in absent]


def test_a_prior_stands_beside_what_it_knows_and_only_where_it_was_asked_for() -> None:
    nccl = {"backend": "nccl"}
    results = results_of([*curve("all_reduce", ranks=8, of_case=nccl), *curve("stream"), *curve("all_reduce")])
    assert SECTIONS["prior"].build(gather([results])) is None
    table = table_of(gather([results], prior="nccl:HOPPER"), "prior", "prior-table")
    assert len(table.rows) == len(SIZES)  # of NCCL's all_reduce alone, and not of gloo's
    smallest, largest = table.rows[0], table.rows[-1]
    assert (smallest[3].text, smallest[5].text) == ("15.0", "ring/LL")
    assert largest[5].text == "nvls/Simple"
    for other in (curve("stream", of_case=nccl), curve("all_reduce", ranks=8)):
        assert SECTIONS["prior"].build(gather([results_of(other)], prior="nccl:HOPPER")) is None


def test_ragged_traffic_stands_against_its_lower_bound() -> None:
    levels = (1.0, 1.1, 1.2)
    even = curve("all_to_all_v", levels=levels)
    half = [times(r, 2.0) for r in curve("all_to_all_v", levels=levels, sizes=(16384,), of_case={"traffic": "zipf:1"})]
    alone = curve("all_to_all_v", levels=levels, sizes=(1024,), of_case={"traffic": "zipf:1", "dtype": "uint8"})
    material = gather([results_of([*even, *half, *alone])])
    table = table_of(material, "ragged", "ragged-table")
    named = [heading.name for heading in table.headings]
    assert named[-5:] == ["busiest rank", "uneven", "of bound", "95 %", "against"]
    cells = [[cell.text for cell in row] for row in table.rows]
    assert [row[0] for row in cells] == ["all_to_all_v"] * 2
    # Zipf's with exponent 1 and seed 0: both ranks send two parts to rank 0 and one to rank 1.
    assert cells[0][3:8] == ["float32", "zipf:1", "16 KiB", "8.00 KiB", "1.33"]
    assert cells[0][8:] == ["50", "[50, 50]", "uniform all_to_all_v"]
    assert cells[1][3:5] == ["uint8", "zipf:1"]
    assert cells[1][-3:] == ["-", "-", "-"]
    assert "no uniform traffic and no all_to_all beside it" in said(material.results[0], "ragged")
    assert SECTIONS["ragged"].build(gather([results_of(even)])) is None


def test_a_run_without_records_has_the_sections_that_still_speak(empty: Results) -> None:
    assert [one.anchor for one in sections_of(gather([empty]))] == ALWAYS


def test_one_launch_has_no_section_on_launches() -> None:
    names = [one.anchor for one in sections_of(gather([results_of(curve(levels=(1.0,)))]))]
    assert "launches" not in names
    assert "repetitions" not in names
    assert "curves" in names


def test_every_table_is_a_rectangle(simulated: Results) -> None:
    for one in sections_of(gather([simulated], [finding()])):
        for block in one.blocks:
            if isinstance(block, Table):
                assert all(len(row) == len(block.headings) for row in block.rows), block.anchor


def test_the_first_screen_has_three_sentences_a_table_and_one_picture(ordinary: Results) -> None:
    blocks = section(gather([ordinary]), "summary").blocks
    assert [block.lead for block in blocks if isinstance(block, Text)] == ["Found", "How sure", "What to do"]
    (drawing,) = (block for block in blocks if isinstance(block, Drawing))
    assert drawing.is_large
    assert len(drawing.panels) == 1
    (table,) = (block for block in blocks if isinstance(block, Table))
    assert [row[0].text for row in table.rows] == ["all_reduce", "ping_pong"]


def test_verdicts_by_records_come_first_on_the_first_screen(ordinary: Results) -> None:
    decided = [
        finding(Verdict.HOLDS, claim="b"),
        finding(claim="a"),
        finding(Verdict.NO_DATA, claim="c"),
        finding(Verdict.INCONCLUSIVE, claim="d", would_change="9 launches"),
        finding(Verdict.INCONCLUSIVE, claim="e", problem="beta is weakly known"),
        finding(Verdict.NO_DATA, claim="f", found=None, problem="nvlink: no stream"),
    ]
    (table,) = (b for b in section(gather([ordinary], decided), "summary").blocks if isinstance(b, Table))
    assert [tuple(cell.text for cell in row[:3]) for row in table.rows] == [
        ("a", "fails", "8.1 [8, 8.3], 95 %, outside 15 to 21.6"),
        ("d", "inconclusive", "8.1 [8, 8.3], 95 %, reaches across an end of 15 to 21.6; to decide: 9 launches"),
        ("e", "inconclusive", "beta is weakly known"),
        ("b", "holds", "8.1 [8, 8.3], 95 %, inside 15 to 21.6"),
        ("f", "no data", "nvlink: no stream"),
    ]
    assert "4 verdicts by these records" in table.caption
    assert "only a part of the evidence is there: 1" in table.caption


@pytest.mark.parametrize(
    ("band", "verdict", "said"),
    [
        ((-math.inf, 5.0), Verdict.FAILS, "above 5"),
        ((-math.inf, 9.0), Verdict.HOLDS, "not above 9"),
        ((5.0, math.inf), Verdict.HOLDS, "not below 5"),
        ((9.0, math.inf), Verdict.FAILS, "below 9"),
        ((8.2, math.inf), Verdict.INCONCLUSIVE, "reaches across 8.2; to decide: another NIC"),
    ],
)
def test_a_range_of_one_end_is_said_by_its_end(band: tuple[float, float], verdict: Verdict, said: str) -> None:
    assert reason_words(finding(verdict, band=band)) == f"8.1 [8, 8.3], 95 %, {said}"


def test_the_first_screen_says_why_a_bandwidth_is_not_to_be_relied_on() -> None:
    odd = [times(record, 9.0 if record.case.nbytes in (1024, 65536, 1 << 20) else 1.0) for record in curve()]
    short = [record for record in curve("ping_pong") if record.case.nbytes <= 1 << 18]
    results = results_of([*odd, *short, *curve("stream")])
    (table,) = (b for b in section(gather([results]), "summary").blocks if isinstance(b, Table))
    assert [row[0].text for row in table.rows] == ["all_reduce", "ping_pong", "stream"]
    assert re.fullmatch(r"\d+ %, no model; .* %, 1/β weak; .*\d %", "; ".join(row[-1].text for row in table.rows))


def test_ratios_that_are_missing_say_which_evidence_is_not_there(ordinary: Results) -> None:
    ratio = Figure(name="stream", value=8.1, estimate=ESTIMATE, over="nvlink", under="infiniband")
    missing = (Missing(name="latency", reason="infiniband: no ping_pong"),)
    material = gather([ordinary], [finding(found=ratio, missing=missing)])
    (details,) = (b for b in section(material, "claims").blocks if isinstance(b, Details))
    (table,) = (b for b in details.blocks if isinstance(b, Table))
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["stream (decides)", "8.1", "[8, 8.3], 95 %", "5", "nvlink", "infiniband"],
        ["latency", "no data", "-", "-", "missing: infiniband: no ping_pong", "-"],
    ]


def test_simulated_verdicts_are_not_the_claims(ordinary: Results) -> None:
    material = gather([ordinary], [finding(marker="simulated")])
    (table,) = (b for b in section(material, "summary").blocks if isinstance(b, Table))
    assert [cell.text for cell in table.rows[0][:2]] == ["gap-18x", "SIMULATED fails"]
    assert "They are no verdicts on the claims." in table.caption
    blocks = section(material, "claims").blocks
    assert "SIMULATED fails" in words_of(blocks)
    assert "No claim is decided by these records" in words_of(blocks)
    assert [block.anchor for block in blocks if isinstance(block, Table)] == ["claims-marked"]


def test_a_claim_opens_to_everything_it_rests_on(ordinary: Results) -> None:
    (details,) = (b for b in section(gather([ordinary], [finding()]), "claims").blocks if isinstance(b, Details))
    words = words_of([details])
    for part in (
        "fails", "NVLink is 18 times", "8.1 [8, 8.3], 95 % over 5 launches", "paper: 9", "450 / 50 = 9", "a run",
        "within 1.2", "another NIC", "collmark run", "one of two: fails", "look out", "It holds 15 to 21.6",
    ):  # fmt: skip
        assert part in words


@pytest.mark.parametrize(
    ("band", "value", "inside"),
    [
        ((15.0, 21.6), 18.0, True),
        ((15.0, 21.6), 9.0, False),
        ((float("-inf"), 1.0), 0.5, None),
        ((0.0, 1.0), 0.5, True),
        ((0.0, 1.0), 2.0, False),
        ((0.95, float("inf")), 1.0, True),
        ((0.95, float("inf")), 0.5, False),
        ((5.0, 5.0), 5.0, None),
        ((1.0, 2.0), -1.0, None),
    ],
)
def test_a_drawn_verdict_lies_as_the_figure_does(
    ordinary: Results,
    band: tuple[float, float],
    value: float,
    inside: bool | None,  # noqa: FBT001
) -> None:
    one = finding(band=band, found=Figure(name="x", value=value))
    span = table_of(gather([ordinary], [one]), "claims", "claims-records").rows[0][-2].span
    if inside is None:
        assert span is None
        return
    assert span is not None
    assert span.band is not None
    assert (span.band[0] <= span.value <= span.band[1]) is inside


def test_failures_wrong_results_and_notices_are_warned_of() -> None:
    wrong = replaced(
        record_of(case_of(nbytes=64), 1e-4),
        status=Status.WRONG,
        timing=None,
        check=Check(checked=9, wrong=2, first="rank 1"),
    )
    failed = record_of(case_of(nbytes=128), None, error="broken pipe")
    results = with_launches(results_of([*curve(), wrong, failed]), notices=["left out 4 B"])
    lost = launch_of(9, outcome=Outcome.LOST, reason="node down")
    run = msgspec.structs.replace(results.run, launches=[*results.run.launches, lost])
    words = said(msgspec.structs.replace(results, run=run), "warnings")
    for part in ("rank 1", "broken pipe", "left out 4 B", "launch 9 ended as lost: node down"):
        assert part in words


def test_more_threads_than_cores_is_a_scheduler_test() -> None:
    busy = [replaced(record, busy_threads=8, cores=2) for record in curve()]
    assert "up to 8 busy threads on 2 cores in 36 of 36 records: they time the scheduler" in said(
        results_of(busy), "warnings"
    )


def test_loopback_is_no_network(ordinary: Results) -> None:
    assert "not about a network" in said(ordinary, "warnings")


def test_of_a_host_that_nobody_described_only_its_cores_are_said() -> None:
    results = with_launches(results_of(curve()))
    hosts = [*results.run.launches[0].hosts, Host(name="other", ranks=[2], cores=112, cpu="", system="")]
    launches = [msgspec.structs.replace(one, hosts=hosts) for one in results.run.launches]
    changed = msgspec.structs.replace(results, run=msgspec.structs.replace(results.run, launches=launches))
    assert "other: 112 cores for a rank ranks" in said(changed, "where"), "the next row is that of ranks"


def test_the_evidence_of_the_tier_is_said(ordinary: Results) -> None:
    assert "loopback, since made for a test" in said(ordinary, "where")


def test_differences_between_launches_come_first() -> None:
    results = with_launches(results_of(curve()))
    other = msgspec.structs.replace(results.run.launches[1], libraries={"plain": "patched"})
    launches = [results.run.launches[0], other, results.run.launches[2]]
    material = gather([msgspec.structs.replace(results, run=msgspec.structs.replace(results.run, launches=launches))])
    rows = [[cell.text for cell in row] for row in table_of(material, "environment", "differences").rows]
    assert rows == [["plain", "plain", "launch 1, launch 3"], ["", "patched", "launch 2"]]


def test_equal_launches_say_that_nothing_differs(ordinary: Results) -> None:
    assert "Nothing that was recorded differs" in said(ordinary, "environment")


def test_a_refused_fit_says_why() -> None:
    assert "alpha and beta need at least" in said(results_of(curve(sizes=(64, 128))), "fits")


def test_the_table_of_cases_has_every_case(simulated: Results) -> None:
    kept = {record.case.key for record in simulated.records}
    assert len(table_of(gather([simulated]), "cases", "cases-table").rows) == len(kept)


def test_requested_and_effective_sizes_are_both_shown() -> None:
    records = [record_of(case_of(nbytes=2996, requested_nbytes=3000), 1e-4)]
    assert "3000 B \N{RIGHTWARDS ARROW} 2996 B" in said(results_of(records), "cases")


def test_a_cell_is_never_zero_for_what_is_not(ordinary: Results) -> None:
    for block in section(gather([ordinary]), "cases").blocks:
        assert isinstance(block, Table)
        times = [row[2].text for row in block.rows]
        assert not {"0", "0.00"} & set(times)
