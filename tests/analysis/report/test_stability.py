"""What a report says of stability: the parts of the variance, several modes, and who comes last."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from tests.analysis.made import case_of, curve, noisy, record_of, replaced, results_of
from tests.analysis.report.conftest import with_launches
from tests.analysis.report.test_sections import section, table_of, words_of
from tests.prove.modes_draws import distribution
from tests.prove.variance_draws import Spread, draw_variance

from collmark.analysis.report.index import SECTIONS
from collmark.analysis.report.material import Material, gather
from collmark.analysis.report.scatter import between_ends
from collmark.analysis.results import Results
from collmark.core.record import Clock, Record, Status
from collmark.core.variance import Variance


def of(records: list[Record]) -> Material:
    return gather([with_launches(results_of(records))])


def late(record: Record) -> Record:
    assert record.ranks is not None
    assert record.timing is not None
    ranks = msgspec.structs.replace(
        record.ranks, last_in=[5, 95], lateness=[0.0, 0.3 * record.timing.median], chance_in=0.0005
    )
    return replaced(record, ranks=ranks)


def test_the_straggler_is_named_with_its_figures() -> None:
    said = words_of(section(of([late(record) for record in curve()]), "ranks").blocks)
    assert "rank 1 (plain) enters late in 12 of 12 cases (gloo 1x2): last in 95 [95, 95] %" in said
    assert "30 [30, 30] % of T (p < 1e-06; 95 % over 3 launches)" in said
    assert "permutation test" in said
    assert "no straggler" not in said


def test_it_is_said_that_nobody_straggles() -> None:
    said = words_of(section(of(curve()), "ranks").blocks)
    assert "no straggler: in 12 cases no rank enters or leaves last" in said


def test_clocks_that_cannot_be_compared_have_no_section() -> None:
    def apart(record: Record) -> Record:
        assert record.ranks is not None
        ranks = msgspec.structs.replace(record.ranks, last_in=[], last_out=[], lateness=[], overtime=[])
        return replaced(record, ranks=ranks, clock=Clock.LOCAL)

    assert SECTIONS["ranks"].build(of([apart(record) for record in curve()])) is None


def test_both_ends_have_their_delay() -> None:
    rows = table_of(of([late(record) for record in curve(sizes=(64,))]), "ranks", "ranks-table").rows
    assert [[cell.text for cell in row][1:] for row in rows] == [
        ["0", "plain", "5.0", "[5.0, 5.0]", "0", "50", "[50, 50]", "0"],
        ["1", "plain", "95", "[95, 95]", "6.00", "50", "[50, 50]", "0"],
    ]


def with_modes(record: Record, *ratios: float) -> Record:
    assert record.timing is not None
    random = np.random.default_rng(record.launch)
    seconds = record.timing.median * np.exp(0.02 * random.standard_normal(300)) * random.choice(ratios, 300)
    return replaced(record, timing=msgspec.structs.replace(record.timing, histogram=distribution(seconds)))


def test_several_modes_are_listed_with_place_and_share() -> None:
    records = [with_modes(record, 1.0, 2.0) for record in curve(sizes=(1 << 20,), levels=(1.0, 1.0, 1.0))]
    records += [with_modes(record, 1.0) for record in curve(sizes=(64,), levels=(1.0, 1.0, 1.0))]
    material = of(records)
    assert "1 of 2 cases has several modes inside a launch" in words_of(section(material, "repetitions").blocks)
    first, second = ([cell.text for cell in row] for row in table_of(material, "repetitions", "modes").rows)
    assert first[:3] == ["all_reduce, 1 MiB", "3 of 3", "1 of 2"]
    assert [float(row[3]) for row in (first, second)] == pytest.approx([125, 250], rel=0.02)
    assert [float(row[5]) for row in (first, second)] == pytest.approx([50, 50], abs=5)
    assert first[4].startswith("[")


def test_several_modes_are_warned_of_and_simulated_ones_marked() -> None:
    records = [with_modes(record, 1.0, 2.0) for record in curve(sizes=(1 << 20,), levels=(1.0, 1.0, 1.0))]
    fake = [replaced(record, simulated=True) for record in records]
    said = words_of(section(of(records), "warnings").blocks)
    assert "modes several modes of T inside a launch in 1 case" in said
    assert ": all_reduce 1048576 B float32: 12" in said
    assert ": SIMULATED all_reduce 1048576 B" in words_of(section(of(fake), "warnings").blocks)
    assert table_of(of(fake), "repetitions", "modes").rows[0][0].text == "all_reduce, 1 MiB SIMULATED"
    assert "several modes" not in words_of(section(of(curve()), "warnings").blocks)


def test_launches_that_the_table_leaves_out_are_in_no_variance_and_no_share() -> None:
    steady = curve(sizes=(64,), levels=(1.0, 1.1))
    slow = [late(replaced(r, launch=3, status=Status.UNSTABLE)) for r in curve(sizes=(64,), levels=(9.0,))]
    alone, beside = of(steady), of([*steady, *slow])
    assert beside.scatters == alone.scatters
    assert beside.ranks.equals(alone.ranks)
    for name, anchor in (("launches", "variances"), ("ranks", "ranks-table")):
        assert table_of(beside, name, anchor).rows == table_of(alone, name, anchor).rows
    asked = gather(beside.results, include_unstable=True)
    assert asked.scatters != alone.scatters
    assert set(asked.ranks["launch"]) == {1, 2, 3}


def test_one_mode_is_said_and_nothing_where_no_record_tells() -> None:
    words = words_of(section(of([with_modes(record, 1.0) for record in curve(sizes=(64,))]), "repetitions").blocks)
    assert "1 case: one mode in every launch." in words
    assert SECTIONS["repetitions"].build(of(curve(sizes=(64,)))) is None


def test_the_parts_of_the_variance_are_listed_by_series() -> None:
    material = of([*noisy(curve(levels=(1.0,) * 10), sd=0.05), *curve("ping_pong", levels=(1.0,) * 10)])
    rows = [[cell.text for cell in row] for row in table_of(material, "launches", "variances").rows]
    by_operation = {row[0]: row for row in rows}
    between, ends = by_operation["all_reduce"][4:6]
    assert float(between) == pytest.approx(5, rel=0.3)
    low, high = (float(end) for end in ends.strip("[]").split(", "))
    assert low < float(between) < high
    assert by_operation["ping_pong"][4:6] == ["0", "[0, 0]"]
    assert by_operation["all_reduce"][6] == by_operation["ping_pong"][6] == "4.4"


def test_one_launch_has_no_parts(reference: Results) -> None:
    assert SECTIONS["launches"].build(of([record_of(case_of(), 1e-4)])) is None
    assert table_of(gather([reference]), "launches", "variances").rows


def test_the_interval_of_launches_by_hand() -> None:
    # Chi-square with four degrees of freedom: 0.4844 and 11.143.
    ends = between_ends(Variance(observed=0.0104, sampling=0.0004, within=0.0, launches=5))
    assert ends == pytest.approx(((0.0416 / 11.1433 - 0.0004) ** 0.5, (0.0416 / 0.48442 - 0.0004) ** 0.5), rel=1e-4)
    assert between_ends(Variance(observed=0.0001, sampling=0.1, within=0.0, launches=5)) == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("together", [True, False])
def test_the_interval_of_launches_covers(together: bool) -> None:  # noqa: FBT001
    spread = Spread(launch_sd=0.03, together=together)
    ends = [between_ends(draw_variance(spread, seed)) for seed in range(150)]
    covered = sum(lower <= spread.launch_sd <= upper for lower, upper in ends)
    assert covered >= 135
    if together:
        assert covered < 150  # not wide for nothing
