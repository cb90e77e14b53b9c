"""The three sentences: what was measured, with intervals, and nothing else."""

from __future__ import annotations

import re

import msgspec
import pytest
from tests.analysis.figures.tables import with_status
from tests.analysis.made import case_of, curve, noisy, record_of, replaced, results_of, times
from tests.analysis.report.conftest import finding, with_launches

from collmark.analysis.claims.finding import Verdict
from collmark.analysis.report.material import gather
from collmark.analysis.report.scatter import launches_for, scatters
from collmark.analysis.report.sentences import Sentences, placement_words, sentences
from collmark.analysis.results import Results
from collmark.core.case import Buffers, Cadence, Scheduling
from collmark.core.placement import Placement, Tier
from collmark.core.record import Record, Status

FAR = {"placement": Placement(nodes=2, ranks_per_node=1)}


def of(*records: Record, name: str = "made") -> Sentences:
    return sentences(gather([results_of(records, name)]))


def test_what_is_found_has_its_interval_and_where() -> None:
    found = of(*curve(levels=(0.98, 1.0, 1.02))).found
    assert found.startswith("all_reduce over loopback (gloo, 1 node x 2 ranks) takes 20.0 [19.0, 21.0] µs at 16 B")
    assert "comes near 10.0 [9.52, 10.5] GB/s of bus bandwidth at large sizes" in found
    assert found.count(". ") == 0  # one sentence: the rest stands in the table


def test_several_runs_have_their_range() -> None:
    def said(*runs: list[Record]) -> str:
        return sentences(
            gather([results_of(own, f"20300101T000000Z-{name}") for name, own in zip("abc", runs, strict=False)])
        ).found

    fast, slow = curve(levels=(1.0, 1.0)), curve("ping_pong", beta=5e-10, levels=(1.0, 1.0))
    assert said(fast, slow) == (
        "2 runs come near 2.00 [2.00, 2.00] (b: ping_pong) to 10.0 [10.0, 10.0] (a: all_reduce) GB/s of bus bandwidth "
        "at large sizes."
    )
    streaming = curve("all_gather", beta=1e-12, of_case={"cadence": Cadence.STREAMING})
    fake = curve(beta=1e-13, simulated=True, tier=Tier.SIMULATED)
    assert said(fast, streaming, fake).startswith("a: all_reduce over loopback (gloo")
    short = [record for record in slow if record.case.nbytes <= 1 << 18]
    assert "(b: ping_pong, weakly known)" in said(fast, short)


def test_the_plainest_variant_leads_and_no_other_is_put_beside_it() -> None:
    rotated = curve(alpha=50e-6, of_case={"buffers": Buffers.ROTATED})
    streaming = curve("all_gather", beta=1e-12, of_case={"cadence": Cadence.STREAMING})
    plain = curve(alpha=20e-6)
    found = of(*rotated, *streaming, *plain).found
    assert found.startswith("all_reduce over loopback (gloo, 1 node x 2 ranks) takes 20")
    assert "all_gather" not in found
    assert "1 node x 2 ranks, rotated buffers) takes 50" in of(*rotated).found


def test_simulated_figures_are_called_so() -> None:
    found = of(*curve(simulated=True, tier=Tier.SIMULATED)).found
    assert found.startswith("SIMULATED, not measured: all_reduce (gloo")
    assert "network" not in of(*curve(simulated=True, tier=Tier.SIMULATED)).next


def test_one_launch_has_no_interval() -> None:
    said = of(*curve(levels=(1.0,)))
    assert "[" not in said.found
    assert "one launch: no interval" in said.sure
    assert "--launches 5" in said.next


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_times_that_nobody_can_have_measured_are_none(factor: float) -> None:
    said = of(*(times(one, factor) for one in curve()))
    assert said.found == "No case has a time that can be believed."
    assert said.sure.startswith("36 of 36 records converged;")
    assert "no case has a time that can be believed in two launches: no interval." in said.sure


def test_nothing_is_said_of_a_bandwidth_that_no_model_tells() -> None:
    found = of(*curve(sizes=(64, 128))).found
    assert "GB/s" not in found
    assert "no model was fitted: 2 sizes: alpha and beta need at least 3" in found


def test_a_constant_is_no_lack_of_a_model() -> None:
    assert (
        of(*curve("barrier", sizes=(0,), levels=(1.0, 1.0))).found
        == "barrier over loopback takes 20.0 [20.0, 20.0] µs."
    )


def test_a_model_that_does_not_describe_is_not_quoted() -> None:
    jagged = [times(record, 9.0 if record.case.nbytes in (1024, 65536, 1 << 20) else 1.0) for record in curve()]
    found = of(*jagged).found
    assert "GB/s" not in found
    assert "no model describes its times" in found


def test_loopback_is_not_carried_over_to_a_network() -> None:
    assert "Carry no figure over to a network" in of(*curve()).next
    assert "network" not in of(*curve(tier=Tier.TCP, of_case=FAR)).next


def test_no_record_is_nothing_measured() -> None:
    said = of()
    assert said.found == "Nothing was measured: there is no record."
    assert said.next.startswith("Measure first")


@pytest.mark.parametrize(
    ("records", "advice"),
    [
        (with_status(curve(), Status.WRONG), "Find out first why 36 of 36 records gave wrong results"),
        ([*curve(), record_of(case_of(nbytes=64), None)], "Look at the 1 records that failed"),
        ([replaced(r, busy_threads=9, cores=2) for r in curve()], "more threads ran than there are cores"),
        (with_status(curve(), Status.UNSTABLE), "36 of 36 records are unstable"),
        (curve(levels=(0.5, 1.0, 2.0)), "take about"),
        (curve(levels=(1.0, 1.0, 1.0)), "Nothing that was looked for disturbed these figures"),
        (
            [times(r, 10) if r.case.nbytes == 1 << 20 else r for r in curve(levels=(1.0, 1.0, 1.0))],
            "Find out why all_reduce stands apart: 1 MiB takes 10 times as long as the model of the others says",
        ),
    ],
)
def test_the_most_pressing_is_said(records: list[Record], advice: str) -> None:
    assert advice in of(*records).next


def test_real_time_scheduling_is_no_scheduler_test() -> None:
    busy = curve(busy_threads=9, cores=2, of_case={"scheduling": Scheduling.FIFO})
    assert "they time the scheduler" not in of(*busy).next


def test_statuses_are_counted() -> None:
    sure = of(*curve(), *with_status(curve("ping_pong"), Status.BUDGET)).sure
    assert sure.startswith("36 of 72 records converged (36 budget); ")


def test_a_run_among_others_is_named() -> None:
    runs = [results_of(curve(), "20300101T000000Z-a"), results_of(curve(sizes=[64]), "20300101T000000Z-b")]
    assert sentences(gather(runs)).found.startswith("a: all_reduce over loopback")
    assert sentences(gather([runs[1], results_of([], "20300101T000000Z-c")])).found.startswith("b: all_reduce over")


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        (
            [Verdict.HOLDS, Verdict.FAILS],
            "b fails: 8.1 [8, 8.3], 95 %, outside 15 to 21.6 (of 2 verdicts by these records 1 fail, 1 hold).",
        ),
        ([Verdict.HOLDS], "a holds: 8.1 [8, 8.3], 95 %, inside 15 to 21.6."),
    ],
)
def test_verdicts_are_what_was_found(kinds: list[Verdict], said: str) -> None:
    found = [finding(kind, claim=name) for name, kind in zip("ab", kinds, strict=False)]
    material = msgspec.structs.replace(gather([results_of(curve())]), findings=tuple(found))
    assert sentences(material).found == said


def test_verdicts_of_emulated_links_are_called_so() -> None:
    marked = msgspec.structs.replace(finding(Verdict.HOLDS, claim="a"), marker="emulated")
    material = msgspec.structs.replace(gather([results_of(curve())]), findings=(marked,))
    assert sentences(material).found == "a EMULATED holds: 8.1 [8, 8.3], 95 %, inside 15 to 21.6."


def test_every_sentence_is_short() -> None:
    said = of(*curve(levels=(0.9, 1.0, 1.1)), *with_status(curve("ping_pong"), Status.BUDGET))
    assert max(map(len, (said.found, said.sure, said.next))) <= 200


def test_a_late_rank_is_named() -> None:
    late = [replaced(r, ranks=_late(r)) for r in curve(levels=(1.0, 1.0, 1.0))]
    said = sentences(gather([with_launches(results_of(late))]))
    assert "Look at this first: rank 1 (plain) enters late in 12 of 12 cases (gloo 1x2) (see warnings)." in said.next


def _late(record: Record) -> object:
    assert record.ranks is not None
    assert record.timing is not None
    lateness = [0.0, record.timing.median]
    return msgspec.structs.replace(record.ranks, last_in=[0, 100], lateness=lateness, chance_in=0.0005)


def test_scatter_is_that_of_launches_and_repetitions() -> None:
    found = gather([results_of(noisy(curve(levels=(1.0,) * 30), sd=0.05))]).scatters[""]
    assert found.between == pytest.approx(0.05, rel=0.3)
    assert found.within == pytest.approx(0.06 / 1.349, rel=0.05)
    assert scatters([results_of(curve(levels=(1.0,)))]) == {}


def test_that_nothing_can_be_told_leads_only_with_an_interval() -> None:
    results = results_of(curve())
    vague = finding(Verdict.INCONCLUSIVE, found=None)
    assert sentences(gather([results], [vague])).found.startswith("all_reduce over loopback")
    assert sentences(gather([results], [finding(Verdict.INCONCLUSIVE)])).found.startswith("gap-18x inconclusive: ")


def test_what_is_simulated_is_never_taken_together_with_what_is_measured() -> None:
    measured, fake = curve(levels=(0.9, 1.0, 1.1)), curve(simulated=True, tier=Tier.SIMULATED, levels=(1.0,) * 4)
    material = gather([results_of(measured, "a"), results_of(with_status(fake, Status.BUDGET), "b")])
    said = sentences(material)
    ours, _, theirs = said.sure.partition(" SIMULATED, not measured: ")
    assert ours.startswith("36 of 36 records converged; intervals are 95 % over 3 launches, which differ by 10 %")
    assert theirs.startswith(
        "0 of 48 records converged (48 budget); intervals are 95 % over 4 launches, which differ by 0 %"
    )
    assert {marker: round(one.between, 2) for marker, one in material.scatters.items()} == {"": 0.1, "SIMULATED": 0}
    alone = sentences(gather([results_of(measured, "a")]))
    assert ours == alone.sure
    assert said.next.partition(".")[0] == alone.next.partition(".")[0]
    assert "SIMULATED, not measured: 36 of 36" in of(*curve(simulated=True, tier=Tier.SIMULATED)).sure


def test_more_launches_are_never_said_to_be_fewer_than_there_are() -> None:
    # Half of the intervals are wide over the two launches that are steady, of five.
    records = curve(levels=(0.93, 1.0, 1.0, 1.0, 1.0))
    some = [replaced(r, status=Status.UNSTABLE) if r.launch > 2 and r.case.nbytes > 4096 else r for r in records]
    said = of(*some, *curve("ping_pong", levels=(1.0,) * 5), *curve("barrier", sizes=(0,), levels=(1.0,) * 5)).next
    assert "take about" not in said
    wide = of(*curve(levels=(0.95, 1.0, 1.05))).next
    match = re.search(r"For intervals of ±5.0 % in half of the cases take about (\d+) launches", wide)
    assert match is not None
    assert int(match[1]) > 3


def test_cases_with_few_launches_are_to_be_repeated() -> None:
    few = [r for r in curve(levels=(0.97, 1.0)) if r.case.nbytes < 1 << 24]
    many = [r for r in curve(levels=(0.97, 1.0, 0.97, 1.0, 0.98, 1.0)) if r.case.nbytes >= 1 << 24]
    assert "Repeat the cases that have few launches (2 to 6 now): about " in of(*few, *many).next


def test_launches_needed_bring_the_half_width() -> None:
    assert launches_for(0.0, 0.05) == 2
    needed = launches_for(0.13, 0.05)
    assert needed is not None
    assert 25 < needed < 35


def test_placements_in_words() -> None:
    assert placement_words("4x8@rail") == "4 nodes x 8 ranks, rail"


def test_the_reference_run_has_sentences(reference: Results) -> None:
    said = sentences(gather([reference]))
    assert "over 3 launches" in said.sure
    assert said.found.startswith("all_reduce over loopback")
