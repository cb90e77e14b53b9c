"""Figures of ranks that shared a GPU are shown and marked, and enter no fit, no claim and no ratio; those of emulated
links are fitted too, and their ratios and verdicts are never a claim's.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.analysis.claims.links import GB, finding, findings, link, runs
from tests.analysis.made import curve, replaced, results_of

from collmark.analysis.claims.finding import Finding, Verdict
from collmark.analysis.claims.table import load_table
from collmark.analysis.frame import frame
from collmark.analysis.models.fit import fit_frame
from collmark.analysis.points import points
from collmark.analysis.report.write import Format
from collmark.core.marker import Marker, markers_of
from collmark.core.placement import Tier
from collmark.core.record import Evidence, Record
from collmark.workflow.report import main_findings, make_report

SHARED = Evidence(tier=Tier.SHARED_GPU, because=["made for a test"])
EMULATED = Evidence(tier=Tier.TCP, because=["made for a test"], emulated=True)


def shared(records: list[Record]) -> list[Record]:
    return [replaced(record, evidence=SHARED) for record in records]


def emulated(records: list[Record]) -> list[Record]:
    return [replaced(record, evidence=EMULATED) for record in records]


def test_records_say_what_they_are() -> None:
    real, test, fake = curve()[0], shared(curve())[0], curve(simulated=True)[0]
    assert [record.marker for record in (real, test, fake)] == [None, Marker.TEST, Marker.SIMULATED]
    assert emulated([real])[0].marker is Marker.EMULATED
    assert markers_of([real]) == ""
    assert markers_of([test, real, fake, test]) == "TEST and SIMULATED"


@pytest.mark.parametrize("include_unstable", [False, True])
def test_no_fit_holds_them(include_unstable: bool) -> None:  # noqa: FBT001 - what the user may ask for
    table = frame([results_of([*shared(curve()), *curve(alpha=7e-6)])])
    fits = fit_frame(table, include_unstable=include_unstable)
    assert [fit.series.tier for fit in fits.fits] == ["loopback"]
    assert fits.fits[0].alpha.value == pytest.approx(7e-6, rel=0.05)
    assert fits.fits[0].left_out == 0  # of another series
    (refused,) = fits.refused
    assert refused.reason == "no record to fit to: 36 of a test arrangement"
    cases = points(table, include_unstable=include_unstable)
    assert set(cases.loc[cases["tier"] == "shared-gpu", "enters"]) == {False}
    assert cases.loc[cases["tier"] == "shared-gpu", "seconds"].notna().all()


@pytest.mark.parametrize("side", ["both", "one"])
def test_no_claim_and_no_ratio_rests_on_them(side: str) -> None:
    table = load_table()
    fast, slow = link("nvlink", rate=900 * GB), link("infiniband", rate=50 * GB)
    assert finding(table, "gap-18x", fast, slow).verdict is Verdict.HOLDS
    groups = (shared(fast), slow if side == "one" else shared(slow))
    assert finding(table, "gap-18x", *groups).verdict is Verdict.NO_DATA
    # Not even where their tier is asked for in words.
    found = finding(table, "gap-18x", *groups, a="shared-gpu", include_unstable=True)
    assert found.verdict is Verdict.NO_DATA
    assert "shared-gpu: no usable stream: 70 of a test arrangement" in found.by


def test_emulated_links_are_fitted_and_marked() -> None:
    table = frame([results_of([*emulated(curve(alpha=5e-6)), *curve(alpha=7e-6, tier=Tier.TCP)])])
    # Of one tier, and on curves of their own all the same.
    alphas = {fit.series.marker: fit.alpha.value for fit in fit_frame(table).fits}
    assert alphas == {"EMULATED": pytest.approx(5e-6, rel=0.05), "": pytest.approx(7e-6, rel=0.05)}


def test_emulated_links_give_a_marked_verdict_beside_no_data() -> None:
    table = load_table()
    fast, slow = (link("tcp", rate=rate * GB, label=label) for rate, label in ((900, "fast"), (50, "slow")))

    def judged(*groups: list[Record]) -> list[Finding]:
        return findings(table, "gap-18x", runs(*groups), a="tcp@fast", b="tcp@slow")

    assert judged(fast, slow)[0].verdict is Verdict.HOLDS
    own, marked = judged(emulated(fast), emulated(slow))
    assert (own.verdict, own.marker) == (Verdict.NO_DATA, "")
    assert own.by.endswith("; emulated ones decide nothing")
    assert (marked.verdict, marked.marker) == (Verdict.HOLDS, "emulated")
    # A real link is no side of a ratio with an emulated one.
    (alone,) = judged(emulated(fast), slow)
    assert (alone.verdict, alone.marker) == (Verdict.NO_DATA, "")


@pytest.mark.parametrize("kind", Format)
def test_a_report_on_emulated_links_says_so_above_and_beside(kind: Format) -> None:
    made = make_report(runs(emulated(curve())), kind)
    assert "EMULATED. No figure here was measured over real links: the hosts are network namespaces" in made.text
    assert "EMULATED, not measured over real links: all_reduce over tcp (gloo" in made.text
    assert made.sentences.next.startswith(
        "Measure between hosts that a network joins: the hosts are network namespaces"
    )
    beside = make_report(runs([*emulated(curve()), *curve()]), kind).text
    assert "EMULATED. Figures marked so were not measured over real links" in beside


@pytest.mark.parametrize("kind", Format)
def test_a_report_says_so_above_and_beside(kind: Format) -> None:
    text = make_report(runs(shared(curve())), kind).text
    assert "TEST. No figure here was measured: ranks shared a GPU" in text
    assert "TEST, not measured: all_reduce over shared-gpu takes" in text
    assert "SIMULATED" not in text
    beside = make_report(runs([*shared(curve()), *curve()]), kind).text
    assert "TEST. Figures marked so were not measured" in beside


def test_their_pictures_and_rows_are_marked() -> None:
    text = make_report(runs(shared(curve())), Format.HTML).text
    cases = text[text.index('id="cases-table"') :]
    assert cases.count(">all_reduce TEST<") == 12
    assert text.count("<h3>TEST: ") == text.count("<h3>")


@pytest.mark.parametrize(("mark", "expected"), [(shared, True), (lambda records: records, False)], ids=["test", "real"])
def test_what_to_do_is_to_measure(mark: Callable[[list[Record]], list[Record]], expected: bool) -> None:  # noqa: FBT001 - one row of a table
    found = main_findings(runs(mark(curve()))).next
    assert found.startswith("Measure with a GPU for each rank: ranks shared a GPU") is expected
