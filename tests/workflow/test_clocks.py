"""Clocks of several hosts, from a run to its table, its fits and its report: L never stands beside D_max."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from tests.analysis.made import case_of, record_of, results_of, timing_of

from collmark.analysis.figures.repetitions import repetitions
from collmark.analysis.frame import frame
from collmark.analysis.models.fit import fit_frame
from collmark.analysis.points import points
from collmark.analysis.report.content import Table
from collmark.analysis.report.index import sections_of
from collmark.analysis.report.material import gather
from collmark.analysis.report.sections.fits import fits as fits_section
from collmark.analysis.results import load
from collmark.analysis.skew import skews
from collmark.cli.conclusion import summary_lines
from collmark.cli.fit_table import remarks
from collmark.cli.table import result_columns
from collmark.core.disturbance import clock_words, drift_of, findings
from collmark.core.metrics import like_medians
from collmark.core.operation import Estimand
from collmark.core.placement import Placement
from collmark.core.plan import Plan
from collmark.core.record import Clock, ClockModel, Record, Sentinel
from collmark.core.store import RunFolder
from collmark.core.units import format_microseconds
from collmark.core.variance import variances_of
from collmark.workflow.interruption import StopSignals
from collmark.workflow.listing import summarise
from collmark.workflow.prepare import prepare
from collmark.workflow.run import Sink, carry_out, create_run

L, D_MAX = Estimand.LAST_IN_LAST_OUT, Estimand.LONGEST_LOCAL
SHORT, LONG = 64 * 2**10, 64 * 2**20  # B


def model_of(error: float, note: str = "") -> ClockModel:
    return ClockModel(
        error=error, age=1.0, at=5.0, leaders=[1], ahead=[5.0], drift=[1e-5], bound=[error], looks=30, note=note
    )


def told(nbytes: int, seconds: float, launch: int, estimand: Estimand, **changes: Any) -> Record:  # noqa: ANN401 - fields of a record
    """Return a record of two hosts; D_max is 1.5 x L."""
    case = case_of(nbytes=nbytes, placement=Placement(nodes=2))
    values = {
        "clock": Clock.MODELLED if estimand is L else Clock.LOCAL,
        "timing": timing_of(seconds if estimand is L else 1.5 * seconds, estimand),
        "clock_model": model_of(seconds * (0.02 if estimand is L else 0.2)),
    }
    return record_of(case, seconds, launch, **(values | changes))


MIXED = [told(LONG, 1e-3, 1, L), told(LONG, 1.1e-3, 2, D_MAX), told(LONG, 0.9e-3, 3, L)]


def test_medians_of_one_case_are_d_max_where_one_launch_has_no_other() -> None:
    for records, expected, what in (
        (MIXED, [1.5e-3, 1.5 * 1.1e-3, 1.5 * 0.9e-3], D_MAX),
        ([MIXED[0], MIXED[2]], [1e-3, 0.9e-3], L),
        ([MIXED[1]], [1.5 * 1.1e-3], D_MAX),
        ([record_of(case_of(), None)], [], None),
    ):
        medians, estimand = like_medians(records)
        assert medians == pytest.approx(expected)
        assert estimand is what


def test_the_table_averages_and_names_like_times_only() -> None:
    (row,) = summarise([MIXED[0].case], MIXED)
    assert row.estimand is D_MAX
    assert row.seconds == pytest.approx(1.5e-3 * (1.1 * 0.9) ** (1 / 3))
    columns = {column.name: column.cells for column in result_columns([row])}
    assert columns["T is"] == ["D_max"]
    (alike,) = summarise([MIXED[0].case], [MIXED[0], MIXED[2]])
    assert alike.estimand is L
    assert "T is" not in {column.name for column in result_columns([alike])}
    (varies,) = variances_of(MIXED).values()
    assert varies.observed == pytest.approx(float(np.var(np.log([1.0, 1.1, 0.9]), ddof=1)))


@pytest.mark.parametrize(("end", "is_told"), [(L, True), (D_MAX, False)])
def test_a_drift_is_told_of_like_times_only(end: Estimand, *, is_told: bool) -> None:
    start = told(LONG, 1e-3, 1, L, sentinel=Sentinel.START)
    assert (drift_of([start, told(LONG, 2e-3, 1, end, sentinel=Sentinel.END)]) is not None) is is_told


def test_words_say_how_well_clocks_could_be_compared() -> None:
    assert clock_words(MIXED) == [
        "clocks of several hosts, off by at most 2.0 % of T, tell 2 of 3 records",
        "T is D_max, skew included, where clocks cannot tell better: in 1 of 3 records",
    ]
    assert clock_words([record_of(case_of(), 1e-3)]) == []


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Return a run on 4 hosts, the clocks of which tell the long calls and not the short ones."""
    plan = Plan(
        backends=("simulated",), operations=("all_reduce",), sizes="64KiB:64MiB:x4", launches=2,
        placements=(Placement(nodes=4, ranks_per_node=2),),
        simulation={"clock_offset": 1000.0, "clock_drift": 5e-5, "clock_jump": 3.0, "clock_jump_at": 2.35},
    )  # fmt: skip
    prepared = prepare(plan, ranks=None, oversubscribe=False, joined=None)
    folder = create_run(prepared, output=tmp_path_factory.mktemp("clocks"), label="", command=["collmark"])
    with StopSignals(lambda _number: None) as signals:
        carry_out(folder, Sink(emit=lambda _event: None, on_fault=lambda _text: None), signals)
    return folder


def test_a_run_on_several_hosts_is_simulated_to_its_end(simulated: RunFolder) -> None:
    run, records = simulated.read_run(), list(simulated.records())
    assert all(record.simulated for record in records)
    kinds = {
        record.case.nbytes: record.clock for record in records if record.clock_model and not record.clock_model.note
    }
    assert kinds[SHORT] is Clock.LOCAL
    assert kinds[LONG] is Clock.MODELLED
    for launch in run.launches:
        assert [host.name for host in launch.hosts] == [f"simulated-{node}" for node in range(4)]
        assert [host.ranks for host in launch.hosts] == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_a_clock_that_was_set_is_said_after_the_run_and_in_the_report(simulated: RunFolder) -> None:
    run, records = simulated.read_run(), list(simulated.records())
    said = [line for line in findings(run, records) if "left its model by" in line]
    assert said
    assert set(said) <= set(summary_lines(run, records, None))
    page = str([section.blocks for section in sections_of(gather([load(simulated)]))])
    assert "left its model by" in page
    assert "T is D_max, skew included" in page


def test_a_curve_that_mixes_them_is_d_max_and_says_so(simulated: RunFolder) -> None:
    table = frame([load(simulated)])
    assert set(table["estimand"]) == {"L", "D_max"}
    assert (table["clock_error"] > 0).all()
    assert set(points(table)["estimand"]) == {"D_max"}
    (fit,) = fit_frame(table).fits
    assert fit.series.estimand == "D_max"
    told = dict(remarks(fit, skews(table)[fit.series]))
    (how,) = (how for what, how in told.items() if what.startswith("T is D_max, skew included"))
    own = table[table["sentinel"] == ""]
    assert how == (
        f"ranks enter {format_microseconds(own['skew'].median())} us apart in the median, clocks are off by at most "
        f"{format_microseconds(own['clock_error'].max())} us"
    )


def test_the_skew_stands_beside_fits_that_hold_it_and_beside_no_other() -> None:
    sizes = (SHORT, SHORT * 32, LONG)
    mixed = [told(size, size * 1e-9, launch, D_MAX if size == SHORT else L) for size in sizes for launch in (1, 2)]
    mixed = [_with_skew(r, 4e-6 if r.timing and r.timing.estimand is L else None) for r in mixed]
    table = frame([results_of(mixed)])
    ((series, skew),) = skews(table).items()
    assert series.estimand == "D_max"
    # 2 % of L at the largest size bound the clocks; ranks could be compared at two of three sizes.
    assert (skew.seconds, skew.error) == pytest.approx((4e-6, 0.02 * LONG * 1e-9))
    material = gather([results_of(mixed)])
    (table_of_fits,) = (b for b in fits_section(material).blocks if isinstance(b, Table))  # type: ignore[union-attr]
    remark = table_of_fits.rows[0][[heading.name for heading in table_of_fits.headings].index("model, remarks")].text
    assert "T is D_max, skew included (ranks enter 4.00 us apart in the median, clocks are off by at most" in remark
    assert skews(frame([results_of([told(size, size * 1e-9, 1, L) for size in sizes])])) == {}
    assert skews(frame([])) == {}


def _with_skew(record: Record, skew: float | None) -> Record:
    assert record.ranks is not None
    return msgspec.structs.replace(record, ranks=msgspec.structs.replace(record.ranks, skew=skew))


def test_a_stored_model_must_fit_together() -> None:
    text = msgspec.json.encode(msgspec.to_builtins(model_of(1e-6)) | {"ahead": [1.0, 2.0]})
    with pytest.raises(msgspec.ValidationError, match="one entry a host"):
        msgspec.json.decode(text, type=ClockModel)


def test_samples_of_a_modelled_record_give_its_median(simulated: RunFolder) -> None:
    asked = {(simulated.path.name, r.case.key): r.timing.estimand.value for r in simulated.records() if r.timing}
    table, problems = repetitions([load(simulated)], asked)
    assert problems == []
    for record in simulated.records():
        if (
            record.sentinel is None
            and record.timing
            and asked[simulated.path.name, record.case.key] == record.timing.estimand
        ):
            own = table[(table["case"] == record.case.key) & (table["launch"] == record.launch)]
            assert own["seconds"].median() == pytest.approx(record.timing.median, rel=1e-9)
